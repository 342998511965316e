"""What a diagnosis leaves aside, and what it may name."""

from collections.abc import Callable, Collection, Set
from dataclasses import dataclass

from grader.records.ids import CheckId
from grader.records.signatures import Code

Names = tuple[str, ...]  # of bugs that act at once


def _any(names: Names) -> bool:  # noqa: ARG001 - as all that allow names
    return True


def _alike(names: Names) -> int:  # noqa: ARG001 - as all that rank names
    return 0


@dataclass(frozen=True)
class Aside:
    """What a diagnosis does not look at, for it is explained already, and what it may name."""

    checks: Set[CheckId] = frozenset()
    calls: Set[str] = frozenset()
    codes: Set[Code] = frozenset()
    # failed checks that deviations tell: a bug beside others that fails these alone gets no words
    said: Set[CheckId] = frozenset()
    allows: Callable[[Names], bool] = _any  # whether values may be put down to some bugs
    unheard: Set[str] = frozenset()  # options that make no difference
    # how likely bugs are that explain the same: the least counts
    rank: Callable[[Names], int] = _alike

    def likely(self, found: Collection[Names]) -> list[Names]:
        """Return those of some explanations that rank first."""
        least = min(map(self.rank, found), default=0)
        return [names for names in found if self.rank(names) == least]


NOTHING = Aside()
