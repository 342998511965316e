"""Runs `grade` in forks of a process that has imported it, and lends them a worker that has torch.

A fork does all that the console script does but for importing, which takes longer than most of what
tests ask for. That both print the same is a test of its own, in whole/test_running.py.
"""

import gc
import importlib
import json
import os
import pkgutil
import select
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from support import Shown

from grader.execute import isolation, launch
from grader.execute.child import Child
from grader.execute.isolation import Level
from grader.execute.launch import ForkServer
from grader.worker.control import Death, Limits
from grader.worker.data import DataFiles
from grader.worker.frameworks import FrameworkName

SCRIPT = Path(sys.executable).with_name("grade")
_SECONDS = 3600  # a net for hangs, not a figure: a whole audit takes half an hour
_PYTHONS_OWN = ("PYTHON", "LC_", "LANG")  # variables that are read as Python starts


def run_script(arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Shown:
    """Run the console script itself."""
    command = [str(SCRIPT), *arguments]
    options: Any = {"capture_output": True, "text": True, "timeout": _SECONDS, "check": False}
    done = subprocess.run(command, cwd=cwd, env=environment, **options)
    return Shown(done.returncode, done.stdout, done.stderr)


class Program:
    """Runs the console script as forks of one process, which begins with the first."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._begun_with = _read_at_start(os.environ)
        self._alone = threading.Lock()  # all runs have one worker

    def run(self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Shown:
        """Run `grade` on no terminal."""
        if _read_at_start(environment) != self._begun_with:
            return run_script(arguments, cwd, environment)
        with self._alone, tempfile.TemporaryDirectory(prefix="grade-run-") as place:
            out, err = (Path(place, name) for name in ("out", "err"))
            status = self._ask([list(arguments), str(cwd), dict(environment), str(out), str(err)])
            return Shown(status, out.read_text("utf-8"), err.read_text("utf-8"))

    def close(self) -> None:
        """End the process, and what it lends."""
        if self._process is not None:
            self._process.communicate()

    def _ask(self, request: list[Any]) -> int:
        if self._process is None:
            command, pipe = [sys.executable, str(Path(__file__))], subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        asked.write(f"{json.dumps(request)}\n")
        asked.flush()
        assert select.select([told], [], [], _SECONDS)[0], f"{request[0]} does not end"
        return int(told.readline())


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: v for name, v in environment.items() if name.startswith(_PYTHONS_OWN)}


# ---- in the process ------------------------------------------------------------------------------


def _serve() -> None:
    """Answer each request with the status of a fork; returns in a fork, ready to run `grade`."""
    _import_all()
    lent = _Lent()
    asked, told = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    _lead(0, os.devnull, os.O_RDONLY)
    gc.freeze()  # a fork that collected garbage would copy all of this
    while line := asked.readline():
        lent.begin()
        if not (pid := os.fork()):
            _become(*json.loads(line))
            return
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status not in (0, 1, 2, 3):  # what it said to the worker last may not be answered
            lent.end()
        told.write(f"{status}\n")
        told.flush()
    lent.end()
    os._exit(0)


def _import_all() -> None:
    """Import what commands import as they run."""
    for package in ("cli", "grading", "report", "student", "batch"):
        top = Path(launch.__file__).parents[1]
        for found in pkgutil.iter_modules([str(top / package)], f"grader.{package}."):
            importlib.import_module(found.name)


def _become(
    arguments: list[str], cwd: str, environment: dict[str, str], out: str, err: str
) -> None:
    """Make a fork what the script's process is."""
    for number, file in ((1, out), (2, err)):
        _lead(number, file, os.O_WRONLY | os.O_CREAT)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = [str(SCRIPT), *arguments]
    sys.path[0] = str(SCRIPT.parent)


def _lead(descriptor: int, file: str, flags: int) -> None:
    opened = os.open(file, flags)
    os.dup2(opened, descriptor)
    os.close(opened)


class _Lent:
    """A warm process that runs use one after the other, in place of one of their own."""

    def __init__(self) -> None:
        self.level = isolation.probe().level
        self.server: ForkServer | None = None
        lent = self

        class Borrowed(_Borrowed):
            def __init__(self, level: Level) -> None:
                super().__init__(level, lent)

        vars(launch)["ForkServer"] = Borrowed

    def begin(self) -> ForkServer:
        """Have one that is ready."""
        if self.server is None:
            self.server = ForkServer(self.level)
            self.server._wait_until_ready()  # noqa: SLF001 - each fork would do it again
        return self.server

    def end(self) -> None:
        """End it."""
        if self.server is not None:
            self.server.close()
        self.server = None


class _Borrowed(ForkServer):
    """Has children of the lent process, and of one of its own for another level or for data."""

    def __init__(self, level: Level, lent: _Lent) -> None:
        self._lent = lent.begin()
        self.process = self._lent.process
        self._level = level
        self._own = None if level is lent.level else ForkServer(level)
        self._children: dict[int, Child] = {}  # of the lent process

    def start(self, limits: Limits, framework: FrameworkName, data: DataFiles | None) -> Child:
        if data and self._own is None:
            self._own = ForkServer(self._level)
        if self._own is not None:
            return self._own.start(limits, framework, data)
        child = self._lent.start(limits, framework, data)
        self._children[child.pid] = child
        return child

    def end(self, child: Child, *, grace: bool) -> Death:
        lent = self._children.pop(child.pid, None) is not None
        server = self._lent if lent or self._own is None else self._own
        return server.end(child, grace=grace)

    def close(self) -> None:
        for child in list(self._children.values()):
            self.end(child, grace=False)
        if self._own is not None:
            self._own.close()


if __name__ == "__main__":
    _serve()
    from grader.cli.main import main

    with suppress(BrokenPipeError):
        main()
