"""Finds the sources in what was handed in: a folder, a zip, a single file, or several of these."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.errors import SubmissionError
from grader.handin.archive import ARCHIVES, OTHER_ARCHIVES, ZIP, ArchiveLimits, read_archive
from grader.handin.files import Opener, is_hidden, is_litter, read_regular
from grader.handin.pick import SUFFIXES
from grader.handin.refused import Refused
from grader.records.text import clean, listed

_VISITED = 2000  # names in a folder and all below it that are looked at
_LISTED = 8  # names in a note
_ARCHIVES = 8  # zips of one student: what each holds is kept in memory until it is graded


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

    def joined(self, other: "Gathered") -> "Gathered":
        """Return both together; of what has the same path in both, the other's counts."""
        twice = [clean(path, 80) for path in sorted(self.files.keys() & other.files.keys())]
        notes = [f"handed in twice, and the last one counts: {listed(twice)}"] if twice else []
        return Gathered(
            {**self.files, **other.files},
            self.others + other.others,
            (*self.notes, *notes, *other.notes),
            self.refusals + other.refusals,
        )


def gather(parts: Sequence[Part], limit: int, *, deep: bool = True) -> Gathered:
    """Look through what was handed in; `limit` is in bytes a file.

    Of a folder all that is below it is looked at, where `deep`; where it has no source, its zips.
    """
    whole = Gathered({})
    for number, part in enumerate(parts):
        if number >= _ARCHIVES and _is_zip(part.path):
            what = f"stands among more than {_ARCHIVES} archives: hand in the files themselves"
            found = Gathered({}, refusals=(f"{clean(part.path.name, 80)} {what}",))
        else:
            found = _files_of(part, limit, deep=deep)
        whole = whole.joined(found)
    return whole


def _files_of(part: Part, limit: int, *, deep: bool) -> Gathered:
    """Return the sources of a part, or why it is not read."""
    path = part.path
    try:
        if path.is_symlink():
            raise Refused("is a link", "hand in the files themselves")
        if path.is_dir():
            return _look_through(path, limit, deep=deep)
        if _is_zip(path):
            return _unpacked(path, "", limit)
        if path.name.lower().endswith(OTHER_ARCHIVES):
            raise Refused("is an archive that is not read", "make a zip of the files")
    except Refused as refused:
        return Gathered({}, refusals=(f"{clean(path.name, 80)} {refused}: {refused.next_step}",))
    return Gathered({part.name: partial(read_regular, path)})


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ZIP


def _unpacked(path: Path, place: str, limit: int) -> Gathered:
    """Return the sources in a zip, whose paths begin with `place`; or why it is not read."""
    try:
        archive = read_archive(path, ArchiveLimits(file_bytes=limit))
    except SubmissionError as error:
        return Gathered({}, refusals=(str(error),))
    files = {f"{place}{name}": partial(_given, data) for name, data in archive.files.items()}
    inside = listed([clean(name, 80) for name in archive.nested])
    note = f"{clean(path.name, 80)} holds {inside}: an archive in an archive is not unpacked"
    return Gathered(files, notes=(note,) if archive.nested else ())


def _given(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise Refused(f"is larger than {limit // 1024} KiB", "hand in only the code")
    return data


def _look_through(folder: Path, limit: int, *, deep: bool) -> Gathered:
    """Return the sources in a folder, the highest first, or, where there are none, in its zips.

    Raises Refused.
    """
    found: list[Path] = []
    closed: list[Path] = []
    notes: tuple[str, ...] = ()
    for level in _levels(folder, closed, deep=deep):
        if len(found) + len(level) > _VISITED:
            if not _sources(folder, found):
                raise Refused(f"holds more than {_VISITED} files", "hand in only the code")
            what = f"{clean(folder.name, 80)} holds more than {_VISITED} files"
            notes = (f"{what}: those in its lowest folders were not looked at",)
            break
        found += level
    files = _sources(folder, found)
    archives = [p for p in found if p.name.lower().endswith(ARCHIVES) and not _is_folder(p)]
    links = [path for path in found if os.path.islink(path) and os.path.isdir(path)]
    notes += _notes("cannot be read", folder, closed)
    notes += _notes("is a link, and was not looked at", folder, links)
    others = tuple(path.name for path in found if path.suffix.lower() not in SUFFIXES)
    if not files:
        return Gathered({}, others, notes).joined(_from_archives(folder, archives, limit))
    notes += _notes("was not unpacked: there are files beside it", folder, archives)
    return Gathered(files, others, notes)


def _notes(what: str, folder: Path, paths: Sequence[Path]) -> tuple[str, ...]:
    """Say one thing of each of some paths; of many, of the first ones and how many more."""
    notes = [f"{clean(path.relative_to(folder).as_posix(), 80)} {what}" for path in paths]
    more = [f"and {len(notes) - _LISTED} more of these"] if len(notes) > _LISTED else []
    return (*notes[:_LISTED], *more)


def _sources(folder: Path, found: Sequence[Path]) -> dict[str, Opener]:
    sources = [path for path in found if path.suffix.lower() in SUFFIXES]
    return {path.relative_to(folder).as_posix(): partial(read_regular, path) for path in sources}


def _levels(folder: Path, closed: list[Path], *, deep: bool) -> Iterator[list[Path]]:
    """Yield what stands in a folder, then, where `deep`, what the folders in it hold, and so on.

    What cannot be read is added to `closed`; raises Refused where that is the folder itself.
    """
    level = [folder]
    while level:
        inside: list[Path] = []
        for place in level:
            try:
                inside += sorted(path for path in place.iterdir() if not _is_nobodys(path))
            except OSError as error:
                if place == folder:
                    what = f"cannot be read ({error.strerror})"
                    raise Refused(what, "check its permissions") from None
                closed.append(place)
            if len(inside) > _VISITED:
                break
        yield inside
        level = [path for path in inside if _is_folder(path)] if deep else []


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _is_nobodys(path: Path) -> bool:
    """Whether something is hidden, or left by a tool, as an environment of Python is."""
    return is_hidden(path.name) or is_litter(path.name) or os.path.isfile(path / "pyvenv.cfg")


def _from_archives(folder: Path, archives: Sequence[Path], limit: int) -> Gathered:
    """Return the sources in the archives of a folder; raises Refused where there are too many."""
    zips = [path for path in archives if _is_zip(path)]
    odd = [path for path in archives if not _is_zip(path)]
    if len(zips) > _ARCHIVES:
        raise Refused(f"holds more than {_ARCHIVES} archives", "hand in the files themselves")
    if odd and not zips:
        name = clean(odd[0].name, 80)
        raise Refused(f"holds {name}, an archive that is not read", "make a zip of the files")
    whole = Gathered({}, notes=_notes("is an archive that is not read", folder, odd))
    for path in zips:
        place = path.relative_to(folder).as_posix()  # with its ending: a.zip may stand beside a.ZIP
        whole = whole.joined(_unpacked(path, f"{place}/", limit))
    return whole
