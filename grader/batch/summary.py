"""What the results in a folder come to, read from the database row by row."""

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from grader.batch.results import DATABASE
from grader.errors import UsageError

_BUGS = 12  # of the most frequent


@dataclass(frozen=True)
class ExerciseSummary:
    """The scores of one exercise."""

    exercise: str
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
    """Why a submission needs a person's eye."""

    student: str
    exercise: str  # "" for the submission as a whole
    text: str


@dataclass(frozen=True)
class Summary:
    """A class at a glance."""

    course: str
    students: int
    exercises: tuple[ExerciseSummary, ...]
    bugs: tuple[BugSummary, ...]  # the most frequent first
    remarks: tuple[Remark, ...]


def summarise(folder: Path, exercises: Sequence[str]) -> Summary:
    """Read a results folder; raises UsageError where it is none.

    `exercises` are those of the course, in order; results of others are left out.
    """
    path = folder / DATABASE
    if not path.is_file():
        raise UsageError(f"{folder} holds no results: run grade batch -o {folder.name} first")
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            about = dict(database.execute("SELECT name, value FROM about"))
            (students,) = database.execute("SELECT COUNT(*) FROM students").fetchone()
            return Summary(
                about.get("course", ""),
                students,
                tuple(s for e in exercises if (s := _exercise(database, e)) is not None),
                _bugs(database, exercises),
                tuple(_remarks(database, exercises)),
            )
    except sqlite3.DatabaseError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


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
    return ExerciseSummary(exercise, rows[0][1], len(rows), mean(scores), middle, full, none)


def _bugs(database: sqlite3.Connection, exercises: Sequence[str]) -> tuple[BugSummary, ...]:
    counted: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for exercise, text in database.execute("SELECT exercise, result FROM results"):
        diagnoses = json.loads(text)["diagnoses"] if exercise in exercises else []
        counted.update({(exercise, tuple(d["bugs"])) for d in diagnoses if d["bugs"]})
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple(BugSummary(e, bugs, count) for (e, bugs), count in ranked[:_BUGS])


def _remarks(database: sqlite3.Connection, exercises: Sequence[str]) -> list[Remark]:
    found = []
    for student, text in database.execute("SELECT student, notes FROM students"):
        found += [Remark(student, "", note) for note in json.loads(text)]
    for student, exercise, text in database.execute(
        "SELECT student, exercise, remarks FROM results"
    ):
        if exercise in exercises:
            found += [Remark(student, exercise, remark) for remark in json.loads(text)]
    return sorted(found, key=lambda remark: (remark.student, remark.exercise, remark.text))
