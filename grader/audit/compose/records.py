"""What judging compositions comes to, and what of it is a problem."""

from collections.abc import Iterable
from dataclasses import dataclass

from grader.audit.compose.material import Composition
from grader.audit.compose.verdict import Naming, Verdict

_ENOUGH = 100  # targets from which on a rate is more than chance
_ALONE = {1: 0.97, 2: 0.92, 3: 0.9}  # of one bug named, two both named, at least one of three
_BESIDE = 0.9  # of one bug named beside deviations


@dataclass(frozen=True)
class Judged:
    """One composition, graded and judged."""

    exercise: str
    made: Composition
    text: str
    verdict: Verdict


@dataclass(frozen=True)
class Found:
    """A kind of fault in the reports on one target, with the smallest composition that has it."""

    exercise: str
    target: str
    kind: str
    count: int  # compositions with it
    smallest: Judged

    @property
    def words(self) -> str:
        """What the report on the smallest composition says or does."""
        kind = (self.kind, self.target)
        faults = [f for f in self.smallest.verdict.faults if (f.kind, f.target) == kind]
        return faults[0].words if faults else "another time it says so, and now it does not"


@dataclass(frozen=True)
class Rate:
    """How often planted bugs that act together in one target are named."""

    bugs: int
    beside: bool  # there are deviations, too
    named: int  # of one or two: both; of three: at least one
    count: int

    @property
    def share(self) -> float:
        """From 0 to 1; 1 where there is nothing to name."""
        return self.named / self.count if self.count else 1.0

    @property
    def due(self) -> float:
        """The least share, 0 where none is asked for."""
        if self.beside:
            return _BESIDE if self.bugs == 1 else 0.0
        return _ALONE[self.bugs]

    @property
    def label(self) -> str:
        """Such as `two bugs beside deviations: both named`."""
        what = {1: "one bug", 2: "two bugs", 3: "three bugs"}[self.bugs]
        how = {1: "named", 2: "both named", 3: "one or more named"}[self.bugs]
        return f"{what}{' beside deviations' if self.beside else ''}: {how}"


@dataclass(frozen=True)
class Compositions:
    """All compositions of one seed."""

    seed: int
    count: int
    false: int  # reports with at least one fault
    found: tuple[Found, ...]
    rates: tuple[Rate, ...]
    kept: float  # mean share of the points of a target where no bug acts, but a deviation
    missed: tuple[tuple[str, int], ...]  # single bugs that were not named, the most frequent first

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for everything that is not as it must be."""
        lines = [f"{f.exercise}/{f.target}: {f.kind} ({f.count}): {f.words}" for f in self.found]
        lines += [
            f"{rate.label} in {rate.share:.0%} only"
            for rate in self.rates
            if rate.count >= _ENOUGH and rate.share < rate.due
        ]
        return tuple(lines)


def rates_of(namings: Iterable[Naming]) -> tuple[Rate, ...]:
    """Return how often bugs are named, by how many act and what is beside them."""
    known = list(namings)
    rates = []
    for bugs in _ALONE:
        for beside in (False, True):
            own = [n for n in known if len(n.acting) == bugs and bool(n.beside) is beside]
            named = sum(bool(n.named) if bugs > 2 else n.acting <= n.named for n in own)
            rates.append(Rate(bugs, beside, named, len(own)))
    return tuple(rates)
