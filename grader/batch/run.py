"""`grade batch`: from a folder of submissions to a folder of results."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from grader.batch.entries import Entry, find_entries
from grader.batch.pool import Begin, Lost, Pool
from grader.batch.results import About, Results
from grader.batch.summary import Summary, summarise
from grader.batch.unit import Graded, Unit, grade_unit
from grader.course.load import CourseFolder, load_course
from grader.course.models import Exercise
from grader.engine import open_engine
from grader.errors import InternalError, UsageError
from grader.execute.isolation import Level, choose, require
from grader.execute.launch import WarmProcess
from grader.key.cache import PUBLIC_SECRET, Keys, build_missing_pairs, load_keys
from grader.key.secret import hidden_secret
from grader.plan.records import HIDDEN, PUBLIC


@dataclass(frozen=True)
class BatchRequest:
    """What `grade batch` was asked for."""

    folder: CourseFolder
    exercises: Sequence[Exercise]
    submissions: Path
    results: Path
    jobs: int
    hidden: bool = True
    isolation: Level | None = None  # the best there is, and not below landlock, where None
    force: bool = False  # grade again what is unchanged


@dataclass(frozen=True)
class Batch:
    """What a batch did."""

    isolation: Level
    graded: int  # submissions of which something was graded now
    unchanged: int
    summary: Summary  # of all results in the folder


def run_batch(
    request: BatchRequest,
    *,
    expect: Callable[[int], None] = lambda _: None,
    advance: Callable[[str], None] = lambda _: None,
) -> Batch:
    """Grade what is new or changed, keeping each result as it comes; raises GraderError.

    `expect` hears how many steps are to come, `advance` hears of each.
    """
    level = _choose_level(request.isolation)
    entries = find_entries(request.submissions, request.folder.course)
    _refuse_inside(request)
    split = HIDDEN if request.hidden else PUBLIC
    results = Results(request.results, About(request.folder.course.title, split))
    try:
        keys = _prepare_keys(request, split, expect, advance)
        known = {} if request.force else results.digests()
        expect(len(entries))
        begin = partial(
            _grader, request.folder.root, tuple(keys.keys), request.hidden, keys.digest, level
        )
        graded = _grade_all(request, entries, known, begin, results, keys.digest, advance)
        summary = summarise(request.results, request.folder.course)
    finally:
        results.close()
    return Batch(level, graded, len(entries) - graded, summary)


def _choose_level(wanted: Level | None) -> Level:
    """Return the level to grade at; raises UsageError where it is too low and not asked for."""
    found = choose(wanted)
    if wanted is None:
        require(found, Level.LANDLOCK)
    return found.level


def _refuse_inside(request: BatchRequest) -> None:
    """Results among the submissions would be read as one of them."""
    if request.results.resolve().is_relative_to(request.submissions.resolve()):
        raise UsageError(
            f"{request.results} lies inside of the submissions: name a folder elsewhere"
        )


def _prepare_keys(
    request: BatchRequest,
    split: str,
    expect: Callable[[int], None],
    advance: Callable[[str], None],
) -> Keys:
    """Build what is missing of the keys before any process needs it."""

    def built(what: str, exercise: str) -> None:
        expect(1)
        advance(f"{what} of {exercise}")

    secret = hidden_secret(request.folder) if request.hidden else PUBLIC_SECRET
    ids = [exercise.id for exercise in request.exercises]
    keys = load_keys(
        request.folder, ids, split, secret=secret, on_built=partial(built, "answer key")
    )
    build_missing_pairs(request.folder, keys, split, secret, partial(built, "pairs"))
    return keys


def _grade_all(
    request: BatchRequest,
    entries: Sequence[Entry],
    known: dict[str, dict[str, str]],
    begin: Begin[Unit, Graded],
    results: Results,
    digest: str,
    advance: Callable[[str], None],
) -> int:
    ids = tuple(exercise.id for exercise in request.exercises)
    units = (Unit(entry, ids, known.get(entry.student, {})) for entry in entries)
    pool: Pool[Unit, Graded] = Pool(begin, min(request.jobs, len(entries)))
    graded = 0
    try:
        for done in pool.map(units):
            if isinstance(done, Lost):
                done = _given_up(done)
            if done.results or done.student not in known:
                results.keep(done, digest)
                graded += 1
            advance(done.student)
    finally:
        pool.close()
    return graded


@contextlib.contextmanager
def _grader(
    root: Path, exercises: Sequence[str], hidden: bool, digest: str, level: Level
) -> Iterator[Callable[[Unit], Graded]]:
    """Give what grades units, in a process of its own."""
    warm = WarmProcess(level)
    try:
        folder = load_course(root)
        wanted = [folder.course.exercise(e) for e in exercises]
        engine = open_engine(folder, wanted, warm, hidden=hidden)
        if engine.keys.digest != digest:
            raise InternalError("the course was changed while the class was graded: start again")
        yield partial(grade_unit, engine)
    finally:
        warm.close()


def _given_up(lost: Lost[Unit]) -> Graded:
    """Our own fault: no result, so that the next run tries again, and a person is told."""
    note = f"could not be graded, by a fault of grader's own: {lost.reason}"
    return Graded(lost.unit.entry.student, (note,), {}, {}, frozenset(), {})
