"""What grading comes to: check results, diagnoses, scores; reports compute nothing more."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from grader.records.ids import CheckId
from grader.records.ids import Kind as Kind
from grader.records.subtotals import Subtotal
from grader.worker.protocol import Scalar

FORMAT_VERSION = 2
# the evidence where nothing but deviations is wrong: of all values, of all but those that another
# default makes, of those without an option, or of those of cases that are no edge
RIGHT_VALUES = "Right values."
RIGHT_GIVEN = "Right values where every option is given."
RIGHT_PLAIN = "Right values where no option is given."
RIGHT_USUAL = "Right values in the usual cases."
RIGHT_BARE = "Right values where the missing bias is zero."
RIGHT_BESIDE = "Right values but for the deviations."  # several of which change some
_RIGHT = (RIGHT_VALUES, RIGHT_BARE, RIGHT_BESIDE, RIGHT_GIVEN, RIGHT_PLAIN, RIGHT_USUAL)
MOST_PRINTED = 40  # lines of what a submission prints
_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six")


class Status(StrEnum):
    """A check's verdict."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"  # for want of something else; earns nothing, its points stay possible
    TIMEOUT = "timeout"
    ERROR = "error"  # the grader's own fault; outranks the rest

    @staticmethod
    def worst(statuses: "Iterable[Status]") -> "Status":
        """Return the status that a whole takes from its parts."""
        return max(statuses, key=_RANK.index, default=Status.PASSED)


_RANK = [Status.PASSED, Status.SKIPPED, Status.FAILED, Status.TIMEOUT, Status.ERROR]


class State(StrEnum):
    """What is known of a step in a submission's run."""

    RIGHT = "right"  # a tensor with its values was made, after those of the steps before it
    WRONG = "wrong"  # the first that was not
    NOT_REACHED = "not reached"  # the run ended before it
    OPEN = "open"  # nothing is claimed: it is done in another way, or follows from what is wrong


@dataclass(frozen=True)
class Sized:
    """A parameter and its shape."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Facts:
    """What can be said of a tensor or of a module, as expected or as it came; None is unsaid."""

    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    finite: bool | None = None
    count: int | None = None  # of numbers that are not finite
    value: float | None = None  # at `index`
    largest_difference: float | None = None
    index: tuple[int, ...] | None = None  # of the largest difference, or of what is not finite
    parameters: int | tuple[Sized, ...] | None = None  # how many numbers, or which tensors

    def to_json(self) -> dict[str, object]:
        """Return what is said, as plain data."""
        said: dict[str, object] = {k: v for k, v in vars(self).items() if v is not None}
        for name in ("shape", "index"):
            if name in said:
                said[name] = list(getattr(self, name))
        if isinstance(self.parameters, tuple):
            said["parameters"] = [[one.name, list(one.shape)] for one in self.parameters]
        return said


@dataclass(frozen=True)
class ShownCase:
    """A case as a student may see it."""

    name: str
    dims: Mapping[str, int]
    constructor: Mapping[str, Scalar]
    options: Mapping[str, Scalar]
    inputs: Mapping[str, object] | None = None  # nested lists of numbers, where they are few

    def to_json(self) -> dict[str, object]:
        """Return plain data with stable field names."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Place:
    """A line of a submission's."""

    label: str  # of the file or cell
    line: int
    # in the file that is graded, outside of what failed; a line is the same whoever calls it
    caller: "Place | None" = field(default=None, compare=False)
    inside: str = field(default="", compare=False)  # another target, of which it is a line


@dataclass(frozen=True)
class CheckResult:
    """One check of one target."""

    id: CheckId
    status: Status
    score: float
    max_score: float
    message: str = ""  # one plain sentence, empty where passed
    next_step: str = ""  # what to do now
    expected: Facts = Facts()
    actual: Facts = Facts()
    case: ShownCase | None = None
    place: Place | None = None  # where the submission raised what the message tells
    unwritten: bool = False  # for want of code that is not written yet
    waits: bool = False  # for a training that nobody asked for
    trap: str = ""  # how the lesson's passage on it begins
    told: bool = False  # a deviation that the diagnosis tells is all that it says

    @property
    def kind(self) -> Kind:
        """What kind of check it is."""
        return self.id.kind

    @property
    def target(self) -> str:
        """The name of the target that is checked."""
        return self.id.target

    @property
    def failed(self) -> bool:
        """Whether the submission's answer was wrong, or came too late."""
        return self.status in (Status.FAILED, Status.TIMEOUT)


@dataclass(frozen=True)
class CheckGroup:
    """Some checks of an exercise, and what they come to together."""

    name: str  # the target that they are of, or their kind
    checks: tuple[CheckResult, ...]

    @property
    def score(self) -> float:
        """The points of all of them."""
        return sum(check.score for check in self.checks)

    @property
    def max_score(self) -> float:
        """The points that all of them could give."""
        return sum(check.max_score for check in self.checks)

    @property
    def status(self) -> Status:
        """The worst status."""
        return Status.worst(check.status for check in self.checks)

    @property
    def kinds(self) -> "tuple[CheckGroup, ...]":
        """The same checks by kind."""
        return _grouped(self.checks, lambda check: check.kind)


def _grouped(
    checks: Iterable[CheckResult], name: Callable[[CheckResult], str]
) -> tuple[CheckGroup, ...]:
    """Checks by a name of theirs, in the order in which the names come up."""
    groups: dict[str, list[CheckResult]] = {}
    for check in checks:
        groups.setdefault(name(check), []).append(check)
    return tuple(CheckGroup(str(name), tuple(own)) for name, own in groups.items())


