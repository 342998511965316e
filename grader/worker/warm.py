"""The warm process: loads torch once, forks a child for each job, and ends children.

It holds no key, no reference and no submission. Its parent speaks to it over one socket:
{"start": limits} with three descriptors (job, answers, output) begets a child, which is locked down
before the parent is told of it; {"end": pid} kills the child's group and tells how it died.
"""

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from typing import Any

import torch

from grader.worker import harness, pages, rehearsal, strays
from grader.worker.lockdown import Rules, become, lock_down

_MESSAGE = 1 << 16
_GRACE = 0.5  # seconds that a child whose answers ended may take to be gone by itself
_LOOK = 0.1  # seconds between two looks at a child's threads
_LOCKED = b"locked"
_MANY = 16  # children from which on it pays to prepare for many, some 150 ms
_SELDOM = (20_000, 20, 100)  # objects between two collections: a child's life is short


class Warm:
    """The children of one warm process."""

    def __init__(self, control: socket.socket, level: str) -> None:
        self.control = control
        self.home = tempfile.mkdtemp(prefix="grade-")
        self.rules = Rules.prepare(level, self.home)
        self.folders: dict[int, str] = {}  # by child
        self.begun = 0  # children

    def serve(self) -> None:
        """Answer requests until the parent is gone."""
        while True:
            while not select.select([self.control], [], [], _LOOK if self.folders else None)[0]:
                strays.kill_swarms(self.folders)
            message, descriptors, _, _ = socket.recv_fds(self.control, _MESSAGE, 3)
            if not message:
                break
            request = json.loads(message)
            if "start" in request:
                reply = self._start(request["start"], descriptors)
            else:
                reply = self._end(request["end"], grace=request["grace"])
            self.control.send(json.dumps(reply).encode())

    def close(self) -> None:
        """End every child, and leave nothing behind."""
        for pid in list(self.folders):
            self._end(pid, grace=False)
        shutil.rmtree(self.home, ignore_errors=True)

    def _start(self, limits: dict[str, float], descriptors: list[int]) -> dict[str, Any]:
        self.begun += 1
        if self.begun == _MANY:
            rehearsal.rehearse()
            _freeze()
            pages.gather()
        # where nothing can be written, one empty folder does for all
        folder = self.home if self.rules.ruleset else tempfile.mkdtemp(dir=self.home)
        told, telling = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(told)
            self._live(limits, folder, descriptors, telling)
        for descriptor in (*descriptors, telling):
            os.close(descriptor)
        self.folders[pid] = folder
        word = b""
        while part := os.read(told, 400):
            word += part
        os.close(told)
        if word == _LOCKED:
            return {"started": pid}
        self._end(pid, grace=True)
        return {"refused": word.decode(errors="replace") or "it died"}

    def _live(
        self, limits: dict[str, float], folder: str, descriptors: list[int], telling: int
    ) -> None:
        """Be a child, to its end."""
        status = 1
        try:
            self.control.close()
            job, answers, output = descriptors
            null = os.open(os.devnull, os.O_RDONLY)
            for source, standard in ((null, 0), (output, 1), (output, 2)):
                os.dup2(source, standard)
            try:
                lock_down(limits, folder, (job, answers, telling), self.rules)
            except BaseException as error:
                os.write(telling, f"{error}".encode()[:400] or b"?")
                raise
            os.write(telling, _LOCKED)
            os.close(telling)
            harness.serve(job, answers)
            status = 0
        except BaseException:  # noqa: BLE001 - the child ends here in any case
            traceback.print_exc()  # joins what the submission printed
        finally:
            os._exit(status)

    def _end(self, pid: int, *, grace: bool) -> dict[str, Any]:
        """Kill the child's group, and return the signal that it died of (0 for none)."""
        deadline = time.monotonic() + _GRACE if grace else 0.0
        done, status, usage = os.wait4(pid, os.WNOHANG)
        while not done and time.monotonic() < deadline:
            time.sleep(0.0005)
            done, status, usage = os.wait4(pid, os.WNOHANG)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        if not done:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # it may not lead a group yet
            _, status, usage = os.wait4(pid, 0)
        folder = self.folders.pop(pid)
        if folder != self.home:
            shutil.rmtree(folder, ignore_errors=True)
            strays.kill_orphans(self.folders)
        return {
            "ended": pid,
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "cpu": usage.ru_utime + usage.ru_stime,
            "peak_kib": usage.ru_maxrss,
        }


def _freeze() -> None:
    """Keep what there is out of a child's collections, which would write to the shared pages."""
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve the socket that is standard input until it closes.

    Arguments: the level, and the user to become, "" for none.
    """
    control = socket.socket(fileno=os.dup(0))
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    strays.adopt_orphans()
    _, level, user = sys.argv
    if user:
        become(int(user))
    warm = Warm(control, level)
    _freeze()
    gc.set_threshold(*_SELDOM)
    control.send(b'{"ready": true}')
    try:
        warm.serve()
    except BaseException:  # noqa: BLE001 - the parent reads its last line
        traceback.print_exc()
    finally:
        warm.close()
        os._exit(0)  # taking torch apart in order takes long, and nobody waits for it


if __name__ == "__main__":
    main()
