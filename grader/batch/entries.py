"""Finds the submissions in a folder, under the names that learning platforms give them.

| platform | what its download holds |
| --- | --- |
| plain | one folder, zip, .py file or notebook a student, called by the student's name |
| Moodle | Ada Lovelace_1234_assignsubmission_file_/ or ..._assignsubmission_file_work.py |
| Canvas | lovelaceada_LATE_123_4567_exercise1-2.py: student, user, submission, file and attempt |
| Gradescope | submission_98765/ beside submission_metadata.yml, which names the students |
"""

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from grader.course.models import Course
from grader.errors import UsageError
from grader.handin.archive import ARCHIVES, ZIP
from grader.handin.files import is_hidden, is_litter
from grader.handin.gather import Part
from grader.handin.pick import SUFFIXES
from grader.records.text import clean

_MOODLE = re.compile(r"^(?P<student>.+_\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)$")
_CANVAS = re.compile(r"^(?P<student>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_\d+_(?P<file>.+)$")
_GRADESCOPE = re.compile(r"^submission_\d+$")
_GRADESCOPE_NAMES = "submission_metadata.yml"
_METADATA_BYTES = 32 << 20


@dataclass(frozen=True)
class Entry:
    """One student's submission, before it is read."""

    student: str  # unique within a class
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()  # what a person should know


@dataclass(frozen=True)
class _Named:
    """A path and whose it is, as its name tells."""

    student: str
    part: Part
    note: str = ""
    several: bool = False  # whether a student of this platform has one path for each file


def find_entries(folder: Path, course: Course) -> list[Entry]:
    """Return the submissions in a folder, sorted by student; raises UsageError."""
    named = [one for one in _look_at(folder, course).values() if one is not None]
    if not named:
        raise UsageError(
            f"{folder} holds no submissions: one folder, zip, .py file or notebook a student"
        )
    return sorted(_gather(named), key=lambda entry: entry.student)


def find_others(folder: Path, course: Course) -> list[str]:
    """Say of each thing in a folder that is nobody's submission that it is none."""
    return [_left(path) for path, one in _look_at(folder, course).items() if one is None]


def _look_at(folder: Path, course: Course) -> dict[Path, _Named | None]:
    """Return whose each thing in a folder is, in order of their names; raises UsageError."""
    if not folder.is_dir():
        what = "is not there" if not folder.exists() else "is not a folder"
        hint = (
            ": unzip it first"
            if folder.suffix == ZIP
            else ": name a folder with one entry a student"
        )
        raise UsageError(f"{folder} {what}{hint}")
    try:
        paths = sorted(path for path in folder.iterdir() if not _is_nobodys(path))
        students = _gradescope_names(folder / _GRADESCOPE_NAMES)
        return {path: _name_of(path, course, students) for path in paths}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from None


def _is_nobodys(path: Path) -> bool:
    """Whether a system or a platform put something there."""
    if is_litter(path.name) or path.name == _GRADESCOPE_NAMES:
        return True
    return path.name.startswith("._") and not os.path.isdir(path)


def _left(path: Path) -> str:
    """Say what is not graded, and what to do where it is somebody's work."""
    name = clean(_text_of(path.name), 80)
    if is_hidden(path.name):
        return f"{name} is hidden and was not graded: rename it if it is somebody's work"
    return f"{name} is no submission and was not graded: a folder, zip, .py file or notebook is"


