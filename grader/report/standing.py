"""The table of `grade list` in a student's course."""

from collections.abc import Sequence
from dataclasses import dataclass

import click

from grader.report.terminal import heading, number, wrapped

_BAR = 20  # columns


@dataclass(frozen=True)
class Row:
    """How far one exercise is."""

    exercise: str
    title: str
    score: float | None  # None where it was never checked
    points: float
    passed: bool
    changed: bool  # saved since it was checked
    missing: str = ""  # why its file cannot be graded
    remedy: str = ""  # what to do about that


def render_standing(title: str, rows: Sequence[Row], *, width: int = 80) -> str:
    """Return a line an exercise, the points together, and what to do next."""
    earned, possible = sum(row.score or 0.0 for row in rows), sum(row.points for row in rows)
    lines = heading(title, "", earned, possible, width)
    filled = int(_BAR * earned / possible) if possible else 0
    lines += [click.style("█" * filled, fg="green") + "░" * (_BAR - filled), ""]
    name = max(len(row.exercise) for row in rows)
    scores = [f"{'–' if r.score is None else number(r.score)} / {number(r.points)}" for r in rows]
    wide = max(len(score) for score in scores)
    for row, score in zip(rows, scores, strict=True):
        mark, colour = ("✓", "green") if row.passed else (" " if row.score is None else "✗", "red")
        text = f"{row.title}{_remark(row)}"
        first = f"{click.style(mark, fg=colour)} {row.exercise:<{name}}  {score:>{wide}}  "
        lines += wrapped(text, width, first=first, hang=4)
    return "\n".join([*lines, "", *_next_lines(rows, width)])


def _remark(row: Row) -> str:
    if row.missing:
        return f" ({row.missing})"
    return " (saved since then)" if row.changed else ""


def _next_lines(rows: Sequence[Row], width: int) -> list[str]:
    changed = [row for row in rows if row.changed]
    open_ = [row for row in rows if not row.passed]
    if not open_ and not changed:
        return wrapped("All exercises are complete. Next: grade pack", width)
    row = (changed or open_)[0]
    if row.missing:
        return wrapped(f"Next: {row.remedy}", width)
    step = f"grade check {row.exercise}"
    if row.score is not None and not row.changed:
        step = f"grade hint {row.exercise}"
    return wrapped(f"Next: {step}", width)
