"""What the results in a folder come to, read from the database row by row."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from grader.batch.people import NOTHING, Member, labels_by_submission
from grader.batch.register import read_members
from grader.batch.results import StoredResult, reading
from grader.course.models import Course
from grader.records.text import listed

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
    """One person's scores; those of a group have a line each."""

    student: str  # no other's
    scores: Mapping[str, float | None]  # by exercise; None where nothing was handed in
    total: float
    finding: str  # the first named mistake, else the first failed check's sentence
    member: Member


@dataclass(frozen=True)
class Summary:
    """A class at a glance."""

    course: str
    split: str
    secret: str  # the mark of the one that the hidden cases are drawn from
    keys: tuple[str, ...]  # of course, secret and grader; more than one where results are mixed
    students: int
    exercises: tuple[ExerciseSummary, ...]
    by_student: tuple[StudentSummary, ...]  # the best first
    bugs: tuple[BugSummary, ...]  # the most frequent first
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class _Row:
    """What one submission came to in one exercise."""

    score: float
    possible: float
    result: StoredResult


def summarise(folder: Path, course: Course) -> Summary:
    """Read a results folder; raises UsageError where it is none.

    Results of exercises that the course no longer has are left out.
    """
    exercises = [exercise.id for exercise in course.exercises]
    with reading(folder) as database:
        about = dict(database.execute("SELECT name, value FROM about"))
        members = read_members(database)
        rows = _rows(database)
        keys = read_keys(database)
        mine = [rows.get(member.submission, {}) for member in members]
        told = [*mixed(keys), *_other_course(about.get("course", ""), course)]
        warnings = [Remark("", "", text) for text in told]
        return Summary(
            about.get("course", ""),
            about.get("split", ""),
            about.get("secret", ""),
            keys,
            len(members),
            tuple(s for e in exercises if (s := _exercise(e, mine)) is not None),
            tuple(_students(members, mine, exercises)),
            _bugs(mine, exercises),
            (*warnings, *_remarks(database, members, exercises)),
        )


def read_keys(database: sqlite3.Connection) -> tuple[str, ...]:
    """Return the digests of course, secret and grader that there are results of."""
    return tuple(
        key for (key,) in database.execute("SELECT DISTINCT key FROM results ORDER BY key")
    )


def mixed(keys: Sequence[str]) -> list[str]:
    """Say that scores cannot be compared, where they are of several courses or versions."""
    if len(keys) < 2:
        return []
    return [
        f"results are of {len(keys)} versions of the course or of grader, so their scores cannot "
        "be compared: run grade batch on all folders and exercises again"
    ]


def _other_course(title: str, course: Course) -> list[str]:
    if title == course.title:
        return []
    return [f"results are of the course {title!r}, and are shown by {course.title!r}"]


def _rows(database: sqlite3.Connection) -> dict[str, dict[str, _Row]]:
    """Return what was handed in, by submission and exercise."""
    found: dict[str, dict[str, _Row]] = {}
    for student, exercise, score, possible, text in database.execute(
        "SELECT student, exercise, score, max_score, result FROM results WHERE NOT absent"
    ):
        row = _Row(score, possible, StoredResult.parse(text))
        found.setdefault(student, {})[exercise] = row
    return found


def _exercise(exercise: str, mine: Sequence[Mapping[str, _Row]]) -> ExerciseSummary | None:
    rows = [own[exercise] for own in mine if exercise in own]
    if not rows:
        return None
    scores = [row.score for row in rows]
    full = sum(row.score >= row.possible for row in rows)
    none = sum(score <= 0 for score in scores)
    middle = median(scores)
    name = _short(exercise)
    return ExerciseSummary(
        exercise, name, rows[0].possible, len(rows), mean(scores), middle, full, none
    )


def _students(
    members: Sequence[Member], mine: Sequence[Mapping[str, _Row]], exercises: Sequence[str]
) -> list[StudentSummary]:
    found = []
    for member, own in zip(members, mine, strict=True):
        kept = {e: own[e] for e in exercises if e in own}
        scores = {e: kept[e].score if e in kept else None for e in exercises}
        findings = ((e, _finding(row.result)) for e, row in kept.items())
        first = next((f"{_short(e)}: {text}" for e, text in findings if text), "")
        total = round(sum(row.score for row in kept.values()), 2)
        found.append(StudentSummary(member.label, scores, total, first, member))
    return sorted(found, key=lambda s: (-s.total, s.student))


def _finding(result: StoredResult) -> str:
    """Return the first diagnosis, else the first failed check's sentence, else ""."""
    for diagnosis in result.diagnoses:
        if diagnosis.bugs:
            return f"{', '.join(diagnosis.bugs)} in {diagnosis.target}"
    return next(iter(result.messages), "")


def _bugs(mine: Sequence[Mapping[str, _Row]], exercises: Sequence[str]) -> tuple[BugSummary, ...]:
    counted: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for own in mine:
        for exercise, row in own.items():
            diagnoses = row.result.diagnoses if exercise in exercises else ()
            counted.update({(exercise, d.bugs) for d in diagnoses if d.bugs})
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple(BugSummary(e, bugs, count) for (e, bugs), count in ranked[:_BUGS])


def _remarks(
    database: sqlite3.Connection, members: Sequence[Member], exercises: Sequence[str]
) -> list[Remark]:
    """Return what a person should know, first of the class's folder as a whole."""
    labels = labels_by_submission(members)
    told = database.execute("SELECT value FROM about WHERE name = 'notes'").fetchone()
    found = [Remark("", "", note) for note in json.loads(told[0] if told else "[]")]
    found += [Remark("", "", text) for text in _absent(members)]
    for member in members:
        found += [Remark(member.label, "", mark) for mark in member.marks if mark != NOTHING]
    for student, text in database.execute("SELECT student, notes FROM students"):
        found += [Remark(labels.get(student, student), "", note) for note in json.loads(text)]
    for student, exercise, text in database.execute(
        "SELECT student, exercise, remarks FROM results"
    ):
        if exercise in exercises:
            label = labels.get(student, student)
            found += [Remark(label, exercise, remark) for remark in json.loads(text)]
    return sorted(found, key=lambda remark: (remark.student, remark.exercise, remark.text))


def _absent(members: Sequence[Member]) -> list[str]:
    """Say who handed in nothing, in one line."""
    names = [member.label for member in members if NOTHING in member.marks]
    if not names:
        return []
    return [f"handed in nothing ({len(names)}): {listed(names)}"]


def _short(exercise: str) -> str:
    return exercise.replace("exercise", "ex")
