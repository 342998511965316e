"""The attempts of a class: each text that was graded of an exercise, with what it came to."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from grader.records.results import Diagnosis

SCHEMA = """
CREATE TABLE IF NOT EXISTS attempts (
    student TEXT NOT NULL, exercise TEXT NOT NULL, number INTEGER NOT NULL, time TEXT NOT NULL,
    digest TEXT NOT NULL, score REAL NOT NULL, max_score REAL NOT NULL, mistakes TEXT NOT NULL,
    PRIMARY KEY (student, exercise, number)
);
"""
_LAST = """
SELECT number, digest FROM attempts WHERE student = ? AND exercise = ?
ORDER BY number DESC LIMIT 1
"""


Mistake = tuple[str, ...]  # known bugs that act at once, or the one step that went wrong first


@dataclass(frozen=True)
class Attempt:
    """What one submission came to in one exercise, this time or an earlier one."""

    student: str
    exercise: str
    number: int  # from 1, of those that were graded
    time: datetime  # when it was handed in, else when it was graded
    score: float
    max_score: float
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class Graded:
    """What is to be kept of an exercise that was graded now."""

    exercise: str
    digest: str  # of the submission's text
    score: float
    max_score: float
    mistakes: Sequence[Mistake]


def keep_attempts(
    database: sqlite3.Connection, student: str, time: str, graded: Sequence[Graded]
) -> None:
    """Write what was graded now; the same text graded again takes its own attempt's place.

    `time` is when it was handed in, as far as a platform tells.
    """
    moment = time if _moment(time) else datetime.now(UTC).isoformat(timespec="seconds")
    for one in graded:
        last = database.execute(_LAST, (student, one.exercise)).fetchone()
        number, digest = last or (0, "")
        values = (one.digest, one.score, one.max_score, json.dumps(one.mistakes))
        if digest == one.digest:
            database.execute(
                "UPDATE attempts SET digest = ?, score = ?, max_score = ?, mistakes = ? "
                "WHERE student = ? AND exercise = ? AND number = ?",
                (*values, student, one.exercise, number),
            )
        else:
            database.execute(
                "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (student, one.exercise, number + 1, moment, *values),
            )


def read_attempts(database: sqlite3.Connection) -> list[Attempt]:
    """Return all attempts, a student's in order; none in results of before they were kept."""
    found = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'attempts'").fetchone()
    if not found:
        return []
    rows = database.execute(
        "SELECT student, exercise, number, time, score, max_score, mistakes FROM attempts "
        "ORDER BY student, exercise, number"
    )
    return [
        Attempt(student, exercise, number, moment, score, most, _mistakes(mistakes))
        for student, exercise, number, time, score, most, mistakes in rows
        if (moment := _moment(time))
    ]


def mistake_of(diagnosis: Diagnosis) -> Mistake:
    """Return what a mistake is counted by, () where none is named."""
    step = f"first wrong step: {diagnosis.step}"
    return diagnosis.bugs or ((step,) if diagnosis.step else ())


def _mistakes(text: str) -> tuple[Mistake, ...]:
    return tuple(tuple(bugs) for bugs in json.loads(text))


def _moment(text: str) -> datetime | None:
    """Return the moment that a platform tells; one of no time zone counts as UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
