"""Refuses a folder that lies one level above or below the submissions of a class."""

import itertools
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grader.batch.entries import Entry
from grader.batch.platforms import METADATA, downloaded, is_one_of_a_download
from grader.course.load import COURSE_FILE, CourseFolder
from grader.course.models import Course, Exercise
from grader.errors import SubmissionError, UsageError
from grader.handin.archive import ZIP, read_archive
from grader.handin.pick import pick
from grader.records.people import Platform

_LOOKED_AT = 500  # names in a folder
_FEW = 8  # submissions; where there are more, they are the class
_OF_A_REPOSITORY = (".git", COURSE_FILE)


class Levels:
    """Tells which level a folder is of, by where the files of exercises lie."""

    def __init__(self, folder: CourseFolder, names: Mapping[str, str]) -> None:
        """`names` are other names of exercises' files, by exercise."""
        self._course: Course = folder.course
        self._stubs = folder.exercises.name
        self._names = names

    def refuse_other(self, submissions: Path, entries: Sequence[Entry], results: Path) -> None:
        """Raise UsageError, with the command that is meant, where the level is another."""
        if self._is_of_one_student(submissions, entries):
            here = shlex.quote(str(submissions))
            raise UsageError(
                f"{submissions} looks like the work of one student: "
                f"`{_command(submissions.resolve().parent, results)}` grades the class, "
                f"`grade check --hidden --submission {here}` this one"
            )
        inside = self._classes(entries)
        if inside and inside[0].suffix.lower() == ZIP:
            raise UsageError(
                f"{inside[0]} is what a platform lets download: unzip it into a folder of its own, "
                f"then `{_command(inside[0].with_suffix(''), results)}`"
            )
        if inside:
            more = " (then each other one with --merge)" if len(inside) > 1 else ""
            raise UsageError(
                f"{inside[0]} holds a class, and not the work of one student: "
                f"`{_command(inside[0], results)}` grades it{more}"
            )

    def _is_of_one_student(self, submissions: Path, entries: Sequence[Entry]) -> bool:
        if is_one_of_a_download(submissions.resolve()):
            return True
        paths = [part.path for entry in entries for part in entry.parts]
        files = [path for path in paths if self._exercises_at([path.name])]
        stubs = submissions / self._stubs
        alone = len(paths) == 1 or any((submissions / name).exists() for name in _OF_A_REPOSITORY)
        if not files and stubs in paths and alone:
            return bool(self._exercises_at(_names(stubs)))
        return 2 * len(files) > len(paths)

    def _classes(self, entries: Sequence[Entry]) -> list[Path]:
        """Return which of the submissions are classes; a plain one only if all of them are."""
        plain = [
            part.path
            for entry in entries
            for part in entry.parts
            if entry.known.platform is Platform.FILES and not part.path.is_symlink()
        ]
        folders = [path for path in plain if path.is_dir()]
        zips = [path for path in plain if path.suffix.lower() == ZIP]
        if downloads := _all_downloads(folders, zips if len(zips) <= _FEW else [], len(entries)):
            return downloads
        others = len(entries) - len(folders)
        return folders if others <= len(folders) and all(map(self._holds_students, folders)) else []

    def _holds_students(self, folder: Path) -> bool:
        """Whether a folder has no exercise's file, and several folders with the same one's."""
        if self._exercises_at(_names(folder)):
            return False
        found: list[Exercise] = []
        for name in _names(folder):
            if not name.startswith(".") and name != self._stubs:
                found += self._exercises_at(_names(folder / name))
        return any(found.count(exercise) > 1 for exercise in found)

    def _exercises_at(self, names: Sequence[str]) -> list[Exercise]:
        """Return the exercises of which there is a file."""
        wanted = ((e, self._names.get(e.id, "")) for e in self._course.exercises)
        return [exercise for exercise, also in wanted if pick(names, exercise, also)]


def _command(submissions: Path, results: Path) -> str:
    return f"grade batch {shlex.quote(str(submissions))} -o {shlex.quote(str(results))}"


def _all_downloads(folders: Sequence[Path], zips: Sequence[Path], entries: int) -> list[Path]:
    """Return what platforms let download, among what would be taken for students' work.

    One student's file may be called like a platform's by chance, as hw_3_2_final.py: where most
    have no such file, the download must have several people's.
    """
    levels = 2 if entries <= _FEW else 0
    inside = [list(_downloads(path, levels)) for path in folders]
    people = {path: _people(_names(path)) for found in inside for path in found}
    zipped = {path: number for path in zips if (number := _people(_names_in_zip(path)))}
    people |= zipped
    most = 2 * (sum(map(bool, inside)) + len(zipped)) >= entries
    return [path for path, number in people.items() if most or number > 1]


def _people(names: Sequence[str]) -> int:
    """Return how many people's files names are of, as platforms write them."""
    return 2 if METADATA in names else len(downloaded(names))


def _downloads(folder: Path, levels: int) -> Iterator[Path]:
    """Yield what a platform lets download: a folder, or those some levels below it."""
    names = _names(folder)
    if _people(names):
        yield folder
    elif levels:
        for name in names:
            yield from _downloads(folder / name, levels - 1)


def _names(folder: Path) -> list[str]:
    """Return the first names in a folder, none of what is no folder or cannot be read."""
    try:
        if folder.is_symlink():
            return []
        with os.scandir(folder) as found:
            return [entry.name for entry in itertools.islice(found, _LOOKED_AT)]
    except OSError:
        return []


def _names_in_zip(path: Path) -> list[str]:
    """Return what lies on the first two levels of a zip, nothing of what cannot be read."""
    try:
        names = read_archive(path).files
    except SubmissionError:
        return []
    return [part for name in names for part in name.split("/")[:2]]
