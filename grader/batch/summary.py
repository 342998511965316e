"""What the results in a folder come to, read from the database row by row."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from grader.batch.results import StoredResult, reading
from grader.course.models import Course

_BUGS = 12  # of the most frequent


@dataclass(frozen=True)
class ExerciseSummary:
    """The scores of one exercise."""

    exercise: str
    name: str  # short, as a table shows it
    possible: float
    handed_in: int
    mean: float  # of those handed in, as all that follows
    median: float
    full: int  # submissions with all points
    none: int  # submissions with no point


@dataclass(frozen=True)
class BugSummary:
    """How often a known bug was named."""

    exercise: str
    bugs: tuple[str, ...]
    students: int


@dataclass(frozen=True)
class Remark:
    """Why a person should look at a submission."""

    student: str  # "" for the class as a whole
    exercise: str  # "" for the submission as a whole
    text: str


@dataclass(frozen=True)
class StudentSummary:
    """One student's scores."""

    student: str
    scores: Mapping[str, float | None]  # by exercise; None where nothing was handed in
    total: float
    finding: str  # the first named mistake, else the first failed check's sentence


@dataclass(frozen=True)
class Summary:
    """A class at a glance."""

    course: str
    students: int
    exercises: tuple[ExerciseSummary, ...]
    by_student: tuple[StudentSummary, ...]  # the best first
    bugs: tuple[BugSummary, ...]  # the most frequent first
    remarks: tuple[Remark, ...]


def summarise(folder: Path, course: Course) -> Summary:
    """Read a results folder; raises UsageError where it is none.

    Results of exercises that the course no longer has are left out.
    """
    exercises = [exercise.id for exercise in course.exercises]
    with reading(folder) as database:
        about = dict(database.execute("SELECT name, value FROM about"))
        (students,) = database.execute("SELECT COUNT(*) FROM students").fetchone()
        return Summary(
            about.get("course", ""),
            students,
            tuple(s for e in exercises if (s := _exercise(database, e)) is not None),
            tuple(_students(database, exercises)),
            _bugs(database, exercises),
            tuple(_remarks(database, exercises, json.loads(about.get("notes", "[]")))),
        )


def _exercise(database: sqlite3.Connection, exercise: str) -> ExerciseSummary | None:
    rows = database.execute(
        "SELECT score, max_score FROM results WHERE exercise = ? AND NOT absent", (exercise,)
    ).fetchall()
    if not rows:
        return None
    scores = [score for score, _ in rows]
    full = sum(score >= possible for score, possible in rows)
    none = sum(score <= 0 for score in scores)
    middle = median(scores)
    name = _short(exercise)
    return ExerciseSummary(exercise, name, rows[0][1], len(rows), mean(scores), middle, full, none)


def _students(database: sqlite3.Connection, exercises: Sequence[str]) -> list[StudentSummary]:
    scores: dict[str, dict[str, float | None]] = {}
    findings: dict[str, dict[str, str]] = {}
    for (student,) in database.execute("SELECT student FROM students"):
        scores[student] = dict.fromkeys(exercises)
        findings[student] = {}
    for student, exercise, score, text in database.execute(
        "SELECT student, exercise, score, result FROM results WHERE NOT absent"
    ):
        if exercise in exercises:
            scores[student][exercise] = score
            findings[student][exercise] = _finding(StoredResult.parse(text))
    found = [
        StudentSummary(
            student,
            some,
            round(sum(score or 0.0 for score in some.values()), 2),
            next((f"{_short(e)}: {t}" for e in exercises if (t := findings[student].get(e))), ""),
        )
        for student, some in scores.items()
    ]
    return sorted(found, key=lambda s: (-s.total, s.student))


def _finding(result: StoredResult) -> str:
    """Return the first diagnosis, else the first failed check's sentence, else ""."""
    for diagnosis in result.diagnoses:
        if diagnosis.bugs:
            return f"{', '.join(diagnosis.bugs)} in {diagnosis.target}"
    return next(iter(result.messages), "")


def _bugs(database: sqlite3.Connection, exercises: Sequence[str]) -> tuple[BugSummary, ...]:
    counted: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for exercise, text in database.execute("SELECT exercise, result FROM results"):
        diagnoses = StoredResult.parse(text).diagnoses if exercise in exercises else ()
        counted.update({(exercise, d.bugs) for d in diagnoses if d.bugs})
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple(BugSummary(e, bugs, count) for (e, bugs), count in ranked[:_BUGS])


def _remarks(
    database: sqlite3.Connection, exercises: Sequence[str], notes: Sequence[str]
) -> list[Remark]:
    """Return what a person should know; `notes` are those on the class's folder itself."""
    found = [Remark("", "", note) for note in notes]
    for student, text in database.execute("SELECT student, notes FROM students"):
        found += [Remark(student, "", note) for note in json.loads(text)]
    for student, exercise, text in database.execute(
        "SELECT student, exercise, remarks FROM results"
    ):
        if exercise in exercises:
            found += [Remark(student, exercise, remark) for remark in json.loads(text)]
    return sorted(found, key=lambda remark: (remark.student, remark.exercise, remark.text))


def _short(exercise: str) -> str:
    return exercise.replace("exercise", "ex")
