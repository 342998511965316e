"""Seccomp: a filter of system calls, a list of what is allowed; all else fails with EPERM.

The filter is classic BPF (docs.kernel.org/userspace-api/seccomp_filter.html), made here: Python's
bindings of libseccomp need a library of the system's. It covers what Landlock does not: processes,
sockets of every kind, signals to others, changes of a file's mode, owner or times, locks, keyrings,
shared memory, namespaces, and memory that no limit counts. What pages of files the system has in
memory outlives a process, so nothing that drops, fetches or counts them is on the list; and others
have the same pages, so nobody waits or wakes there.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.worker.landlock import prctl

_SET_FILTER = 1
_NO_NEW_PRIVILEGES = 38
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_X32 = 0x40000000  # numbers of a second set of calls on x86_64

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_ANY_PROCESS = 0x7FEDCBA9  # stands for a process's number, which is far smaller
_UNKNOWN = 0x00050000 | errno.ENOSYS
_AGAIN = 0x00050000 | errno.EAGAIN

# Of pthread_create by glibc and musl: every other flag makes a process or a namespace.
_THREAD = 0x10000
_THREAD_FLAGS = 0x7D0F00
_SHARED_ANONYMOUS = 0x21  # mmap: RLIMIT_DATA does not count it
_UNCOUNTED = 0x100 | 0x40000  # mmap: MAP_GROWSDOWN, MAP_HUGETLB: not counted either
_MADVISE = (4, 8, 14, 15)  # give memory back, take it in large pages or not: of files nothing else
_FCNTL = (0, 1, 2, 3, 4, 1030)  # duplicate, flags; no locks, leases, owners or sizes
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)  # a terminal's state and size, bytes ready
_FUTEX_PRIVATE = 0x80  # any other meets those of whoever has the same page of a file
_PRCTL = (3, 15, 16, 0x53564D41)  # dumpable?, names of threads and of memory

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand

# name -> (x86_64, aarch64), None where an architecture has no such call
_ALWAYS: dict[str, tuple[int | None, int | None]] = {
    # descriptors and files: what may be opened is Landlock's business
    "read": (0, 63), "write": (1, 64), "readv": (19, 65), "writev": (20, 66),
    "pread64": (17, 67), "preadv": (295, 69), "lseek": (8, 62),
    "close": (3, 57), "close_range": (436, 436), "open": (2, None), "openat": (257, 56),
    "fstat": (5, 80), "stat": (4, None), "lstat": (6, None), "newfstatat": (262, 79),
    "statx": (332, 291), "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439),
    "readlink": (89, None), "readlinkat": (267, 78), "getcwd": (79, 17), "chdir": (80, 49),
    "fchdir": (81, 50), "getdents": (78, None), "getdents64": (217, 61), "dup": (32, 23),
    "dup2": (33, None), "dup3": (292, 24), "pipe": (22, None), "pipe2": (293, 59),
    "poll": (7, None), "ppoll": (271, 73), "select": (23, None), "pselect6": (270, 72),
    "epoll_create": (213, None), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, None), "epoll_pwait": (281, 22), "eventfd2": (290, 19),
    "umask": (95, 166),
    # memory
    "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226),
    "brk": (12, 214), "membarrier": (324, 283),
    # the process's own signals, threads and time
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigsuspend": (130, 133), "rt_sigtimedwait": (128, 137),
    "sigaltstack": (131, 132), "pause": (34, None), "alarm": (37, None),
    "getitimer": (36, 102), "setitimer": (38, 103), "restart_syscall": (219, 128),
    "set_tid_address": (218, 96), "set_robust_list": (273, 99), "get_robust_list": (274, 100),
    "rseq": (334, 293), "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123), "sched_getparam": (143, 121),
    "sched_getscheduler": (145, 120), "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126), "clock_gettime": (228, 113), "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115), "nanosleep": (35, 101), "gettimeofday": (96, 169),
    "time": (201, None), "times": (100, 153), "wait4": (61, 260), "waitid": (247, 95),
    # the process's own numbers
    "getpid": (39, 172), "gettid": (186, 178), "getppid": (110, 173), "getuid": (102, 174),
    "geteuid": (107, 175), "getgid": (104, 176), "getegid": (108, 177), "getgroups": (115, 158),
    "getresuid": (118, 148), "getresgid": (120, 150), "getpgrp": (111, None),
    "getpgid": (121, 155), "getsid": (124, 156), "getpriority": (140, 141),
    "getrlimit": (97, 163), "uname": (63, 160),
    "getcpu": (309, 168), "getrandom": (318, 278), "arch_prctl": (158, None),
    "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip

_CHECKED: dict[str, tuple[int, int]] = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "mmap": (9, 222),
    "madvise": (28, 233),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "futex": (202, 98),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "kill": (62, 129),
    "tgkill": (234, 131),
}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def supported() -> bool:
    """Whether this processor's calls are known here, and the kernel filters."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return False
    get_action_available = 2
    action = ctypes.c_uint32(_KILL)
    libc = ctypes.CDLL(None, use_errno=True)
    number = ctypes.c_long(_SECCOMP[machine])
    return not libc.syscall(number, get_action_available, 0, ctypes.byref(action))