def _name_of(path: Path, course: Course, students: Mapping[str, str]) -> _Named | None:
    """Return whose a path is; None where it is none of a submission's kinds."""
    if is_hidden(path.name):
        return None
    folder = os.path.isdir(path) and not path.is_symlink()
    known = path.suffix.lower() in (*SUFFIXES, *ARCHIVES)
    if path.is_symlink() and not known:
        return _Named(path.name, Part(path, path.name))  # to be refused with a reason
    if not folder and not known:
        return None
    if path.name in students:
        return _Named(students[path.name], Part(path, path.name))
    if found := _MOODLE.match(path.name):
        file = found["file"] or path.name
        return _Named(found["student"], Part(path, file), several=True)
    if not folder and (found := _CANVAS.match(path.name)):
        late = "handed in late" if found["late"] else ""
        return _Named(f"{found['student']}_{found['id']}", Part(path, found["file"]), late, True)
    if folder:
        return _Named(path.name, Part(path, path.name))
    if path.suffix.lower() in ARCHIVES:
        student = path.stem.removesuffix(".tar")
        return _Named(student, Part(path, path.name))
    return _named_by_exercise(path, course)


def _named_by_exercise(path: Path, course: Course) -> _Named:
    """ada_exercise3_multi_head.py and ada-exercise3.py are of ada; ada.py may be any exercise."""
    for exercise in course.exercises:
        for stem in (exercise.stem, exercise.id):
            student = path.stem.removesuffix(stem).rstrip("_- .")
            if path.stem.endswith(stem) and student:
                part = Part(path, f"{stem}{path.suffix.lower()}")
                return _Named(student, part, several=True)
    only = course.exercises[0] if len(course.exercises) == 1 else None
    name = f"{only.stem}{path.suffix.lower()}" if only else path.name
    return _Named(path.stem, Part(path, name))


def _gradescope_names(path: Path) -> dict[str, str]:
    """Return the students by folder, as Gradescope's export names them."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _METADATA_BYTES:
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = re.sub(r"^(\s*-?\s*):(\w+):", r"\1\2:", path.read_text("utf-8", "replace"), flags=re.M)
    try:
        data = yaml.load(text, loader)  # noqa: S506 - one of the safe loaders
    except (yaml.YAMLError, RecursionError):
        raise UsageError(f"{path} cannot be read as YAML: export the submissions again") from None
    if not isinstance(data, dict):
        return {}
    names = {}
    for folder, about in data.items():
        people = about.get("submitters") if isinstance(about, dict) else None
        known = [p for p in people or [] if isinstance(p, dict)]
        shown = [str(p.get("sid") or p.get("email") or p.get("name") or "") for p in known]
        if _GRADESCOPE.match(str(folder)) and any(shown):
            names[str(folder)] = " and ".join(s for s in shown if s)
    return names


def _gather(named: Iterable[_Named]) -> list[Entry]:
    """Bring together what belongs to one student, and keep apart what only seems to."""
    by_student: dict[str, list[_Named]] = {}
    for one in named:
        key = unicodedata.normalize("NFC", one.student).casefold()
        by_student.setdefault(key, []).append(one)
    entries: list[Entry] = []
    for group in by_student.values():
        if len(group) == 1 or all(one.several for one in group):
            notes = tuple(dict.fromkeys(one.note for one in group if one.note))
            student = _text_of(group[0].student)
            entries.append(Entry(student, tuple(one.part for one in group), notes))
        else:
            entries += _apart(group)
    return _told_apart(entries)


def _apart(group: Sequence[_Named]) -> list[Entry]:
    """Two submissions of one student: which of them counts is for a person to say."""
    names = [_text_of(one.part.path.name) for one in group]
    note = f"{len(group)} submissions of one student: {', '.join(names)}; each was graded"
    return [Entry(name, (one.part,), (note,)) for name, one in zip(names, group, strict=True)]


def _text_of(name: str) -> str:
    """Return a name that can be written down; not every file name is UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _told_apart(entries: Iterable[Entry]) -> list[Entry]:
    """Number students who came out alike: ada.zip's, kept apart, and ada.zip.zip's."""
    taken: set[str] = set()
    apart = []
    for entry in entries:
        name, number = entry.student, 1
        while name in taken:
            number += 1
            name = f"{entry.student} ({number})"
        taken.add(name)
        apart.append(replace(entry, student=name))
    return apart
