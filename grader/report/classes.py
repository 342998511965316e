"""The table at the end of a batch, and its plain data."""

from collections.abc import Sequence
from dataclasses import asdict

from grader.classes.insight import Insight
from grader.classes.scores import ExerciseScore
from grader.classes.summary import ExerciseSummary, StudentSummary, Summary
from grader.records.text import clean, counted
from grader.report.layout import columns, cut
from grader.report.words import number

_ROWS = 20  # lines that are shown
_NAME = 40  # columns and characters of a student's name
_STAR = "*"  # behind a score that is not as graded


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
    judged = [
        (_named(s.student), one.exercise, _points(one), clean("; ".join(one.judged), 400))
        for s in summary.by_student
        for one in s.judged
    ]
    changed = [
        (_named(c.student), c.exercise, f"{number(c.before)} → {number(c.now)}", clean(c.why, 400))
        for c in summary.changes
    ]
    remarks = [
        (r.mark, _named(r.student), r.exercise or "–", clean(r.text, 400)) for r in summary.remarks
    ]
    seen = f"; {len(summary.seen)} ticked off" if summary.seen else ""
    lines += _section("Late or adjusted", judged)
    lines += _section("Changed by the last run", changed)
    lines += _section("For a person to look at", remarks, seen)
    return "\n".join(cut(line, width) for line in lines)


def _section(title: str, rows: Sequence[tuple[str, ...]], more: str = "") -> list[str]:
    """Return a title with a number, and as many lines as are read."""
    if not rows and not more:
        return []
    lines = ["", f"{title} ({len(rows)}{more})"]
    lines += columns(rows[:_ROWS], "<<<<", indent=2, most=_NAME)
    if left := len(rows) - _ROWS:
        lines += [f"  … and {left} more: grade report RESULTS --json has all of them"] * (left > 0)
    return lines


def _named(student: str) -> str:
    return clean(student, _NAME)


def _points(one: ExerciseScore) -> str:
    """Return a score with the one that was graded."""
    return f"{number(one.graded)} → {'excused' if one.excused else number(one.score)}"


def render_students(summary: Summary, *, width: int) -> str:
    """Return a line a student, the best first."""
    exercises = summary.exercises
    possible = [e.possible for e in exercises]
    rows = [
        ("student", *(e.name for e in exercises), *summary.parts, "total", "first finding"),
        ("points possible", *map(_number, [*possible, *summary.parts.values(), sum(possible)]), ""),
    ]
    for one in summary.by_student:
        cells = (_cell(one, e.exercise) for e in exercises)
        finding = clean("; ".join(filter(None, (*one.member.marks, one.finding))), 400)
        total = f"{_number(one.total)}{_STAR * bool(one.judged)}"
        parts = (_number(one.parts.get(part, 0.0)) for part in summary.parts)
        rows.append((_named(one.student), *cells, *parts, total, finding))
    lines = columns(rows, f"<{'>' * (len(exercises) + len(summary.parts))}><", most=_NAME)
    if any(one.judged for one in summary.by_student):
        lines += ["", f"{_STAR} late or adjusted: grade report RESULTS tells each score as graded"]
    return "\n".join(cut(line, width) for line in lines)


def _cell(one: StudentSummary, exercise: str) -> str:
    judged = {score.exercise: score for score in one.judged}.get(exercise)
    if judged and judged.excused:
        return "excused"
    score = one.scores[exercise]
    return "–" if score is None else f"{_number(score)}{_STAR * bool(judged)}"


def _number(score: float) -> str:
    return f"{round(score, 1):g}"


def summary_to_json(summary: Summary) -> dict[str, object]:
    """Return plain data with stable field names."""
    return {"format_version": 2, **asdict(summary)}


def insight_to_json(insight: Insight) -> dict[str, object]:
    """Return plain data with stable field names, beside those of the summary."""
    return asdict(insight)


def _scores(e: ExerciseSummary) -> tuple[str, ...]:
    counts = (str(e.handed_in), f"{e.mean:.1f}", f"{e.median:.1f}", str(e.full), str(e.none))
    return (e.exercise, f"{e.possible:g}", *counts)
