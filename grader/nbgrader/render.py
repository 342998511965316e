"""A test cell's verdict as text and as HTML; everything that is not ours is escaped."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from grader.exhibits import Exhibit
from grader.nbgrader.cells import CellScore, TestCell
from grader.records import CheckResult, Diagnosis, ExerciseResult, Kind, Status
from grader.report.html import render_exhibits
from grader.report.terminal import MARKS, distinct_failures, number, render_result, wrapped

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
_SHOWN = 4  # different failures of a cell


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
    test: TestCell,
    score: CellScore,
    *,
    exhibits: Sequence[Exhibit] = (),
    notes: Sequence[str] = (),
) -> Verdict:
    """Return the verdict of one test cell of a graded exercise."""
    part = _only(result, score, notes)
    text = click.unstyle(render_result(part, width=_WIDTH)) + _unsaid(part)
    body = [_head(part, test), *_targets(part), render_exhibits(exhibits)]
    if part.output:
        body.append(f"<div>Your code printed:</div><pre>{_safe(part.output)}</pre>")
    body += [f"<div>Note: {_safe(note)}.</div>" for note in part.notes]
    page = f'<div style="line-height:1.5;max-width:60em">{"".join(body)}</div>'
    return Verdict(score.score, score.max_score, text, page, score.status)


def render_trouble(message: str, max_points: float = 0.0) -> Verdict:
    """Return the verdict where nothing could be graded, with the reason."""
    text = f"This cell could not be graded: {message}."
    return Verdict(0.0, max_points, text, f"<div>{_safe(text)}</div>", Status.ERROR)


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
        output=result.output if score.kind is first else "",
    )


def _unsaid(part: ExerciseResult) -> str:
    """What the report leaves to the checks of other kinds, where a cell of known bugs is alone."""
    failed = [c for c in part.checks if c.kind is Kind.BUG and c.status is not Status.PASSED]
    if part.diagnoses or not failed or distinct_failures(part.checks):
        return ""
    said = f"{failed[0].message.rstrip('.')}."
    lines = ["", "", *wrapped(said, _WIDTH, first="    ✗ ", hang=6)]
    if failed[0].next_step:
        lines += wrapped(f"{failed[0].next_step}.", _WIDTH, first="      next  ", hang=12)
    return "\n".join(lines)


def _head(part: ExerciseResult, test: TestCell) -> str:
    mark, colour = MARKS[part.status][0], _COLOURS[part.status]
    name = _safe(f"{part.exercise}: {TITLES[test.kind]}")
    points = f"{number(part.score)} / {number(part.max_score)} points"
    bar = _bar(part.score, part.max_score, colour)
    return f'<div><b><span style="color:{colour}">{mark}</span> {name}</b> {bar} {points}</div>'


def _bar(score: float, possible: float, colour: str) -> str:
    """A bar as long as the share of the points."""
    width = round(100 * score / possible) if possible > 0 else 0
    return (
        '<svg width="102" height="10" role="img">'
        f"<title>{number(score)} of {number(possible)} points</title>"
        '<rect x="0.5" y="0.5" width="101" height="9" fill="none" stroke="#888"/>'
        f'<rect x="1" y="1" width="{width}" height="8" fill="{colour}"/></svg>'
    )


def _targets(part: ExerciseResult) -> list[str]:
    shown = []
    for target in dict.fromkeys(check.target for check in part.checks):
        failed = [c for c in part.checks if c.target == target and c.status is not Status.PASSED]
        if not failed:
            continue
        shown.append(f'<div style="margin-top:.5em"><code>{_safe(target)}</code></div>')
        shown += [_diagnosis(d) for d in part.diagnoses if d.target == target]
        messages = {check.message: check for check in reversed(failed)}  # the first of each
        shown += [_check(c) for c in list(messages.values())[::-1][:_SHOWN]]
        if len(messages) > _SHOWN:
            shown.append(f"<div>and {len(messages) - _SHOWN} more</div>")
    return shown


def _diagnosis(diagnosis: Diagnosis) -> str:
    hint = f"<div><i>Hint:</i> {_safe(diagnosis.hint)}</div>" if diagnosis.hint else ""
    return (
        '<div style="border-left:3px solid #9a6700;padding-left:.6em">'
        f"<b>{_safe(diagnosis.evidence)}</b>{hint}</div>"
    )


def _check(check: CheckResult) -> str:
    mark, colour = MARKS[check.status][0], _COLOURS[check.status]
    lines = [f'<span style="color:{colour}">{mark}</span> {_safe(check.message.rstrip("."))}.']
    for label, values in (("expected", check.expected), ("actual", check.actual)):
        if values:
            said = ", ".join(f"{key} {value}" for key, value in values.items())
            lines.append(f"<i>{label}:</i> <code>{_safe(said[:300])}</code>")
    if check.case:
        dims = ", ".join(f"{name}={size}" for name, size in check.case.get("dims", {}).items())
        lines.append(f"<i>case:</i> {_safe(check.case['name'])} ({_safe(dims)})")
    if check.next_step:
        lines.append(f"<i>next:</i> {_safe(check.next_step)}.")
    return f'<div style="padding-left:1em">{"<br>".join(lines)}</div>'


def _safe(text: object) -> str:
    return html.escape(str(text), quote=True)
