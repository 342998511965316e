"""Finds the course that a notebook or an nbgrader folder belongs to."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.notebook.finding import read_course, root_near


def course_of_directory(directory: Any) -> CourseFolder | None:
    """Return the course of nbgrader's course directory, None where it has none of ours.

    Never ask a submission's own folder for its course: what lies there, its student put there.
    """
    root = root_near(Path(directory.root))
    return read_course(root) if root else None


def exercise_of(notebook: str, folder: CourseFolder | None) -> Exercise | None:
    """Return the exercise that a notebook is, None where it is the instructor's own."""
    exercises = folder.course.exercises if folder else ()
    return next((e for e in exercises if notebook in (e.id, e.stem)), None)


def course_directory(part: Any) -> Any:
    """Return nbgrader's course directory, from the converter that a preprocessor belongs to."""
    while getattr(part, "coursedir", None) is None:
        part = part.parent
    return part.coursedir


def submitted_folder(directory: Any, place: Mapping[str, str]) -> Path:
    """Return where a submission lies; `place` is nbgrader's note in nbconvert's resources."""
    step = directory.submitted_directory
    path = directory.format_path(step, place["student"], place["assignment"])
    return Path(directory.root, path)
