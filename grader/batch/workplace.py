"""What each process of a pool opens for itself, and what is made ready before any of them."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.course.load import CourseFolder, load_course
from grader.course.models import Exercise
from grader.errors import InternalError
from grader.execute.isolation import Level
from grader.execute.launch import WarmProcess
from grader.execute.memory import enter_group
from grader.grading.engine import Engine, open_engine
from grader.key.cache import Keys, build_missing_pairs, load_keys
from grader.key.secret import hidden_secret
from grader.records.calls import HIDDEN, PUBLIC


@dataclass(frozen=True)
class SplitKeys:
    """The keys that a class is graded with."""

    public: Keys
    hidden: Keys | None  # where the hidden cases count

    @property
    def scored(self) -> Keys:
        """Those that give the points."""
        return self.hidden or self.public


@dataclass(frozen=True)
class Workplace:
    """Where an engine is to be opened, as plain data."""

    root: Path  # of the course
    exercises: tuple[str, ...]  # to grade
    digest: str  # of the keys that all processes must have
    level: Level
    hidden: bool
    group: str = ""  # the control group that each process enters
    trains: bool = True

    @staticmethod
    def of(folder: CourseFolder, keys: SplitKeys, level: Level) -> "Workplace":
        """Return where engines with these keys are opened."""
        scored, hidden = keys.scored, keys.hidden is not None
        return Workplace(folder.root, tuple(scored.keys), scored.digest, level, hidden)

    @contextlib.contextmanager
    def opened(self) -> Iterator[Engine]:
        """Open an engine with a warm process of its own; raises GraderError."""
        enter_group(self.group)
        warm = WarmProcess(self.level)
        try:
            folder = load_course(self.root)
            exercises = [folder.course.exercise(e) for e in self.exercises]
            hidden, trains = self.hidden, self.trains
            engine = open_engine(folder, exercises, warm, hidden=hidden, trains=trains)
            if engine.keys.digest != self.digest:
                raise InternalError("the course was changed while a class was graded: start again")
            yield engine
        finally:
            warm.close()


def prepare_workplace(
    folder: CourseFolder,
    exercises: Sequence[Exercise],
    level: Level,
    on_key: Callable[[str], None],
    *,
    hidden: bool,
) -> Workplace:
    """Make the keys ready, and return where each process grades with them."""
    return Workplace.of(folder, prepare_keys(folder, exercises, on_key, hidden=hidden), level)


def prepare_keys(
    folder: CourseFolder,
    exercises: Sequence[Exercise],
    on_key: Callable[[str], None],
    *,
    hidden: bool,
) -> SplitKeys:
    """Build what is missing of the keys before any process needs it, pairs of bugs included.

    `on_key` hears what is being built.
    """

    def heard(what: str, where: str) -> None:
        on_key(f"{what} of {where}")

    ids = [exercise.id for exercise in exercises]
    keys = load_keys(folder, ids, PUBLIC, on_built=partial(heard, "public key"))
    # on hidden cases nothing is named
    build_missing_pairs(folder, keys, partial(heard, "pairs of bugs"))
    if not hidden:
        return SplitKeys(keys, None)
    secret = hidden_secret(folder)
    on_hidden = partial(heard, "hidden key")
    return SplitKeys(keys, load_keys(folder, ids, HIDDEN, secret=secret, on_built=on_hidden))
