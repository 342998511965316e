"""Starts workers and ends them; how well they are isolated is chosen in `isolation`."""

import contextlib
import json
import os
import socket
import subprocess
from dataclasses import dataclass
from typing import Any, Protocol

from grader.errors import InternalError
from grader.execute import isolation
from grader.execute.isolation import Isolation, Level

_MESSAGE = 1 << 16
_KEPT_VARIABLES = ("PATH", "LANG", "SYSTEMROOT", "SYSTEMDRIVE", "TMPDIR", "TEMP", "TMP")
_MALLOC = (
    "hugetlb=1",  # large pages make the tables that a fork copies small: 6 ms become 3
    "mmap_threshold=33554432",  # a tensor's memory is used again, not mapped anew page by page
    "trim_threshold=268435456",
)
_CLOSING = 2.0  # seconds that a warm process may take to clean up

End = int | socket.socket  # of a pipe: a descriptor, or a socket where pipes cannot be waited for


@dataclass(frozen=True)
class Death:
    """How a child ended."""

    signal: int  # 0 where it ended by itself
    exit: int | None
    cpu: float  # seconds
    peak_kib: int


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

    def start(self, limits: dict[str, Any]) -> Child:
        """Start a locked child; raises InternalError."""

    def end(self, child: Child, *, grace: bool) -> Death:
        """Kill a child and all that it started; raises InternalError."""

    def close(self) -> None:
        """End the server and every child."""


class WarmProcess:
    """Starts children at one level of isolation: the one asked for, else the best there is."""

    def __init__(self, level: Level | None = None) -> None:
        """Start without waiting until it is ready; raises UsageError for a level beyond reach."""
        self._isolation = isolation.choose(level)
        self._server: Server
        if isolation.forks():
            self._server = ForkServer(self._isolation.level)
        else:
            from grader.execute.spawn import SpawnEach

            self._server = SpawnEach()

    @property
    def isolation(self) -> Isolation:
        """What keeps its children apart."""
        return self._isolation

    def start(self, limits: dict[str, Any]) -> Child:
        """Start a child under `limits`; raises InternalError where it cannot be locked down."""
        return self._server.start(limits)

    def end(self, child: Child, *, grace: bool) -> Death:
        """Kill a child's group, with `grace` after a moment; tells how it died."""
        child.close()
        return self._server.end(child, grace=grace)

    def close(self) -> None:
        """End the warm process."""
        self._server.close()


def bare_environment() -> dict[str, str]:
    """Return the environment of a worker: nothing of the user's."""
    kept = {k: v for k, v in os.environ.items() if k in _KEPT_VARIABLES}
    return kept | {
        "GLIBC_TUNABLES": ":".join(f"glibc.malloc.{name}" for name in _MALLOC),
        "OMP_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }


class ForkServer:
    """A process with torch loaded, that forks a child for each job."""

    def __init__(self, level: Level) -> None:
        """Start it, without waiting until it is ready."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        self._process = subprocess.Popen(
            isolation.worker_command(level),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=bare_environment(),
            start_new_session=True,
        )
        theirs.close()
        self._ready = False

    def start(self, limits: dict[str, Any]) -> Child:
        """Fork a child; raises InternalError where it is not locked or the process is gone."""
        self._wait_until_ready()
        pipes = [os.pipe() for _ in range(3)]
        (job_in, job), (answers, answers_out), (output, output_out) = pipes
        theirs = [job_in, answers_out, output_out]
        reply: dict[str, Any] = {}
        try:
            request = json.dumps({"start": limits}).encode()
            socket.send_fds(self._control, [request], theirs)
            reply = self._reply()
        except OSError:
            raise self._lost() from None
        finally:
            for descriptor in theirs if "started" in reply else [d for p in pipes for d in p]:
                os.close(descriptor)
        if "refused" in reply:
            raise InternalError(f"a worker could not be locked down: {reply['refused']}")
        return Child(reply["started"], job, answers, output)

    def end(self, child: Child, *, grace: bool) -> Death:
        """Kill a child's group, with `grace` after a moment; tells how it died."""
        try:
            self._control.send(json.dumps({"end": child.pid, "grace": grace}).encode())
            reply = self._reply()
        except OSError:
            raise self._lost() from None
        return Death(reply["signal"], reply["exit"], reply["cpu"], reply["peak_kib"])

    def close(self) -> None:
        """End the warm process, which ends its children and removes its folder."""
        self._control.close()
        try:
            self._process.wait(_CLOSING if self._ready else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def _wait_until_ready(self) -> None:
        if not self._ready:
            try:
                self._ready = bool(self._reply()["ready"])
            except OSError:
                raise self._lost() from None

    def _reply(self) -> dict[str, Any]:
        data = self._control.recv(_MESSAGE)
        if not data:
            raise ConnectionResetError
        reply: dict[str, Any] = json.loads(data)
        return reply

    def _lost(self) -> InternalError:
        self._process.kill()
        _, errors = self._process.communicate()
        last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["no word"]
        return InternalError(f"the worker process is gone: {last[0][:300]}")
