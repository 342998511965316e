"""Processes that each hold what work needs, and do units of it one after the other.

A process that vanishes, or fails, takes nothing with it but its unit, which another one tries
again; the second time the unit is given up.
"""

import contextlib
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from grader.errors import GraderError, InternalError, told_fault
from grader.processes import SPAWN, nothing_shared

U = TypeVar("U")  # a unit of work, plain data
R = TypeVar("R")  # what it came to, plain data
Begin = Callable[[], AbstractContextManager[Callable[[U], R]]]

_TRIES = 2  # of a unit
_PATIENCE = 2.0  # seconds that a process may take to end by itself


@dataclass(frozen=True)
class Lost(Generic[U]):
    """A unit that was given up."""

    unit: U
    reason: str


@dataclass
class _Task(Generic[U]):
    unit: U
    tries: int = 0


@dataclass
class _Member(Generic[U]):
    process: BaseProcess
    line: Connection
    task: _Task[U] | None = None


class Pool(Generic[U, R]):
    """Maps units to results on several processes, in no particular order."""

    def __init__(self, begin: Begin[U, R], jobs: int) -> None:
        """`begin`, picklable, is entered once in each process and gives what does the work."""
        self._begin = begin
        self._jobs = jobs
        self._members: list[_Member[U]] = []
        self._again: deque[_Task[U]] = deque()

    def __enter__(self) -> "Pool[U, R]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map(self, units: Iterable[U]) -> Iterator[R | Lost[U]]:
        """Yield each unit's result as it comes; raises InternalError where no work can begin."""
        coming = (_Task(unit) for unit in units)
        while True:
            self._feed(coming)
            busy = {member.line: member for member in self._members if member.task is not None}
            if not busy:
                return
            for line in wait(list(busy)):
                yield from self._hear(busy[line])  # type: ignore[index]

    def close(self) -> None:
        """End the processes."""
        for member in self._members:
            member.line.close()
        for member in self._members:
            member.process.join(_PATIENCE)
            _end(member)
        self._members.clear()

    def _feed(self, coming: Iterator[_Task[U]]) -> None:
        """Give every free process a unit, starting as many processes as there is work for."""
        while True:
            free = [member for member in self._members if member.task is None]
            if not free and len(self._members) >= self._jobs:
                return
            task = self._again.popleft() if self._again else next(coming, None)
            if task is None:
                return
            member = free[0] if free else self._hire()
            member.task = task
            task.tries += 1
            with contextlib.suppress(OSError):  # it has vanished: its line will tell
                member.line.send(task.unit)

    def _hire(self) -> _Member[U]:
        ours, theirs = SPAWN.Pipe()
        process = SPAWN.Process(target=_work, args=(self._begin, theirs))
        with nothing_shared():
            process.start()
        theirs.close()
        member: _Member[U] = _Member(process, ours)
        self._members.append(member)
        return member

    def _hear(self, member: _Member[U]) -> Iterator[R | Lost[U]]:
        task, member.task = member.task, None
        assert task is not None  # noqa: S101 - only the busy ones are heard
        try:
            word, content = member.line.recv()
        except (EOFError, OSError):
            word, content = "fault", "the process that graded it vanished"
        if word == "done":
            yield content
            return
        self._members.remove(member)
        member.line.close()
        _end(member)
        if word == "unready":
            raise InternalError(content)
        if task.tries < _TRIES:
            self._again.append(task)
        else:
            yield Lost(task.unit, content)


def _end(member: _Member[Any]) -> None:
    if member.process.is_alive():
        member.process.kill()
    member.process.join()


def _work(begin: Begin[U, R], line: Connection) -> None:
    """Serve one line until it closes, or a unit fails."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one decides
    word = "unready"
    try:
        with begin() as work:
            word = "fault"
            while True:
                unit = line.recv()
                line.send(("done", work(unit)))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except GraderError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - our own fault, told where it can be acted on
        reason = told_fault(error)
    with contextlib.suppress(OSError):
        line.send((word, reason))