@dataclass(frozen=True)
class CellScore:
    """What one kind of check came to, in the points of a notebook's test cell."""

    kind: Kind
    score: float  # 0 to max_score
    max_score: float
    status: Status
    checks: tuple[CheckResult, ...]


@dataclass(frozen=True)
class Remark:
    """One thing that is told of a target's mistakes."""

    sentence: str
    listed: tuple[str, ...] = ()  # what the sentence announces
    hint: str = ""
    deviates: bool = False  # it tells of deviations


@dataclass(frozen=True)
class Diagnosis:
    """The mistake behind a target's failed checks, as far as it could be told."""

    target: str
    bugs: tuple[str, ...]  # identifiers; several where they cannot be told apart or act at once
    step: str  # the first step that went wrong, "" where none can be named
    hint: str
    evidence: str = ""
    deviations: tuple[str, ...] = ()  # other ways in which it is not as asked for, one by one
    ways: tuple[str, ...] = ()  # the bugs as the key names them, each with its variant
    either: tuple[str, ...] = ()  # those of which it is one, where that is not known
    where: str = ""  # the cases by name that it is about, "" for all that are wrong
    whole: bool = True  # it explains all that is wrong, but for the deviations

    @property
    def sentence(self) -> str:
        """What is known, and the deviations beside it."""
        if not self.deviations:
            return self.evidence
        listed = "; and ".join(filter(None, ("; ".join(self.deviations[:-1]), self.deviations[-1])))
        return f"{self.evidence} {self._announced} {listed}.".strip()

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """The same for a page: a mistake that is named first, several deviations one by one."""
        if not self.deviations:
            return (Remark(self.evidence, hint=self.hint),)
        listed = self.deviations if len(self.deviations) > 1 else ()
        said = self._announced if listed else f"{self._announced} {self.deviations[0]}."
        if self.evidence in ("", *_RIGHT):  # then the hint is about the deviations
            return (Remark(f"{self.evidence} {said}".strip(), listed, self.hint, deviates=True),)
        return Remark(self.evidence, hint=self.hint), Remark(said, listed, deviates=True)

    @property
    def _announced(self) -> str:
        """How many deviations there are, where they are all: "Two deviations:"."""
        count = len(self.deviations)
        if self.evidence not in _RIGHT:
            return "Deviations:" if count > 1 else "A deviation:"
        number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
        return f"{number} deviation{'s' if count > 1 else ''}:"

    @property
    def told(self) -> str:
        """The mistake and its hint in one line, "" where neither is known."""
        return f"{self.sentence}{f' Hint: {self.hint}' if self.hint else ''}".strip()


@dataclass(frozen=True)
class ExerciseResult:
    """All checks of one exercise on one submission."""

    exercise: str
    title: str
    status: Status
    score: float
    max_score: float
    checks: tuple[CheckResult, ...]
    diagnoses: tuple[Diagnosis, ...] = ()
    notes: tuple[str, ...] = ()  # what a person should know that costs nothing
    output: str = ""  # the first MOST_PRINTED lines that the submission printed
    # by target, the parts of its file that are wrong: it was judged with right ones in their place
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes, and what targets were judged with, which no person need look at."""
        return (*self.notes, *map(self.judged_with, self.beside))

    def judged_with(self, target: str) -> str:
        """Say which right parts a target was judged with, "" where there are none."""
        parts = self.beside.get(target, ())
        names, several = " and ".join(f"`{name}`" for name in parts), len(parts) > 1
        right, yours = ("right", "yours, which are") if several else ("a right", "yours, which is")
        told = f"`{target}`: judged with {right} {names} in place of {yours} not right yet"
        return told if parts else ""

    @property
    def targets(self) -> tuple[CheckGroup, ...]:
        """The checks by target."""
        return _grouped(self.checks, lambda check: check.target)


@dataclass(frozen=True)
class Document:
    """What `--json` prints."""

    course: str
    engine: str
    key: str
    results: tuple[ExerciseResult, ...]
    parts: tuple[Subtotal, ...] = ()  # where the results are of more than one

    @property
    def score(self) -> float:
        """The points of all exercises."""
        return sum(result.score for result in self.results)

    @property
    def max_score(self) -> float:
        """The points that all exercises could give."""
        return sum(result.max_score for result in self.results)

    def to_json(self) -> dict[str, Any]:
        """Return plain data with stable field names."""
        return {
            "format_version": FORMAT_VERSION,
            "course": self.course,
            "engine": self.engine,
            "key": self.key,
            "results": [result_to_json(result) for result in self.results],
            **({"parts": [asdict(part) for part in self.parts]} if self.parts else {}),
        }


def result_to_json(result: ExerciseResult) -> dict[str, Any]:
    """Return plain data with stable field names."""
    return {
        "exercise": result.exercise,
        "status": result.status.value,
        "score": result.score,
        "max_score": result.max_score,
        "checks": [_check_to_json(check) for check in result.checks],
        "diagnoses": [
            {
                "target": d.target,
                "bugs": list(d.bugs),
                "step": d.step,
                "hint": d.hint,
                "evidence": d.evidence,
                "deviations": list(d.deviations),
            }
            for d in result.diagnoses
        ],
        "notes": list(result.notes),
        "beside_right_parts": {name: list(parts) for name, parts in result.beside.items()},
    }


def _check_to_json(check: CheckResult) -> dict[str, Any]:
    return {
        "id": str(check.id),
        "kind": check.kind.value,
        "target": check.target,
        "status": check.status.value,
        "score": check.score,
        "max_score": check.max_score,
        "told": check.told,
        "message": check.message,
        "next_step": check.next_step,
        "expected": check.expected.to_json(),
        "actual": check.actual.to_json(),
        "case": check.case.to_json() if check.case else {},
    }
