"""The warm process: loads torch once, forks a child for each job, and ends children.

It holds no key, no reference and no submission. Its parent speaks to it over one socket, in the
messages of `control`; a child is locked down before the parent is told of it.
"""

import contextlib
import gc
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback

import torch

from grader.worker import control, harness, importing, pages, rehearsal, strays
from grader.worker.control import Death, End, Limits, Ready, Refused, Show, Start, Started
from grader.worker.data import DataFiles
from grader.worker.frameworks import FrameworkName
from grader.worker.lockdown import Rules, become, lock_down

_MESSAGE = 1 << 16
_GRACE = 0.5  # seconds that a child whose answers ended may take to be gone by itself
_LOOK = 0.1  # seconds between two looks at a child's threads
_LOCKED = b"locked"
_MANY = 16  # from so many children on it pays to prepare, which takes some 150 ms
_SELDOM = (20_000, 20, 100)  # objects between two collections: a child's life is short


class Warm:
    """The children of one warm process."""

    def __init__(self, talk: socket.socket, level: str) -> None:
        self.socket = talk
        self.home = tempfile.mkdtemp(prefix="grade-")
        self.empty = os.path.join(self.home, "empty")
        os.mkdir(self.empty)
        self.shown = {"": self.empty}  # folders with the data of courses, by digest
        self.rules = Rules.prepare(level, self.empty)
        self.folders: dict[int, str] = {}  # by child
        self.begun = 0  # children
        self.loaded = {FrameworkName.TORCH}

    def serve(self) -> None:
        """Answer requests until the parent is gone."""
        while True:
            while not select.select([self.socket], [], [], _LOOK if self.folders else None)[0]:
                strays.kill_swarms(self.folders)
            message, descriptors, _, _ = socket.recv_fds(self.socket, _MESSAGE, 3)
            if not message:
                break
            match control.parse(message):
                case Start(limits, framework, data):
                    self._load(framework)
                    self.socket.send(control.pack(self._start(limits, data, descriptors)))
                case Show(data):
                    self._show(data, descriptors[0])
                    self.socket.send(control.pack(Ready()))
                case End(pid, grace):
                    self.socket.send(control.pack(self._end(pid, grace=grace)))

    def close(self) -> None:
        """End every child, and leave nothing behind."""
        for pid in list(self.folders):
            self._end(pid, grace=False)
        shutil.rmtree(self.home, ignore_errors=True)

    def _load(self, framework: FrameworkName) -> None:
        """Import what children need, before they are locked; what it takes is not theirs."""
        if framework not in self.loaded:
            importing.load(framework)
            self.loaded.add(framework)
            self.rules = self.rules.measured()
            _freeze()

    def _show(self, data: str, descriptor: int) -> None:
        """Keep data files in a folder of their own, where children are put that may read them."""
        with open(descriptor, "rb") as file:
            file.seek(0)
            files = DataFiles.parse(file.read())
        folder = os.path.join(self.home, data)
        os.mkdir(folder)
        files.write(folder)
        self.rules.show(folder)
        self.shown[data] = folder

    def _folder(self, data: str) -> str:
        """The folder of a new child: where nothing can be written, one does for all."""
        if self.rules.ruleset:
            return self.shown[data]
        own = tempfile.mkdtemp(dir=self.home)
        return shutil.copytree(self.shown[data], own, dirs_exist_ok=True)

    def _start(self, limits: Limits, data: str, descriptors: list[int]) -> Started | Refused:
        self.begun += 1
        if self.begun == _MANY:
            rehearsal.rehearse()
            _freeze()
            pages.gather()
        folder = self._folder(data)
        told, telling = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(told)
            self._run_child(limits, folder, descriptors, telling)
        for descriptor in (*descriptors, telling):
            os.close(descriptor)
        self.folders[pid] = folder
        word = b""
        while part := os.read(told, 400):
            word += part
        os.close(told)
        if word == _LOCKED:
            return Started(pid)
        self._end(pid, grace=True)
        return Refused(word.decode(errors="replace") or "it died")

    def _run_child(self, limits: Limits, folder: str, descriptors: list[int], telling: int) -> None:
        """Run as a child, and end the process."""
        status = 1
        try:
            self.socket.close()
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
            harness.serve(job, answers, limits.data_mib)
            status = 0
        except BaseException:  # noqa: BLE001 - the child ends here in any case
            traceback.print_exc(limit=0)  # joins what the submission printed: no line of ours
        finally:
            os._exit(status)

    def _end(self, pid: int, *, grace: bool) -> Death:
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
        if folder not in self.shown.values():
            shutil.rmtree(folder, ignore_errors=True)
            strays.kill_orphans(self.folders)
        return Death(
            signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
            exit=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            cpu=usage.ru_utime + usage.ru_stime,
            peak_kib=usage.ru_maxrss,
        )


def _freeze() -> None:
    """Keep what there is out of a child's collections, which would write to the shared pages."""
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve the socket that is standard input until it closes.

    Arguments: the level, and the user to become, "" for none.
    """
    talk = socket.socket(fileno=os.dup(0))
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    strays.adopt_orphans()
    _, level, user = sys.argv
    if user:
        become(int(user))
    warm = Warm(talk, level)
    _freeze()
    gc.set_threshold(*_SELDOM)
    talk.send(control.pack(Ready()))
    try:
        warm.serve()
    except BaseException:  # noqa: BLE001 - the parent reads its last line
        traceback.print_exc()
    finally:
        warm.close()
        os._exit(0)  # an orderly end of torch takes long, and nobody needs it


if __name__ == "__main__":
    main()
