"""When a submission's time is over: that of an exercise, and that of all of them together."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from grader.course.limits import Limits


@dataclass(frozen=True)
class End:
    """When an exercise has to be done."""

    at: float  # in time.monotonic's seconds
    told: str  # the limit that is reached then

    @staticmethod
    def of_file(limits: Limits) -> "End":
        """Return the end of a file that begins now, whatever others there are."""
        told = f"the whole file took more than {shown_seconds(limits.submission_seconds)}"
        return End(time.monotonic() + limits.submission_seconds, told)


class Clock:
    """The time that the exercises of one submission have together.

    Each leaves half of an even share to each that comes after it, so that one that hangs takes
    nobody's time away; what they do not need is there for all.
    """

    def __init__(self, limits: Limits, exercises: int) -> None:
        """`exercises` is how many are graded, one after the other."""
        self._limits = limits
        self._exercises = exercises
        self._begun: set[str] = set()
        self._own = limits  # of the exercise that is under way
        self._left = self._together = limits.together_seconds

    def begin(self, exercise: str, own: Limits | None = None) -> None:
        """Begin an exercise, maybe with limits of its own.

        What is begun again has no more time for that.
        """
        self._own = own or self._limits
        if exercise not in self._begun:
            more = max(0.0, self._own.submission_seconds - self._limits.submission_seconds)
            self._left += more
            self._together += more
        self._begun.add(exercise)

    def end(self) -> End:
        """Return when this exercise has to be done, if it begins to run now."""
        end = End.of_file(self._own)
        part = self._limits.together_seconds / (2 * max(self._exercises, 1))
        waiting = max(self._exercises - len(self._begun), 0)
        left = time.monotonic() + self._left - waiting * part
        if end.at <= left:
            return end
        together = shown_seconds(self._together)
        return End(left, f"all files of the submission together may take {together}")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of what runs inside; what grader itself takes costs nobody anything."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self._left -= time.monotonic() - begun


def shown_seconds(number: float) -> str:
    """Return a time as a message tells it."""
    return f"{number:g} second{'' if number == 1 else 's'}"
