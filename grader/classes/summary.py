"""What the results in a folder come to, read from the database row by row."""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median

from grader.batch.database import has_table, noted, reading
from grader.batch.unit import text_digest
from grader.classes.graded import GradedRow, StoredResult, read_class
from grader.classes.people import NOTHING, Member, labels_by_submission
from grader.classes.scores import ExerciseScore, Judge, StudentScores
from grader.course.models import Course
from grader.records.text import listed

# ---- what a person should look at ----------------------------------------------------------------


@dataclass(frozen=True)
class Remark:
    """Why a person should look at a submission."""

    student: str  # "" for the class as a whole
    exercise: str  # "" for the submission as a whole
    text: str
    mark: str = ""  # the same on every run for the same words of the same submission


def of_the_class(text: str) -> Remark:
    """Return a remark on the class as a whole."""
    return _remark("", "", text)


def find_remarks(
    database: sqlite3.Connection, members: Sequence[Member], exercises: Sequence[str], judge: Judge
) -> list[Remark]:
    """Return what a person should know, first of the class's folder as a whole."""
    found = [of_the_class(note) for note in noted(database, "notes") or ()]
    found += [of_the_class(text) for text in _absent(members)]
    for member in members:
        found += [_remark(member.label, "", mark) for mark in member.marks if mark != NOTHING]
    found += [_remark(label, "", text) for label, text in judge.remarks(members)]
    found += _of_submissions(database, members, exercises)
    return sorted(found, key=lambda remark: (remark.student, remark.exercise, remark.text))


def _of_submissions(
    database: sqlite3.Connection, members: Sequence[Member], exercises: Sequence[str]
) -> Iterator[Remark]:
    labels = labels_by_submission(members)
    for student, text in database.execute("SELECT student, notes FROM students"):
        for note in json.loads(text):
            yield _remark(labels.get(student, student), "", note, student)
    for student, exercise, text in database.execute(
        "SELECT student, exercise, remarks FROM results"
    ):
        for note in json.loads(text) if exercise in exercises else ():
            yield _remark(labels.get(student, student), exercise, note, student)


def _remark(label: str, exercise: str, text: str, submission: str = "") -> Remark:
    words = json.dumps([submission or label, exercise, text])
    return Remark(label, exercise, text, hashlib.sha256(words.encode()).hexdigest()[:8])


def _absent(members: Sequence[Member]) -> list[str]:
    """Say who handed in nothing, in one line."""
    names = [member.label for member in members if NOTHING in member.marks]
    return [f"handed in nothing ({len(names)}): {listed(names)}"] if names else []


# ---- what the last run changed -------------------------------------------------------------------


_CHECKS = 3  # that are named
_CHANGED = """
SELECT student, exercise, b.score, r.score, b.absent, b.key != r.key, b.digest, r.digest,
    b.result, r.result
FROM before b JOIN results r USING (student, exercise)
WHERE b.score != r.score ORDER BY student, exercise
"""


@dataclass(frozen=True)
class Change:
    """A score that the last run changed."""

    student: str  # the label of who handed in
    exercise: str
    before: float
    now: float
    why: str


def find_changes(
    database: sqlite3.Connection, members: Sequence[Member], exercises: Sequence[str]
) -> Iterator[Change]:
    """Yield whose score is not as before the last run."""
    if not has_table(database, "before"):
        return
    labels = labels_by_submission(members)
    for student, exercise, score, now, absent, course, *rest in database.execute(_CHANGED):
        digest, digest_now, result, result_now = rest
        if exercise in exercises:
            text = text_digest(digest) != text_digest(digest_now)
            why = "handed in since" if absent else _cause(course=bool(course), text=text)
            why += _changed_checks(_passed(result), _passed(result_now))
            yield Change(labels.get(student, student), exercise, score, now, why)


def _cause(*, course: bool, text: bool) -> str:
    found = [what for what, so in (("course or grader", course), ("submission", text)) if so]
    return f"{' and '.join(found)} changed" if found else "graded again"


def _passed(result: str) -> Mapping[str, float]:
    checks = json.loads(result)["checks"]
    return {check["id"].partition("/")[2]: check["score"] for check in checks}


def _changed_checks(before: Mapping[str, float], now: Mapping[str, float]) -> str:
    """Say which checks give other points."""
    names = [
        f"{check} {before.get(check, 0.0):g} → {now.get(check, 0.0):g}"
        for check in dict.fromkeys([*before, *now])
        if before.get(check, 0.0) != now.get(check, 0.0)
    ]
    return f": {listed(names, _CHECKS)}" if names else ""


# ---- the whole class -----------------------------------------------------------------------------


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
class StudentSummary:
    """One person's scores; those of a group have a line each."""

    student: str  # no other's
    scores: Mapping[str, float | None]  # by exercise; None for what was not handed in or is excused
    total: float
    finding: str  # the first named mistake, else the first failed check's sentence
    member: Member
    graded: float = 0.0  # the total as the checks say, whatever was decided later
    possible: float = 0.0  # points of what counts
    judged: tuple[ExerciseScore, ...] = ()  # of which something was decided
    parts: Mapping[str, float] = field(default_factory=dict)  # points of each, where several are


