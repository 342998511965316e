"""What the results in a folder come to, read from the database row by row."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median

from grader.batch.changes import Change, find_changes
from grader.batch.graded import (
    GradedRow,
    graded_scores,
    mixed,
    origin,
    read_graded,
    read_judge,
    read_keys,
    read_possible,
)
from grader.batch.people import Member
from grader.batch.register import read_members
from grader.batch.remarks import Remark, find_remarks, of_the_class
from grader.batch.results import reading
from grader.batch.scored import ExerciseScore, StudentScores
from grader.batch.written import StoredResult
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
        about = dict(database.execute("SELECT name, value FROM about"))
        members, keys = read_members(database), read_keys(database)
        graded, possible = read_graded(database), read_possible(database)
        exercises = _shown_exercises(course, possible)
        judge = read_judge(folder, database, members)
        own = [graded.get(member.submission, {}) for member in members]
        scored = [
            StudentScores(m, judge.scores(m, graded_scores(rows, possible)))
            for m, rows in zip(members, own, strict=True)
        ]
        students = (
            _student(s, rows, course, exercises) for s, rows in zip(scored, own, strict=True)
        )
        shown = tuple(s for e in exercises if (s := _exercise(e, scored)) is not None)
        parts = course.subtotals({one.exercise: (0, one.possible) for one in shown})
        told = [*mixed(keys), *_other_course(about.get("course", ""), course)]
        remarks = [*map(of_the_class, told), *find_remarks(database, members, exercises, judge)]
        return Summary(
            about.get("course", ""),
            origin(about, keys),
            about.get("split", ""),
            about.get("secret", ""),
            keys,
            len(members),
            shown,
            tuple(sorted(students, key=lambda s: (-s.total, s.student))),
            _bugs(own, exercises),
            tuple(one for one in remarks if one.mark not in judge.seen),
            tuple(one for one in remarks if one.mark in judge.seen),
            tuple(find_changes(database, members, exercises)),
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
