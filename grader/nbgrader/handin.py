"""What a class handed in for one assignment, and which course and exercises it is of."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from glob import glob
from pathlib import Path
from typing import Any

from nbgrader.utils import parse_utc

from grader.course.load import CourseFolder
from grader.course.models import Course, Exercise
from grader.handin.files import read_regular
from grader.handin.pick import pick, proper_name
from grader.handin.read import Source, read_submission
from grader.handin.refused import Refused
from grader.notebook.finding import read_course, root_near
from grader.records.text import clean


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


# ---- reading a submission ------------------------------------------------------------------------


_STAMP = "timestamp.txt"


@dataclass(frozen=True)
class Handin:
    """One student's folder for one assignment: plain data, to be graded anywhere."""

    student: str
    timestamp: datetime | None = None  # UTC
    notebooks: Mapping[str, bytes] = field(default_factory=dict)  # by name, what was read
    problems: Mapping[str, str] = field(default_factory=dict)  # by name, why it was not
    notes: Mapping[str, str] = field(default_factory=dict)  # by name, what else could be meant
    sources: Mapping[str, Source] = field(default_factory=dict)  # by exercise, for imports
    files: Mapping[str, bytes] = field(default_factory=dict)  # what else is kept, by name


def find_students(coursedir: Any, assignment: str) -> dict[str, Path]:
    """Return the folders of an assignment's submissions by student."""
    root = Path(coursedir.root)
    step = coursedir.submitted_directory
    pattern = coursedir.format_path(step, "(?P<student>.*)", assignment, escape=True)
    found = {}
    for name in sorted(glob(coursedir.format_path(step, "*", assignment))):
        match = re.fullmatch(pattern, name, re.DOTALL)
        if match and Path(name).is_dir():
            found[match["student"]] = root / name
    return found


def read_handin(student: str, folder: Path, course: Course) -> Handin:
    """Read a student's folder: regular files of the course's size at most, no links."""
    limit = course.limits.source_kib * 1024
    notebooks, problems, files, notes = {}, {}, {}, {}
    timestamp = None
    names, others = _names(folder, course)
    for path in sorted(folder.iterdir()):
        name = names.get(path.name)
        try:
            data = read_regular(path, limit)
        except Refused as refused:
            if name:
                problems[name] = f"{path.name} {refused}: {refused.next_step}"
            continue
        if name:
            notebooks[name] = data
            if others[name]:
                notes[name] = f"{path.name} was graded, and not {', '.join(others[name])}"
        else:
            files[path.name] = data
        if path.name == _STAMP:
            timestamp = _parse(data)
    sources = read_submission(folder, course, list(course.exercises), limit).sources
    return Handin(student, timestamp, notebooks, problems, notes, sources, files)


def _names(folder: Path, course: Course) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return what notebook each file is, and by notebook the files that are not taken for it."""
    present = sorted(path.name for path in folder.glob("*.ipynb"))
    names = {name: Path(name).stem for name in present}
    others: dict[str, list[str]] = {name: [] for name in names.values()}
    for exercise in course.exercises:
        for own in (exercise.stem, exercise.id):
            meant = [n for n in pick(present, exercise) if _stem_of(n, exercise) == own]
            if meant:
                names = {n: v for n, v in names.items() if n not in meant} | {meant[0]: own}
                others[own] = [clean(name, 80) for name in meant[1:]]
    return names, others


def _stem_of(name: str, exercise: Exercise) -> str:
    proper = proper_name(name, exercise)
    return Path(proper[0]).stem if proper else ""


def _parse(data: bytes) -> datetime | None:
    with contextlib.suppress(ValueError, OverflowError):
        stamp: datetime = parse_utc(data.decode("utf-8", "replace").strip())
        return stamp
    return None