@dataclass(frozen=True)
class Summary:
    """A class at a glance."""

    course: str
    origin: str  # in words: course, cases, secret, and the state of all that
    split: str
    secret: str  # the mark of the one that the hidden cases are drawn from
    keys: tuple[str, ...]  # of course, secret and grader; more than one where results are mixed
    students: int
    exercises: tuple[ExerciseSummary, ...]
    by_student: tuple[StudentSummary, ...]  # the best first
    bugs: tuple[BugSummary, ...]  # the most frequent first
    remarks: tuple[Remark, ...]
    seen: tuple[Remark, ...] = ()  # ticked off
    changes: tuple[Change, ...] = ()  # by the last run
    parts: Mapping[str, float] = field(default_factory=dict)  # points possible, where several are


def summarise(folder: Path, course: Course) -> Summary:
    """Read a results folder; raises UsageError where it is none.

    Results of exercises that the course no longer has are left out.
    """
    with reading(folder) as database:
        found = read_class(database, folder)
        exercises = _shown_exercises(course, found.possible)
        told = [*found.mixed, *_other_course(found.about.get("course", ""), course)]
        remarks = [
            *map(of_the_class, told),
            *find_remarks(database, found.members, exercises, found.judge),
        ]
        changes = tuple(find_changes(database, found.members, exercises))
    scored = [found.scores_of(member) for member in found.members]
    students = [_student(s, found.rows_of(s.member), course, exercises) for s in scored]
    shown = tuple(s for e in exercises if (s := _exercise(e, scored)) is not None)
    parts = course.subtotals({one.exercise: (0, one.possible) for one in shown})
    return Summary(
        found.about.get("course", ""),
        found.origin,
        found.about.get("split", ""),
        found.about.get("secret", ""),
        found.keys,
        len(found.members),
        shown,
        tuple(sorted(students, key=lambda s: (-s.total, s.student))),
        _bugs([found.rows_of(member) for member in found.members], exercises),
        tuple(one for one in remarks if one.mark not in found.judge.seen),
        tuple(one for one in remarks if one.mark in found.judge.seen),
        changes,
        {part.part: part.max_score for part in parts},
    )


def _shown_exercises(course: Course, possible: Mapping[str, float]) -> list[str]:
    """Return the exercises of the parts that there are results of, all where there are none."""
    own = [e.id for e in course.exercises if any(one.id in possible for one in course.beside(e))]
    return own or [exercise.id for exercise in course.exercises]


def _other_course(title: str, course: Course) -> list[str]:
    if title == course.title:
        return []
    return [f"results are of the course {title!r}, and are shown by {course.title!r}"]


def _exercise(exercise: str, scored: Sequence[StudentScores]) -> ExerciseSummary | None:
    """Return an exercise's scores as they count; who is excused is not among them."""
    own = [one for s in scored for one in s.counted if one.exercise == exercise and not one.absent]
    if not own:
        return None
    scores = [one.score for one in own]
    full = sum(one.score >= one.max_score for one in own)
    none = sum(score <= 0 for score in scores)
    possible, name = own[0].max_score, _short(exercise)
    return ExerciseSummary(
        exercise, name, possible, len(own), mean(scores), median(scores), full, none
    )


def _student(
    scored: StudentScores, own: Mapping[str, GradedRow], course: Course, exercises: Sequence[str]
) -> StudentSummary:
    mine = {one.exercise: one for one in scored.scores if one.exercise in exercises}
    scores = {e: _shown(mine.get(e)) for e in exercises}
    findings = ((e, _finding(own[e].result)) for e in exercises if e in own and not own[e].absent)
    first = next((f"{_short(e)}: {text}" for e, text in findings if text), "")
    kept = replace(scored, scores=tuple(mine.values()))
    judged = tuple(one for one in mine.values() if one.judged)
    parts = course.subtotals({e: (one.score, one.max_score) for e, one in mine.items()})
    return StudentSummary(
        scored.member.label,
        scores,
        kept.total or 0,
        first,
        scored.member,
        kept.graded or 0,
        kept.possible,
        judged,
        {part.part: part.score for part in parts},
    )


def _shown(one: ExerciseScore | None) -> float | None:
    """Return a score to show: None for what was not handed in, or does not count."""
    if one is None or one.excused or (one.absent and not one.points):
        return None
    return one.score


def _finding(result: StoredResult) -> str:
    """Return the first diagnosis, else the first failed check's sentence, else ""."""
    for diagnosis in result.diagnoses:
        if diagnosis.bugs:
            return f"{', '.join(diagnosis.bugs)} in {diagnosis.target}"
    return result.message


def _bugs(
    mine: Sequence[Mapping[str, GradedRow]], exercises: Sequence[str]
) -> tuple[BugSummary, ...]:
    counted: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for own in mine:
        for exercise, row in own.items():
            diagnoses = row.result.diagnoses if exercise in exercises else ()
            counted.update({(exercise, d.bugs) for d in diagnoses if d.bugs})
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple(BugSummary(e, bugs, count) for (e, bugs), count in ranked[:_BUGS])


def _short(exercise: str) -> str:
    return exercise.replace("exercise", "ex")
