"""Processes that have torch and trust the solutions, each working off tasks one at a time."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

from grader.errors import CourseError, InternalError

_PROCESSES = 2
KEY = "key"
TRIED_KEY = "tried key"  # an audit's: the bugs that run for the key need not run again


@dataclass(frozen=True)
class Task:
    """What a builder is asked for: one exercise's key, pairs or audit."""

    part: str  # KEY, TRIED_KEY or "pairs"; of an audit "bugs", "tried pairs" or "mutants"
    course: str
    exercise: str
    split: str
    secret: str  # hexadecimal
    into: str  # the folder where keys are


Replies = dict[Task, dict[str, Any]]


class Builders:
    """At most two processes, started on first need and kept for more tasks."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._idle: list[_Builder] = []

    def __enter__(self) -> "Builders":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(
        self,
        tasks: Sequence[Task],
        on_done: Callable[[Task], None] = lambda _: None,
        then: Callable[[Task], Sequence[Task]] = lambda _: (),
    ) -> Replies:
        """Work off all tasks, the first ones first, and return the reply to each.

        `on_done` hears of each, and `then` tells which tasks follow it. Raises CourseError for
        what a builder says, InternalError where one dies.
        """
        replies: Replies = {}
        waiting = deque(tasks)
        with selectors.DefaultSelector() as selector:
            self._occupy(waiting, selector)
            while selector.get_map():
                for key, _ in selector.select():
                    builder = key.data
                    selector.unregister(builder.answers)
                    replies[builder.task] = builder.reply()
                    self._idle.append(builder)
                    on_done(builder.task)
                    waiting.extendleft(then(builder.task))
                self._occupy(waiting, selector)
        return replies

    def _occupy(self, waiting: deque[Task], selector: selectors.BaseSelector) -> None:
        """Give tasks to builders as long as there are both."""
        while waiting and (self._idle or len(selector.get_map()) < _processes()):
            builder = self._idle.pop() if self._idle else self._stack.enter_context(_Builder())
            builder.take(waiting.popleft())
            selector.register(builder.answers, selectors.EVENT_READ, builder)


def build_all(tasks: Sequence[Task], on_done: Callable[[Task], None] = lambda _: None) -> Replies:
    """Work off all tasks in builders of their own; see `Builders.run`."""
    with Builders() as builders:
        return builders.run(tasks, on_done)


def _processes() -> int:
    return min(_PROCESSES, os.cpu_count() or 1)


class _Builder:
    """One process of `grader.key.build`."""

    def __init__(self) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "grader.key.build"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.task: Task

    @property
    def answers(self) -> IO[bytes]:
        """Where replies come from, a line each."""
        assert self._process.stdout is not None  # noqa: S101 - PIPE was asked for
        return self._process.stdout

    def take(self, task: Task) -> None:
        """Begin a task."""
        self.task = task
        assert self._process.stdin is not None  # noqa: S101 - PIPE was asked for
        with contextlib.suppress(BrokenPipeError):  # the missing reply tells it
            self._process.stdin.write(json.dumps(asdict(task)).encode() + b"\n")
            self._process.stdin.flush()

    def reply(self) -> dict[str, Any]:
        """Return the reply to the task; raises CourseError or InternalError."""
        line = self.answers.readline()
        if not line:
            self._process.wait()
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            said = [line for line in lines if "Error" in line][-1:] or ["it was killed"]
            raise InternalError(f"a builder died: {said[0][:300]}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise CourseError(reply["error"])
        return reply

    def __enter__(self) -> "_Builder":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()
        self._errors.close()
