"""Finds the sources in what was handed in: a folder, a zip, a single file, or several of these."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.errors import SubmissionError
from grader.handin.archive import ArchiveLimits, read_archive
from grader.handin.files import Opener, read_regular
from grader.handin.pick import SUFFIXES
from grader.handin.refused import Refused
from grader.records.text import clean

ZIP = ".zip"
OTHER_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
_DEPTH = 4  # folders below one that is handed in that are looked into
_VISITED = 2000  # names in it that are looked at
_ARCHIVES = 8  # zips of one student: what each holds is kept in memory until it is graded
_LITTER = ("__MACOSX", "__pycache__", "node_modules", "site-packages")


@dataclass(frozen=True)
class Part:
    """One thing that was handed in."""

    path: Path  # a folder, a zip, or a single file
    name: str  # of a single file, as the student called it


@dataclass(frozen=True)
class Gathered:
    """The sources in what was handed in."""

    files: Mapping[str, Opener]  # by relative path
    others: tuple[str, ...] = ()  # names of other files
    notes: tuple[str, ...] = ()  # what was not looked at
    refusals: tuple[str, ...] = ()  # what could not be read, and what to do


def gather(parts: Sequence[Part], limit: int, *, depth: int = _DEPTH) -> Gathered:
    """Look through what was handed in; `limit` is in bytes a file.

    Of a folder the folders below are looked into to a depth, and where it has no source its zips.
    """
    files: dict[str, Opener] = {}
    others: list[str] = []
    notes: list[str] = []
    refusals: list[str] = []
    for number, part in enumerate(parts):
        try:
            if number >= _ARCHIVES and _is_zip(part.path):
                what = f"stands among more than {_ARCHIVES} archives"
                raise Refused(what, "hand in the files themselves")
            found = _files_of(part, limit, depth)
            twice = sorted(files.keys() & found.files.keys())
            notes += [
                f"{clean(path, 80)} was handed in twice: the last one counts" for path in twice
            ]
            files |= found.files
            others += found.others
            notes += found.notes
        except Refused as refused:
            refusals.append(f"{clean(part.path.name, 80)} {refused}: {refused.next_step}")
        except SubmissionError as error:
            refusals.append(str(error))
    return Gathered(files, tuple(others), tuple(notes), tuple(refusals))


def _files_of(part: Part, limit: int, depth: int) -> Gathered:
    """Return the sources of a part; raises Refused or SubmissionError."""
    path = part.path
    if path.is_symlink():
        raise Refused("is a link", "hand in the files themselves")
    if path.is_dir():
        return _look_through(path, depth)
    if _is_zip(path):
        unpacked = read_archive(path, ArchiveLimits(file_bytes=limit))
        return Gathered({name: partial(_given, data) for name, data in unpacked.files.items()})
    if path.name.lower().endswith(OTHER_ARCHIVES):
        raise Refused("is an archive that is not read", "make a zip of the files")
    return Gathered({part.name: partial(read_regular, path)})


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ZIP


def _given(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise Refused(f"is larger than {limit // 1024} KiB", "hand in only the code")
    return data


def _look_through(folder: Path, depth: int) -> Gathered:
    """Return the sources in a folder, the highest first, or, where there are none, in its zips."""
    found: list[Path] = []
    notes = []
    for level in _levels(folder, depth):
        if len(found) + len(level) > _VISITED:
            if not _sources(folder, found):
                raise Refused(f"holds more than {_VISITED} files", "hand in only the code")
            what = f"{clean(folder.name, 80)} holds more than {_VISITED} files"
            notes = [f"{what}: those in its lowest folders were not looked at"]
            break
        found += level
    files = _sources(folder, found)
    archives = [p for p in found if p.name.lower().endswith((ZIP, *OTHER_ARCHIVES))]
    if not files:
        files = _from_archives([p for p in archives if not _is_folder(p)])
    else:
        shown = [clean(path.name, 80) for path in archives[:_ARCHIVES]]
        notes += [f"{name} was not unpacked: there are files beside it" for name in shown]
    others = [path.name for path in found if path.suffix.lower() not in SUFFIXES]
    return Gathered(files, tuple(others), tuple(notes))


def _sources(folder: Path, found: Sequence[Path]) -> dict[str, Opener]:
    sources = [path for path in found if path.suffix.lower() in SUFFIXES]
    return {path.relative_to(folder).as_posix(): partial(read_regular, path) for path in sources}


def _levels(folder: Path, depth: int) -> Iterator[list[Path]]:
    """Yield what stands in a folder, then what stands in the folders in it, and so on.

    Raises Refused where the folder itself cannot be read.
    """
    level = [folder]
    for down in range(depth + 1):
        inside: list[Path] = []
        for place in level:
            try:
                inside += sorted(p for p in place.iterdir() if not is_litter(p.name))
            except OSError as error:
                if not down:
                    what = f"cannot be read ({error.strerror})"
                    raise Refused(what, "check its permissions") from None
            if len(inside) > _VISITED:
                break
        yield inside
        folders = [path for path in inside if _is_folder(path)]
        level = [path for path in folders if not (path / "pyvenv.cfg").is_file()]


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def is_litter(name: str) -> bool:
    """Whether a name is that of what an editor, a system or a tool leaves behind."""
    return name.startswith(".") or name in _LITTER


def _from_archives(archives: Sequence[Path]) -> dict[str, Opener]:
    zips = [path for path in archives if _is_zip(path) and not path.is_symlink()]
    if len(zips) > _ARCHIVES:
        raise Refused(f"holds more than {_ARCHIVES} archives", "hand in the files themselves")
    if archives and not zips:
        name = clean(archives[0].name, 80)
        raise Refused(f"holds {name}, an archive that is not read", "make a zip of the files")
    files: dict[str, Opener] = {}
    for path in zips:
        unpacked = read_archive(path)
        files |= {f"{path.stem}/{p}": partial(_given, d) for p, d in unpacked.files.items()}
    return files
