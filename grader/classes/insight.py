"""What a class knows: its scores, each check, each mistake, its attempts, what to teach again."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import groupby
from pathlib import Path

import numpy as np

from grader.batch.database import has_table, reading
from grader.batch.platforms import told_moment
from grader.batch.unit import Mistake, mistake_of
from grader.classes.lessons import Lesson, read_lessons
from grader.classes.statistics import (
    Attempt,
    Item,
    Marks,
    Spread,
    TimeLine,
    items_of,
    spread_of,
    time_line,
)
from grader.classes.summary import Summary
from grader.course.load import CourseFolder
from grader.records.ids import CheckId
from grader.records.results import Diagnosis, Status
from grader.records.results_read import diagnosis_from_json

_TOPICS = 8
_SHARE = 0.1  # of those who handed in, from which on a class should hear of something again
_AT_LEAST = 2  # people
_HANDED_IN = """
SELECT student, result FROM results WHERE exercise = ? AND NOT absent ORDER BY student
"""
_ATTEMPTS = """
SELECT student, exercise, number, time, score, max_score, mistakes FROM attempts
ORDER BY student, exercise, number
"""


@dataclass(frozen=True)
class MistakeMade:
    """A mistake, and who made it."""

    exercise: str
    mistake: Mistake
    students: tuple[str, ...]  # who make it now
    before: int  # people who made it in the attempt before their last one
    fixed: int  # how many of those no longer make it


@dataclass(frozen=True)
class Topic:
    """Something to teach again."""

    exercise: str
    section: str  # of the lesson; the target where the lesson has none on it
    text: str  # how the lesson speaks of it
    mistakes: tuple[Mistake, ...]  # the named ones, the most frequent first
    students: int  # whose work is not right there
    of: int  # who handed in


@dataclass(frozen=True)
class Insight:
    """What a class knows; people are called as in the class's table."""

    distribution: tuple[Spread, ...]  # of all points first, then by exercise
    items: tuple[Item, ...]
    mistakes: tuple[MistakeMade, ...]  # the most frequent first
    time_line: TimeLine
    teach_again: tuple[Topic, ...]  # what concerns the most people first


@dataclass(frozen=True)
class _Work:
    """What one submission came to in one exercise."""

    people: Sequence[str]
    checks: Mapping[str, tuple[float, float, bool]]  # score, possible, passed
    diagnoses: Sequence[Diagnosis]
    before: frozenset[Mistake]  # in the attempt before the last one

    @property
    def mistakes(self) -> set[Mistake]:
        return {mistake for one in self.diagnoses if (mistake := mistake_of(one))}

    @property
    def wrong(self) -> set[str]:
        """The targets that are not right."""
        ids = (CheckId.parse(name) for name, (_, _, passed) in self.checks.items() if not passed)
        return {one.target for one in ids}


def read_insight(folder: Path, course: CourseFolder, summary: Summary) -> Insight:
    """Read a results folder, of which there is a summary; raises UsageError and CourseError."""
    people: defaultdict[str, list[str]] = defaultdict(list)
    for one in summary.by_student:
        people[one.member.submission].append(one.student)
    exercises = [one.exercise for one in summary.exercises]
    lessons = read_lessons(course)
    with reading(folder) as database:
        attempts = [one for one in _read_attempts(database) if one.student in people]
        before = _before(attempts)
        works = {e: list(_works(database, e, people, before)) for e in exercises}
    topics = [one for e in exercises for one in _topics(e, works[e], lessons[e])]
    made = [one for e in exercises for one in _mistakes(e, works[e])]
    return Insight(
        tuple(_distribution(summary)),
        tuple(item for e in exercises for item in items_of(_marks(e, works[e]))),
        tuple(sorted(made, key=lambda m: (-len(m.students), m.exercise, m.mistake))),
        time_line([one for one in attempts if one.exercise in exercises]),
        tuple(sorted(topics, key=lambda t: -t.students)[:_TOPICS]),
    )


def _read_attempts(database: sqlite3.Connection) -> Iterator[Attempt]:
    """Yield all attempts, a student's in order; none of results of before they were kept."""
    if has_table(database, "attempts"):
        for student, exercise, number, time, score, most, mistakes in database.execute(_ATTEMPTS):
            made = tuple(map(tuple, json.loads(mistakes)))
            if moment := told_moment(time, UTC):
                yield Attempt(student, exercise, number, moment, score, most, made)


