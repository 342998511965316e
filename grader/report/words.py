"""What every report says, whatever it is rendered to: which checks are shown, and in what words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.records.results import (
    CheckGroup,
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Facts,
    Kind,
    Place,
    Remark,
    Status,
)
from grader.records.subtotals import Subtotal
from grader.records.text import as_arguments, as_inputs
from grader.report.layout import columns

MARKS = {
    Status.PASSED: "✓",
    Status.FAILED: "✗",
    Status.SKIPPED: "–",
    Status.TIMEOUT: "⧖",
    Status.ERROR: "!",
}
FOUND = "▸"  # before what is known of a mistake
_SIGNS = {  # those that do not speak for themselves
    MARKS[Status.SKIPPED]: "cannot be judged in full before something else is right",
    MARKS[Status.TIMEOUT]: "out of time",
    MARKS[Status.ERROR]: "a fault of grader's own, which costs nothing",
    FOUND: "what is known of the mistake",
}
_ROW_OF_STEPS = "Step by step"
_STEPS = "In a row of steps ✓ is right and ✗ is wrong."
_DEVIATION = (
    "A deviation: something is not as asked for; it costs the points of what it changes, and no "
    "others."
)
_COMPARABLE = "can be compared"
_COMPARED = "An output can be compared where it came, and in the form that is due."
_PART = "Points beside ✗: earned by what is right of it."
_SHAPE = "shape: of what comes back, and of the layers that make it, their biases too."
_BUG = "bug: points for the known mistakes that your values rule out."
SHOWN = 4  # different failures of a target that are shown in full
_BAD = (Status.FAILED, Status.TIMEOUT, Status.ERROR)
_VALUES = 300  # characters of what was expected, and of what came
_QUOTED = re.compile("`[^`]*`")  # names, which differ from target to target


@dataclass(frozen=True)
class Paragraph:
    """What is said of one target."""

    group: CheckGroup
    diagnoses: tuple[Diagnosis, ...]
    failures: tuple[CheckResult, ...]  # different ones, each told once
    command: str = "grade "  # how a command begins

    @property
    def hides_shapes(self) -> bool:
        """Whether points for shapes are lost, and no line of theirs says by what."""
        lost = any(c.kind is Kind.SHAPE and c.status in _BAD for c in self.group.checks)
        return lost and not any(c.kind is Kind.SHAPE for c in self.failures[:SHOWN])

    def step_of(self, remark: Remark) -> str:
        """What to do about the deviations of a remark, where its hint does not say it."""
        # a mistake, whose hints come first
        beside = any(one.bugs or one.step or one.hint for one in self.diagnoses)
        if not remark.deviates or (remark.hint and not remark.listed):
            return ""
        if remark.listed:
            first = self.group.checks[0].id
            what = f"{self.command}hint {first.exercise} {first.target}"
            said = f"`{what}` says what to do about each of them"
            return "" if beside else said
        told = (check for check in self.group.checks if check.told and check.next_step)
        return next((c.next_step for c in told if c.kind is Kind.PROPERTY or not beside), "")


def paragraphs(result: ExerciseResult, command: str = "grade ") -> list[Paragraph]:
    """Return what is said of each target, in the order of the exercise.

    `command` is how a command begins where it is read.
    """
    told = _each_once(result.diagnoses)
    return [
        Paragraph(
            group,
            tuple(d for d in told if d.target == group.name),
            tuple(distinct_failures(group.checks)),
            command,
        )
        for group in result.targets
    ]


def legend(results: Sequence[ExerciseResult], *, marked: bool = True) -> str:
    """Return what the signs of a report mean that do not speak for themselves, "" for none.

    `marked` says whether a sign stands before what is known of a mistake.
    """
    shown: set[str] = set()
    lost: set[Kind] = set()
    parts = shapes = False
    for result in results:
        if reason := sole_reason(result):
            shown.add(MARKS[reason.status])
            continue
        for one in paragraphs(result):
            shown.update(MARKS[kind.status] for kind in one.group.kinds)
            parts |= any(kind.status in _BAD and kind.score for kind in one.group.kinds)
            lost.update(check.kind for check in one.group.checks if check.status in _BAD)
            shapes |= one.hides_shapes
            shown.update(MARKS[check.status] for check in one.failures[:SHOWN])
            shown.update([FOUND] if one.diagnoses and marked else [])
    said = "; ".join(f"{sign} {words}" for sign, words in _SIGNS.items() if sign in shown)
    told = [one for result in results for one in result.diagnoses]
    words = [_STEPS] if any(_ROW_OF_STEPS in one.evidence for one in told) else []
    words += [_DEVIATION] if any(one.deviations for one in told) else []
    words += [_COMPARED] if any(_COMPARABLE in one.evidence for one in told) else []
    words += [_PART] if parts else []
    words += [_SHAPE] if shapes else []
    words += [_BUG] if Kind.BUG in lost else []  # no line gives a reason for these points
    return " ".join([*([f"Signs: {said}."] if said else []), *words])


def part_lines(parts: Sequence[Subtotal]) -> list[str]:
    """Return a line for the points of each part, none where there is one part."""
    rows = [(p.part, f"{number(p.score)} / {number(p.max_score)}", p.title) for p in parts]
    return [*columns(rows, "<><"), ""] if rows else []


def _each_once(diagnoses: Sequence[Diagnosis]) -> list[Diagnosis]:
    """Diagnoses as they are told: a mistake that stood in an earlier target only once.

    Two may have one identifier and be two mistakes: then their hints differ.
    """
    earlier: dict[tuple[str, ...], Diagnosis] = {}
    told = []
    for diagnosis in diagnoses:
        same = (*diagnosis.bugs, diagnosis.hint) if diagnosis.bugs else (diagnosis.target,)
        first = earlier.setdefault(same, diagnosis)
        if first is not diagnosis:
            said = f"The same mistake as in `{first.target}`."
            known = {_QUOTED.sub("", one) for one in first.deviations}
            new = [one for one in diagnosis.deviations if _QUOTED.sub("", one) not in known]
            diagnosis = replace(diagnosis, evidence=said, hint="", deviations=tuple(new))
        told.append(diagnosis)
    return told


def distinct_failures(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """The failed checks, the first of each message; bug checks only repeat the others.

    Where the cases without an option fail, those with one say nothing new of the same, nor of what
    rests on it: values on shapes, and gradients on values.
    """
    told: dict[str, CheckResult] = {}
    cases = (Kind.SHAPE, Kind.NUMERIC, Kind.GRADIENT)
    plain = {c.kind for c in checks if c.kind in cases and not c.id.name and c.status in _BAD}
    for check in checks:
        before = cases[: cases.index(check.kind) + 1] if check.kind in cases else ()
        if check.id.name and not plain.isdisjoint(before):
            continue
        unsaid = check.kind is not Kind.NUMERIC and not check.next_step
        skipped = check.status is Status.SKIPPED and unsaid
        shown = check.status is not Status.PASSED and check.kind is not Kind.BUG
        if shown and not skipped and not check.told:
            told.setdefault(check.message, check)
    return _each_line_once(list(told.values()))


def _each_line_once(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Failed checks, of which only the first that ended at a line tells its error."""
    firsts: dict[Place, CheckResult] = {}
    told = []
    for check in checks:
        if check.place and firsts.setdefault(check.place, check) is not check:
            said = f"it ends at line {check.place.line}, too"
            check = replace(check, message=said, next_step="mend that first")
        told.append(check)
    return told


