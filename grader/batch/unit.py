"""The unit of work: one student's submission to results, a function of plain data."""

import hashlib
import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from grader.batch.entries import Entry, Handed, read_entry
from grader.batch.shown import shown_of
from grader.course.models import Course, Exercise
from grader.grading.engine import Engine
from grader.handin.read import Source, Submission
from grader.records.results import CheckResult, Diagnosis, ExerciseResult, Status, result_to_json

Mistake = tuple[str, ...]  # known bugs that act at once, or the one step that went wrong first


@dataclass(frozen=True)
class WrittenResult:
    """What one exercise came to, and what is kept of it beside the text."""

    status: Status
    score: float
    max_score: float
    mistakes: tuple[Mistake, ...]
    text: str  # JSON of `result_to_json`

    @staticmethod
    def of(result: ExerciseResult) -> "WrittenResult":
        """Write a result."""
        mistakes = tuple(mistake for d in result.diagnoses if (mistake := mistake_of(d)))
        text = json.dumps(result_to_json(result), ensure_ascii=False)
        return WrittenResult(result.status, result.score, result.max_score, mistakes, text)


def mistake_of(diagnosis: Diagnosis) -> Mistake:
    """Return what a mistake is counted by, () where none is named."""
    step = f"first wrong step: {diagnosis.step}"
    return diagnosis.bugs or ((step,) if diagnosis.step else ())


@dataclass(frozen=True)
class Unit:
    """What is to be graded of one student."""

    entry: Entry
    exercises: tuple[str, ...]
    known: Mapping[str, str]  # digests of what was graded before, by exercise; empty to regrade
    names: Mapping[str, str] = field(default_factory=dict)  # other names of files, by exercise


@dataclass(frozen=True)
class ReadSubmission:
    """What a unit has to be graded with, once its files are read: plain data."""

    student: str
    handed: Handed
    digests: Mapping[str, str]  # by exercise, of all that its result depends on
    new: tuple[str, ...]  # exercises that are new or changed
    time: str = ""  # when it was handed in, as a platform tells


@dataclass(frozen=True)
class GradedSubmission:
    """What a unit came to; what is as it was has no result."""

    student: str
    notes: tuple[str, ...]
    results: Mapping[str, WrittenResult]  # by exercise
    remarks: Mapping[str, tuple[str, ...]]  # by exercise, what a person should look at
    absent: frozenset[str]  # exercises for which nothing was handed in
    digests: Mapping[str, str]  # by exercise, of all that its result depends on
    shown: Mapping[str, bytes] = field(default_factory=dict)  # by exercise, see `Shown.pack`
    time: str = ""  # when it was handed in, as a platform tells

    @property
    def there(self) -> Mapping[str, bool]:
        """Whether each exercise was handed in."""
        return {exercise: exercise not in self.absent for exercise in self.results}

    def without(self, exercises: Set[str]) -> "GradedSubmission":
        """Return what the other exercises came to."""
        kept = {e: result for e, result in self.results.items() if e not in exercises}
        shown = {e: one for e, one in self.shown.items() if e not in exercises}
        return replace(self, results=kept, shown=shown)


def grade_unit(engine: Engine, unit: Unit) -> GradedSubmission:
    """Read a submission and grade what of it is new or changed."""
    course, key = engine.folder.course, engine.keys.digest
    return grade_read(engine, read_unit(unit, course, key, trains=engine.trains))


def read_unit(unit: Unit, course: Course, key: str, *, trains: bool) -> ReadSubmission:
    """Read a submission; `key` is the digest of the keys that it is to be graded with."""
    handed = read_entry(unit.entry, course, unit.names)
    digests = {
        e.id: unit_digest(
            f"{key} untrained" if e.trains and not trains else key, course, e, handed.submission
        )
        for e in map(course.exercise, unit.exercises)
    }
    new = tuple(e for e in unit.exercises if unit.known.get(e) != digests[e])
    return ReadSubmission(unit.entry.student, handed, digests, new, unit.entry.known.time)


def grade_read(engine: Engine, read: ReadSubmission) -> GradedSubmission:
    """Grade what of a submission is new or changed."""
    course, handed = engine.folder.course, read.handed
    exercises = [course.exercise(e) for e in read.new]
    results: dict[str, ExerciseResult] = {}
    shown: dict[str, bytes] = {}
    for exercise, run in zip(
        exercises, engine.runs(exercises, handed.submission, quick=True), strict=True
    ):
        results[exercise.id] = run.result
        shown[exercise.id] = shown_of(exercise, run).pack()  # in the child that is there still
    remarks = {
        e: _remarks(course, handed, handed.submission.source(course.exercise(e)), result)
        for e, result in results.items()
    }
    absent = frozenset(e for e in results if handed.submission.source(course.exercise(e)).absent)
    written = {e: WrittenResult.of(result) for e, result in results.items()}
    return GradedSubmission(
        read.student, handed.notes, written, remarks, absent, read.digests, shown, read.time
    )


def _remarks(
    course: Course, handed: Handed, source: Source, result: ExerciseResult
) -> tuple[str, ...]:
    if source.problem:
        told = source.absent or source.problem in handed.notes
        return () if told else (f"{source.problem}: {source.next_step}",)
    seen = (check.message for check in result.checks if _needs_an_eye(course, check))
    return tuple(dict.fromkeys([*result.notes, *seen]))


def _needs_an_eye(course: Course, check: CheckResult) -> bool:
    """Whether a check tells of our own fault, or of what only a person can judge."""
    prop = course.property_of(check.id) if check.status is Status.FAILED else None
    return check.status is Status.ERROR or (prop is not None and prop.for_a_person)


def unit_digest(key: str, course: Course, exercise: Exercise, submission: Submission) -> str:
    """Return a digest of the key and of all the text that an exercise's result depends on."""
    used = [submission.source(exercise)]
    if exercise.builds_on_earlier:
        used += [submission.source(e) for e in course.earlier(exercise)]
    text = json.dumps([exercise.id, [_plain(source) for source in used]])
    return ":".join(hashlib.sha256(part.encode()).hexdigest() for part in (key, text))


def text_digest(digest: str) -> str:
    """Return the part of a unit's digest that is of the submission's text alone."""
    return digest.rpartition(":")[2]


def _plain(source: Source) -> Sequence[object]:
    return [source.label, source.units, source.problem, source.next_step, source.notes]
