"""The table at the end of a batch, and its plain data."""

from dataclasses import asdict

from grader.batch.summary import ExerciseSummary, Summary
from grader.records.text import clean, counted
from grader.report.layout import columns, cut

_REMARKS = 20  # lines that are shown
_NAME = 40  # columns and characters of a student's name


def render_summary(summary: Summary, *, width: int) -> str:
    """Return scores by exercise, the most frequent bugs, and what a person should look at."""
    lines = [f"{summary.course}: {counted(summary.students, 'student')}", ""]
    header = ("exercise", "points", "handed in", "mean", "median", "full", "none")
    rows = [header, *(_scores(exercise) for exercise in summary.exercises)]
    lines += columns(rows, "<>>>>>>", indent=2)
    if summary.bugs:
        lines += ["", "Most frequent mistakes"]
        found = [(f"{b.students}×", b.exercise, " + ".join(b.bugs)) for b in summary.bugs]
        lines += columns(found, "><<", indent=2)
    if summary.remarks:
        lines += ["", f"For a person to look at ({len(summary.remarks)})"]
        shown = summary.remarks[:_REMARKS]
        remarks = [(clean(r.student, _NAME), r.exercise or "–", clean(r.text, 400)) for r in shown]
        lines += columns(remarks, "<<<", indent=2, most=_NAME)
        if more := len(summary.remarks) - len(shown):
            lines.append(f"  … and {more} more: grade report RESULTS --json has all of them")
    return "\n".join(cut(line, width) for line in lines)


def render_students(summary: Summary, *, width: int) -> str:
    """Return a line a student, the best first."""
    exercises = summary.exercises
    possible = [e.possible for e in exercises]
    rows = [
        ("student", *(e.name for e in exercises), "total", "first finding"),
        ("points possible", *map(_number, possible), _number(sum(possible)), ""),
    ]
    for one in summary.by_student:
        scores = [one.scores[e.exercise] for e in exercises]
        cells = ("–" if score is None else _number(score) for score in scores)
        finding = clean("; ".join(filter(None, (*one.member.marks, one.finding))), 400)
        rows.append((clean(one.student, _NAME), *cells, _number(one.total), finding))
    lines = columns(rows, f"<{'>' * len(exercises)}><", most=_NAME)
    return "\n".join(cut(line, width) for line in lines)


def _number(score: float) -> str:
    return f"{round(score, 1):g}"


def summary_to_json(summary: Summary) -> dict[str, object]:
    """Return plain data with stable field names."""
    return {"format_version": 2, **asdict(summary)}


def _scores(e: ExerciseSummary) -> tuple[str, ...]:
    counts = (str(e.handed_in), f"{e.mean:.1f}", f"{e.median:.1f}", str(e.full), str(e.none))
    return (e.exercise, f"{e.possible:g}", *counts)
