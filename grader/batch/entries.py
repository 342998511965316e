"""Finds the submissions in a folder, and brings together what is of one student."""

import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.batch.platforms import METADATA, Owned, layout_of
from grader.course.models import Course
from grader.errors import UsageError
from grader.handin.archive import ZIP
from grader.handin.files import is_hidden, is_litter
from grader.handin.gather import Part
from grader.records.people import Identity, Person
from grader.records.text import clean, storable


@dataclass(frozen=True)
class Entry:
    """One student's submission, before it is read."""

    student: str  # unique within a class
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()  # what a person should know
    identity: Identity | None = None  # whose it is, if more is known than `student`

    @property
    def known(self) -> Identity:
        """Whose it is."""
        return self.identity or Identity((Person(self.student),))


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


def _look_at(folder: Path, course: Course) -> dict[Path, Owned | None]:
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
        layout = layout_of(folder, paths, course)
        return {path: layout.owner(path) for path in paths}
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}") from None


def _is_nobodys(path: Path) -> bool:
    """Whether a system or a platform put something there."""
    if is_litter(path.name) or path.name == METADATA:
        return True
    return path.name.startswith("._") and not os.path.isdir(path)


def _left(path: Path) -> str:
    """Say what is not graded, and what to do where it is somebody's work."""
    name = clean(storable(path.name), 80)
    if is_hidden(path.name):
        return f"{name} is hidden and was not graded: rename it if it is somebody's work"
    return f"{name} is no submission and was not graded: a folder, zip, .py file or notebook is"


def _gather(named: Iterable[Owned]) -> list[Entry]:
    """Bring together what belongs to one student, and keep apart what only seems to."""
    by_student: dict[str, list[Owned]] = {}
    for one in named:
        key = unicodedata.normalize("NFC", one.student).casefold()
        by_student.setdefault(key, []).append(one)
    entries: list[Entry] = []
    for group in by_student.values():
        if len(group) == 1 or all(one.several for one in group):
            parts = tuple(one.part for one in group)
            identity = _joined([one.identity for one in group])
            notes = ("handed in late",) if identity.late else ()
            entries.append(Entry(storable(group[0].student), parts, notes, identity))
        else:
            entries += _apart(group)
    return _told_apart(entries)


def _apart(group: Sequence[Owned]) -> list[Entry]:
    """Two submissions of one student: which of them counts is for a person to say."""
    names = [storable(one.part.path.name) for one in group]
    note = f"{len(group)} submissions of one student: {', '.join(names)}; each was graded"
    return [
        Entry(name, (one.part,), (note,), one.identity)
        for name, one in zip(names, group, strict=True)
    ]


def _joined(told: Sequence[Identity]) -> Identity:
    """Return what several files of one student tell together."""
    late = any(identity.late for identity in told)
    return replace(told[0], attempt=max(identity.attempt for identity in told), late=late)


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
