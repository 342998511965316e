"""Which file is an exercise's: one rule, whoever asks."""

import re
from collections.abc import Iterable, Sequence

from grader.course.models import Exercise

SUFFIXES = (".py", ".ipynb")


def pick(paths: Iterable[str], exercise: Exercise, also: str = "") -> list[str]:
    """Return the relative paths that may be an exercise's file, the one that is graded first.

    A .py file comes before a notebook, the name of the stub before the exercise's id, and these
    before the name `also` that an instructor gives. Of those the file nearest to the top counts,
    and of several attempts the last.
    """
    found = []
    ranks = [*file_names(exercise), also]
    for path in paths:
        name = path.rpartition("/")[2]
        if proper := proper_name(name, exercise) or _called(name, also):
            rank = ranks.index(proper[0])
            found.append((rank, path.count("/"), -proper[1], path))
    return [path for *_, path in sorted(found)]


def file_names(exercise: Exercise) -> list[str]:
    """Return the names that an exercise's file should have, the best first."""
    return [f"{stem}{suffix}" for suffix in SUFFIXES for stem in (exercise.stem, exercise.id)]


def exercise_named(name: str, exercises: Sequence[Exercise]) -> Exercise | None:
    """Return the exercise whose file a name can be, None where it is none's."""
    return next((e for e in exercises if proper_name(name, e)), None)


def proper_name(name: str, exercise: Exercise) -> tuple[str, int] | None:
    """Return the name that an exercise's file should have, and the attempt; None for others.

    Canvas calls the second attempt at x.py x-1.py, and browsers call a second download x (1).py.
    """
    stem, dot, suffix = name.rpartition(".")
    if not dot or f".{suffix.lower()}" not in SUFFIXES:
        return None
    for own in (exercise.stem, exercise.id):
        if (attempt := _attempt(stem, own)) is not None:
            return f"{own}.{suffix.lower()}", attempt
    return None


def _called(name: str, also: str) -> tuple[str, int] | None:
    """Return a name that an instructor gave, and the attempt, where `name` is one at it."""
    stem, _, suffix = name.rpartition(".")
    own, _, wanted = also.rpartition(".")
    attempt = _attempt(stem, own) if also and suffix == wanted else None
    return None if attempt is None else (also, attempt)


def _attempt(stem: str, own: str) -> int | None:
    found = re.fullmatch(rf"{re.escape(own)}(?:-(\d{{1,3}})| ?\((\d{{1,3}})\))?", stem)
    return int(found[1] or found[2] or 0) if found else None
