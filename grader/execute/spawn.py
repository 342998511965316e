"""A fresh process for each job: what systems without Linux's fork and descriptor passing get.

Every job waits for torch, about a second. Threads carry bytes between the process's pipes and
sockets, since Windows can wait for sockets alone.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from grader.errors import InternalError
from grader.execute.child import Child, bare_environment
from grader.execute.isolation import python_command
from grader.worker import control
from grader.worker.control import Death, Limits, Message, Refused, Start, Started
from grader.worker.data import DataFiles
from grader.worker.frameworks import FrameworkName
from grader.worker.wire import PREFIX

_CHUNK = 1 << 16
_START_SECONDS = 120.0
_GRACE = 0.5
_WORD = 1 << 12  # bytes of a process's first frame


@dataclass
class _Running:
    process: subprocess.Popen[bytes]
    folder: str


class SpawnEach:
    """Starts one process a job, with limits and no further isolation."""

    def __init__(self) -> None:
        self._running: dict[int, _Running] = {}

    def start(self, limits: Limits, framework: FrameworkName, data: DataFiles | None) -> Child:
        """Start a process and wait until it is ready; raises InternalError where it is not."""
        request = control.pack(Start(limits, framework)).decode()
        process = subprocess.Popen(
            [*python_command(), "grader.worker.single", request],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=bare_environment(),
        )
        job = _carried(_from_socket, process.stdin)
        answers = _carried(_to_socket, process.stdout)
        output = _carried(_to_socket, process.stderr)
        child = Child(process.pid, job, answers, output)
        word = _first_word(answers)
        folder = word.folder if isinstance(word, Started) else ""
        self._running[process.pid] = _Running(process, folder)
        if not isinstance(word, Started):
            child.close()
            self.end(child, grace=False)
            why = word.why if isinstance(word, Refused) else "it is gone"
            raise InternalError(f"a worker could not be started: {why}")
        if data:
            data.write(folder)
        return child

    def end(self, child: Child, *, grace: bool) -> Death:
        """Kill a process and its group, and tell how it died."""
        running = self._running.pop(child.pid)
        cpu = _end(running.process, _GRACE if grace else 0.0)
        if running.folder:
            shutil.rmtree(running.folder, ignore_errors=True)
        code = running.process.returncode
        return Death(max(0, -code), code if code >= 0 else None, cpu, 0)

    def close(self) -> None:
        """End every process."""
        for pid in list(self._running):
            running = self._running.pop(pid)
            _end(running.process, 0.0)
            shutil.rmtree(running.folder, ignore_errors=True)


def _end(process: "subprocess.Popen[bytes]", grace: float) -> float:
    """Kill a process and what it started; return the CPU seconds that it took, where known."""
    if sys.platform == "win32":
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
        process.kill()
        process.wait()
        return 0.0
    deadline = time.monotonic() + grace
    done, status, usage = os.wait4(process.pid, os.WNOHANG)
    while not done and time.monotonic() < deadline:
        time.sleep(0.002)
        done, status, usage = os.wait4(process.pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if not done:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)  # it may not lead a group yet
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def _carried(
    carry: Callable[[socket.socket, IO[bytes]], None], pipe: IO[bytes] | None
) -> socket.socket:
    """Return a socket whose bytes a thread carries to or from a pipe."""
    ours, theirs = socket.socketpair()
    threading.Thread(target=carry, args=(theirs, pipe), daemon=True).start()
    return ours


def _from_socket(end: socket.socket, pipe: IO[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError), end, pipe:
        while data := end.recv(_CHUNK):
            pipe.write(data)
            pipe.flush()


def _to_socket(end: socket.socket, pipe: IO[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError), end, pipe:
        while data := os.read(pipe.fileno(), _CHUNK):
            end.sendall(data)


def _first_word(answers: socket.socket) -> Message | None:
    """Read the frame in which a process says that it is locked, before it has any job."""
    answers.settimeout(_START_SECONDS)
    try:
        header_length, _ = PREFIX.unpack(_exactly(answers, PREFIX.size))
        return control.parse(_exactly(answers, min(header_length, _WORD)))
    except (OSError, EOFError, ValueError):
        return None


def _exactly(end: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = end.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data
