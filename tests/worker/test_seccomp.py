"""The filter of system calls by itself: what is allowed, refused and killed."""

import ctypes
import errno
import os
import platform
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import in_a_child

from grader.execute.isolation import Level, probe
from grader.worker import seccomp

HERE = probe().level
locked = pytest.mark.skipif(HERE is Level.PROCESS, reason="no Landlock or seccomp here")


def _filtered(act: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        seccomp.Filter.make().install(os.getpid())
        act()

    return run


def _thread() -> None:
    import threading

    seen: list[int] = []
    thread = threading.Thread(target=seen.append, args=(1,))
    thread.start()
    thread.join()
    assert seen == [1]


def _call(name: str, *arguments: int) -> Callable[[], None]:
    """Make a system call by its number on x86_64; the result is an error or nothing."""
    number = {
        "io_uring_setup": 425, "ptrace": 101, "process_vm_readv": 310, "bpf": 321, "unshare": 272,
        "setns": 308, "mount": 165, "pivot_root": 155, "chroot": 161, "keyctl": 250, "add_key": 248,
        "userfaultfd": 323, "perf_event_open": 298, "kcmp": 312, "pidfd_open": 434,
        "pidfd_getfd": 438, "memfd_create": 319, "shmget": 29, "semget": 64, "msgget": 68,
        "mq_open": 240, "personality": 135, "clone": 56, "clone3": 435, "vfork": 58, "mlock": 149,
        "tkill": 200, "rt_sigqueueinfo": 129, "setuid": 105, "capset": 126,
        "open_by_handle_at": 304, "inotify_init": 253, "fanotify_init": 300, "prctl": 157,
        "seccomp": 317, "setpriority": 141, "sched_setaffinity": 203, "execveat": 322, "mmap": 9,
        "ioctl": 16, "socketpair": 53, "madvise": 28, "mincore": 27, "readahead": 187,
        "cachestat": 451, "preadv2": 327, "fadvise64": 221, "sysinfo": 99, "getrusage": 98,
        "futex_waitv": 449,
    }[name]  # fmt: skip

    def act() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments]) == -1:
            raise OSError(ctypes.get_errno(), name)

    return act


def _futex(operation: int, refused: bool) -> Callable[[], None]:
    """Wait for a moment for what nobody does, at a number of one's own."""

    def act() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        word, moment = ctypes.c_uint(5), (ctypes.c_long * 2)(0, 1000)
        number = {"x86_64": 202, "aarch64": 98}[platform.machine()]
        given = (ctypes.c_long(number), ctypes.byref(word), ctypes.c_int(operation))
        assert libc.syscall(*given, ctypes.c_uint(5), moment, None, ctypes.c_uint(1)) == -1
        assert ctypes.get_errno() == (errno.EAGAIN if refused else errno.ETIMEDOUT)

    return act


