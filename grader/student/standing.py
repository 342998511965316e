"""How far a student is in a course."""

from dataclasses import dataclass

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.handin.read import Source, read_submission
from grader.records.subtotals import Subtotal
from grader.student.progress import ExerciseProgress, digest_of, load_progress


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
        remedy=f"grade reset {exercise.id} starts it again" if gone else read.next_step,
    )
