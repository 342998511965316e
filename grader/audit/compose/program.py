"""Runs a program with the reference's parameters, in plain torch and in this process.

The text is the course's own, so it runs as a solution does. How parameters get into its module the
material says; nothing is searched for.
"""

import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from grader.key.reference import Reference
from grader.records.answers import Answer
from grader.records.calls import Array, Call
from grader.worker.names import Group, of_group
from grader.worker.protocol import TargetKind
from grader.worker.targets import Targets

_LEAST = 1e-12  # of a gradient that reaches a parameter


@dataclass(frozen=True)
class OwnRun:
    """A program's run on one call."""

    outputs: tuple[Array, ...] = ()
    steps: Mapping[str, Array] = field(default_factory=dict)  # local variables, by name
    reached: frozenset[str] = frozenset()  # parameters with a gradient that is not zero
    error: str = ""  # what it raised

    def agrees(self, other: "OwnRun", close: float) -> bool:
        """Whether another run gave the same outputs, to a relative and absolute distance."""
        return len(self.outputs) == len(other.outputs) and all(
            one.shape == two.shape and np.allclose(one, two, rtol=close, atol=close)
            for one, two in zip(self.outputs, other.outputs, strict=True)
        )

    def gave(self, answer: Answer, close: float) -> bool:
        """Whether the outputs are those of an answer."""
        theirs = tuple(of_group(answer.tensors, Group.OUTPUT).values())
        return bool(theirs) and self.agrees(OwnRun(theirs), close)


def run_program(
    program: Reference, call: Call, steps: Sequence[str], tensors: Mapping[str, Array], load: str
) -> OwnRun:
    """Run a program on one call; without `load` its parameters have the reference's names.

    `steps` are the local variables to keep, `tensors` the plan's.
    """
    runner = program.runner(tensors)
    torch.set_default_dtype(program.dtype)
    kept: dict[str, Tensor] = {}
    targets = runner.targets
    try:
        given = {role.name: targets.tensors[call.parameters[role.name]] for role in call.roles}
        function, module = _build(targets, call, given, load)
        inputs = targets.inputs(call.inputs)
        for value in inputs:
            if isinstance(value, Tensor) and value.is_floating_point():
                value.requires_grad_()
        with _recorded(str(program.path), steps, kept):
            returned = function(*inputs)
        outputs = list(returned) if isinstance(returned, tuple | list) else [returned]
        outputs = [output for output in outputs if isinstance(output, Tensor)]
        reached = _reached(module, outputs[: len(call.outputs)])
    except Exception as error:  # noqa: BLE001 - whatever a planted mistake raises
        return OwnRun(steps=_arrays(kept), error=f"{type(error).__name__}: {error}")
    return OwnRun(tuple(map(_array, outputs)), _arrays(kept), reached)


def _build(
    targets: Targets, call: Call, given: Mapping[str, Tensor], load: str
) -> tuple[Callable[..., Any], nn.Module | None]:
    if call.kind is TargetKind.FUNCTION:
        target = targets.namespace[call.target]
        return partial(target, **targets.options(call)), None
    module = targets.construct(call.target, call.construct, targets.options(call)).module
    with torch.no_grad():
        if load:
            loader = _Loader(given)
            names = {"module": module, "put": loader.put, "put_each": loader.put_each}
            exec(load, names)  # noqa: S102 - the course's own text
        else:
            for name, value in given.items():
                module.get_parameter(name).copy_(value)
    module.eval()
    return module, module


@dataclass(frozen=True)
class _Loader:
    """Puts values of the reference's layers into a program's; what is not there becomes zero."""

    given: Mapping[str, Tensor]

    def put(
        self,
        layer: nn.Module,
        *roles: str,
        parts: int = 0,
        order: tuple[int, ...] = (0, 1, 2),
        weight: str = "weight",
        bias: str = "bias",
    ) -> None:
        """Load one layer with one role, or with several joined.

        Of `parts` the rows are seen as (roles, parts, rows of a part) and stored in `order`.
        `weight` and `bias` are the layer's names for them.
        """
        for kind, name in (("weight", weight), ("bias", bias)):
            own = getattr(layer, name, None)
            if own is None:
                continue
            values = [v for role in roles if (v := self._value(role, kind)) is not None]
            if not values:
                own.zero_()
                continue
            joined = torch.cat(values)
            if parts:
                split = joined.reshape(len(roles), parts, -1, *joined.shape[1:])
                rest = tuple(range(3, split.dim()))
                joined = split.permute(*order, *rest).reshape(joined.shape)
            own.copy_(joined)

    def put_each(self, layers: Sequence[nn.Module], role: str) -> None:
        """Load several layers, each with its share of one role's rows."""
        for kind in ("weight", "bias"):
            value = self._value(role, kind)
            shares = [None] * len(layers) if value is None else value.chunk(len(layers))
            for layer, share in zip(layers, shares, strict=True):
                own = getattr(layer, kind, None)
                if own is not None:
                    own.zero_() if share is None else own.copy_(share)

    def _value(self, role: str, kind: str) -> Tensor | None:
        """Find a role's values by the end of its name: it may stand in a part of the reference.

        The module itself plays the role "".
        """
        end = f"{role}.{kind}".removeprefix(".")
        found = [v for name, v in self.given.items() if name == end or name.endswith(f".{end}")]
        return next(iter(found), None)


@contextmanager
def _recorded(path: str, names: Sequence[str], kept: dict[str, Tensor]) -> Iterator[None]:
    """Keep named local variables of a file's functions as these return."""

    def note(frame: types.FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code.co_filename == path:
            for name in names:
                value = frame.f_locals.get(name)
                if isinstance(value, Tensor):
                    kept[name] = value.detach().clone()

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def _reached(module: nn.Module | None, outputs: Sequence[Tensor]) -> frozenset[str]:
    """The parameters that a gradient of random weights on the outputs reaches."""
    attached = [output for output in outputs if output.requires_grad]
    if module is None or not attached:
        return frozenset()
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(o.shape, generator=generator, dtype=o.dtype) for o in attached]
    torch.autograd.backward(attached, weights)
    return frozenset(
        name
        for name, p in module.named_parameters()
        if p.grad is not None and p.grad.abs().max() > _LEAST
    )


def _array(value: Tensor) -> Array:
    array: Array = value.detach().contiguous().numpy().copy()
    return array


def _arrays(values: Mapping[str, Tensor]) -> dict[str, Array]:
    return {name: _array(value) for name, value in values.items()}