def make_filter(pid: int, machine: str = "") -> bytes:
    """Return the program for a process, which may signal none but itself."""
    machine = machine or platform.machine()
    column = list(_ARCHITECTURES).index(machine)
    code = [_load(4), _jump_equal(_ARCHITECTURES[machine], 1, 0), _return(_KILL), _load(0)]
    if machine == "x86_64":
        code += [_jump_at_least(_X32, 0, 1), _return(_KILL)]
    for numbers in _ALWAYS.values():
        number = numbers[column]
        if number is not None:
            code += [_jump_equal(number, 0, 1), _return(_ALLOW)]
    for name, body in _bodies(pid).items():
        code += [_jump_equal(_CHECKED[name][column], 0, len(body)), *body]
    code.append(_return(_REFUSE))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


@dataclass(frozen=True)
class Filter:
    """A program made once, for any process."""

    program: bytes

    @staticmethod
    def make() -> "Filter":
        """Make it for this machine."""
        return Filter(make_filter(_ANY_PROCESS))

    def install(self, pid: int) -> None:
        """Hold this thread of process `pid`, and all that it starts, to it; raises OSError."""
        program = self.program.replace(_operand(_ANY_PROCESS), _operand(pid))
        prctl(_NO_NEW_PRIVILEGES, 1)
        filled = _Program(len(program) // 8, program)
        libc = ctypes.CDLL(None, use_errno=True)
        number = ctypes.c_long(_SECCOMP[platform.machine()])
        if libc.syscall(number, _SET_FILTER, 0, ctypes.byref(filled)):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _operand(value: int) -> bytes:
    return struct.pack("=I", value)


def _bodies(pid: int) -> Mapping[str, list[Instruction]]:
    """Return what is asked of the arguments of a call; each body ends in a return."""
    return {
        "clone": [
            _argument(0),
            _jump_any(0xFFFFFFFF & ~_THREAD_FLAGS, 2, 0),
            _jump_any(_THREAD, 0, 1),
            _return(_ALLOW),
            _return(_REFUSE),
        ],
        "clone3": [_return(_UNKNOWN)],  # a filter cannot read its flags; glibc then takes clone
        "mmap": [
            _argument(3),
            _jump_any(_UNCOUNTED, 3, 0),
            _and(_SHARED_ANONYMOUS),
            _jump_equal(_SHARED_ANONYMOUS, 1, 0),
            _return(_ALLOW),
            _return(_REFUSE),
        ],
        "madvise": _one_of(2, _MADVISE),
        "fcntl": _one_of(1, _FCNTL),
        "ioctl": _one_of(1, _IOCTL),
        "futex": _private_futex(),
        "prctl": _one_of(0, _PRCTL),
        "prlimit64": _one_of(0, (0, pid)),
        "kill": _one_of(0, (pid,)),
        "tgkill": _one_of(0, (pid,)),
    }


def _private_futex() -> list[Instruction]:
    """By another kind glibc waits for the end of a thread: it asks again, until that ends."""
    return [_argument(1), _jump_any(_FUTEX_PRIVATE, 0, 1), _return(_ALLOW), _return(_AGAIN)]


def _one_of(index: int, values: Sequence[int]) -> list[Instruction]:
    compared = [_jump_equal(value, len(values) - at, 0) for at, value in enumerate(values)]
    return [_argument(index), *compared, _return(_REFUSE), _return(_ALLOW)]


def _load(offset: int) -> Instruction:
    return (0x20, 0, 0, offset)


def _argument(index: int) -> Instruction:
    """Load the lower half of an argument, which is all that these calls read."""
    return _load(16 + 8 * index)


def _and(mask: int) -> Instruction:
    return (0x54, 0, 0, mask)


def _jump_equal(value: int, then: int, otherwise: int) -> Instruction:
    return (0x15, then, otherwise, value)


def _jump_at_least(value: int, then: int, otherwise: int) -> Instruction:
    return (0x35, then, otherwise, value)


def _jump_any(mask: int, then: int, otherwise: int) -> Instruction:
    return (0x45, then, otherwise, mask)


def _return(action: int) -> Instruction:
    return (0x06, 0, 0, action)
