"""The submissions in a folder: finds them, reads one, and tells which exercises they are of."""

import math
import os
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.batch.platforms import METADATA, Owned, layout_of
from grader.course.models import Course, Exercise
from grader.errors import UsageError
from grader.handin.archive import ZIP
from grader.handin.files import is_hidden, is_litter
from grader.handin.gather import Gathered, Part, gather
from grader.handin.pick import pick
from grader.handin.read import Submission, submission_of
from grader.records.people import Identity, Person
from grader.records.text import clean, listed, storable


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


# ---- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Handed:
    """What a student handed in, as plain data."""

    submission: Submission
    notes: tuple[str, ...]  # what a person should know, the refusals among them


def read_entry(entry: Entry, course: Course, names: Mapping[str, str] = {}) -> Handed:
    """Read a submission; whatever is wrong with it becomes a problem or a note.

    `names` are other names of exercises' files, by exercise.
    """
    limit = course.limits.source_kib * 1024
    found = gather(entry.parts, limit)
    submission = submission_of(found, "handed in", course, limit, names)
    notes = [*entry.notes, *submission.notes]
    if all(source.absent for source in submission.sources.values()):
        notes.append(_nothing_of_the_course(found))
    return Handed(submission, tuple(notes))


def _nothing_of_the_course(found: Gathered) -> str:
    """Say what was handed in where no exercise's file was: it may be work under another name."""
    names = sorted(found.files) or sorted(found.others)
    shown = listed([clean(name, 80) for name in names]) or "no .py file or notebook"
    told = f"no exercise's file was handed in, but {shown}"
    return f"{told}: give files the names of the stubs, or say --file EXERCISE=NAME"


# ---- which exercises a class is graded in --------------------------------------------------------


def exercises_in_use(
    course: Course, entries: Sequence[Entry], names: Mapping[str, str], graded: Collection[str]
) -> list[Exercise]:
    """Return the exercises of the parts that somebody handed in a file of, all where nobody did.

    `graded` are those that there are results of already: they stay with the class. `names` are
    other names of files, by exercise.
    """
    every = list(course.exercises)
    used = set(graded)
    for entry in entries:
        own = [e for e in every if any(one.id in used for one in course.beside(e))]
        if len(own) == len(every):
            break
        files = gather(entry.parts, course.limits.source_kib * 1024).files
        used |= {e.id for e in every if pick(files, e, names.get(e.id, ""))}
    return [e for e in every if any(one.id in used for one in course.beside(e))] or every


def left_out(course: Course, taken: Sequence[Exercise]) -> list[str]:
    """Say of each part that has no exercise among those taken that it is left out."""
    ids = {exercise.id for exercise in taken}
    return [
        f"{part.name} is left out: nobody handed in a file of it"
        for part in course.parts
        if not ids.intersection(part.exercises)
    ]


def trainings_ahead(
    course: Course,
    entries: Sequence[Entry],
    exercises: Sequence[Exercise],
    names: Mapping[str, str],
    jobs: int,
) -> str:
    """Return one line on what `exercises` train in a class, "" where that is nothing.

    `names` are other names of their files; `jobs` are as many as grade at once.
    """
    training = [exercise for exercise in exercises if exercise.usual_seconds]
    if not training:
        return ""
    limit = course.limits.source_kib * 1024
    handed_in = [
        exercise
        for files in (gather(entry.parts, limit).files for entry in entries)
        for exercise in training
        if pick(files, exercise, names.get(exercise.id, ""))
    ]
    if not handed_in:
        return ""
    what = " and ".join(dict.fromkeys(exercise.id for exercise in handed_in))
    seconds = sum(exercise.usual_seconds for exercise in handed_in)
    minutes = math.ceil(seconds / min(jobs, len(entries)) / 60)
    return (
        f"{what} trains models: about {minutes} min in all, less what is graded already. "
        "--skip-slow leaves them for a later run."
    )
