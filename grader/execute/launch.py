"""Starts workers; the one place that knows how this platform can isolate them."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from grader.errors import InternalError

_MESSAGE = 1 << 16
_KEPT_VARIABLES = ("PATH", "LANG", "SYSTEMROOT")


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

    pid: int
    job: int
    answers: int
    output: int

    def close(self) -> None:
        """Close the pipes."""
        for descriptor in (self.job, self.answers, self.output):
            with contextlib.suppress(OSError):
                os.close(descriptor)


class WarmProcess:
    """A process with torch loaded, that forks a child for each job."""

    def __init__(self) -> None:
        """Start it, without waiting until it is ready."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {k: v for k, v in os.environ.items() if k in _KEPT_VARIABLES}
        environment |= {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        self._control = ours
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "grader.worker.warm", "landlock"],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        theirs.close()
        self._ready = False

    def start(self, limits: dict[str, Any]) -> Child:
        """Fork a child under `limits`; raises InternalError where the warm process is gone."""
        self._wait_until_ready()
        pipes = [os.pipe() for _ in range(3)]
        (job_in, job), (answers, answers_out), (output, output_out) = pipes
        theirs = [job_in, answers_out, output_out]
        try:
            request = json.dumps({"start": limits}).encode()
            socket.send_fds(self._control, [request], theirs)
            reply = self._reply()
            if "refused" in reply: raise InternalError(reply["refused"])
            pid = reply["started"]
        except OSError:
            for descriptor in (job, answers, output):
                os.close(descriptor)
            raise self._lost() from None
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return Child(pid, job, answers, output)

    def end(self, child: Child, *, grace: bool) -> Death:
        """Kill a child's group, with `grace` after a moment; tells how it died."""
        child.close()
        try:
            self._control.send(json.dumps({"end": child.pid, "grace": grace}).encode())
            reply = self._reply()
        except OSError:
            raise self._lost() from None
        return Death(reply["signal"], reply["exit"], reply["cpu"], reply["peak_kib"])

    def close(self) -> None:
        """End the warm process."""
        self._control.close()
        if self._process.poll() is None:
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
