"""Watches for functions of torch that an exercise forbids."""

import _thread
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from torch.overrides import TorchFunctionMode

from grader.worker.loading import in_standin
from grader.worker.protocol import THREAD

# what torch puts before and behind a function's name, for the ways in which it is computed
_KIND = re.compile(r"^_*(native_)?|_(flash|efficient|cudnn|fused|math|for_cpu)(?=_|\.|$)|\..*$")


class Watch(TorchFunctionMode):
    """Notes which forbidden functions of torch the submission calls; a stand-in may call them.

    The operators behind a function have its name, in torch's own spelling, and count as it does.
    """

    def __init__(self, forbidden: Mapping[str, Any]) -> None:
        super().__init__()
        self.names: dict[int, list[str]] = {}  # by the function's id
        self.behind: dict[str, list[str]] = {}  # by the name that its operators have in common
        for name, one in forbidden.items():
            self.names.setdefault(id(one), []).append(name)
            if not isinstance(one, type):
                self.behind.setdefault(_common(name.rpartition(".")[2]), []).append(name)
        self.seen: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        names = self.names.get(id(func))
        if names is None:
            names = self.behind.get(_common(getattr(func, "__name__", "")))
        if names and not in_standin(sys._getframe(1)):  # noqa: SLF001 - fastest
            self.seen.update(names)
        return func(*args, **(kwargs or {}))


@cache
def _common(name: str) -> str:
    """The name that an operator, as native_layer_norm.default, shares with its function."""
    return _KIND.sub("", name)


_listening: list[set[str]] = []


@contextmanager
def noting_threads(seen: set[str]) -> Iterator[None]:
    """Note in `seen` that a thread is started: a watch does not see what it calls."""
    _listening.append(seen)
    try:
        yield
    finally:
        _listening.clear()


def _start_noted(*args: Any, **kwargs: Any) -> int:
    for seen in _listening:
        seen.add(THREAD)
    return _start(*args, **kwargs)


_start = _thread.start_new_thread


def note_all_threads() -> None:
    """Let every thread that Python starts from now on be noted."""
    _thread.start_new_thread = threading._start_new_thread = _start_noted  # type: ignore[attr-defined] # noqa: SLF001


def resolve(name: str) -> Any:
    """Find what a qualified name such as torch.nn.LayerNorm means, None where nothing."""
    parts = name.split(".")
    found: Any = sys.modules.get(parts[0])
    for part in parts[1:]:
        found = getattr(found, part, None)
    return found
