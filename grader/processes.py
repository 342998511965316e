"""Starts processes of Python that inherit nothing from the program that starts them."""

import contextlib
import multiprocessing
import os
import sys
import types
from collections.abc import Iterator

_SAFE_PATH = "PYTHONSAFEPATH"

SPAWN = multiprocessing.get_context("spawn")  # as on every platform; nothing is inherited


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