ALLOWED: dict[str, Callable[[], object]] = {
    "a thread": _thread,
    "reading": lambda: Path(__file__).read_bytes(),
    "a pipe": os.pipe,
    "a signal to itself": lambda: os.kill(os.getpid(), 0),
    "its limits": lambda: __import__("resource").getrlimit(0),
    "a look at a terminal": lambda: os.isatty(0),
    "a futex of its own": _futex(0x80, refused=False),
    "a futex that is shared, but as if it had changed": _futex(0, refused=True),
    "sleep": lambda: __import__("time").sleep(0.001),
    "random bytes": lambda: os.urandom(8),
    "memory": lambda: bytearray(1 << 24),
    "giving memory back": lambda: __import__("mmap").mmap(-1, 4096, flags=0x22).madvise(4),
}
REFUSED: dict[str, Callable[[], object]] = {
    "fork": os.fork,
    "run": lambda: os.execv(sys.executable, ["python", "-c", ""]),
    "spawn": lambda: os.posix_spawn(sys.executable, ["python"], {}),
    "any socket": lambda: socket.socket(socket.AF_UNIX),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    "signal another": lambda: os.kill(os.getppid(), 0),
    "signal its group": lambda: os.kill(0, 0),
    "signal all": lambda: os.kill(-1, 0),
    "chmod": lambda: os.chmod(__file__, 0o644),
    "utime": lambda: os.utime(__file__),
    "shared memory": lambda: __import__("mmap").mmap(-1, 4096),
    "another's limits": lambda: __import__("resource").prlimit(os.getppid(), 0),
    "a lock": lambda: __import__("fcntl").flock(0, 1),
    "a new session": os.setsid,
}
REFUSED_CALLS = {
    "io_uring": _call("io_uring_setup", 1, 0), "ptrace": _call("ptrace", 0),
    "process_vm_readv": _call("process_vm_readv"), "bpf": _call("bpf"),
    "unshare": _call("unshare", 0x10000000), "setns": _call("setns"), "mount": _call("mount"),
    "pivot_root": _call("pivot_root"), "chroot": _call("chroot"), "keyctl": _call("keyctl"),
    "add_key": _call("add_key"), "userfaultfd": _call("userfaultfd"),
    "perf_event_open": _call("perf_event_open"), "kcmp": _call("kcmp"),
    "pidfd_open": _call("pidfd_open"), "pidfd_getfd": _call("pidfd_getfd"),
    "memfd_create": _call("memfd_create"), "shmget": _call("shmget"), "semget": _call("semget"),
    "msgget": _call("msgget"), "mq_open": _call("mq_open"), "personality": _call("personality"),
    "clone of a process": _call("clone", 17), "vfork": _call("vfork"), "mlock": _call("mlock"),
    "clone into a namespace": _call("clone", 0x10000000 | 0x3D0F00), "tkill": _call("tkill"),
    "queue a signal": _call("rt_sigqueueinfo"), "setuid": _call("setuid"),
    "capset": _call("capset"), "open_by_handle_at": _call("open_by_handle_at"),
    "inotify": _call("inotify_init"), "fanotify": _call("fanotify_init"),
    "prctl": _call("prctl", 4, 1), "seccomp": _call("seccomp", 1),
    "setpriority": _call("setpriority"),
    "sched_setaffinity": _call("sched_setaffinity"), "execveat": _call("execveat"),
    "memory that grows down": _call("mmap", 0, 4096, 3, 0x122, -1, 0),
    "huge pages": _call("mmap", 0, 1 << 21, 3, 0x40022, -1, 0),
    "typing into a terminal": _call("ioctl", 0, 0x5412, 0), "socketpair": _call("socketpair"),
    "dropping pages of a file": _call("fadvise64", 0, 0, 4096, 4),
    "pages that are there": _call("preadv2", 0, 0, 0, 0, 0, 8), "mincore": _call("mincore"),
    "fetching pages": _call("madvise", 0, 4096, 3), "readahead": _call("readahead"),
    "paging out": _call("madvise", 0, 4096, 21), "cachestat": _call("cachestat"),
    "several futexes": _call("futex_waitv"),
    "free memory": _call("sysinfo"), "faults so far": _call("getrusage"),
}  # fmt: skip


@locked
@pytest.mark.parametrize("act", ALLOWED.values(), ids=list(ALLOWED))
def test_filter_allows(act: Callable[[], object]) -> None:
    assert in_a_child(_filtered(act)) == ""


@locked
@pytest.mark.parametrize("act", REFUSED.values(), ids=list(REFUSED))
def test_filter_refuses(act: Callable[[], object]) -> None:
    assert in_a_child(_filtered(act)) == "EPERM"


@locked
@pytest.mark.skipif(platform.machine() != "x86_64", reason="these numbers are those of x86_64")
@pytest.mark.parametrize("act", REFUSED_CALLS.values(), ids=list(REFUSED_CALLS))
def test_filter_refuses_the_call(act: Callable[[], object]) -> None:
    assert in_a_child(_filtered(act)) == "EPERM"


@locked
@pytest.mark.skipif(platform.machine() != "x86_64", reason="x32 is a part of x86_64")
def test_filter_kills_calls_of_the_second_set() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    x32_getpid = 0x40000000 + 39
    assert in_a_child(_filtered(lambda: libc.syscall(ctypes.c_long(x32_getpid)))) == "status 31"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_is_a_program_that_ends_on_every_path(machine: str) -> None:
    program = seccomp.make_filter(4711, machine)
    code = [program[at : at + 8] for at in range(0, len(program), 8)]
    assert 100 < len(code) < 4096
    for at, instruction in enumerate(code):
        kind, then, otherwise = instruction[0], instruction[2], instruction[3]
        if kind & 0x07 == 0x05:  # a jump stays inside
            assert at + 1 + max(then, otherwise) < len(code)
    assert code[-1][0] == 0x06
