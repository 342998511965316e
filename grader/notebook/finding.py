"""Finds the course that a notebook, or a folder made by `grade nbgrader init`, belongs to."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from grader.course.load import COURSE_FILE, MANIFEST_FILE, CourseFolder, find_course, load_course
from grader.errors import UsageError

INIT_MANIFEST = ".grade-nbgrader.json"
COURSE_VARIABLE = "GRADE_COURSE"
_COURSE_OF_BUNDLE = "course-of-the-bundle"


def root_near(start: Path) -> Path | None:
    """Return the folder of the course for what stands in `start`, None where there is none.

    The nearest folder from there upwards that is a course, or that `grade nbgrader init` made;
    else where the environment variable GRADE_COURSE says. Raises GraderError where the course that
    is named there is gone.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / COURSE_FILE).is_file() or (folder / MANIFEST_FILE).is_file():
            return find_course(folder)
        if (folder / INIT_MANIFEST).is_file():
            return _root_of_directory(folder)
    named = os.environ.get(COURSE_VARIABLE)
    if named and not Path(named, COURSE_FILE).is_file():
        raise UsageError(f"{COURSE_VARIABLE} is {named}, but no {COURSE_FILE} is there: correct it")
    return Path(named) if named else None


def _root_of_directory(folder: Path) -> Path:
    root = (folder / read_init_manifest(folder).course).resolve()
    if not (root / COURSE_FILE).is_file():
        raise UsageError(
            f"the course of {folder} is no longer in {root}: run grade nbgrader init {folder} "
            "--course with its new place"
        )
    return root


def course_near(start: Path) -> CourseFolder:
    """Return the course for what stands in `start`; raises GraderError."""
    root = root_near(start)
    if root is None:
        raise UsageError(
            f"no course here or in a folder above {start}: run `!grade start my-course` here, or "
            f"set {COURSE_VARIABLE} to the course's folder"
        )
    return read_course(root)


def course_of_notebook(start: Path) -> CourseFolder:
    """Return the course for a notebook that runs in `start`; raises GraderError.

    As `course_near`; where that finds none, the one course in a folder of `start`, else the one
    that grader carries.
    """
    from grader.student.start import packaged_bundle

    below = sorted(path.parent.parent for path in start.glob(f"*/{MANIFEST_FILE}"))
    if root_near(start) is not None or not (below or packaged_bundle().is_file()):
        return course_near(start)
    if len(below) > 1:
        names = ", ".join(path.name for path in below)
        raise UsageError(
            f"there are {len(below)} courses here, {names}: put the notebook into one of them, or "
            f"set {COURSE_VARIABLE} to its folder"
        )
    return read_course(find_course(below[0])) if below else _carried_course()


@cache
def _carried_course() -> CourseFolder:
    """Unpack the course that grader carries, for a notebook that stands alone."""
    import platformdirs

    from grader.student.start import start_course
    from grader.version import VERSION

    into = platformdirs.user_cache_path("grade") / f"{_COURSE_OF_BUNDLE}-{VERSION}"
    return start_course(into, renew=(into / MANIFEST_FILE).is_file())


def read_course(root: Path) -> CourseFolder:
    """Read a course, once as long as it stays as it is."""
    try:
        changed = (root / COURSE_FILE).stat().st_mtime_ns
    except OSError:
        changed = 0
    return _loaded(root, changed)


@lru_cache(maxsize=4)
def _loaded(root: Path, changed: int) -> CourseFolder:  # noqa: ARG001 - part of what is cached
    return load_course(root)


@dataclass(frozen=True)
class InitManifest:
    """What `grade nbgrader init` wrote: the course, and a digest of each file."""

    course: str  # relative to the manifest's folder
    written: Mapping[str, str] = field(default_factory=dict)  # path -> digest of what was written

    def to_json(self) -> str:
        """Return the file's text."""
        data = {"format_version": 1, "course": self.course, "written": dict(self.written)}
        return json.dumps(data, indent=1, sort_keys=True) + "\n"


def read_init_manifest(folder: Path) -> InitManifest:
    """Read a folder's manifest; raises UsageError where it cannot be understood."""
    path = folder / INIT_MANIFEST
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return InitManifest(
            str(data["course"]), {str(k): str(v) for k, v in data["written"].items()}
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path}: cannot be read: delete it and run grade nbgrader init") from None
