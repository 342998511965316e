"""Starts processes of Python that inherit nothing, and ends what does not end by itself."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator

_SAFE_PATH = "PYTHONSAFEPATH"

SPAWN = multiprocessing.get_context("spawn")  # as on every platform; nothing is inherited


class EndlessError(BaseException):
    """Raised in code that does not end, which may catch every Exception."""


@contextlib.contextmanager
def ending(seconds: float) -> Iterator[None]:
    """Raise EndlessError in what takes more of the processor.

    Only the main thread hears of it, and Windows has no such clock: elsewhere nothing is raised.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise EndlessError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def nothing_shared() -> Iterator[None]:
    """Let what is started meanwhile import nothing from this folder, and run no main module.

    Submissions may lie in the folder; and `spawn` runs the main module anew in each child, which
    may be a script without `if __name__ == "__main__"`, or text that stands in no file.
    """
    main, before = sys.modules["__main__"], os.environ.get(_SAFE_PATH)
    sys.modules["__main__"] = types.ModuleType("__main__")
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        os.environ.pop(_SAFE_PATH)
        if before is not None:
            os.environ[_SAFE_PATH] = before
