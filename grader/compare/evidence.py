"""What the checks of a target look at, and what a judgement comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.course.models import Course, Exercise, Target
from grader.execute.answers import Answer, Greeting
from grader.key.store import AnswerKey
from grader.plan.records import PUBLIC, Call, DrawnCase
from grader.records import Status
from grader.submission import Source


@dataclass(frozen=True)
class Forbidden:
    """A forbidden name found in a submission's source."""

    name: str
    label: str  # of the unit of source
    line: int


@dataclass(frozen=True)
class Evidence:
    """All that the checks of one target may look at."""

    course: Course
    exercise: Exercise
    target: Target
    key: AnswerKey
    source: Source
    answers: Mapping[str, Answer]  # by call, from a child whose default dtype is float64
    answers32: Mapping[str, Answer]  # the same in float32; empty where nothing asked for it
    greeting: Greeting | None
    forbidden: Sequence[Forbidden]
    judged: dict[tuple[str, str], "Outcome"] = field(default_factory=dict, init=False, repr=False)

    @property
    def hidden(self) -> bool:
        """Whether messages must keep inputs, expected values and differences to themselves."""
        return self.key.plan.split != PUBLIC

    def calls(self, prefix: str) -> list[Call]:
        """Return this target's calls whose name begins with `prefix`, in order."""
        start = f"{self.target.name}/{prefix}"
        return [c for c in self.key.plan.of_target(self.target.name) if c.id.startswith(start)]

    def numeric_calls(self, action: str) -> list[Call]:
        """Return the calls of the numeric cases, smallest first."""
        sizes = {c.id: _volume(c) for c in self.key.plan.numeric_cases(self.target.name)}
        calls = [
            c
            for c in self.key.plan.of_target(self.target.name)
            if c.case in sizes and c.id == f"{self.target.name}/{c.case}/{action}"
        ]
        return sorted(calls, key=lambda call: sizes[call.case])

    def case(self, call: Call) -> DrawnCase:
        """Return the case of a call."""
        return self.key.plan.cases[f"{call.target}/{call.case}"]


@dataclass(frozen=True)
class Outcome:
    """What one judgement came to."""

    status: Status
    message: str = ""  # plain, and free of inputs, values and differences
    detail: str = ""  # adds what only the public split may show
    next_step: str = ""
    expected: dict[str, Any] = field(default_factory=dict)
    actual: dict[str, Any] = field(default_factory=dict)
    case: DrawnCase | None = None
    precision: str = "float64"
    kind: str = ""  # "shape", "dtype", "finite", "values", or the answer's status

    @property
    def passed(self) -> bool:
        """Whether the answer is right, at some precision."""
        return self.status is Status.PASSED


PASSED = Outcome(Status.PASSED)
BY_HAND = "work the smallest case through by hand, line by line"  # where nothing better is known
COMPARE_SHAPES = (
    "print the shape after each line of your code and compare it with the lesson's table"
)
READ_LINE = "read the line, and print the shapes just before it"
NO_IDEA = (BY_HAND, COMPARE_SHAPES, READ_LINE)  # steps that give way to a better one
GRADIENT_STEP = (
    "look for .detach(), .data, no_grad, requires_grad=False or an operation that cuts the graph"
)


def clean(text: str, limit: int) -> str:
    """Return a submission's text without control and bidirectional characters, cut to `limit`."""
    kept = "".join(c if c.isprintable() or c == " " else " " for c in text)
    kept = " ".join(kept.split())
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def _volume(case: DrawnCase) -> int:
    volume = 1
    for size in case.dims.values():
        volume *= size
    return volume
