"""Reads scores out of a results folder."""

import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.batch.people import NOTHING, WITHDRAWN, Member
from grader.batch.register import read_members
from grader.batch.results import StoredResult, reading
from grader.batch.scored import ExerciseScore, Scores, StudentScores
from grader.batch.summary import mixed, read_keys
from grader.records.calls import PUBLIC
from grader.records.results import Status

_FAULTS = "SELECT student, exercise FROM results WHERE status = ? ORDER BY student"
_POSSIBLE = "SELECT exercise, MAX(max_score) FROM results GROUP BY exercise ORDER BY exercise"


def read_results(folder: Path, assignment: str = "") -> Scores:
    """Return the scores in a results folder, one record a person.

    What somebody handed in nothing for has no points, in the exercises that anybody has results of.
    Who has a result that is missing by grader's own fault is left out, which a note says: it must
    cost nobody a point. `assignment` is the name in the export, else the course's title. Raises
    UsageError.
    """
    with reading(folder) as database:
        about = dict(database.execute("SELECT name, value FROM about"))
        faults = dict(database.execute(_FAULTS, (Status.ERROR.value,)))
        possible = dict(database.execute(_POSSIBLE))
        members = read_members(database)
        found = _scores(database, possible)
        return Scores(
            assignment or about.get("course", ""),
            tuple(
                StudentScores(member, found.get(member.submission, ()))
                for member in members
                if member.submission not in faults
            ),
            round(sum(possible.values()), 4),
            (*_warnings(about, read_keys(database)), *_notes(members, faults)),
            bool(assignment),
        )


def _scores(
    database: sqlite3.Connection, possible: Mapping[str, float]
) -> dict[str, tuple[ExerciseScore, ...]]:
    """Return what each submission has in every exercise."""
    found: dict[str, dict[str, ExerciseScore]] = {
        student: {
            exercise: ExerciseScore(exercise, 0.0, most) for exercise, most in possible.items()
        }
        for (student,) in database.execute("SELECT student FROM students")
    }
    for student, exercise, score, text in database.execute(
        "SELECT student, exercise, score, result FROM results"
    ):
        comment = _comment(StoredResult.parse(text))
        found[student][exercise] = ExerciseScore(exercise, score, possible[exercise], comment)
    return {student: tuple(own.values()) for student, own in found.items()}


def _warnings(about: Mapping[str, str], keys: tuple[str, ...]) -> Iterator[str]:
    yield from mixed(keys)
    if about.get("split") == PUBLIC:
        yield "scores are on the public cases, which students have"


def _notes(members: tuple[Member, ...], faults: Mapping[str, str]) -> Iterator[str]:
    for member in members:
        if member.submission in faults:
            yield (
                f"{member.label!r} is left out: {faults[member.submission]} was not graded, by a "
                "fault of grader's own; run grade batch again"
            )
    for mark, then in ((NOTHING, "their scores are left blank"), (WITHDRAWN, "their scores stay")):
        number = sum(mark in member.marks for member in members)
        if number:
            yield f"{mark}: {number}; {then}"


def _comment(result: StoredResult) -> str:
    """Return what is said of an exercise: the mistakes with their hints, else what failed first."""
    named = "\n".join(dict.fromkeys(d.told for d in result.diagnoses if d.told))
    return named or next(iter(result.messages), "")