def _before(attempts: Sequence[Attempt]) -> dict[tuple[str, str], frozenset[Mistake]]:
    """Return the mistakes of each last attempt but one, by student and exercise."""
    found = {}
    for key, own in groupby(attempts, lambda one: (one.student, one.exercise)):
        *earlier, _ = own
        if earlier:
            found[key] = frozenset(earlier[-1].mistakes)
    return found


def _works(
    database: sqlite3.Connection,
    exercise: str,
    people: Mapping[str, Sequence[str]],
    before: Mapping[tuple[str, str], frozenset[Mistake]],
) -> Iterator[_Work]:
    for student, text in database.execute(_HANDED_IN, (exercise,)):
        if student in people:
            plain = json.loads(text)
            yield _Work(
                people[student],
                {
                    c["id"]: (c["score"], c["max_score"], c["status"] == Status.PASSED)
                    for c in plain["checks"]
                },
                [diagnosis_from_json(one) for one in plain["diagnoses"]],
                before.get((student, exercise), frozenset()),
            )


def _distribution(summary: Summary) -> Iterator[Spread]:
    handed_in = [s for s in summary.by_student if any(p is not None for p in s.scores.values())]
    possible = sum(one.possible for one in summary.exercises)
    totals = {"": ([s.total for s in handed_in], possible)}
    for one in summary.exercises:
        scores = [s.scores[one.exercise] for s in handed_in]
        totals[one.exercise] = ([s for s in scores if s is not None], one.possible)
    for name, (scores_of, most) in totals.items():
        if (spread := spread_of(name, scores_of, most)) is not None:
            yield spread


def _marks(exercise: str, works: Sequence[_Work]) -> Marks:
    """Return points by check, of those that all submissions have."""
    names = [name for name in works[0].checks if all(name in work.checks for work in works)]
    table = np.array([[work.checks[name] for name in names] for work in works], dtype=float)
    checks = tuple(map(CheckId.parse, names))
    return Marks(exercise, checks, table[:, :, 0], table[:, :, 2], table[0, :, 1])


def _mistakes(exercise: str, works: Sequence[_Work]) -> Iterator[MistakeMade]:
    found = {mistake for work in works for mistake in (*work.mistakes, *work.before)}
    for mistake in found:
        now = [work for work in works if mistake in work.mistakes]
        before = [work for work in works if mistake in work.before]
        yield MistakeMade(
            exercise,
            mistake,
            tuple(sorted(name for work in now for name in work.people)),
            sum(len(work.people) for work in before),
            sum(len(work.people) for work in before if mistake not in work.mistakes),
        )


def _topics(exercise: str, works: Sequence[_Work], lesson: Lesson) -> Iterator[Topic]:
    """Yield what the work of many is not right in, by the lesson's passages on it."""
    concerned: Counter[tuple[str, str]] = Counter()
    named: defaultdict[tuple[str, str], Counter[Mistake]] = defaultdict(Counter)
    for work in works:
        places = [place for target in work.wrong for place in _places(work, target, lesson)]
        for place in {place for place, _ in places}:
            concerned[place] += len(work.people)
        for place, mistake in set(places):
            named[place].update({mistake: len(work.people)} if mistake else {})
    of = sum(len(work.people) for work in works)
    for place, count in concerned.items():
        if count >= max(_AT_LEAST, _SHARE * of):
            mistakes = tuple(mistake for mistake, _ in named[place].most_common())
            yield Topic(exercise, *place, mistakes, count, of)


def _places(work: _Work, target: str, lesson: Lesson) -> Iterator[tuple[tuple[str, str], Mistake]]:
    """Yield where a lesson speaks of what is wrong in a target, and the mistake if it is named."""
    sections = [(p.section, p.text) for p in lesson.on_target(target)]
    general = sections[0] if sections else (target, "")
    own = [one for one in work.diagnoses if one.target == target]
    for one in own:
        passages = lesson.on_diagnosis(one)
        for place in [(p.section, p.text) for p in passages] or [general]:
            yield place, mistake_of(one)
    if not own:
        yield general, ()
