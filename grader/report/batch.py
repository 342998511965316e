"""The table at the end of a batch, and its plain data."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from grader.batch.summary import Summary
from grader.compare.outcomes import clean

_REMARKS = 20  # lines that are shown


def render_summary(summary: Summary, *, width: int) -> str:
    """Return scores by exercise, the most frequent bugs, and what needs a person's eye."""
    lines = [f"{summary.course}: {summary.students} students", ""]
    header = ("exercise", "points", "graded", "mean", "median", "full", "none")
    rows = [
        (e.exercise, f"{e.possible:g}", str(e.graded), f"{e.mean:.1f}", f"{e.median:.1f}")
        + (str(e.full), str(e.none))
        for e in summary.exercises
    ]
    lines += _table([header, *rows])
    if summary.bugs:
        lines += ["", "Most frequent mistakes"]
        lines += _table([(f"{b.students}×", b.exercise, " + ".join(b.bugs)) for b in summary.bugs])
    if summary.remarks:
        lines += ["", f"For a person's eye ({len(summary.remarks)})"]
        shown = summary.remarks[:_REMARKS]
        lines += _table(
            [(clean(r.student, 40), r.exercise or "–", clean(r.text, 400)) for r in shown]
        )
        if more := len(summary.remarks) - len(shown):
            lines.append(f"  … and {more} more: grade report RESULTS --json has all of them")
    return "\n".join(line if len(line) <= width else f"{line[: width - 1]}…" for line in lines)


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """Return plain data with stable field names."""
    return {"format_version": 1, **asdict(summary)}


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return aligned lines: numbers to the right, and a last column as long as it is."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        (
            "  " + "  ".join(_cell(text, width) for text, width in zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cell(text: str, width: int) -> str:
    number = text[:1].isdigit()
    return text.rjust(width) if number else text.ljust(width)
