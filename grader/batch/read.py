"""Reads one student's submission: what was handed in, once, into plain data."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.batch.entries import Entry, EntryFile, proper_name
from grader.course.models import Course
from grader.errors import SubmissionError
from grader.handin.archive import ArchiveLimits, read_archive
from grader.handin.read import (
    SUFFIXES,
    Opener,
    Source,
    Submission,
    read_regular,
    submission_of,
)
from grader.handin.refused import Refused
from grader.records.text import clean

_DEPTH = 4  # folders below a student's own that are looked into
_VISITED = 2000  # names in a student's folder that are looked at
_ARCHIVES = 8  # zips of one student: what each holds is kept in memory until it is graded
_LITTER = ("__MACOSX", "__pycache__", "node_modules", "site-packages")


@dataclass(frozen=True)
class Handed:
    """What a student handed in, as plain data."""

    submission: Submission
    notes: tuple[str, ...]  # what a person should know, the refusals among them


def read_entry(entry: Entry, course: Course) -> Handed:
    """Read a submission; whatever is wrong with it becomes a problem or a note."""
    limit = course.limits.source_kib * 1024
    files: dict[str, Opener] = {}
    notes = list(entry.notes)
    refusals = []
    for number, part in enumerate(entry.parts):
        try:
            if number >= _ARCHIVES and _is_archive(part.path):
                raise _crowded()
            files |= _files_of(part, limit)
        except Refused as refused:
            refusals.append(f"{clean(part.path.name, 80)} {refused}: {refused.next_step}")
        except SubmissionError as error:
            refusals.append(str(error))
    chosen, choices = _choose(files, course)
    submission = submission_of(chosen, "handed in", course, limit)
    if refusals and not chosen:
        sources = {e.id: Source(e.file, problem=refusals[0]) for e in course.exercises}
        submission = Submission(sources)
    elif all(source.absent for source in submission.sources.values()):
        notes.append(_nothing_of_the_course(files))
    return Handed(submission, (*notes, *refusals, *choices))


def _nothing_of_the_course(files: Mapping[str, Opener]) -> str:
    """Say what was handed in where no exercise's file was: it may be work under another name."""
    shown = ", ".join(clean(path, 80) for path in sorted(files)[:4]) or "no .py file or notebook"
    more = f" and {len(files) - 4} more" if len(files) > 4 else ""
    return f"no exercise's file was handed in, but {shown}{more}: give files the names of the stubs"


def _files_of(part: EntryFile, limit: int) -> dict[str, Opener]:
    """Return the sources of a part by path; raises Refused or SubmissionError."""
    if part.path.is_symlink():
        raise Refused("is a link", "hand in the files themselves")
    if part.path.is_dir():
        return _walk(part.path)
    if _is_archive(part.path):
        unpacked = read_archive(part.path, ArchiveLimits(file_bytes=limit))
        return {path: partial(_given, data) for path, data in unpacked.files.items()}
    return {part.name: partial(read_regular, part.path)}


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() == ".zip"


def _crowded() -> Refused:
    return Refused(f"stands among more than {_ARCHIVES} archives", "hand in the files themselves")


def _given(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise Refused(f"is larger than {limit // 1024} KiB", "hand in only the code")
    return data


def _walk(folder: Path) -> dict[str, Opener]:
    """Return the sources below a folder, and those in the zips that lie in it."""
    files: dict[str, Opener] = {}
    archives: list[Path] = []
    closed: list[OSError] = []
    visited = 0
    for place, folders, names in os.walk(folder, onerror=closed.append):
        here = Path(place)
        depth = len(here.relative_to(folder).parts)
        folders[:] = sorted(f for f in folders if depth < _DEPTH and not _is_litter(f))
        visited += len(folders) + len(names)
        if visited > _VISITED:
            raise Refused(f"holds more than {_VISITED} files", "hand in only the code")
        for name in sorted(n for n in names if not _is_litter(n)):
            path = here / name
            if path.suffix.lower() in SUFFIXES:
                files[path.relative_to(folder).as_posix()] = partial(read_regular, path)
            elif _is_archive(path) and not os.path.islink(path):
                archives.append(path)
    if closed and not files and not archives:
        raise Refused(f"cannot be read ({closed[0].strerror})", "check its permissions")
    if not files and len(archives) > _ARCHIVES:
        raise Refused(f"holds more than {_ARCHIVES} archives", "hand in the files themselves")
    for path in archives if not files else []:
        unpacked = read_archive(path)
        files |= {f"{path.stem}/{p}": partial(_given, d) for p, d in unpacked.files.items()}
    return files


def _is_litter(name: str) -> bool:
    return name.startswith(".") or name in _LITTER


def _choose(files: Mapping[str, Opener], course: Course) -> tuple[dict[str, Opener], list[str]]:
    """Return the files to read by their proper names, and a note where there was a choice.

    The file nearest to the top counts, and of several attempts at one the last.
    """
    found: dict[str, list[tuple[int, int, str]]] = {}
    rest: dict[str, Opener] = {}
    for path, opener in files.items():
        base = path.rsplit("/", 1)[-1]
        proper = [p for e in course.exercises if (p := proper_name(base, e)) is not None]
        if proper:
            name, attempt = proper[0]
            found.setdefault(name, []).append((path.count("/"), -attempt, path))
        else:
            rest[base] = opener
    chosen = {name: files[min(paths)[2]] for name, paths in found.items()}
    notes = []
    for paths in found.values():
        if len(paths) > 1:
            first, *others = (clean(path, 80) for *_, path in sorted(paths)[:4])
            notes.append(f"{first} was graded, and not {', '.join(others)}")
    return {**rest, **chosen}, notes
