"""What the checks gave, read from a results folder: the common ground of reports and exports."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.batch.adjustments import Known, read_adjustments
from grader.batch.judging import Judge
from grader.batch.people import Member
from grader.batch.register import read_times
from grader.batch.scored import ExerciseScore
from grader.batch.written import StoredResult

# points were others when those who have withdrawn were graded, maybe
_POSSIBLE = """
SELECT exercise, COALESCE(MAX(CASE WHEN COALESCE(here, 1) THEN max_score END), MAX(max_score))
FROM results LEFT JOIN handed USING (student) GROUP BY exercise ORDER BY exercise
"""

_KEYS = """
SELECT DISTINCT key FROM results LEFT JOIN handed USING (student)
WHERE COALESCE(here, 1) ORDER BY key
"""


@dataclass(frozen=True)
class GradedRow:
    """What one submission came to in one exercise."""

    score: float
    max_score: float
    absent: bool  # nothing was handed in for it
    result: StoredResult
    time: str  # when it was handed in, as a platform tells


def read_graded(database: sqlite3.Connection) -> dict[str, dict[str, GradedRow]]:
    """Return what there are results of, by submission and exercise."""
    found: dict[str, dict[str, GradedRow]] = {}
    times = read_times(database)
    same: dict[StoredResult, StoredResult] = {}  # many of a class have the same mistakes
    for student, exercise, score, most, absent, text in database.execute(
        "SELECT student, exercise, score, max_score, absent, result FROM results ORDER BY exercise"
    ):
        time = times.get((student, exercise), "")
        told = StoredResult.parse(text)
        row = GradedRow(score, most, bool(absent), same.setdefault(told, told), time)
        found.setdefault(student, {})[exercise] = row
    return found


def read_possible(database: sqlite3.Connection) -> dict[str, float]:
    """Return the points of each exercise of the course that there are results of."""
    told = database.execute("SELECT value FROM about WHERE name = 'exercises'").fetchone()
    known = json.loads(told[0]) if told else []
    found = database.execute(_POSSIBLE)
    return {exercise: most for exercise, most in found if not known or exercise in known}


def graded_scores(
    own: Mapping[str, GradedRow], possible: Mapping[str, float]
) -> tuple[ExerciseScore, ...]:
    """Return what a submission has in every exercise; no result is no point."""
    return tuple(_score(exercise, own.get(exercise), most) for exercise, most in possible.items())


def read_judge(folder: Path, database: sqlite3.Connection, members: Sequence[Member]) -> Judge:
    """Return who applies what adjustments.yml says; raises UsageError where it is wrong."""
    about = dict(database.execute("SELECT name, value FROM about"))
    possible = read_possible(database)
    exercises = sorted({*json.loads(about.get("exercises", "[]")), *possible})
    known = Known(members, exercises, possible)
    return Judge(read_adjustments(folder, known), known)


def _score(exercise: str, row: GradedRow | None, most: float) -> ExerciseScore:
    if row is None:
        return ExerciseScore(exercise, 0.0, most, absent=True)
    comment, most = _comment(row.result), row.max_score
    return ExerciseScore(exercise, row.score, most, comment, absent=row.absent, time=row.time)


def _comment(result: StoredResult) -> str:
    """Return what is said of an exercise: the mistakes with their hints, else what failed first."""
    named = "\n".join(dict.fromkeys(d.told for d in result.diagnoses if d.told))
    return named or result.message


def read_keys(database: sqlite3.Connection) -> tuple[str, ...]:
    """Return the digests of course, secret and grader that there are results of.

    Who has withdrawn is not graded again, so the results of those do not count.
    """
    return tuple(key for (key,) in database.execute(_KEYS))


def origin(about: Mapping[str, str], keys: Sequence[str]) -> str:
    """Say what results are of: a course, its cases, their secret, and the state of all that."""
    cases = f"{about.get('split', '')} cases"
    cases += f" of secret {secret}" if (secret := about.get("secret")) else ""
    short = ", ".join(key.removeprefix("sha256:")[:12] for key in keys)
    return f"results of {about.get('course', '')!r}, {cases}, course and grader {short}"


def mixed(keys: Sequence[str]) -> list[str]:
    """Say that scores cannot be compared, where they are of several courses or versions."""
    if len(keys) < 2:
        return []
    return [
        f"results are of {len(keys)} versions of the course or of grader, so their scores cannot "
        "be compared: run grade batch on all folders and exercises again"
    ]
