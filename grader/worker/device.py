"""A pretend accelerator: finds a hard-coded device on a machine that has only a CPU.

Tensors on it report the device `meta` and hold their values in a CPU tensor beside, so
control flow that looks at values still works. Every operation passes `PretendDevice`, which
refuses to mix devices as an accelerator would, and allows what accelerators allow: 0-dim
tensors, copies, and CPU indices into an indexed tensor. Tensors made of plain numbers pass
`PretendConstructors`, since torch itself keeps no numbers on `meta`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from grader.worker.loading import WorkerError
from grader.worker.protocol import Cause

DEVICE = torch.device("meta")
_aten = torch.ops.aten
_MOVES = {_aten.to.device, _aten.to.dtype, _aten.to.dtype_layout, _aten.to.other}
_COPIES = {_aten._to_copy.default, _aten.copy_.default, *_MOVES}
_OF_NUMBERS = (torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor)
_TO_NUMPY = (Tensor.numpy, Tensor.__array__)
_ITEMS = (Tensor.__getitem__, Tensor.__setitem__)
_INDEXED = {_aten.index.Tensor, _aten.index_put.default, _aten.index_put_.default}


class DeviceMix(WorkerError):
    """Tensors of two devices met in one operation."""

    cause = Cause.DEVICE


_held: WeakIdKeyDictionary = WeakIdKeyDictionary()  # what each holds; no attribute tells it


class PretendTensor(torch.Tensor):
    """A tensor that says it is on `meta`."""

    @staticmethod
    def __new__(cls, values: Tensor) -> "PretendTensor":
        """Wrap a CPU tensor."""
        with torch.inference_mode(mode=False):  # in which no tensor can be wrapped
            made = torch.Tensor._make_wrapper_subclass(
                cls,
                values.size(),
                strides=values.stride(),
                storage_offset=values.storage_offset(),
                dtype=values.dtype,
                device=DEVICE,
            )
            _held[made] = values.detach()
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Serve operations that run outside the mode, such as `repr`."""
        return _run(func, args, kwargs or {})


class PretendDevice(TorchDispatchMode):
    """While active, `meta` is an accelerator of its own."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from importing its compiler, about a second, only to switch it off."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operation on the values, or raise DeviceMix."""
        return _run(func, args, kwargs or {})


class _Generator(torch.Generator):
    """A generator on the pretend accelerator: torch has none on `meta`, and draws on the CPU."""

    def __new__(cls, device: Any = "cpu") -> "_Generator":
        """Make one for the CPU in place of one for `meta`."""
        home = "cpu" if torch.device(device) == DEVICE else device
        return super().__new__(cls, home)  # type: ignore[call-arg]


