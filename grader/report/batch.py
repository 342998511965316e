"""The table at the end of a batch, and its plain data."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from grader.batch.summary import ExerciseSummary, Summary
from grader.compare.evidence import clean

_REMARKS = 20  # lines that are shown


def render_summary(summary: Summary, *, width: int) -> str:
    """Return scores by exercise, the most frequent bugs, and what needs a person's eye."""
    lines = [f"{summary.course}: {summary.students} students", ""]
    header = ("exercise", "points", "handed in", "mean", "median", "full", "none")
    lines += _table([header, *(_scores(exercise) for exercise in summary.exercises)])
    if summary.bugs:
        lines += ["", "Most frequent mistakes"]
        lines += _table([(f"{b.students}×", b.exercise, " + ".join(b.bugs)) for b in summary.bugs])
    if summary.remarks:
        lines += ["", f"For a person's eye ({len(summary.remarks)})"]
        shown = summary.remarks[:_REMARKS]
        rows = [(clean(r.student, 40), r.exercise or "–", clean(r.text, 400)) for r in shown]
        lines += _table(rows)
        if more := len(summary.remarks) - len(shown):
            lines.append(f"  … and {more} more: grade report RESULTS --json has all of them")
    return "\n".join(_cut(line, width) for line in lines)


def render_students(summary: Summary, *, width: int) -> str:
    """Return a line a student, the best first."""
    columns = [len(f" {e.name}") + 1 for e in summary.exercises]

    def line(student: str, cells: Sequence[str], total: str, finding: str) -> str:
        scores = "".join(cell.rjust(w) for cell, w in zip(cells, columns, strict=True))
        return f"{student:<{names}}{scores}  {total:>5}  {finding}".rstrip()

    shown = [clean(s.student, 40) for s in summary.by_student]
    names = max(map(len, [*shown, "points possible"]))
    possible = [e.possible for e in summary.exercises]
    lines = [
        line("student", [e.name for e in summary.exercises], "total", "first finding"),
        line("points possible", [_number(p) for p in possible], _number(sum(possible)), ""),
    ]
    for name, student in zip(shown, summary.by_student, strict=True):
        scores = [student.scores[e.exercise] for e in summary.exercises]
        cells = ["–" if score is None else _number(score) for score in scores]
        lines.append(line(name, cells, _number(student.total), clean(student.finding, 400)))
    return "\n".join(_cut(line, width) for line in lines)


def _number(score: float) -> str:
    return f"{round(score, 1):g}"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def summary_to_json(summary: Summary) -> dict[str, Any]:
    """Return plain data with stable field names."""
    return {"format_version": 1, **asdict(summary)}


def _scores(e: ExerciseSummary) -> tuple[str, ...]:
    counts = (str(e.handed_in), f"{e.mean:.1f}", f"{e.median:.1f}", str(e.full), str(e.none))
    return (e.exercise, f"{e.possible:g}", *counts)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return aligned lines: numbers to the right, and a last column as long as it is."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    cells = [[_cell(t, w) for t, w in zip(row, widths, strict=True)] for row in rows]
    return ["  " + "  ".join(row).rstrip() for row in cells]


def _cell(text: str, width: int) -> str:
    number = text[:1].isdigit()
    return text.rjust(width) if number else text.ljust(width)
