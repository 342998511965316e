"""What grading comes to: check results, diagnoses, scores; reports compute nothing more."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

FORMAT_VERSION = 1


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


class Kind(StrEnum):
    """The kinds of check."""

    SHAPE = "shape"
    NUMERIC = "numeric"
    GRADIENT = "gradient"
    PROPERTY = "property"
    BUG = "bug"


@dataclass(frozen=True)
class CheckResult:
    """One check of one target."""

    id: str  # "exercise3/MultiHeadSelfAttention/numeric"
    kind: Kind
    target: str
    status: Status
    score: float
    max_score: float
    message: str = ""  # one plain sentence, empty where passed
    next_step: str = ""  # what to do now
    expected: Mapping[str, Any] = field(default_factory=dict)
    actual: Mapping[str, Any] = field(default_factory=dict)
    case: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Diagnosis:
    """The mistake behind a target's failed checks, as far as it could be told."""

    target: str
    bugs: tuple[str, ...]  # identifiers; several where they cannot be told apart or act at once
    step: str  # the first step that went wrong, "" where none can be named
    hint: str
    evidence: str = ""

    @property
    def told(self) -> str:
        """The mistake and its hint in one line, "" where neither is known."""
        return f"{self.evidence}{f' Hint: {self.hint}' if self.hint else ''}".strip()


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
    output: str = ""  # the first of what the submission printed


@dataclass(frozen=True)
class Document:
    """What `--json` prints."""

    course: str
    engine: str
    key: str
    results: tuple[ExerciseResult, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data with stable field names."""
        return {
            "format_version": FORMAT_VERSION,
            "course": self.course,
            "engine": self.engine,
            "key": self.key,
            "results": [result_to_json(result) for result in self.results],
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
            }
            for d in result.diagnoses
        ],
        "notes": list(result.notes),
    }


def _check_to_json(check: CheckResult) -> dict[str, Any]:
    return {
        "id": check.id,
        "kind": check.kind.value,
        "target": check.target,
        "status": check.status.value,
        "score": check.score,
        "max_score": check.max_score,
        "message": check.message,
        "next_step": check.next_step,
        "expected": dict(check.expected),
        "actual": dict(check.actual),
        "case": dict(check.case),
    }
