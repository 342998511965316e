"""Large pages: they make the tables that a fork copies small, which halves its time."""

import ctypes
import sys

_COLLAPSE = 25  # madvise: put what is mapped here into large pages, now (Linux 6.1)
_LEAST = 1 << 21  # bytes of a large page


def gather() -> None:
    """Put this process's memory into large pages, where the kernel can; else leave it."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    for start, end in _private_memory():
        libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _COLLAPSE)


def _private_memory() -> list[tuple[int, int]]:
    """Return the heap and every other mapping of memory that no file backs."""
    found = []
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                span, rights, _, _, inode, *name = line.split()
                start, end = (int(part, 16) for part in span.split("-"))
                plain = inode == "0" and rights == "rw-p" and name in ([], ["[heap]"])
                if plain and end - start >= _LEAST:
                    found.append((start, end))
    except (OSError, ValueError):
        return []
    return found
