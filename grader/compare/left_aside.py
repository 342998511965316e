"""What a diagnosis leaves aside, and what it may name."""

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass

from grader.records.ids import CheckId
from grader.records.signatures import Code

Names = tuple[str, ...]  # of bugs that act at once
_ROUNDING = 1e-12  # distances of projections that rounding in float64 explains
_FARTHER = 100.0  # times as far as the best: not as good an explanation


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


def nearest(found: Mapping[Names, float]) -> dict[Names, float]:
    """Those that fit as well as the best does, and are no more than another that does.

    One that is far worse is not what was written; of a mistake, and the same beside a second, the
    second explains nothing.
    """
    room = max(_FARTHER * min(found.values()), _ROUNDING)
    near = {names: distance for names, distance in found.items() if distance <= room}
    sets = [set(names) for names in near]
    return {n: d for n, d in near.items() if not any(one < set(n) for one in sets)}
