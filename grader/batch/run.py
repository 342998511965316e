"""`grade batch`: from a folder of submissions to a folder of results."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from grader.batch.database import reading
from grader.batch.entries import (
    Entry,
    exercises_in_use,
    find_entries,
    find_others,
    left_out,
    trainings_ahead,
)
from grader.batch.levels import Levels
from grader.batch.pool import Lost, Pool
from grader.batch.register import ClassList, read_names
from grader.batch.results import About, Results
from grader.batch.unit import GradedSubmission, Unit, grade_unit
from grader.batch.workplace import SplitKeys, Workplace, prepare_keys
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import UsageError
from grader.execute.isolation import Level, choose_for_class
from grader.execute.memory import Admission, admit, control_group
from grader.key.secret import mark_of, split_and_secret
from grader.records.people import Person


@dataclass(frozen=True)
class BatchRequest:
    """What `grade batch` was asked for."""

    folder: CourseFolder
    exercises: Sequence[Exercise]  # those of the parts in use, where none is named
    submissions: Path
    results: Path
    jobs: int
    hidden: bool = True
    isolation: Level | None = None  # the best there is, and not below landlock, where None
    force: bool = False  # grade again what is unchanged
    memory: int | None = None  # MiB for all together; nine tenths of what is free where None
    roster: Sequence[Person] | None = None  # who is in the class; who was before where None
    merge: bool = False  # whether results of other folders stay beside these
    names: Mapping[str, str] = field(default_factory=dict)  # other names of files, by exercise
    trains: bool = True  # whether trainings are run, which take long


Outcome = GradedSubmission | Lost[Unit]


@dataclass(frozen=True)
class Reach:
    """How a class can be graded somewhere."""

    isolation: Level  # the least of all who grade
    admission: Admission


class Graders(Protocol):
    """Who grades a class: processes of this machine, or others."""

    def reach(self, request: BatchRequest, count: int) -> Reach:
        """Say how `count` submissions can be graded; raises UsageError where they cannot."""

    def grading(
        self, request: BatchRequest, reach: Reach, keys: SplitKeys
    ) -> AbstractContextManager[Callable[[Iterable[Unit]], Iterator[Outcome]]]:
        """Give what grades units, and yields what they come to in no particular order."""


@dataclass(frozen=True)
class Batch:
    """What a batch did."""

    reach: Reach
    graded: int  # submissions of which something was graded now
    unchanged: int
    left_out: Sequence[str] = ()  # parts of which nobody handed in a file


def run_batch(
    request: BatchRequest,
    expect: Callable[[int], None] = lambda _: None,
    advance: Callable[[str], None] = lambda _: None,
    on_key: Callable[[str], None] = lambda _: None,
    graders: Graders | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Batch:
    """Grade what is new or changed, keeping each result as it comes; raises GraderError.

    `expect` hears how many submissions are to come, `advance` hears of each; `on_key` hears what of
    the answer keys is being built before, `tell` how long trainings take. `graders` are processes
    of this machine where None.
    """
    folder = request.folder
    entries = find_entries(request.submissions, folder.course)
    reach = (graders := graders or OwnProcesses()).reach(request, len(entries))
    request = replace(request, names={**_names_before(request), **request.names})
    _refuse_unfit(request, entries)
    results = Results(request.results, _about(folder, hidden=request.hidden))
    try:
        results.enter(_class_list(request, entries))
        chosen = request.exercises or _in_use(request, entries, results)
        keys = prepare_keys(folder, chosen, on_key, hidden=request.hidden)
        results.note(find_others(request.submissions, folder.course))
        training = (folder.course, entries, chosen, request.names, reach.admission.jobs)
        if request.trains and (ahead := trainings_ahead(*training)):
            tell(ahead)
        expect(len(entries))
        with graders.grading(request, reach, keys) as grade:
            graded = _grade_all(request, entries, keys, grade, results, advance)
        results.finish()
    finally:
        results.close()
    return Batch(reach, graded, len(entries) - graded, _left_out(request, chosen))


def _left_out(request: BatchRequest, chosen: Sequence[Exercise]) -> Sequence[str]:
    return () if request.exercises else left_out(request.folder.course, chosen)


def _class_list(request: BatchRequest, entries: Sequence[Entry]) -> ClassList:
    course = request.folder.course
    exercises = [exercise.id for exercise in course.exercises]
    parts = {part.name: part.exercises for part in course.parts}
    return ClassList(
        request.submissions, entries, exercises, request.roster, request.merge, parts, request.names
    )


def _in_use(
    request: BatchRequest, entries: Sequence[Entry], results: Results
) -> Sequence[Exercise]:
    course = request.folder.course
    if len(course.parts) < 2:
        return course.exercises
    graded = {exercise for own in results.digests().values() for exercise in own}
    return exercises_in_use(course, entries, request.names, graded)


def _names_before(request: BatchRequest) -> dict[str, str]:
    """Return the other names of files that the same folder was graded with before."""
    try:
        with reading(request.results) as database:
            return read_names(database).get(str(request.submissions.resolve()), {})
    except UsageError:  # there are no results, or they are of another version
        return {}


def _about(folder: CourseFolder, *, hidden: bool) -> About:
    split, secret = split_and_secret(folder, hidden=hidden)
    return About(folder.course.title, split, mark_of(secret) if hidden else "")


def _refuse_unfit(request: BatchRequest, entries: Sequence[Entry]) -> None:
    """Raise UsageError where results are among the submissions, or of another level."""
    if request.results.resolve().is_relative_to(request.submissions.resolve()):
        raise UsageError(
            f"{request.results} lies inside of the submissions: name a folder elsewhere"
        )
    levels = Levels(request.folder, request.names)
    levels.refuse_other(request.submissions, entries, request.results)


def _grade_all(
    request: BatchRequest,
    entries: Sequence[Entry],
    keys: SplitKeys,
    grade: Callable[[Iterable[Unit]], Iterator[Outcome]],
    results: Results,
    advance: Callable[[str], None],
) -> int:
    """Keep what is graded, and return of how many submissions it was."""
    known = {} if request.force else results.digests()
    exercises = tuple(keys.scored.keys)
    units = (Unit(e, exercises, known.get(e.student, {}), request.names) for e in entries)
    graded = 0
    for done in grade(units):
        if isinstance(done, Lost):
            done = _given_up(done)
        if done.results or done.student not in known:
            results.keep(done, keys.scored.digest)
            graded += 1
        advance(done.student)
    return graded


class OwnProcesses:
    """Grades by processes of this machine."""

    def reach(self, request: BatchRequest, count: int) -> Reach:
        """Say at which level, and how many at once."""
        level = choose_for_class(request.isolation)
        limits = request.folder.course.widest_limits
        return Reach(level, admit(min(request.jobs, count), request.memory, limits))

    @contextlib.contextmanager
    def grading(
        self, request: BatchRequest, reach: Reach, keys: SplitKeys
    ) -> Iterator[Callable[[Iterable[Unit]], Iterator[Outcome]]]:
        """Start a pool, in a control group where one can be made."""
        with control_group(reach.admission.memory) as group:
            place = Workplace.of(request.folder, keys, reach.isolation)
            place = replace(place, group=group, trains=request.trains)
            with Pool(partial(_grader, place), reach.admission.jobs) as pool:
                yield pool.map


@contextlib.contextmanager
def _grader(workplace: Workplace) -> Iterator[Callable[[Unit], GradedSubmission]]:
    """Give what grades units, in a process of its own."""
    with workplace.opened() as engine:
        yield partial(grade_unit, engine)


def _given_up(lost: Lost[Unit]) -> GradedSubmission:
    """Our own fault: no result, so that the next run tries again, and a person is told."""
    note = f"could not be graded, by a fault of grader's own: {lost.reason}"
    return GradedSubmission(lost.unit.entry.student, (note,), {}, {}, frozenset(), {})
