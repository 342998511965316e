"""Records the tensors that a run produces, by which operations, and which variables hold them."""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.worker.names import GIVEN

_MOST = 256  # tensors that are kept
_HELD = 100  # tensors of variables that are kept
_LARGEST = 1 << 14  # numbers of a tensor that is kept
_NAME = 40  # letters of a name that is kept


class Recorder(TorchDispatchMode):
    """Keeps a copy of each real tensor that an operation returns, in order, with its name."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        """`inputs` count as seen: a step may be one of them, unchanged."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.made = [(GIVEN, value.clone()) for value in inputs]
        self.held: list[tuple[str, Tensor]] = []  # by variable, in order
        self._noted: dict[tuple[str, int, int], Tensor] = {}  # alive, so that no id comes again
        self._paused = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from importing its compiler, about a second, only to switch it off."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operation and keep what it returns."""
        out = func(*args, **(kwargs or {}))
        for value in tree_leaves(out):
            if not self._paused and _is_kept(value) and len(self.made) < _MOST:
                self.made.append((str(func.overloadpacket.__name__)[:_NAME], torch.clone(value)))
        return out

    @contextmanager
    def watching(self, labels: Collection[str]) -> Iterator[None]:
        """Note what the local variables of some files hold, after each line."""

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            if frame.f_code.co_filename not in labels:
                return None
            if event in ("line", "return"):
                self._note(frame)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(before)

    def _note(self, frame: FrameType) -> None:
        self._paused = True
        for name, value in list(frame.f_locals.items()):
            if not _is_kept(value) or len(self.held) == _HELD:
                continue
            what = (name, id(value), value._version)  # noqa: SLF001 - tells changes in place
            if what not in self._noted:
                self._noted[what] = value
                self.held.append((name[:_NAME], torch.clone(value)))
        self._paused = False


def _is_kept(value: Any) -> bool:
    real = type(value) in (Tensor, nn.Parameter) and value.is_floating_point()
    return real and 0 < value.numel() <= _LARGEST
