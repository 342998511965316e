"""Which exercises and which files are meant, by what somebody typed."""

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_letters

from grader.course.load import CourseFolder, renewal
from grader.course.models import Exercise
from grader.errors import UsageError
from grader.handin.pick import SUFFIXES, proper_name
from grader.handin.read import Submission, read_submission
from grader.records.text import clean

_NO_WORK = (".", "_", "conftest.", "test_")  # begins a file that holds no exercise


def chosen_exercises(folder: CourseFolder, typed: Sequence[str], part: str = "") -> list[Exercise]:
    """Return the exercises that were named, all of a part or the course where none was.

    Raises UsageError.
    """
    if typed and part:
        raise UsageError("name a part or exercises, not both")
    if not typed:
        return list(folder.course.part(part).exercises)
    known: dict[str, tuple[str, ...]] = {
        e.id: (e.id, e.id.lstrip("abcdefghijklmnopqrstuvwxyz"), e.name, e.stem)
        for e in folder.course.exercises
    }
    meant = [_name_of(folder, text) for text in typed]
    return [folder.course.exercise(i) for i in resolve_exercises(meant, known)]


def _name_of(folder: CourseFolder, typed: str) -> str:
    """The exercise that a typed path means; raises UsageError for a file of another place."""
    path = Path(typed)
    if path.suffix not in SUFFIXES:
        return typed
    if path.is_file() and path.parent.resolve() != folder.exercises.resolve():
        raise UsageError(
            f"{typed} is not in {folder.exercises}: name the exercise, and give the file "
            f"with --submission {shlex.quote(typed)}"
        )
    return path.stem


def read_work(
    folder: CourseFolder, submission: Path | None, exercises: Sequence[Exercise]
) -> Submission:
    """Read a submission, else the student's own work, of which a lost file can be begun anew."""
    place = place_of_work(folder, submission)
    limit = folder.course.limits.source_kib * 1024
    read = read_submission(place, folder.course, list(exercises), limit)
    if submission is not None or not folder.shipped:
        return read
    own = _own_name(folder)
    return Submission(
        {
            i: replace(
                source, next_step=f"rename {own} to it, or `grade reset {i}` starts it again"
            )
            if source.absent
            else source
            for i, source in read.sources.items()
        },
        read.notes,
    )


def _own_name(folder: CourseFolder) -> str:
    """What to call a file that has no exercise's name: by its own where there is one alone."""
    paths = sorted(path for path in folder.exercises.glob("*") if path.suffix in SUFFIXES)
    exercises = folder.course.exercises
    names = [path.name for path in paths if not path.name.startswith(_NO_WORK)]
    strays = [name for name in names if not any(proper_name(name, e) for e in exercises)]
    return clean(strays[0], 60) if len(strays) == 1 else "your file"


def place_of_work(folder: CourseFolder, submission: Path | None) -> Path:
    """Return what is graded: a submission, else the student's own; raises UsageError."""
    if submission is None and folder.shipped and not folder.exercises.is_dir():
        raise UsageError(f"{folder.exercises} is missing; {renewal(folder.root)}")
    return submission or folder.exercises


def resolve_exercises(typed: Sequence[str], known: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the ids meant by `typed`, each once; raises UsageError with close matches.

    `known` maps an id to every way of writing it.
    """
    ids = []
    for text in typed:
        found = [i for i, names in known.items() if text in names]
        if not found:
            names = [name for ways in known.values() for name in ways if not name.isdigit()]
            near = difflib.get_close_matches(text, names, 3, cutoff=0.5)
            if text.rstrip("0123456789") in {i.rstrip("0123456789") for i in known}:
                near = [n for n in near if text.startswith(n)]  # 33 is like 3, 9 like none
            last = text.lstrip(ascii_letters)
            near = [name for name in near if last and name.endswith(last)] or near
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
            raise UsageError(f"no exercise '{text}'; {hint}")
        ids.append(found[0])
    return list(dict.fromkeys(ids))
