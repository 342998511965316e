"""Gives memory that nobody has written to the same content on every run.

What a submission forgets to fill would otherwise hold what was there before: another number on
each run, and a good one now and then.
"""

import contextlib
import ctypes
import re
from collections.abc import Iterable

_PERTURB = -6  # mallopt's M_PERTURB: every byte of new memory is the complement of the value's
_FILL = 0x80  # bytes of 0x7f make 1.4e306, which nobody takes for a result
_UNSET = re.compile(r"empty|Tensor\(|\bnew\(|ndarray|resize_")


def fill_new_memory(texts: Iterable[str]) -> None:
    """Fill new memory from now on if one of the texts may read what it has not set."""
    # not for all: it is a write to every page that a child would have shared
    if any(map(_UNSET.search, texts)):
        with contextlib.suppress(AttributeError, OSError, TypeError):  # not the GNU C library
            ctypes.CDLL(None).mallopt(_PERTURB, _FILL)
