"""The unit of work: one student's submission to results, a function of plain data."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.batch.entries import Entry
from grader.batch.read import Handed, read_entry
from grader.course.models import Course, Exercise
from grader.engine import Engine
from grader.records import CheckResult, ExerciseResult, Status
from grader.submission import Source, Submission


@dataclass(frozen=True)
class Unit:
    """What is to be graded of one student."""

    entry: Entry
    exercises: tuple[str, ...]
    known: Mapping[str, str]  # digests of what was graded before, by exercise; empty to regrade


@dataclass(frozen=True)
class Graded:
    """What a unit came to; what is as it was has no result."""

    student: str
    notes: tuple[str, ...]
    results: Mapping[str, ExerciseResult]  # by exercise
    remarks: Mapping[str, tuple[str, ...]]  # by exercise, what needs a person's eye
    absent: frozenset[str]  # exercises for which nothing was handed in
    digests: Mapping[str, str]  # by exercise, of all that its result depends on


def grade_unit(engine: Engine, unit: Unit) -> Graded:
    """Read a submission and grade what of it is new or changed."""
    course = engine.folder.course
    handed = read_entry(unit.entry, course)
    digests = {
        e: unit_digest(engine.keys.digest, course, course.exercise(e), handed.submission)
        for e in unit.exercises
    }
    new = [course.exercise(e) for e in unit.exercises if unit.known.get(e) != digests[e]]
    runs = engine.runs(new, handed.submission, quick=True)
    results = {run.result.exercise: run.result for run in runs}
    remarks = {
        e: _remarks(handed, handed.submission.source(course.exercise(e)), result)
        for e, result in results.items()
    }
    absent = frozenset(e for e in results if handed.submission.source(course.exercise(e)).absent)
    return Graded(unit.entry.student, handed.notes, results, remarks, absent, digests)


def _remarks(handed: Handed, source: Source, result: ExerciseResult) -> tuple[str, ...]:
    if source.problem:
        told = source.absent or source.problem in handed.notes
        return () if told else (f"{source.problem}: {source.next_step}",)
    seen = (check.message for check in result.checks if _needs_an_eye(check))
    return tuple(dict.fromkeys([*result.notes, *seen]))


def _needs_an_eye(check: CheckResult) -> bool:
    """Whether a check tells of our own fault, or of what only a person can judge."""
    forbidden = check.id.endswith("/property/allowed") and check.status is Status.FAILED
    return forbidden or check.status is Status.ERROR


def unit_digest(key: str, course: Course, exercise: Exercise, submission: Submission) -> str:
    """Return a digest of the key and of all the text that an exercise's result depends on."""
    used = [submission.source(exercise)]
    if any(target.earlier == "own" for target in exercise.targets):
        used += [submission.source(e) for e in course.earlier(exercise)]
    text = json.dumps([key, exercise.id, [_plain(source) for source in used]])
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(source: Source) -> Sequence[object]:
    return [source.label, source.units, source.problem, source.next_step, source.notes]
