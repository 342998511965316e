"""Starts workers and ends them; how well they are isolated is chosen in `isolation`."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile

from grader.errors import InternalError
from grader.execute import isolation
from grader.execute.child import Child, Server, bare_environment
from grader.execute.isolation import Isolation, Level
from grader.worker import control
from grader.worker.control import (
    Death,
    End,
    Limits,
    Message,
    Ready,
    Refused,
    Show,
    Start,
    Started,
)
from grader.worker.data import DataFiles
from grader.worker.frameworks import FrameworkName

if sys.platform != "win32":  # which has no such module
    import fcntl

_MESSAGE = 1 << 16
_JOB = 1 << 20  # bytes that a pipe holds, as most jobs need; the most that any user may ask for
_CLOSING = 2.0  # seconds that a warm process may take to clean up


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

    @property
    def pid(self) -> int | None:
        """The process that children are forked from; None where each is a process of its own."""
        return self._server.process.pid if isinstance(self._server, ForkServer) else None

    def start(
        self,
        limits: Limits,
        framework: FrameworkName = FrameworkName.TORCH,
        data: DataFiles | None = None,
    ) -> Child:
        """Start a child that has a framework, and may read a course's data files.

        Raises InternalError where it cannot be locked.
        """
        return self._server.start(limits, framework, data)

    def end(self, child: Child, *, grace: bool) -> Death:
        """Kill a child's group, with `grace` after a moment; tells how it died."""
        child.close()
        return self._server.end(child, grace=grace)

    def close(self) -> None:
        """End the warm process."""
        self._server.close()


def _widen(pipe: int) -> None:
    """Let a whole job into a pipe at once, so that nobody waits for the other in its midst."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # a user has only so much of them
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _JOB)


class ForkServer:
    """A process with torch loaded, that forks a child for each job."""

    def __init__(self, level: Level) -> None:
        """Start it, without waiting until it is ready."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        self.process = subprocess.Popen(
            isolation.worker_command(level),
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=bare_environment(),
            start_new_session=True,
        )
        theirs.close()
        self._ready = False
        self._shown: set[str] = set()  # digests of data files that it keeps

    def start(self, limits: Limits, framework: FrameworkName, data: DataFiles | None) -> Child:
        """Fork a child; raises InternalError where it is not locked or the process is gone."""
        self._wait_until_ready()
        if data and data.digest not in self._shown:
            self._show(data)
        pipes = [os.pipe() for _ in range(3)]
        (job_in, job), (answers, answers_out), (output, output_out) = pipes
        _widen(job)
        theirs = [job_in, answers_out, output_out]
        reply: Message | None = None
        try:
            request = Start(limits, framework, data.digest if data else "")
            socket.send_fds(self._control, [control.pack(request)], theirs)
            reply = self._reply()
        except OSError:
            raise self._lost() from None
        finally:
            started = isinstance(reply, Started)
            for descriptor in theirs if started else [d for p in pipes for d in p]:
                os.close(descriptor)
        if not isinstance(reply, Started):
            why = reply.why if isinstance(reply, Refused) else "no word"
            raise InternalError(f"a worker could not be locked down: {why}")
        return Child(reply.pid, job, answers, output)

    def end(self, child: Child, *, grace: bool) -> Death:
        """Kill a child's group, with `grace` after a moment; tells how it died."""
        try:
            self._control.send(control.pack(End(child.pid, grace)))
            reply = self._reply()
        except OSError:
            raise self._lost() from None
        assert isinstance(reply, Death)  # noqa: S101 - the answer to this request
        return reply

    def close(self) -> None:
        """End the warm process, which ends its children and removes its folder."""
        self._control.close()
        try:
            self.process.wait(_CLOSING if self._ready else 0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def _show(self, data: DataFiles) -> None:
        """Hand data files over; raises InternalError where the process is gone."""
        with tempfile.TemporaryFile() as file:
            file.write(data.packed)
            file.flush()
            try:
                message = control.pack(Show(data.digest))
                socket.send_fds(self._control, [message], [file.fileno()])
                self._reply()
            except OSError:
                raise self._lost() from None
        self._shown.add(data.digest)

    def _wait_until_ready(self) -> None:
        if not self._ready:
            try:
                self._ready = isinstance(self._reply(), Ready)
            except OSError:
                raise self._lost() from None

    def _reply(self) -> Message:
        data = self._control.recv(_MESSAGE)
        if not data:
            raise ConnectionResetError
        return control.parse(data)

    def _lost(self) -> InternalError:
        self.process.kill()
        _, errors = self.process.communicate()
        last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["no word"]
        return InternalError(f"the worker process is gone: {last[0][:300]}")
