"""What a cluster is given to do, and what it comes to."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Task:
    """Something to be done, as bytes; the head holds them only until a worker has them."""

    name: str
    content: bytes
    again: Callable[[], bytes]  # makes them once more, where that worker is lost
    suspected: bool = False  # a worker was lost that had it: it goes alone from then on
    losses: int = 0  # workers that were lost while they had it alone
    faults: int = 0

    def hand_over(self) -> bytes:
        """Return the bytes, and hold them no longer."""
        content, self.content = self.content or self.again(), b""
        return content


@dataclass(frozen=True)
class Done:
    """What a task came to."""

    task: Task
    content: bytes


@dataclass(frozen=True)
class GivenUp:
    """A task that was given up."""

    task: Task
    reason: str
