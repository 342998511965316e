"""Reads score rows out of a results folder."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from grader.batch.export import ScoreRow, Scores
from grader.batch.results import StoredResult, reading
from grader.records.results import Status


def read_results(folder: Path, assignment: str = "") -> Scores:
    """Return the scores in a results folder, one row a student and exercise.

    Every student has a row for every exercise: what was not handed in has no points. A student with
    a result that is missing by grader's own fault is left out, which a note says: it must cost
    nobody a point. `assignment` is the name in the export, else the course's title. Raises
    UsageError.
    """
    with reading(folder) as database:
        about = dict(database.execute("SELECT name, value FROM about"))
        faults = database.execute(
            "SELECT student, exercise FROM results WHERE status = ? ORDER BY student, exercise",
            (Status.ERROR.value,),
        ).fetchall()
        left_out = {student for student, _ in faults}
        rows = _rows(database, assignment or about.get("course", ""))
        return Scores(
            tuple(row for row in rows if row.student not in left_out),
            tuple(
                f"{student!r} is left out: {exercise} was not graded, by a fault of grader's own; "
                "run grade batch again"
                for student, exercise in faults
            ),
        )


def _rows(database: sqlite3.Connection, assignment: str) -> Iterator[ScoreRow]:
    possible = dict(
        database.execute(
            "SELECT exercise, MAX(max_score) FROM results GROUP BY exercise ORDER BY exercise"
        )
    )
    found = {
        (student, exercise): (score, text)
        for student, exercise, score, text in database.execute(
            "SELECT student, exercise, score, result FROM results"
        )
    }
    for (student,) in database.execute("SELECT student FROM students ORDER BY student"):
        for exercise, points in possible.items():
            score, text = found.get((student, exercise), (0.0, ""))
            comment = _comment(StoredResult.parse(text)) if text else ""
            yield ScoreRow(student, assignment, exercise, score, points, comment=comment)


def _comment(result: StoredResult) -> str:
    """Return what is said of an exercise: the mistakes with their hints, else what failed first."""
    named = "\n".join(dict.fromkeys(d.told for d in result.diagnoses if d.told))
    return named or next(iter(result.messages), "")
