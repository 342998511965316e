"""What a class handed in for one assignment, read once and as bytes."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from glob import glob
from pathlib import Path
from typing import Any

from nbgrader.utils import parse_utc

from grader.course.models import Course
from grader.handin.read import Source, read_regular, read_submission
from grader.handin.refused import Refused

_STAMP = "timestamp.txt"


@dataclass(frozen=True)
class Handin:
    """One student's folder for one assignment: plain data, to be graded anywhere."""

    student: str
    timestamp: datetime | None = None  # UTC
    notebooks: Mapping[str, bytes] = field(default_factory=dict)  # by name, what was read
    problems: Mapping[str, str] = field(default_factory=dict)  # by name, why it was not
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
    notebooks, problems, files = {}, {}, {}
    timestamp = None
    for path in sorted(folder.iterdir()):
        try:
            data = read_regular(path, limit)
        except Refused as refused:
            if path.suffix == ".ipynb":
                problems[path.stem] = f"{path.name} {refused}: {refused.next_step}"
            continue
        if path.suffix == ".ipynb":
            notebooks[path.stem] = data
        else:
            files[path.name] = data
        if path.name == _STAMP:
            timestamp = _parse(data)
    sources = read_submission(folder, course, list(course.exercises), limit).sources
    return Handin(student, timestamp, notebooks, problems, sources, files)


def _parse(data: bytes) -> datetime | None:
    with contextlib.suppress(ValueError, OverflowError):
        stamp: datetime = parse_utc(data.decode("utf-8", "replace").strip())
        return stamp
    return None
