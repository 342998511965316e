"""A child process as its parent sees it, and what every way of starting one shares."""

import contextlib
import os
import socket
from dataclasses import dataclass
from typing import Protocol

from grader.course.limits import Limits as CourseLimits
from grader.worker.control import Death, Limits
from grader.worker.data import DataFiles
from grader.worker.frameworks import FrameworkName

End = int | socket.socket  # of a pipe: a descriptor, or a socket where pipes cannot be waited for
_KEPT_VARIABLES = ("PATH", "LANG", "SYSTEMROOT", "SYSTEMDRIVE", "TMPDIR", "TEMP", "TMP")
_MALLOC = (
    "hugetlb=1",  # large pages make the tables that a fork copies small: 6 ms become 3
    "mmap_threshold=33554432",  # a tensor's memory is used again, not mapped anew page by page
    "trim_threshold=268435456",
)


@dataclass(frozen=True)
class Child:
    """A process that runs one submission, and the parent's ends of its pipes."""

    pid: int  # as its warm process knows it: a token, not a process of the parent's
    job: End
    answers: End
    output: End

    def close(self) -> None:
        """Close the pipes."""
        for end in (self.job, self.answers, self.output):
            with contextlib.suppress(OSError):
                os.close(end) if isinstance(end, int) else end.close()


class Server(Protocol):
    """Starts a child for each job, one way or another."""

    def start(self, limits: Limits, framework: FrameworkName, data: DataFiles | None) -> Child:
        """Start a child that is locked down, beside data files; raises InternalError."""

    def end(self, child: Child, *, grace: bool) -> Death:
        """Kill a child and all that it started; raises InternalError."""

    def close(self) -> None:
        """End the server and every child."""


def limits_of(limits: CourseLimits) -> Limits:
    """Return what of a course's limits a child keeps to by itself."""
    return Limits(limits.cpu_seconds, limits.data_mib, limits.open_files)


def bare_environment() -> dict[str, str]:
    """Return the environment of a worker: nothing of the user's."""
    kept = {k: v for k, v in os.environ.items() if k in _KEPT_VARIABLES}
    return kept | {
        "GLIBC_TUNABLES": ":".join(f"glibc.malloc.{name}" for name in _MALLOC),
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
