"""Processes that have torch and trust the solutions, each doing one task after the other.

A task is a function of a `KeyOrder`. It stands in a module that imports torch only when it runs,
for the process that asks for it needs none.
"""

import contextlib
import faulthandler
import os
import re
import signal
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any, TypeVar

from grader.errors import GraderError, InternalError, told_fault
from grader.processes import SPAWN, nothing_shared

T = TypeVar("T")

_PROCESSES = 2
_POLL = 0.2  # seconds between two looks at what builders tell
_STEPS: "list[SimpleQueue[str]]" = []  # of this process, where it is a builder
_LAST_WORDS = re.compile(r"^(?:Fatal Python error|[\w.]*Error)\b.*", re.MULTILINE)


@dataclass(frozen=True)
class KeyOrder:
    """Which exercise's key a task is about, and where keys are kept."""

    course: Path
    exercise: str
    split: str
    secret: bytes = field(repr=False)
    into: Path


class Builders:
    """At most two processes, started on first need and kept for more tasks."""

    def __init__(
        self, at_most: int = _PROCESSES, on_step: Callable[[str], None] = lambda _: None
    ) -> None:
        """Make ready; `on_step` hears what `tell_step` is told in the processes, as one waits."""
        count = max(1, min(at_most, _PROCESSES, os.cpu_count() or 1))
        self._stack = contextlib.ExitStack()
        words = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="grade-builders-"))
        self._words = Path(words)
        theirs, self._ours = SPAWN.Pipe(duplex=False)
        with nothing_shared():
            self._steps: SimpleQueue[str] = SPAWN.SimpleQueue()
            self._pool = ProcessPoolExecutor(count, SPAWN, _begin, (words, theirs, self._steps))
        self._theirs, self._on_step = theirs, on_step

    def __enter__(self) -> "Builders":
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes, whatever they do."""
        self._ours.close()
        self._pool.shutdown(cancel_futures=True)
        self._theirs.close()
        self._steps.close()
        self._stack.close()

    def start(
        self, task: Callable[[KeyOrder], T], orders: Iterable[KeyOrder]
    ) -> dict[str, Future[T]]:
        """Line up one task an order, by exercise; those that came first are begun first."""
        with nothing_shared():  # the first ones start the processes
            return {order.exercise: self._pool.submit(_do, task, order) for order in orders}

    def wait(self, named: Mapping[Future[Any], str], on_done: Callable[[str], None]) -> None:
        """Wait until all are done; `on_done` hears the name of each.

        Raises the GraderError that ends a task, and InternalError where a process dies.
        """
        left = set(named)
        while left:
            done, left = wait(left, _POLL, FIRST_COMPLETED)
            while not self._steps.empty():
                self._on_step(self._steps.get())
            for future in done:
                try:
                    future.result()
                except BrokenProcessPool:
                    raise InternalError(f"a builder died: {self._last_words()}") from None
                on_done(named[future])

    def _last_words(self) -> str:
        logs = sorted(self._words.iterdir(), key=lambda log: log.stat().st_mtime)
        text = "\n".join(log.read_text(encoding="utf-8", errors="replace") for log in logs)
        said = _LAST_WORDS.findall(text)
        return said[-1][:300] if said else "it was killed, as where memory runs out"


def tell_step(what: str) -> None:
    """Tell whoever waits for this process what it does now; nothing where it is no builder."""
    for steps in _STEPS:
        steps.put(what)


def _begin(words: str, line: Connection, steps: "SimpleQueue[str]") -> None:
    """Make a new process a builder: what solutions print goes to a file, and torch has one thread.

    It ends with the process that asked for it, which is the only one that holds the line's end.
    """
    log = os.open(Path(words, str(os.getpid())), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.enable()
    _STEPS.append(steps)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that asked decides
    threading.Thread(target=_end_with, args=(line,), daemon=True).start()
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch comes
    import torch

    torch.set_num_threads(1)


def _do(task: Callable[[KeyOrder], T], order: KeyOrder) -> T:
    """Do a task; whatever goes wrong comes back as an error that can be sent and shown."""
    try:
        return task(order)
    except GraderError:
        raise
    except (Exception, SystemExit) as error:
        said = f"a builder failed: {told_fault(error)}: {error}"[:300]
        raise InternalError(said) from error


def _end_with(line: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        line.recv_bytes()
    os._exit(1)
