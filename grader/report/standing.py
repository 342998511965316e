"""The table of `grade list` in a student's course."""

from collections.abc import Sequence

import click

from grader.report.layout import columns, wrapped
from grader.report.terminal import heading
from grader.report.words import number, part_lines
from grader.student.standing import ExerciseStanding, Standing

_BAR = 20  # columns


def render_standing(standing: Standing, *, command: str = "grade ", width: int = 80) -> str:
    """Return a line an exercise, the points together, and what to do next.

    `command` is how a command begins.
    """
    rows = standing.exercises
    lines = heading(standing.title, "", standing.score, standing.points, width)
    filled = int(_BAR * standing.score / standing.points) if standing.points else 0
    lines += [click.style("█" * filled, fg="green") + "░" * (_BAR - filled), ""]
    lines += part_lines(standing.parts)
    names = columns([(row.exercise, _points(row)) for row in rows], "<>")
    for row, name in zip(rows, names, strict=True):
        mark, colour = ("✓", "green") if row.passed else (" " if row.score is None else "✗", "red")
        text = f"{row.title}{_remark(row)}"
        lines += wrapped(text, width, first=f"{click.style(mark, fg=colour)} {name}  ", hang=4)
    return "\n".join([*lines, "", *_next_lines(rows, command, width)])


def _points(row: ExerciseStanding) -> str:
    return f"{'–' if row.score is None else number(row.score)} / {number(row.points)}"


def _remark(row: ExerciseStanding) -> str:
    if row.missing:
        return f" ({row.missing})"
    return " (saved since then)" if row.changed else ""


def _next_lines(rows: Sequence[ExerciseStanding], command: str, width: int) -> list[str]:
    changed = [row for row in rows if row.changed]
    open_ = [row for row in rows if not row.passed]
    if not open_ and not changed:
        return wrapped("All exercises are complete. Next: grade pack", width)
    row = (changed or open_)[0]
    if row.missing:
        return wrapped(f"Next: {row.remedy}", width)
    step = f"{command}check {row.exercise}"
    if row.score is not None and not row.changed:
        step = f"{command}hint {row.exercise}"
    return wrapped(f"Next: {step}", width)
