"""Processes that have torch and trust the solutions, each working off tasks one at a time."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

from grader.errors import CourseError, InternalError

_PROCESSES = 2


@dataclass(frozen=True)
class Task:
    """What a builder is asked for: one exercise's key, pairs or audit."""

    part: str  # "key", "pairs" or "audit"
    course: str
    exercise: str
    split: str
    secret: str  # hexadecimal
    into: str  # the folder where keys are


def build_all(
    tasks: Sequence[Task], on_done: Callable[[Task], None] = lambda _: None
) -> list[dict[str, Any]]:
    """Work off all tasks, in two processes, and return their replies in order.

    `on_done` hears of each. Raises CourseError for what a builder says, InternalError where one
    dies.
    """
    replies: dict[int, dict[str, Any]] = {}
    waiting = list(enumerate(tasks))
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        for _ in range(min(_PROCESSES, len(tasks), os.cpu_count() or 1)):
            builder = stack.enter_context(_Builder())
            builder.take(*waiting.pop(0))
            selector.register(builder.answers, selectors.EVENT_READ, builder)
        while len(replies) < len(tasks):
            for key, _ in selector.select():
                builder = key.data
                replies[builder.index] = builder.reply()
                on_done(tasks[builder.index])
                if waiting:
                    builder.take(*waiting.pop(0))
                else:
                    selector.unregister(builder.answers)
    return [replies[index] for index in range(len(tasks))]


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
        self.index = -1

    @property
    def answers(self) -> IO[bytes]:
        """Where replies come from, a line each."""
        assert self._process.stdout is not None  # noqa: S101 - PIPE was asked for
        return self._process.stdout

    def take(self, index: int, task: Task) -> None:
        """Begin a task; `index` says which, for whoever reads the reply."""
        self.index = index
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
