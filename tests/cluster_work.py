"""Work for the tests of a cluster; its workers import it by this name."""

import errno
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.cluster import worker
from grader.errors import UsageError

_OPENED = "_opened"
_CHOOSE = "choose_for_class"
_OWN = {name: getattr(worker, name) for name in (_CHOOSE, _OPENED)}


def fragile(log: str, contents: Sequence[bytes]) -> dict[str, Any]:
    """Square numbers, but for what takes the worker down, hangs, or fails."""
    done: list[bytes | str] = []
    for content in contents:
        with Path(log).open("ab") as file:
            file.write(content + b"\n")
        if content == b"kill" or (content == b"once" and Path(log).read_text().count("once") == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if content == b"hang" and Path(log).read_text().count("hang") == 1:
            time.sleep(8)
        done.append("broken" if content == b"fault" else content * 2)
    return {"done": done, "unready": "", "seconds": 0.01 * len(done)}


def be_without_walls() -> None:
    """Let this worker have no Landlock."""

    def choose(_: object) -> Any:
        raise UsageError("submissions would be isolated at level process, not landlock")

    setattr(worker, _CHOOSE, choose)


def fill_disk() -> None:
    """Let this worker have no room for what an engine needs."""

    def opened(_: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    setattr(worker, _OPENED, opened)


def forget_all() -> None:
    """Let this worker forget what every run has here."""
    for run in list(vars(worker)["_places"]):
        worker.close(run)


def be_as_before() -> None:
    """Take back what was changed."""
    for name, function in _OWN.items():
        setattr(worker, name, function)


def what_is_kept() -> list[str]:
    """Return the names of all files that this worker has of any course."""
    places, kept = vars(worker)["_places"], vars(worker)["_kept"]
    runs = [part for place in places.values() for part in place.parts.values()]
    return sorted(name for part in (*runs, *kept.values()) for name in part)


def pid() -> int:
    """Return this worker's process."""
    return os.getpid()
