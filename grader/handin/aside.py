"""Works on a submission's text in another process, which is given up where that takes too much.

Parsers are written in C, where nothing can interrupt them: no text of a student's may hold up, or
fill, the process that judges a class. Nothing of a submission is run there.
"""

import atexit
import contextlib
import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from grader.handin.refused import Refused

R = TypeVar("R")
_SECONDS = 0.5  # of CPU time for one question; an ordinary exercise takes thousandths
_MEMORY = 176 << 20  # bytes of addresses, Python's own among them
_PATIENCE = 30.0  # wall seconds, on a machine however busy
_SERVE = "from grader.handin.aside import serve; serve()"


def ask(work: Callable[..., R], *given: object) -> R:
    """Return what a module's function makes of plain data; raises what it raises.

    Raises Refused where that takes too much time or memory. On Windows, which has no such limits,
    the work is done right here.
    """
    if _Helper.inside or os.name == "nt":
        return work(*given)
    with _lock:
        try:
            done, answer = _helper().ask((work, given))
        except _Killed:  # from outside, for want of memory perhaps
            done, answer = _helper().ask((work, given))
    if done:
        result: R = answer
        return result
    raise answer


def begin() -> None:
    """Start the other process, so that the first question need not wait until it is there."""
    if os.name != "nt":
        with _lock:
            _helper()


class _Killed(Exception):
    """The other process was killed by somebody else."""


class _Helper:
    """The other process, with one question after the other."""

    inside = False  # whether this process is one
    current: "_Helper | None" = None

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _SERVE],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
            )
            ours.settimeout(_PATIENCE)
            self._talk = ours.makefile("rwb")

    def ask(self, question: object) -> Any:
        """Return whether it could be done, with the answer or the exception."""
        try:
            pickle.dump(question, self._talk)
            self._talk.flush()
            return pickle.load(self._talk)  # noqa: S301 - of our own code
        except TimeoutError:
            self.end()
        except (OSError, EOFError):
            killed = self._process.wait() == -signal.SIGKILL
            self.end()
            if killed:
                raise _Killed from None
        what = "cannot be parsed in half a second and 170 MiB"
        raise Refused(what, "hand in only the code that the exercise asks for")

    def end(self) -> None:
        """End the process."""
        _Helper.current = None
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            self._talk.close()


_lock = threading.Lock()


def _helper() -> _Helper:
    if _Helper.current is None:
        _Helper.current = _Helper()
    return _Helper.current


@atexit.register
def _end() -> None:
    if _Helper.current is not None:
        _Helper.current.end()


def serve() -> None:
    """Answer the questions that come on standard input, until none will come."""
    import resource

    with contextlib.suppress(OSError, ValueError):  # not every system can
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _Helper.inside = True
    gc.disable()  # no tree holds a circle
    with socket.socket(fileno=0) as line, line.makefile("rwb") as talk:
        while True:
            try:
                work, given = pickle.load(talk)  # noqa: S301 - of the process that started this one
            except EOFError:
                return
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)  # whose signal ends the process
            try:
                answer = (True, work(*given))
            except MemoryError:
                return
            except Exception as error:  # noqa: BLE001 - handed on
                answer = (False, error)
            signal.setitimer(signal.ITIMER_PROF, 0)
            pickle.dump(answer, talk)
            talk.flush()
