"""Grades an exercise on each save, and goes on to the next when one is passed."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.course.models import Exercise
from grader.handin.pick import pick
from grader.handin.read import Source, read_submission
from grader.records.results import CheckResult, ExerciseResult, Kind, Status
from grader.student.findings import Findings

_POLL = 0.02  # seconds; a look at some files costs microseconds, and works on any file system
_PATIENCE = 0.5  # seconds that an editor may take to put a new file in an old one's place

_Stamp = tuple[int, int, int]  # time of change in ns, size, inode


class Events(Protocol):
    """Tells which exercises were saved."""

    def wait(self) -> frozenset[str] | None:
        """Return the ids of exercises whose files were saved, None where no more will come."""


class FileEvents:
    """Looks at the files of exercises in a folder, or at the one file that is graded."""

    def __init__(self, place: Path, exercises: Sequence[Exercise]) -> None:
        """Look at the files as they are now; later changes count."""
        self._place = place
        self._exercises = exercises
        self._listed = 0
        self._paths: dict[str, list[Path]] = {}
        self._seen = self._look()

    def wait(self) -> frozenset[str]:
        """Wait for a save, until the files stop changing: an editor may write in several steps."""
        while True:
            time.sleep(_POLL)
            now = self._look()
            if now == self._seen:
                continue
            now = self._settled(now)
            saved = frozenset(i for i, stamps in now.items() if stamps != self._seen[i])
            self._seen = now
            if saved:
                return saved

    def _settled(self, now: Mapping[str, tuple[_Stamp, ...]]) -> Mapping[str, tuple[_Stamp, ...]]:
        """Return the files' stamps once they stay, and nothing is missing or empty for long."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            time.sleep(_POLL)
            again = self._look()
            whole = all(
                len(stamps) >= len(self._seen[i]) and all(size for _, size, _ in stamps)
                for i, stamps in again.items()
            )
            if again == now and whole:
                break
            now = again
        return now

    def _look(self) -> Mapping[str, tuple[_Stamp, ...]]:
        changed = self._place.stat().st_mtime_ns if self._place.is_dir() else 1
        if changed != self._listed:  # a folder changes when a file comes or goes
            self._listed = changed
            self._paths = {e.id: _candidates(self._place, e) for e in self._exercises}
        return {i: tuple(_stamps(paths)) for i, paths in self._paths.items()}


def _candidates(place: Path, exercise: Exercise) -> list[Path]:
    if not place.is_dir():
        return [place]
    return [place / name for name in pick((path.name for path in place.iterdir()), exercise)]


def _stamps(paths: Sequence[Path]) -> list[_Stamp]:
    stamps = []
    for path in paths:
        try:
            state = path.stat()
        except OSError:
            continue
        stamps.append((state.st_mtime_ns, state.st_size, state.st_ino))
    return stamps


@dataclass(frozen=True)
class Change:
    """What is new since the last run of an exercise."""

    points: float  # more than before; less where negative
    passed: tuple[str, ...]  # what is passed now, as "fold_heads shape" or "all of fold_heads"
    failed: tuple[str, ...]  # what no longer is


@dataclass(frozen=True)
class Turn:
    """One run of the watch, for the screen."""

    result: ExerciseResult
    change: Change | None  # None at an exercise's first run
    finished: str  # the exercise that was passed just before, "" where none was
    last: bool  # no exercise is left: all are passed
    part: str  # of the course, "" in one without parts
    earned: float  # points of the part, or else the course, as far as they are known
    possible: float
    reminder: str = ""  # of questions that can be tried now, of `finished` where there is one


def compare_results(before: ExerciseResult, after: ExerciseResult) -> Change:
    """Return what changed from one run of an exercise to the next."""
    was = {check.id for check in before.checks if check.status is Status.PASSED}
    now = {check.id for check in after.checks if check.status is Status.PASSED}
    return Change(
        round(after.score - before.score, 2),
        _short([check for check in after.checks if check.id in now - was], after),
        _short([check for check in after.checks if check.id in was - now], after),
    )


def _short(changed: Sequence[CheckResult], result: ExerciseResult) -> tuple[str, ...]:
    """Checks in words; a target alone where all of it changed. Known mistakes are not named.

    An option's or an edge's part of a kind goes by the kind.
    """
    words: dict[str, None] = {}
    for target in dict.fromkeys(check.target for check in changed):
        every = [check for check in result.checks if check.target == target]
        own = [check for check in changed if check.target == target]
        if len(own) == len(every):
            words[f"all of {target}"] = None
            continue
        for check in own:
            if check.kind is not Kind.BUG:
                words[f"{target} {check.id.shown.partition('/')[0]}"] = None
    return tuple(words)


@dataclass
class Watch:
    """A watch over some exercises of one course."""

    findings: Findings
    exercises: Sequence[Exercise]  # to be passed, in order
    place: Path  # a folder, or one file
    events: Events
    show: Callable[[Turn], None]
    remember: Callable[[ExerciseResult, Source], str] = lambda *_: ""  # returns a reminder
    scores: dict[str, float] | None = None  # of earlier runs, by exercise

    def run(self, current: Exercise) -> bool:
        """Watch until all is passed, or no event comes; tells whether all is passed."""
        results: dict[str, ExerciseResult] = {}
        while True:
            finished = reminder = ""
            while True:
                turn = self._turn(current, results, finished, reminder)
                following = self._next(current, results)
                if turn.result.status is not Status.PASSED or following is None:
                    break
                self._tell(turn)
                finished, reminder, current = current.id, turn.reminder, following
            self._tell(turn)
            if turn.last:
                return True
            saved = self.events.wait()
            if saved is None:
                return False
            if current.id not in saved:
                current = next(e for e in self.exercises if e.id in saved)

    def _tell(self, turn: Turn) -> None:
        self.show(turn)
        self.findings.keep()  # after it, since the student waits for the verdict

    def _turn(
        self, current: Exercise, results: dict[str, ExerciseResult], finished: str, reminder: str
    ) -> Turn:
        """Grade an exercise; a reminder of the one just finished would else not be seen."""
        course = self.findings.folder.course
        limit = course.limits.source_kib * 1024
        submission = read_submission(self.place, course, [current], limit)
        (found,) = self.findings.of([current], submission)
        result = found.result
        before = results.get(current.id)
        results[current.id] = result
        said = self.remember(result, submission.source(current))
        known = {**(self.scores or {}), **{i: r.score for i, r in results.items()}}
        own, part = course.beside(current), course.part_of(current)
        return Turn(
            result,
            compare_results(before, result) if before else None,
            finished,
            last=result.status is Status.PASSED and self._next(current, results) is None,
            part=part.name if part else "",
            earned=round(sum(known.get(exercise.id, 0.0) for exercise in own), 2),
            possible=sum(exercise.points for exercise in own),
            reminder=reminder if finished else said,
        )

    def _next(self, current: Exercise, results: dict[str, ExerciseResult]) -> Exercise | None:
        """The exercise after this one that is not passed, around to those before it."""
        place = list(self.exercises).index(current)
        order = [*self.exercises[place + 1 :], *self.exercises[:place]]
        passed = {i for i, r in results.items() if r.status is Status.PASSED}
        return next((e for e in order if e.id not in passed), None)
