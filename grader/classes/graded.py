"""What the checks gave, read from a results folder: the common ground of reports and exports."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.batch.database import noted, read_about, reading
from grader.batch.register import read_times
from grader.classes.adjustments import FILE, Known, read_adjustments
from grader.classes.people import NOTHING, UNGRADED, WITHDRAWN, Member, read_members
from grader.classes.scores import ExerciseScore, Judge, Scores, StudentScores
from grader.records.calls import PUBLIC
from grader.records.results import Diagnosis, Status
from grader.records.results_read import diagnosis_from_json
from grader.records.text import counted


@dataclass(frozen=True)
class StoredResult:
    """What a text tells of one exercise."""

    diagnoses: tuple[Diagnosis, ...]
    message: str  # of the first check that is not passed and says something, else ""

    @staticmethod
    def parse(text: str) -> "StoredResult":
        """Read the text of a row's result."""
        document = json.loads(text)
        failed = (c for c in document["checks"] if c["status"] != Status.PASSED)
        return StoredResult(
            tuple(diagnosis_from_json(one) for one in document["diagnoses"]),
            next((check["message"] for check in failed if check["message"]), ""),
        )


# points were others when those who have withdrawn were graded, maybe
_POSSIBLE = """
SELECT exercise, COALESCE(MAX(CASE WHEN COALESCE(here, 1) THEN max_score END), MAX(max_score))
FROM results LEFT JOIN handed USING (student) GROUP BY exercise ORDER BY exercise
"""
# who has withdrawn is not graded again, so the results of those do not count
_KEYS = """
SELECT DISTINCT key FROM results LEFT JOIN handed USING (student)
WHERE COALESCE(here, 1) ORDER BY key
"""
_FAULTS = "SELECT student, exercise FROM results WHERE status = ? ORDER BY student"
_STAY = "their scores stay"


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


@dataclass(frozen=True)
class GradedClass:
    """The results of a class: who is in it, what the checks gave, and what of that counts."""

    about: Mapping[str, str]  # what the results are of
    keys: tuple[str, ...]  # digests of course, secret and grader that there are results of
    members: tuple[Member, ...]
    possible: Mapping[str, float]  # points by exercise
    rows: Mapping[str, Mapping[str, GradedRow]]  # by submission and exercise
    judge: Judge

    def rows_of(self, member: Member) -> Mapping[str, GradedRow]:
        """Return what somebody's submission came to, by exercise."""
        return self.rows.get(member.submission, {})

    def scores_of(self, member: Member) -> StudentScores:
        """Return what somebody has in every exercise, as it counts; no result is no point."""
        own = self.rows_of(member)
        graded = [
            _score(exercise, own.get(exercise), most) for exercise, most in self.possible.items()
        ]
        return StudentScores(member, self.judge.scores(member, graded))

    @property
    def origin(self) -> str:
        """What the results are of: a course, its cases, their secret, and the state of all that."""
        cases = f"{self.about.get('split', '')} cases"
        cases += f" of secret {secret}" if (secret := self.about.get("secret")) else ""
        short = ", ".join(key.removeprefix("sha256:")[:12] for key in self.keys)
        return f"results of {self.about.get('course', '')!r}, {cases}, course and grader {short}"

    @property
    def mixed(self) -> tuple[str, ...]:
        """A sentence where results are of several courses or versions, and cannot be compared."""
        if len(self.keys) < 2:
            return ()
        return (
            f"results are of {len(self.keys)} versions of the course or of grader, so their scores "
            "cannot be compared: run grade batch on all folders and exercises again",
        )


def read_class(database: sqlite3.Connection, folder: Path) -> GradedClass:
    """Read the results in a folder; raises UsageError where adjustments.yml is wrong."""
    members, possible = read_members(database), read_possible(database)
    return GradedClass(
        read_about(database),
        tuple(key for (key,) in database.execute(_KEYS)),
        members,
        possible,
        read_graded(database),
        read_judge(database, folder, members, possible),
    )


def read_possible(database: sqlite3.Connection) -> dict[str, float]:
    """Return the points of each exercise of the course that there are results of."""
    known = noted(database, "exercises")
    found = database.execute(_POSSIBLE)
    return {exercise: most for exercise, most in found if not known or exercise in known}


def read_judge(
    database: sqlite3.Connection,
    folder: Path,
    members: Sequence[Member],
    possible: Mapping[str, float],
) -> Judge:
    """Return who applies what adjustments.yml says; raises UsageError where it is wrong."""
    exercises = sorted({*(noted(database, "exercises") or ()), *possible})
    known = Known(members, exercises, possible)
    return Judge(read_adjustments(folder, known), known)


def _score(exercise: str, row: GradedRow | None, most: float) -> ExerciseScore:
    if row is None:
        return ExerciseScore(exercise, 0.0, most, absent=True)
    named = "\n".join(dict.fromkeys(d.told for d in row.result.diagnoses if d.told))
    said = named or row.result.message
    return ExerciseScore(exercise, row.score, row.max_score, said, absent=row.absent, time=row.time)


# ---- scores as they leave grader -----------------------------------------------------------------


def read_results(folder: Path, assignment: str = "") -> Scores:
    """Return the scores in a results folder as they count, one record a person.

    What somebody handed in nothing for has no points, in the exercises that anybody has results of.
    Who has a result that is missing by grader's own fault is left out, which a note says: it must
    cost nobody a point. `assignment` is the name in the export, else the course's title. Raises
    UsageError.
    """
    with reading(folder) as database:
        faults = dict(database.execute(_FAULTS, (Status.ERROR.value,)))
        found, parts = read_class(database, folder), noted(database, "parts") or {}
    students = [found.scores_of(m) for m in found.members if m.submission not in faults]
    public = found.about.get("split") == PUBLIC
    notes = [*found.mixed, *(["scores are on the public cases, which students have"] * public)]
    return Scores(
        assignment or found.about.get("course", ""),
        tuple(students),
        round(sum(found.possible.values()), 4),
        (*notes, *_notes(found.members, faults), *_adjusted(students)),
        found.origin,
        bool(assignment),
        parts,
    )


def _notes(members: tuple[Member, ...], faults: Mapping[str, str]) -> Iterator[str]:
    for member in members:
        if member.submission in faults:
            yield (
                f"{member.label!r} is left out: {faults[member.submission]} was not graded, by a "
                "fault of grader's own; run grade batch again"
            )
    blank = "their scores are left blank"
    told = ((NOTHING, blank), (UNGRADED, f"{blank}; run grade batch again"), (WITHDRAWN, _STAY))
    for mark, then in told:
        number = sum(mark in member.marks for member in members)
        if number:
            yield f"{mark}: {number}; {then}"


def _adjusted(students: Sequence[StudentScores]) -> Iterator[str]:
    """Say that scores are not all as graded."""
    late = sum(any(one.penalty for one in s.scores) for s in students)
    changed = sum(any(one.points for one in s.scores) for s in students)
    excused = sum(any(one.excused for one in s.scores) for s in students)
    told = [
        f"{counted(number, 'student')} {what}"
        for number, what in (
            (late, "with points off for lateness"),
            (changed, "with points by hand"),
            (excused, "excused"),
        )
        if number
    ]
    if told:
        yield f"scores are adjusted by {FILE}: {', '.join(told)}"
