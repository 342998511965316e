"""How far a student is in a course, and what the course remembers between runs.

It stands in `.grade/progress.json` of the course folder. Nothing depends on it: a file that is
missing, damaged or not writable is a fresh start.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.files import write_files
from grader.handin.read import Source, read_submission
from grader.records.results import ExerciseResult, Status
from grader.records.subtotals import Subtotal

_FILE = ".grade/progress.json"
_FORMAT = 1


class ExerciseProgress(BaseModel):
    """How far one exercise is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: float = Field(default=0.0, ge=0)  # of the last run
    best: float = Field(default=0.0, ge=0)
    passed: bool = False  # in the last run
    graded: str = ""  # digest of the text that the last run graded
    right: str = ""  # digest of the text that was right last
    hints: dict[str, int] = {}  # topic -> how many of its hints were told


class CourseProgress(BaseModel):
    """How far a student is in a course."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int = _FORMAT
    exercises: dict[str, ExerciseProgress] = {}

    def of(self, exercise: str) -> ExerciseProgress:
        """Return an exercise's part, a fresh one where there is none."""
        return self.exercises.get(exercise, ExerciseProgress())


def load_progress(folder: CourseFolder) -> CourseProgress:
    """Read the progress; whatever cannot be read is a fresh start."""
    try:
        progress = CourseProgress.model_validate_json((folder.root / _FILE).read_bytes())
    except (OSError, ValidationError):
        return CourseProgress()
    return progress if progress.format_version == _FORMAT else CourseProgress()


def remember_result(folder: CourseFolder, result: ExerciseResult, source: Source) -> None:
    """Keep what a run of the student's own work in a course came to."""
    if not folder.shipped:
        return  # a source tree is no student's course
    before = load_progress(folder).of(result.exercise)
    unwritten = all(check.unwritten for check in result.checks if check.failed)
    if unwritten and not before.graded and not result.score:
        return  # it is not begun yet, and was only looked at
    passed, graded = result.status is Status.PASSED, digest_of(source)
    now = ExerciseProgress(
        score=result.score,
        best=max(result.score, before.best),
        passed=passed,
        graded=graded,
        right=graded if passed else before.right,
        hints=before.hints,
    )
    _keep(folder, {result.exercise: now})


def remember_hint(folder: CourseFolder, exercise: str, topic: str, told: int) -> None:
    """Keep how many hints of a topic were told."""
    before = load_progress(folder).of(exercise)
    hints = {**before.hints, topic: told}
    _keep(folder, {exercise: before.model_copy(update={"hints": hints})})


def forget_exercise(folder: CourseFolder, exercise: str) -> None:
    """Begin an exercise anew: its points and hints are forgotten."""
    _keep(folder, {exercise: ExerciseProgress()})


def digest_of(source: Source) -> str:
    """Return a digest of the text that grading reads."""
    return hashlib.sha256(repr((source.units, source.problem)).encode()).hexdigest()[:16]


def _keep(folder: CourseFolder, changed: Mapping[str, ExerciseProgress]) -> None:
    if not folder.shipped:
        return
    exercises = {**load_progress(folder).exercises, **changed}
    text = CourseProgress(exercises=exercises).model_dump_json(indent=1)
    try:
        write_files(Path(folder.root), {_FILE: f"{text}\n".encode()})
    except OSError:
        return  # a folder that nobody may write to; grading goes on


# ---- how far all exercises are -------------------------------------------------------------------


@dataclass(frozen=True)
class ExerciseStanding:
    """How far one exercise is."""

    exercise: str
    title: str
    score: float | None  # None where it was never checked
    points: float
    passed: bool
    changed: bool  # saved since it was checked
    missing: str = ""  # why its file cannot be graded
    remedy: str = ""  # what to do about that


@dataclass(frozen=True)
class Standing:
    """How far all exercises of a course are."""

    title: str
    exercises: tuple[ExerciseStanding, ...]
    parts: tuple[Subtotal, ...] = ()  # as last checked, where there is more than one

    @property
    def score(self) -> float:
        """The points of all exercises, as last checked."""
        return sum(one.score or 0.0 for one in self.exercises)

    @property
    def points(self) -> float:
        """The points that all exercises could give."""
        return sum(one.points for one in self.exercises)


def standing_of(folder: CourseFolder) -> Standing:
    """Return how far each exercise is; reads the files to tell what changed since the check."""
    course = folder.course
    progress = load_progress(folder)
    if folder.exercises.is_dir():
        limit = course.limits.source_kib * 1024
        sources = read_submission(folder.exercises, course, list(course.exercises), limit).sources
    else:
        sources = {}
    found = [_standing(e, progress.of(e.id), sources.get(e.id)) for e in course.exercises]
    parts = course.subtotals({one.exercise: (one.score or 0.0, one.points) for one in found})
    return Standing(course.title, tuple(found), parts)


def _standing(exercise: Exercise, own: ExerciseProgress, source: Source | None) -> ExerciseStanding:
    """One exercise; no source where the folder of exercises is missing."""
    read = source or Source(exercise.file, problem="exercises/ is missing")
    gone = source is None or source.absent
    return ExerciseStanding(
        exercise.id,
        exercise.title,
        own.score if own.graded else None,
        exercise.points,
        passed=own.passed,
        changed=bool(own.graded) and own.graded != digest_of(read),
        missing=read.problem,
        remedy=f"rename your file to it, or grade reset {exercise.id} starts it again"
        if gone
        else read.next_step,
    )
