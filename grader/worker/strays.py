"""Processes and threads beyond the one that a job is: found and killed by the warm process."""

import contextlib
import os
import signal
from collections.abc import Iterable

from grader.worker.landlock import prctl

_ADOPT = 36  # prctl: orphans of our children become our own
_MOST_THREADS = 128  # of one child; neither root nor a small stack is bound by a limit
_ROUNDS = 200  # of killing: what forks as fast as it is killed is given up on


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind; Linux alone knows how."""
    with contextlib.suppress(OSError, AttributeError):
        prctl(_ADOPT, 1)


def kill_orphans(known: Iterable[int]) -> None:
    """Kill every child of ours that is none of `known`, and their children after them."""
    kept = set(known)
    for _ in range(_ROUNDS):
        orphans = [pid for pid in _children() if pid not in kept]
        if not orphans:
            return
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError, ChildProcessError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def kill_swarms(pids: Iterable[int]) -> None:
    """Kill each of some children that has more threads than any honest one."""
    for pid in pids:
        with contextlib.suppress(OSError):
            # the folder has a folder a thread, and its count of links is two more
            if os.stat(f"/proc/{pid}/task").st_nlink - 2 > _MOST_THREADS:
                os.kill(pid, signal.SIGKILL)


def _children() -> list[int]:
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children") as listed:
            return [int(pid) for pid in listed.read().split()]
    except OSError:
        return []
