"""The report that a student reads in a terminal."""

from collections.abc import Sequence

import click

from grader.records.results import (
    MOST_PRINTED,
    CheckGroup,
    CheckResult,
    Diagnosis,
    Document,
    ExerciseResult,
    Status,
)
from grader.records.text import ended
from grader.report.layout import spread, width_of, wrapped
from grader.report.words import (
    FOUND,
    MARKS,
    SHOWN,
    Paragraph,
    legend,
    number,
    paragraphs,
    shown_case,
    sole_reason,
)

_COLOURS = {
    Status.PASSED: "green",
    Status.FAILED: "red",
    Status.SKIPPED: "yellow",
    Status.TIMEOUT: "red",
    Status.ERROR: "magenta",
}
_PRINTED = 5  # lines of the submission's own output


def render_document(document: Document, *, width: int = 80, command: str = "grade ") -> str:
    """Return the whole report, with ANSI colours that click strips where there is no terminal.

    `command` is how a command begins where it is read.
    """
    parts = [render_result(result, width=width, command=command) for result in document.results]
    if len(document.results) > 1:
        sums = [
            heading(one.part, one.title, one.score, one.max_score, width) for one in document.parts
        ]
        sums.append(heading("together", "", document.score, document.max_score, width))
        parts.append("\n".join(line for lines in sums for line in lines))
    if signs := legend(document.results):
        parts.append("\n".join(wrapped(signs, width, first="  ", hang=2)))
    return "\n\n".join(parts) + "\n"


def render_result(result: ExerciseResult, *, width: int = 80, command: str = "grade ") -> str:
    """Return the report of one exercise."""
    lines = heading(result.exercise, result.title, result.score, result.max_score, width)
    if reason := sole_reason(result):
        lines += ["", *failure_lines(reason, width, named=False)]
    else:
        for paragraph in paragraphs(result, command):
            lines += ["", *paragraph_lines(paragraph, width)]
    lines += [*printed_lines(result, width), *note_lines(result, width)]
    if result.status is Status.PASSED:
        lines += ["", click.style(f"  All {len(result.checks)} checks pass.", fg="green")]
    return "\n".join(lines)


def heading(name: str, title: str, score: float, possible: float, width: int) -> list[str]:
    """Return an exercise's first line, or more where the terminal is narrow."""
    left = f"{name}  {title}" if title else name
    right = f"{number(score)} / {number(possible)} points"
    if width_of(left) + width_of(right) + 2 <= width:
        lines = [spread(left, right, width)]
    else:
        lines = [*wrapped(left, width), f"{right:>{width}}"]
    return [click.style(line, bold=True) for line in lines]


def paragraph_lines(paragraph: Paragraph, width: int) -> list[str]:
    """Return the paragraph of one target."""
    group, failures = paragraph.group, paragraph.failures
    points = f"{number(group.score)} / {number(group.max_score)}"
    lines = [spread(f"  {group.name}", points, width - 7)]
    lines += _summary_lines(group.kinds, width)
    for diagnosis in paragraph.diagnoses:
        lines += _diagnosis_lines(paragraph, diagnosis, width)
    for check in failures[:SHOWN]:
        lines += ["", *failure_lines(check, width)]
    if len(failures) > SHOWN:
        lines.append(f"      and {len(failures) - SHOWN} more; --json lists them all")
    return lines


def printed_lines(result: ExerciseResult, width: int) -> list[str]:
    """Return the beginning of what the code printed, warnings too."""
    if not result.output:
        return []
    lines = ["", click.style("  Printed by your code while it ran:", dim=True)]
    printed = result.output.splitlines()
    for one in printed[:_PRINTED]:
        # what a terminal wraps by itself would begin a line, as our own words do
        shown = wrapped(one, width, first="    ", hang=4)
        lines += [click.style(line, dim=True) for line in shown]
    if len(printed) > _PRINTED:
        more = f"and more: --json shows the first {MOST_PRINTED} lines"
        lines += wrapped(more, width, first="    ", hang=4)
    return lines


def note_lines(result: ExerciseResult, width: int) -> list[str]:
    """Return what a person should know that costs nothing."""
    return [
        line
        for note in result.all_notes
        for line in wrapped(ended(note), width, first="  Note: ", hang=8)
    ]


def _summary_lines(kinds: Sequence[CheckGroup], width: int) -> list[str]:
    """Set the kinds side by side, in as many lines as the width asks for."""
    lines = ["   "]
    for kind in kinds:
        points = f"{number(kind.score)}/{number(kind.max_score)}"
        summary = f"{_mark(kind.status)} {kind.name} {points}"
        if width_of(lines[-1]) + width_of(summary) + 3 > width:
            lines.append("   ")
        lines[-1] += f"{'   ' if lines[-1].strip() else ' '}{summary}"
    return lines


def failure_lines(check: CheckResult, width: int, *, named: bool = True) -> list[str]:
    """Return one failure: the sentence, its case, and the next step."""
    head = f"    {_mark(check.status)} "
    head += f"{click.style(check.id.shown, bold=True)}: " if named else ""
    lines = wrapped(ended(check.message), width, first=head, hang=width_of(head))
    if shown := shown_case(check):
        lines += _labelled("case", shown, width)
    if check.next_step:
        lines += _labelled("next", ended(check.next_step), width)
    return lines


def _diagnosis_lines(paragraph: Paragraph, diagnosis: Diagnosis, width: int) -> list[str]:
    lines = []
    for remark in diagnosis.remarks:
        lines += ["", *wrapped(remark.sentence, width, first=f"    {FOUND} ", hang=6)]
        for one in remark.listed:
            lines += wrapped(one, width, first="      - ", hang=8)
        if remark.hint:
            lines += _labelled("hint", remark.hint, width)
        if step := paragraph.step_of(remark):
            lines += _labelled("next", ended(step), width)
    return lines


def _mark(status: Status) -> str:
    return click.style(MARKS[status], fg=_COLOURS[status])


def _labelled(label: str, text: str, width: int) -> list[str]:
    first = f"      {click.style(label, dim=True)}  "
    return wrapped(text, width, first=first, hang=8 + len(label))
