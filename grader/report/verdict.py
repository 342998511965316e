"""A test cell's verdict as text and as HTML."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from grader.grading.exhibits import Exhibit
from grader.records.results import CellScore, CheckResult, ExerciseResult, Kind, Status
from grader.records.text import ended
from grader.report.layout import wrapped
from grader.report.pages import render
from grader.report.terminal import render_result
from grader.report.words import Paragraph, distinct_failures

TITLES = {
    Kind.SHAPE: "shapes and types",
    Kind.NUMERIC: "values",
    Kind.GRADIENT: "gradients",
    Kind.PROPERTY: "properties",
    Kind.BUG: "known mistakes",
}
_COLOURS = {
    Status.PASSED: "#1a7f37",
    Status.FAILED: "#cf222e",
    Status.SKIPPED: "#9a6700",
    Status.TIMEOUT: "#cf222e",
    Status.ERROR: "#8250df",
}
_WIDTH = 82  # columns of the text: nbgrader's validator indents it and cuts at 87
_SHOWN = 4  # different failures of a target
_BAR = 100  # pixels of the bar for all points


@dataclass(frozen=True)
class Verdict:
    """What a test cell shows and what it is worth."""

    points: float  # 0 to max_points
    max_points: float
    text: str
    html: str
    status: Status = Status.FAILED


def render_verdict(
    result: ExerciseResult,
    score: CellScore,
    *,
    exhibits: Sequence[Exhibit] = (),
    notes: Sequence[str] = (),
) -> Verdict:
    """Return the verdict of one test cell of a graded exercise."""
    part = _only(result, score, notes)
    text = click.unstyle(render_result(part, width=_WIDTH)) + _unsaid(part)
    page = render(
        "verdict.html.j2",
        part=part,
        bar=round(_BAR * part.score / part.max_score) if part.max_score > 0 else 0,
        failed=_failed(part),
        most=_SHOWN,
        exhibits=exhibits,
        colours=_COLOURS,
    )
    return Verdict(score.score, score.max_score, text, page, score.status)


def render_trouble(message: str, max_points: float = 0.0) -> Verdict:
    """Return the verdict where nothing could be graded, with the reason."""
    text = ended(f"This cell could not be graded: {message}")
    return Verdict(0.0, max_points, text, render("trouble.html.j2", text=text), Status.ERROR)


def _only(result: ExerciseResult, score: CellScore, notes: Sequence[str]) -> ExerciseResult:
    """The part of a result that one test cell tells: its kind, and diagnoses of what failed."""
    failed = {c.target for c in score.checks if c.status is not Status.PASSED}
    first = next((c.kind for c in result.checks if c.status is not Status.PASSED), None)
    return replace(
        result,
        title=TITLES[score.kind],
        status=score.status,
        score=score.score,
        max_score=score.max_score,
        checks=score.checks,
        diagnoses=tuple(d for d in result.diagnoses if d.target in failed),
        notes=(*result.notes, *notes) if score.kind in (first, Kind.SHAPE) else (),
        beside=result.beside if score.kind in (first, Kind.SHAPE) else {},
        output=result.output if score.kind is first else "",
    )


def _unsaid(part: ExerciseResult) -> str:
    """What the report leaves to the checks of other kinds, where a cell of known bugs is alone."""
    failed = [c for c in part.checks if c.kind is Kind.BUG and c.status is not Status.PASSED]
    if part.diagnoses or not failed or distinct_failures(part.checks):
        return ""
    lines = ["", "", *wrapped(ended(failed[0].message), _WIDTH, first="    ✗ ", hang=6)]
    if failed[0].next_step:
        lines += wrapped(ended(failed[0].next_step), _WIDTH, first="      next  ", hang=12)
    return "\n".join(lines)


def _failed(part: ExerciseResult) -> list[Paragraph]:
    """What the page says of each target that is not right, known bugs and all."""
    return [
        Paragraph(
            group,
            tuple(d for d in part.diagnoses if d.target == group.name),
            _each_message_once(group.checks),
        )
        for group in part.targets
        if group.status is not Status.PASSED
    ]


def _each_message_once(checks: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """The first check of each message, in the order in which messages are last told."""
    failed = [check for check in checks if check.status is not Status.PASSED]
    told = {check.message: check for check in reversed(failed)}
    return tuple(reversed(told.values()))
