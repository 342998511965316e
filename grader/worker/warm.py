"""The warm process: loads torch once, forks a child for each job, and ends children.

It holds no key, no reference and no submission. Its parent speaks to it over one socket:
{"start": limits} with three descriptors (job, answers, output) begets a child; {"end": pid}
kills the child's group and tells how it died.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import tempfile
import time
import traceback
from typing import Any

import torch

from grader.worker import harness
from grader.worker.lockdown import lock_down

_MESSAGE = 1 << 16
_GRACE = 0.5  # seconds that a child whose answers ended may take to be gone by itself


def main() -> None:
    """Serve the socket that is standard input until it closes."""
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    control = socket.socket(fileno=os.dup(0))
    control.send(b'{"ready": true}')
    folders: dict[int, str] = {}
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE, 3)
        if not message:
            break
        request = json.loads(message)
        if "start" in request:
            folder = tempfile.mkdtemp(prefix="grade-")
            pid = _fork(request["start"], folder, descriptors, control)
            folders[pid] = folder
            reply: dict[str, Any] = {"started": pid}
        else:
            pid = request["end"]
            reply = _end(pid, grace=request["grace"])
            shutil.rmtree(folders.pop(pid), ignore_errors=True)
        control.send(json.dumps(reply).encode())


def _fork(
    limits: dict[str, float], folder: str, descriptors: list[int], control: socket.socket
) -> int:
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    status = 1
    try:
        control.close()
        job, answers, output = descriptors
        null = os.open(os.devnull, os.O_RDONLY)
        for source, standard in ((null, 0), (output, 1), (output, 2)):
            os.dup2(source, standard)
        lock_down(limits, folder, keep=(job, answers))
        harness.serve(job, answers)
        status = 0
    except BaseException:  # noqa: BLE001 - the child ends here in any case
        traceback.print_exc()  # joins what the submission printed
    finally:
        os._exit(status)


def _end(pid: int, *, grace: bool) -> dict[str, Any]:
    """Kill the child's group, and return the signal that it died of (0 for none)."""
    deadline = time.monotonic() + _GRACE if grace else 0.0
    done, status, usage = os.wait4(pid, os.WNOHANG)
    while not done and time.monotonic() < deadline:
        time.sleep(0.002)
        done, status, usage = os.wait4(pid, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    if not done:
        os.kill(pid, signal.SIGKILL)  # it may not lead a group yet
        _, status, usage = os.wait4(pid, 0)
    died_of = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return {
        "ended": pid,
        "signal": died_of,
        "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak_kib": usage.ru_maxrss,
    }


if __name__ == "__main__":
    main()