def sole_reason(result: ExerciseResult) -> CheckResult | None:
    """Return the one failure that all of an exercise comes down to, such as a file not there."""
    failed = [c for c in result.checks if c.status is not Status.SKIPPED and c.kind is not Kind.BUG]
    if len({(check.status, check.message) for check in failed}) != 1 or not failed[0].message:
        return None
    several = len({check.target for check in failed}) > 1
    return failed[0] if several or f"`{failed[0].target}`" not in failed[0].message else None


def shown_case(check: CheckResult) -> str:
    """Return a case in words: its name, sizes, options and, where they are small, inputs."""
    case = check.case
    if case is None:
        return ""
    return f"{case.name} ({as_arguments({**case.dims, **case.options})}){as_inputs(case.inputs)}"


def shown_sizes(check: CheckResult) -> str:
    """Return a case in fewer words: its name and sizes."""
    return f"{check.case.name} ({as_arguments(check.case.dims)})" if check.case else ""


def shown_values(facts: Facts) -> str:
    """Return what was expected, or what came, in one line: "shape [2, 4], dtype float64"."""
    return ", ".join(f"{name} {value}" for name, value in facts.to_json().items())[:_VALUES]


def number(value: float) -> str:
    """Return points without trailing zeros."""
    return f"{round(value, 2):g}"
