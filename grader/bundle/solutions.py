"""The solutions in a bundle: there only where an instructor asks for them, after the deadline."""

from collections.abc import Sequence

from grader.course.derive import read_solution
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.course.shipped import KEY_FOLDER, read_bundle_manifest, read_part


def solution_files(folder: CourseFolder, exercises: Sequence[Exercise]) -> dict[str, bytes]:
    """Return the solutions by the path that they have in a bundle; raises CourseError."""
    return {_name(e): read_solution(folder.solutions / e.file).encode() for e in exercises}


def released_solution(folder: CourseFolder, exercise: Exercise) -> str | None:
    """Return the solution that came with a course, None where none did.

    The course's own sources have them all. Raises CourseError where the file was changed.
    """
    if not folder.shipped:
        return read_solution(folder.solutions / exercise.file)
    manifest, name = read_bundle_manifest(folder), _name(exercise)
    return read_part(folder, manifest, name).decode() if name in manifest.files else None


def _name(exercise: Exercise) -> str:
    return f"{KEY_FOLDER}/solutions/{exercise.file}"
