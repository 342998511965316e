"""What an audit finds, and what of it is a problem."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from grader.records.ids import CheckId, Kind

_LEAST_MARGIN = 100.0  # tolerances between the reference and the nearest bug
_LEAST_MARGIN32 = 10.0  # the same in float32
_MOST_DEVIATION = 0.1  # tolerances between the key and the farthest correct variant
_LEAST_PAIRS = 0.9  # share of the pairs that can be told apart from single bugs


@dataclass(frozen=True)
class BugTrial:
    """A known bug's variant, tried."""

    bug: str  # "target/id"
    variant: int
    title: str
    lost: float  # points
    failed: tuple[CheckId, ...]
    own: bool  # whether its own check failed
    named: tuple[str, ...]
    right: bool  # named, first and right
    alike: int  # bugs that look the same; too many are not named

    @property
    def told(self) -> bool:
        """Whether it is named, or is one of so many alike that none is."""
        return self.right or (not self.named and self.alike > 3)


class PairReport(StrEnum):
    """How two bugs at once are reported."""

    NAMED = "named"  # by both names
    AMBIGUOUS = "ambiguous"  # as one of too many
    MASKED = "masked"  # by the one that hides the other: together they are that one
    ANOTHER = "another"  # by another bug's name: together they are that


@dataclass(frozen=True)
class PairTrial:
    """Pairs of known bugs, tried."""

    reports: Counter[PairReport]
    step: int  # 1 where all were tried, n where about one of n was


_BUG_THAT_WOULD = {
    Kind.SHAPE: "a bug that gives its output another shape would",
    Kind.NUMERIC: "a bug that gives other values of the same shape would",
    Kind.GRADIENT: "a bug that keeps all values and not the gradients would, as .detach() does",
    Kind.BUG: "its own bug would, on a case that shows it",
}


@dataclass(frozen=True)
class Survivor:
    """A mutant that no check tells from the reference, and nobody has explained."""

    id: str
    exercise: str
    line: int  # of the solution's file
    before: str  # as `equivalent.yml` has it
    after: str


@dataclass(frozen=True)
class MutantTrial:
    """The mutants of one exercise: total = killed + equivalent + survivors."""

    total: int
    killed: int
    equivalent: int
    survivors: tuple[Survivor, ...]

    @property
    def unlike(self) -> int:
        """How many differ from the reference, and so should be killed."""
        return self.total - self.equivalent


@dataclass(frozen=True)
class Deviation:
    """The greatest distance between a submission's answers and the key."""

    most: float  # in tolerances
    precision: str  # of the tolerance: "float64" or "float32"
    where: str  # call and tensor, "" where there is no distance


@dataclass(frozen=True)
class VariantTrial:
    """A correct variant, graded."""

    name: str
    lost: tuple[CheckId, ...]  # beyond those that it may lose
    deviation: Deviation


@dataclass(frozen=True)
class ExerciseAudit:
    """What one exercise's audit came to."""

    exercise: str
    stub_score: float
    reference_score: float
    max_score: float
    checks: tuple[CheckId, ...]
    bugs: tuple[BugTrial, ...]
    pairs: PairTrial
    margin: float  # least distance of a bug that values show, in float64 tolerances
    margin32: float
    variants: tuple[VariantTrial, ...]
    mutants: MutantTrial
    complaints: tuple[str, ...] = field(default=())  # about lesson, hints and points
    rules: Mapping[CheckId, str] = field(default_factory=dict)  # what each property asks for

    @property
    def caught(self) -> int:
        """How many bugs' variants cost points and fail their own check."""
        return sum(bool(bug.lost) and bug.own for bug in self.bugs)

    @property
    def right(self) -> int:
        """How many are named rightly."""
        return sum(bug.right for bug in self.bugs)

    @property
    def nameable(self) -> int:
        """How many are named rightly or should be: those with too many alike are not."""
        return sum(bug.right or not bug.told for bug in self.bugs)

    @property
    def idle(self) -> tuple[CheckId, ...]:
        """Checks that no bug fails."""
        failed = {check for bug in self.bugs for check in bug.failed}
        return tuple(check for check in self.checks if check not in failed)

    def _would_fail(self, check: CheckId) -> str:
        """Say which bug would fail a check."""
        if check.kind is Kind.PROPERTY:
            return f"a bug that breaks this rule would, {self.rules.get(check, check.name)!r}"
        return _BUG_THAT_WOULD[check.kind]

    @property
    def pairs_named(self) -> float:
        """Share of the pairs named, of those that look like no single bug."""
        return _share_named([self.pairs])

    @property
    def deviation(self) -> float:
        """Greatest distance of a correct variant from the key, in tolerances."""
        return max((variant.deviation.most for variant in self.variants), default=0.0)

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for everything that is not as it must be."""
        lines = [*self.complaints]
        if self.stub_score:
            lines.append(f"the stub scores {self.stub_score:g}, not 0")
        if self.reference_score != self.max_score:
            lines.append(f"the reference scores {self.reference_score:g} of {self.max_score:g}")
        lines += [f"{b.bug}: costs no points" for b in self.bugs if not b.lost]
        lines += [f"{b.bug}: passes its own check" for b in self.bugs if not b.own]
        lines += [
            f"{b.bug}: is named {', '.join(b.named) or 'nothing'}" for b in self.bugs if not b.told
        ]
        lines += [
            f"no bug fails the check {check}: {self._would_fail(check)}" for check in self.idle
        ]
        lines += [
            f"the variant {v.name} loses {', '.join(map(str, v.lost))}"
            for v in self.variants
            if v.lost
        ]
        if self.margin < _LEAST_MARGIN or self.margin32 < _LEAST_MARGIN32:
            lines.append(
                f"the nearest bug is {self.margin:.3g} ({self.margin32:.3g}) tolerances away"
            )
        if self.deviation > _MOST_DEVIATION:
            lines.append(f"a correct variant deviates by {self.deviation:.3g} tolerances")
        lines += [f"the mutant {one.id} survives" for one in self.mutants.survivors]
        return tuple(f"{self.exercise}: {line}" for line in lines)


@dataclass(frozen=True)
class Audit:
    """The audit of a course."""

    course: str
    exercises: tuple[ExerciseAudit, ...]
    points: float

    @property
    def pairs_named(self) -> float:
        """Share of pairs named over the course."""
        return _share_named([exercise.pairs for exercise in self.exercises])

    @property
    def pair_step(self) -> int:
        """The widest step that was taken through an exercise's pairs; 1 where all were tried."""
        return max((exercise.pairs.step for exercise in self.exercises), default=1)

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems; none where the course passes."""
        lines = [line for exercise in self.exercises for line in exercise.problems]
        if self.pairs_named < _LEAST_PAIRS:
            lines.append(f"only {self.pairs_named:.0%} of the pairs of bugs are named")
        return tuple(lines)


def _share_named(trials: Sequence[PairTrial]) -> float:
    named = sum(trial.reports[PairReport.NAMED] for trial in trials)
    told = named + sum(trial.reports[PairReport.AMBIGUOUS] for trial in trials)
    return named / told if told else 1.0
