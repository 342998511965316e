"""What goes back to each person of a class: their own results, and nothing of anybody else."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.batch.database import has_table
from grader.batch.register import read_times
from grader.batch.shown import Shown
from grader.classes.graded import read_judge, read_possible
from grader.classes.lessons import Lesson, read_lessons
from grader.classes.people import Member, read_members
from grader.classes.scores import ExerciseScore, Judge, StudentScores
from grader.course.lesson import Passage
from grader.course.load import CourseFolder
from grader.course.models import Course
from grader.grading.exhibits import Exhibit
from grader.records.results import ExerciseResult
from grader.records.results_read import result_from_json
from grader.records.subtotals import Subtotal

_OWN = "SELECT exercise, absent, result FROM results WHERE student = ?"
_SHOWN = "SELECT exercise, page FROM shown WHERE student = ?"


@dataclass(frozen=True)
class Feedback:
    """One person's page, or one that is the same for all of a group."""

    name: str  # "" of a group
    course: str
    scores: StudentScores  # as they count
    results: tuple[ExerciseResult, ...]  # as they were graded; none where nothing was handed in
    exhibits: Mapping[str, tuple[Exhibit, ...]]  # by exercise
    passages: Mapping[str, Mapping[str, tuple[Passage, ...]]]  # by exercise and target
    parts: tuple[Subtotal, ...] = ()  # where there is more than one

    @property
    def decided(self) -> dict[str, ExerciseScore]:
        """What counts otherwise than it was graded, or has somebody's comment, by exercise."""
        return {one.exercise: one for one in self.scores.scores if one.comment}


@dataclass(frozen=True)
class _Own:
    """What a submission came to in one exercise."""

    result: ExerciseResult
    shown: Shown
    absent: bool
    time: str  # when it was handed in, as a platform tells

    @property
    def score(self) -> ExerciseScore:
        """The score without words."""
        found = self.result
        return ExerciseScore(
            found.exercise, found.score, found.max_score, absent=self.absent, time=self.time
        )


class FeedbackReader:
    """Reads what goes back to whom out of a results folder."""

    def __init__(self, database: sqlite3.Connection, folder: Path, course: CourseFolder) -> None:
        """Raise UsageError where adjustments.yml is wrong, and CourseError where the course is."""
        self.members = read_members(database)
        self._database = database
        self._course: Course = course.course
        self._lessons: Mapping[str, Lesson] = read_lessons(course)
        known = {exercise.id for exercise in self._course.exercises}
        possible = read_possible(database)
        self._judge: Judge = read_judge(database, folder, self.members, possible)
        self._possible = {e: most for e, most in possible.items() if e in known}
        self._has_shown = has_table(database, "shown")
        self._times = read_times(database)

    def of_group(self, members: Sequence[Member]) -> Feedback:
        """Return what all of a group may see: scores as graded where they differ by person."""
        own = self._read(members[0].submission)
        judged = [self._scores(member, own) for member in members]
        same = all(one == judged[0] for one in judged)
        scores = judged[0] if same else self._graded(own)
        return self._feedback("", StudentScores(members[0], scores), own)

    def of_person(self, member: Member) -> Feedback:
        """Return what one person may see."""
        own = self._read(member.submission)
        return self._feedback(member.label, StudentScores(member, self._scores(member, own)), own)

    def _scores(self, member: Member, own: Mapping[str, _Own]) -> tuple[ExerciseScore, ...]:
        return self._judge.scores(member, self._graded(own))

    def _graded(self, own: Mapping[str, _Own]) -> tuple[ExerciseScore, ...]:
        """Return scores without words: those of the checks stand on the page."""
        return tuple(
            own[e].score if e in own else ExerciseScore(e, 0.0, most, absent=True)
            for e, most in self._possible.items()
        )

    def _feedback(self, name: str, scores: StudentScores, own: Mapping[str, _Own]) -> Feedback:
        return Feedback(
            name,
            self._course.title,
            scores,
            tuple(one.result for one in own.values()),
            {e: one.shown.exhibits for e, one in own.items()},
            {e: _passages(one, self._lessons[e]) for e, one in own.items()},
            self._course.subtotals({s.exercise: (s.score, s.max_score) for s in scores.counted}),
        )

    def _read(self, submission: str) -> dict[str, _Own]:
        """Return what is kept of a submission, in the order of the course."""
        found = dict(self._rows(submission))
        return {e.id: found[e.id] for e in self._course.exercises if e.id in found}

    def _rows(self, submission: str) -> Iterator[tuple[str, _Own]]:
        titles = {exercise.id: exercise.title for exercise in self._course.exercises}
        asked = (submission,)
        pages = dict(self._database.execute(_SHOWN, asked)) if self._has_shown else {}
        for exercise, absent, text in self._database.execute(_OWN, asked):
            if exercise in titles:
                shown = Shown.parse(pages[exercise]) if exercise in pages else Shown()
                result = result_from_json(json.loads(text), titles[exercise])
                result = replace(result, output=shown.output)
                time = self._times.get((submission, exercise), "")
                yield exercise, _Own(result, shown, bool(absent), time)


def _passages(own: _Own, lesson: Lesson) -> dict[str, tuple[Passage, ...]]:
    """Return where the lesson speaks of what is wrong, by target."""
    found: defaultdict[str, list[Passage]] = defaultdict(list)
    for diagnosis in own.result.diagnoses:
        found[diagnosis.target] += lesson.on_diagnosis(diagnosis)
    for check in own.result.checks:
        found[check.target] += lesson.on_trap(own.shown.traps.get(str(check.id), ""))
    return {target: tuple(dict.fromkeys(passages)) for target, passages in found.items()}
