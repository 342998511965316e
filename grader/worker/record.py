"""Records the tensors that a run produces: by which operations, in which calls of the code's own.

And which variables hold them.
"""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from traceback import walk_tb
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.worker.frameworks import FrameworkName
from grader.worker.names import GIVEN, MOST_SEEN, UNFINISHED

_HELD = 100  # tensors of variables that are kept
_LARGEST = 1 << 14  # numbers of a tensor that is kept
_NAME = 40  # letters of a name that is kept
_POSITION = 4  # numbers by which Python tells where an expression stands
_LIBRARIES = (*FrameworkName, "numpy", "grader")  # what they do inside is not the code's own


class Made(NamedTuple):
    """A tensor that an operation returned."""

    operation: str
    place: Sequence[int]  # where in the code's own text, () for nowhere
    call: str  # of a layer, or of a function from elsewhere, in which it was made; "" for none
    value: Tensor


class Recorder(TorchDispatchMode):
    """Keeps a copy of each real tensor that an operation returns, in order, with its name.

    And with the call of a layer, or of a function from elsewhere, in which it was made.
    """

    def __init__(self, inputs: Sequence[Tensor], labels: Collection[str] = ()) -> None:
        """`inputs` count as seen: a step may be one of them. `labels` name the code's own files."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.made = [Made(GIVEN, (), "", value.clone()) for value in inputs]
        self._labels = sorted(labels)
        self._call: FrameType | None = None  # the latest, alive, so that it is told from others
        self._layer: nn.Module | None = None  # that ran in it
        self._name = ""  # of the call
        self._calls = 0
        self._begun = 0  # how many tensors there were before the line that runs
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
        if _is_real(out) and out.numel() > _LARGEST:
            self._leave_out(*self._current_place())
        # of several results the first is what a layer goes on with: it comes last
        for value in tree_leaves(out)[:: -1 if isinstance(out, tuple) else 1]:
            if not self._paused and _is_kept(value) and len(self.made) < MOST_SEEN:
                operation = str(func.overloadpacket.__name__)[:_NAME]
                place, call = self._current_place()
                self.made.append(Made(operation, place, call, torch.clone(value)))
        return out

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note what the local variables of the code's own files hold, after each line."""

        def trace(frame: FrameType, event: str, _: Any) -> Any:
            if frame.f_code.co_filename not in self._labels:
                return None
            if event == "line":
                self._begun = len(self.made)
            if event in ("line", "return"):
                self._note(frame)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(before)

    def end_with(self, error: BaseException) -> None:
        """Mark what was made in the operation or call that raised: it came to nothing."""
        raised = [frame for frame, _ in walk_tb(error.__traceback__)]
        own = [frame for frame in raised if frame.f_code.co_filename in self._labels]
        if not own:
            return
        call = f"{self._calls} {self._name}"[:_NAME] if self._call in raised else ""
        self._leave_out(_place(own[-1], self._labels), call)

    def _leave_out(self, place: Sequence[int], call: str) -> None:
        """Mark what was just made at a place, in a call or on the line: its end is not kept."""
        for number in range(len(self.made) - 1, self._begun - 1, -1):
            made = self.made[number]
            if not place or made.place != place or made.call not in ("", call):
                return
            self.made[number] = made._replace(call=UNFINISHED)

    def _current_place(self) -> tuple[Sequence[int], str]:
        """What runs now of the code's own: where it stands, and the call, by a number and a name.

        The call is "" where the line itself does the operation, or a function of the framework's.
        """
        frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - it is what tells the caller
        called = []
        while frame is not None and frame.f_code.co_filename not in self._labels:
            called.append(frame)
            frame = frame.f_back
        if frame is None:
            return (), ""
        place = _place(frame, self._labels)
        if not called:
            return place, ""
        call, layer = called[-1], _running(called[::-1])
        if call is not self._call or layer is not self._layer:
            if not (name := _call_name(frame, call, layer)):
                return place, ""
            self._calls += call is not self._call
            self._call, self._layer, self._name = call, layer, name
        return place, f"{self._calls} {self._name}"[:_NAME]

    def _note(self, frame: FrameType) -> None:
        self._paused = True
        for name, value in list(frame.f_locals.items()):
            if not _is_kept(value) or len(self.held) == _HELD:
                continue
            # a tensor of inference mode counts no changes in place
            version = 0 if value.is_inference() else value._version  # noqa: SLF001
            what = (name, id(value), version)
            if what not in self._noted:
                self._noted[what] = value
                self.held.append((name[:_NAME], torch.clone(value)))
        self._paused = False


def _place(frame: FrameType, labels: Sequence[str]) -> Sequence[int]:
    """Where the expression stands that a frame evaluates, as `names.place_of` reads it."""
    code = frame.f_code
    position = next(islice(code.co_positions(), frame.f_lasti // 2, None), ())
    known = [one for one in position if one is not None]
    return (labels.index(code.co_filename), *known) if len(known) == _POSITION else ()


def _running(called: Sequence[FrameType]) -> nn.Module | None:
    """The outermost layer that runs, of a row of layers the one that does; None for no layer."""
    for frame in called:
        owner = frame.f_locals.get("self")
        if isinstance(owner, nn.Module) and not isinstance(owner, nn.Sequential):
            return owner
    return None


def _call_name(caller: FrameType, called: FrameType, layer: nn.Module | None) -> str:
    """The name of a layer that is called, or of a function; "" for one of the framework's."""
    if layer is None:
        package = str(called.f_globals.get("__name__")).partition(".")[0]
        return "" if package in _LIBRARIES else called.f_code.co_name
    names = (name for name, part in _parts(caller) if part is layer)
    return next(names, "") or type(layer).__name__


def _parts(frame: FrameType | None) -> Iterator[tuple[str, nn.Module]]:
    """The parts, by name, of the modules whose methods run: the innermost first."""
    while frame is not None:
        owner = frame.f_locals.get("self")  # a comprehension has none
        if isinstance(owner, nn.Module):
            yield from owner.named_modules()
        frame = frame.f_back


def _is_kept(value: Any) -> bool:
    return _is_real(value) and 0 < value.numel() <= _LARGEST


def _is_real(value: Any) -> bool:
    return type(value) in (Tensor, nn.Parameter) and value.is_floating_point()
