"""Gathers what one call came to: plain tensors, and a description of what was returned."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from grader.worker.names import Group, tensor_name
from grader.worker.protocol import InfoClaim, ValueClaim, WorkerCall

_DTYPES = (
    torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.int16,
    torch.int8, torch.uint8, torch.bool,
)  # fmt: skip
_NUMPY_NUMBERS = (np.float64, np.float32, np.float16, np.int64, np.int32)
_LISTED = 8  # returned values that are described


class CallClaim:
    """What one call came to, in the making."""

    def __init__(self, answer_bytes: int) -> None:
        """Tensors beyond `answer_bytes` are left out."""
        self.tensors: dict[str, Tensor] = {}
        self.info = InfoClaim()
        self._room = answer_bytes

    def add(self, name: str, value: Any) -> None:
        """Take a tensor, if it is plain and there is room for it."""
        if type(value) not in (Tensor, nn.Parameter) or value.layout is not torch.strided:
            return
        if value.dtype not in _DTYPES or value.device.type != "cpu":
            return
        self._room -= value.numel() * value.element_size()
        if self._room < 0:
            return
        plain = value.detach().resolve_conj().resolve_neg()
        self.tensors[name] = plain.clone(memory_format=torch.contiguous_format)

    def add_output(self, call: WorkerCall, name: str, value: Any) -> None:
        """Take an output: a tensor, or a number where one is due, as a tensor without axes.

        A number may come as such a tensor or as numpy's, and true and false as ones and zeros: that
        is told by the type. What is opaque is no claim.
        """
        if name in call.opaque:
            return
        value = without_spare_axes(call, name, value)
        if name in call.truths and isinstance(value, Tensor) and _is_of_ones_and_zeros(value):
            self.add(tensor_name(Group.OUTPUT, name), value.detach() != 0)
        elif name not in call.numbers:
            self.add(tensor_name(Group.OUTPUT, name), value)
        elif _is_number(value):
            self.add(tensor_name(Group.OUTPUT, name), _as_tensor(value))
        elif type(value) is Tensor and value.ndim == 0 and value.layout is torch.strided:
            self.add(tensor_name(Group.OUTPUT, name), value.detach().double())

    def add_returned(self, call: WorkerCall, returned: Any) -> None:
        """Describe what a call returned, and take its outputs."""
        single = len(call.outputs) == 1 and not call.as_dict
        self.info.returned = None if single else type_name(returned)
        if call.as_dict and isinstance(returned, dict):
            self._add_dict(call, returned)
            return
        several = isinstance(returned, tuple | list) and not single
        parts = list(returned) if several else [returned]
        self.info.count = len(parts)
        self.info.parts = [_describe(part) for part in parts[:_LISTED]]
        inside = returned if single and type(returned) in (tuple, list) else ()
        self.info.inside = [_describe(part) for part in inside[:_LISTED]]
        parts = unstacked(call, returned) or parts
        alone = call.outputs[:1] if single or call.after is not None else ()  # of what is returned
        for name, part in zip(call.outputs, [] if call.as_dict else parts, strict=False):
            self.add_output(call, name, unwrapped(call, name, part) if name in alone else part)

    def _add_dict(self, call: WorkerCall, returned: dict[Any, Any]) -> None:
        named = {name: returned[name] for name in call.outputs if name in returned}
        self.info.count = len(returned)
        self.info.keys = [_shown_key(key) for key in islice(returned, _LISTED)]
        self.info.parts = [_describe(part) for part in named.values()][:_LISTED]
        for name, part in named.items():
            self.add_output(call, name, part)


def unstacked(call: WorkerCall, returned: Any) -> list[Tensor]:
    """Return the several outputs that are due, where one tensor or a dict holds them; else none."""
    count = len(call.outputs)
    if count > 1 and not call.as_dict and type(returned) is dict and len(returned) == count:
        return _in_order(returned, call.outputs)
    if count < 2 or call.as_dict or not isinstance(returned, Tensor):
        return []
    stacked = returned.dim() > 1 and returned.size(0) == count
    return list(returned.unbind(0)) if stacked else []


def _in_order(named: Mapping[Any, Any], outputs: Sequence[str]) -> list[Any]:
    """Return the values of a dict by its keys' first letters, or as they stand in it."""
    letters = {str(key)[:1].lower(): value for key, value in named.items()}
    due = [name[:1] for name in outputs]
    told = len(set(due)) == len(due) and letters.keys() == set(due)
    return [letters[letter] for letter in due] if told else list(named.values())


def unwrapped(call: WorkerCall, name: str, value: Any) -> Any:
    """Return an output that is to be returned alone, where it came in another form.

    That is the first of several things, one by its name, an array, or a number where a tensor
    without axes is due. The form is told by itself.
    """
    if type(value) in (tuple, list) and value:
        value = value[0]
    elif type(value) is dict and (name in value or len(value) == 1):
        value = value.get(name, next(iter(value.values())))
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        value = torch.from_numpy(value.copy())
    elif name in call.shapes and not call.shapes[name] and _is_number(value):
        value = _as_tensor(value).to(torch.get_default_dtype())
    return value


def without_spare_axes(call: WorkerCall, name: str, value: Any) -> Any:
    """Return an output without axes of length one that it has too many, wherever they stand.

    Where the call has other sizes than its case, those in front are left out, or else the last.
    """
    due = call.shapes.get(name)
    if due is None or not isinstance(value, Tensor):
        return value
    spare, ones = value.dim() - len(due), [i for i, size in enumerate(value.shape) if size == 1]
    if not 0 < spare <= len(ones):
        return value
    if [n for n in value.shape if n != 1] == [n for n in due if n != 1]:
        return value.reshape(due)
    gone = ones[:spare] if ones[spare - 1] == spare - 1 else ones[-spare:]
    return value.reshape([n for place, n in enumerate(value.shape) if place not in gone])


def _is_of_ones_and_zeros(value: Tensor) -> bool:
    plain = value.layout is torch.strided and value.device.type == "cpu"
    return plain and bool(((value == 0) | (value == 1)).all())


def _is_number(value: Any) -> bool:
    if type(value) in (int, float):
        return True
    plain = type(value) is np.ndarray or type(value) in _NUMPY_NUMBERS
    return plain and value.ndim == 0 and value.dtype.kind in "iuf"


def _as_tensor(number: float) -> Tensor:
    try:
        return torch.tensor(float(number), dtype=torch.float64)
    except OverflowError:  # of an int that no float can hold
        return torch.tensor(float("inf"), dtype=torch.float64)


def _shown_key(key: Any) -> str:
    return key[:80] if type(key) is str else f"a {type_name(key)}"


def _describe(value: Any) -> ValueClaim:
    if not isinstance(value, Tensor):
        return ValueClaim(type_name(value))
    dtype = str(value.dtype).removeprefix("torch.")
    return ValueClaim(type_name(value), list(value.shape)[:16], dtype)


def type_name(value: Any) -> str:
    """Return the name of a value's type, cut to what a claim may have."""
    return str(type(value).__name__)[:80]
