"""Single files that were handed in: which are nobody's, and how the others are read."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from grader.handin.refused import Refused

_LITTER = (
    "__MACOSX", "__pycache__", "node_modules", "site-packages", ".DS_Store", "Thumbs.db",
    "desktop.ini",
)  # fmt: skip
Opener = Callable[[int], bytes]  # gives a file's content, at most so many bytes; raises Refused


def is_litter(name: str) -> bool:
    """Whether a name is that of what a system or a tool leaves behind."""
    return name in _LITTER


def is_hidden(name: str) -> bool:
    """Whether systems hide what has this name."""
    return name.startswith(".")


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes without following a link."""
    descriptor = _opened(path)
    try:
        before = os.fstat(descriptor)
        if stat.S_ISDIR(before.st_mode):
            raise Refused("is a folder, not a file", "put the file itself in its place")
        if not stat.S_ISREG(before.st_mode):
            raise Refused("is not an ordinary file", "hand in the file itself")
        data = b""
        while len(data) <= limit and (more := os.read(descriptor, limit + 1 - len(data))):
            data += more
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        step = "clear its outputs" if path.suffix == ".ipynb" else "hand in only the code"
        raise Refused(f"is larger than {limit // 1024} KiB", step)
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise Refused("was changed while it was read", "grade it again")
    return data


def _opened(path: Path) -> int:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if path.is_symlink():
            raise Refused("is a link, not a file", "hand in the file itself")
        return os.open(path, flags | getattr(os, "O_BINARY", 0))
    except IsADirectoryError:
        raise Refused("is a folder, not a file", "put the file itself in its place") from None
    except OSError as error:
        if os.path.isdir(path):  # which is not refused itself, as Path.is_dir may be
            raise Refused("is a folder, not a file", "put the file in its place") from None
        raise Refused(f"cannot be read ({error.strerror})", "check its permissions") from None
