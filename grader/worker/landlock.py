"""Landlock: a process gives up, for good, what it may do with files, TCP, signals and sockets.

Three system calls of Linux (5.13 and later; docs.kernel.org/userspace-api/landlock.html), made by
ctypes: the bindings that exist for Python are little used, and each is larger than this module.
What a kernel is too old for is left out; `version` says what is there.
"""

import ctypes
import os
from collections.abc import Sequence

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same number on every architecture
_VERSION = 1  # flag of _CREATE: tell the version
_QUIET = 1  # flag of _RESTRICT: no audit record for each refusal
_BENEATH = 1  # a rule on a path and all below it
_NO_NEW_PRIVILEGES = 38  # prctl

READ_FILE, READ_FOLDER, WRITE_FILE, TRUNCATE = 1 << 2, 1 << 3, 1 << 1, 1 << 14
READ = READ_FILE | READ_FOLDER
_FILE_ONLY = READ_FILE | WRITE_FILE | TRUNCATE
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # version -> how many rights on files there are
_ALL_RIGHTS = 16  # from version 5 on: the last is ioctl on devices
_TCP = 0b11  # bind, connect: from version 4 on
_SCOPES = 0b11  # abstract sockets, signals: from version 6 on


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("tcp", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Return the kernel's version of Landlock, 0 where there is none."""
    try:
        return _call(_CREATE, None, 0, _VERSION)
    except OSError:
        return 0


def handled_rights(known: int) -> int:
    """Return every right on files that this version can withhold."""
    return (1 << _RIGHTS.get(known, _ALL_RIGHTS)) - 1


def make_ruleset(
    readable: Sequence[str], devices: Sequence[str], listed: Sequence[str] = ()
) -> int:
    """Return a descriptor of rules that withhold all but reading; raises OSError.

    `readable` are files and folders to read, `devices` files to read, write and truncate, and
    `listed` folders below which names alone are read. What is not there is left out.
    """
    known = version()
    if not known:
        raise OSError("this kernel has no Landlock")
    rights = handled_rights(known)
    rules = _Ruleset(rights, _TCP if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    ruleset = _call(_CREATE, ctypes.byref(rules), _size(known), 0)
    for paths, wanted in (
        (readable, READ),
        (devices, _FILE_ONLY),
        (listed, READ_FOLDER),
    ):
        for path in paths:
            _allow(ruleset, path, wanted & rights)
    return ruleset


def allow_reading(ruleset: int, path: str) -> None:
    """Let those who are held to the rules from now on read a folder; raises OSError."""
    _allow(ruleset, path, READ & handled_rights(version()))


def restrict(ruleset: int) -> None:
    """Hold this thread, and all that it starts, to the rules; raises OSError."""
    prctl(_NO_NEW_PRIVILEGES, 1)
    _call(_RESTRICT, ruleset, _QUIET if version() >= 7 else 0)


def prctl(option: int, value: int) -> None:
    """Change one property of this process; raises OSError."""
    if _libc().prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3):
        raise _error()


def _size(known: int) -> int:
    fields = 1 if known < 4 else 2 if known < 6 else 3
    return 8 * fields


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_ONLY
        rule = _Beneath(rights, opened)
        _call(_ADD, ruleset, _BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = _libc().syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise _error()
    return int(result)


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
