"""Finds the course that a notebook or an nbgrader folder belongs to."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from grader.course.load import COURSE_FILE, CourseFolder, load_course
from grader.course.models import Exercise
from grader.errors import UsageError

MANIFEST = ".grade-nbgrader.json"
COURSE_VARIABLE = "GRADE_COURSE"


def course_root(start: Path) -> Path:
    """Return the folder of the course for what stands in `start`; raises UsageError.

    The nearest folder from there upwards that has a course.yml, or that `grade nbgrader init`
    made; else where the environment variable GRADE_COURSE says.
    """
    for folder in (start, *start.parents):
        if (folder / COURSE_FILE).is_file():
            return folder
        if (folder / MANIFEST).is_file():
            return (folder / read_manifest(folder).course).resolve()
    if named := os.environ.get(COURSE_VARIABLE):
        return Path(named)
    raise UsageError(
        f"no course here or in a folder above {start}: put the notebook into the course's folder, "
        f"or set {COURSE_VARIABLE}"
    )


def course_near(start: Path) -> CourseFolder:
    """Return the course for what stands in `start`; raises UsageError or CourseError."""
    root = course_root(start.resolve())
    try:
        changed = (root / COURSE_FILE).stat().st_mtime_ns
    except OSError:
        changed = 0
    return _loaded(root, changed)


def exercise_of(notebook: str, folder: Path) -> Exercise | None:
    """Return the exercise that a notebook in `folder` is, None where it is the instructor's own."""
    try:
        exercises = course_near(folder).course.exercises
    except UsageError:
        return None
    return next((e for e in exercises if notebook in (e.id, e.stem)), None)


@lru_cache(maxsize=4)
def _loaded(root: Path, changed: int) -> CourseFolder:  # noqa: ARG001 - part of what is cached
    return load_course(root)


@dataclass(frozen=True)
class Manifest:
    """What `grade nbgrader init` wrote: the course, and a digest of each file."""

    course: str  # relative to the manifest's folder
    written: Mapping[str, str] = field(default_factory=dict)  # path -> digest of what was written

    def to_json(self) -> str:
        """Return the file's text."""
        data = {"format_version": 1, "course": self.course, "written": dict(self.written)}
        return json.dumps(data, indent=1, sort_keys=True) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's manifest; raises UsageError where it cannot be understood."""
    path = folder / MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Manifest(str(data["course"]), {str(k): str(v) for k, v in data["written"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path}: cannot be read: delete it and run grade nbgrader init") from None