class PretendConstructors(TorchFunctionMode):
    """While active, what is made of plain numbers for `meta` keeps them, and gives them back.

    And a generator for `meta` can be made, and draws.
    """

    def __enter__(self) -> "PretendConstructors":
        """Put a generator of our own in place of torch's."""
        torch.Generator = _Generator  # type: ignore[misc]
        return super().__enter__()  # type: ignore[no-untyped-call, no-any-return]

    def __exit__(self, *error: object) -> None:
        """Put torch's back."""
        torch.Generator = _Generator.__base__  # type: ignore[misc, assignment]
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make the tensor on the CPU, and pretend that it is elsewhere."""
        kwargs = dict(kwargs or {})
        if func is Tensor.tolist:  # reads values, as an accelerator lets code do
            return values(args[0]).tolist()
        if func in _TO_NUMPY and isinstance(args[0], PretendTensor):
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        if func in _ITEMS and isinstance(args[0], PretendTensor):
            return func(args[0], _index(args[1]), *args[2:], **kwargs)
        if func not in _OF_NUMBERS:
            return func(*args, **kwargs)
        home = next((t.device for t in (*args, *kwargs.values()) if isinstance(t, Tensor)), "cpu")
        there = torch.device(kwargs.pop("device", None) or home) == DEVICE
        made = func(
            *_changed(args, values),
            **{name: _changed(value, values) for name, value in kwargs.items()},
            device=torch.device("cpu"),
        )
        return PretendTensor(made) if there else made


def refuse_elsewhere(output: Any, asked: str) -> None:
    """Raise DeviceMix where an output is a tensor that is not on the pretended device."""
    if isinstance(output, Tensor) and output.device != DEVICE:
        raise DeviceMix(f"the output is on another device than {asked}")


def _index(index: Any) -> Any:
    """Make tensors of the lists in an index: torch makes them on `meta`, without their numbers."""
    if isinstance(index, tuple):
        return tuple(_index(part) for part in index)
    if isinstance(index, range):
        index = list(index)  # as which torch takes it
    if isinstance(index, np.ndarray):
        return torch.from_numpy(index.copy())
    numbers = isinstance(index, list) and index and {*map(type, index)} <= {int, bool}
    return torch.as_tensor(np.array(index)) if numbers else index


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors = [*_tensors(args), *_tensors(tuple(kwargs.values()))]
    here = any(isinstance(t, PretendTensor) for t in tensors)
    if here and func not in _COPIES:
        _refuse_mixed(func, args, tensors)
    if func in _MOVES:  # which inference mode alone does not take apart
        names = [argument.name for argument in func._schema.arguments]
        args, kwargs = args[:1], {**dict(zip(names[1:], args[1:], strict=False)), **kwargs}
        here = isinstance(kwargs.get("other", args[0]), PretendTensor)
    target = kwargs.get("device")
    if target is not None:
        here = torch.device(target) == DEVICE
        kwargs = {**kwargs, "device": torch.device("cpu")}
    out = func(*_changed(args, values), **{k: _changed(v, values) for k, v in kwargs.items()})
    if func is _aten.copy_.default or _is_in_place(func):
        _follow(args[0])
        return args[0]
    return _changed(out, PretendTensor) if here else out


def _refuse_mixed(func: Any, args: Any, tensors: list[Tensor]) -> None:
    if func in _INDEXED and isinstance(args[0], PretendTensor):  # which takes indices of the CPU
        tensors = [args[0], *(a for a in args[2:] if isinstance(a, Tensor))]
    strangers = [t for t in tensors if not isinstance(t, PretendTensor) and t.dim() > 0]
    if strangers and any(isinstance(t, PretendTensor) for t in tensors):
        raise DeviceMix("one operation got tensors on two devices")


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in what an operation takes: torch's own walk costs five times as much."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _tensors(part)


def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)([_changed(part, change) for part in value])
    return value


def _follow(tensor: Tensor) -> None:
    """Give a tensor the axes of what it holds, which `transpose_` and its like have changed."""
    held = values(tensor)
    if (tensor.size(), tensor.stride()) != (held.size(), held.stride()):
        with torch._C._DisableTorchDispatch():
            tensor.as_strided_(held.size(), held.stride())


def values(tensor: Tensor) -> Tensor:
    """Return what a tensor holds, on the CPU."""
    return _held[tensor] if isinstance(tensor, PretendTensor) else tensor


def _is_in_place(func: Any) -> bool:
    name = func.name().split("::")[-1].split(".")[0]
    return bool(name.endswith("_") and not name.startswith("__"))


def move(module: nn.Module) -> None:
    """Move parameters and buffers, in place, as `module.to(device)` does for an accelerator."""
    moved: dict[nn.Parameter, Any] = {}  # what two layers share stays shared
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None:
                if parameter not in moved:
                    # not wrapped in nn.Parameter, which imports torch.distributed for a subclass
                    moved[parameter] = PretendTensor(parameter)
                    moved[parameter]._is_param = True  # what nn.Parameter knows its own by
                part._parameters[name] = moved[parameter]
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = PretendTensor(buffer)
