"""What is drawn in training mode: moments over many copies of the inputs, a mask each."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.worker.names import Drew, Group
from grader.worker.protocol import WorkerCall

_DROPPING = ("bernoulli", "bernoulli_", "native_dropout")  # what dropout draws its masks by


class Drawing(TorchDispatchMode):
    """Notes whether anything is drawn, and by other operations than dropout's."""

    def __init__(self) -> None:
        """Nothing is drawn yet."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._operations: set[str] = set()
        self._before = _numpy_state()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keep torch from importing its compiler, about a second, only to switch it off."""
        return False

    @property
    def drew(self) -> Drew:
        """What drew so far, with torch's random numbers or numpy's."""
        if self._before != _numpy_state() or self._operations.difference(_DROPPING):
            return Drew.MORE
        return Drew.DROPOUT if self._operations else Drew.NOTHING

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operation."""
        if torch.Tag.nondeterministic_seeded in func.tags:
            self._operations.add(str(func.overloadpacket.__name__))
        return func(*args, **(kwargs or {}))


def _numpy_state() -> bytes:
    """What tells whether numpy's random numbers were used, quick to take and to compare."""
    return pickle.dumps(np.random.get_state(legacy=False))


def repeated(inputs: Sequence[Any], repeats: int) -> list[Any]:
    """Repeat the samples: the first axis of the first tensor, and what else has it."""
    first = next((v for v in inputs if isinstance(v, Tensor)), None)
    samples = first.shape[:1] if first is not None else ()
    return [
        v.repeat(repeats, *[1] * (v.dim() - 1))
        if isinstance(v, Tensor) and v.dim() and v.shape[:1] == samples
        else v
        for v in inputs
    ]


def samples_of(run: Callable[[], list[Any]], call: WorkerCall) -> dict[str, Tensor]:
    """Return the outputs of a run on repeated inputs, each (n, b, ...), of n masks.

    What is opaque is left out. Raises TypeError where an output has another shape. Where samples
    are mixed, copies differ though nothing is drawn: they are made equal, for it is no dropout that
    tells them apart.
    """
    state = torch.get_rng_state()
    names = [name for name in call.outputs if name not in call.opaque]
    outputs = _seen(call, run())
    for name, output in zip(names, outputs, strict=True):
        if not isinstance(output, Tensor) or output.size(0) % call.repeats:
            raise TypeError(f"in training mode the {name} has another shape than in evaluation")
    found = [output.double().unflatten(0, (call.repeats, -1)) for output in outputs]
    differ = any((one != one[:1]).any() for one in found)
    still = differ and torch.equal(state, torch.get_rng_state())
    if still and _are_equal(outputs, _seen(call, run())):
        found = [one.mean(0).expand_as(one) for one in found]
    return dict(zip(names, found, strict=True))


def moments(samples: Tensor) -> dict[Group, Tensor]:
    """Return mean, second and fourth moment of samples, and how neighbours stray together."""
    mean = samples.mean(0)
    squares = (samples - mean).square_()
    together, spread = _neighbours(samples - mean)
    return {
        Group.MEAN: mean,
        Group.SECOND: squares.mean(0),
        Group.FOURTH: squares.square().mean(0),
        Group.TOGETHER: together,
        Group.TOGETHER_SECOND: spread,
    }


def told(drew: Drew, samples: Iterable[Tensor], run: Callable[[], Sequence[Any]]) -> Drew:
    """What drew: dropout whose one mask serves all samples, and varies from run to run, is more."""
    if drew is not Drew.DROPOUT or any(bool((one != one[:1]).any()) for one in samples):
        return drew
    return Drew.MORE if is_another(run(), run()) else drew


def is_another(returned: Any, again: Any) -> bool:
    """Whether a second run of the same call returned other numbers."""
    if isinstance(returned, tuple | list) and isinstance(again, tuple | list):
        return any(map(is_another, returned, again))
    tensors = isinstance(returned, Tensor) and isinstance(again, Tensor)
    return tensors and not torch.equal(returned.nan_to_num(), again.nan_to_num())


def _seen(call: WorkerCall, outputs: Sequence[Any]) -> list[Any]:
    named = zip(call.outputs, outputs, strict=True)
    return [output for name, output in named if name not in call.opaque]


def _are_equal(some: Sequence[Any], others: Sequence[Any]) -> bool:
    pairs = zip(some, others, strict=True)
    return all(isinstance(b, Tensor) and torch.equal(a, b) for a, b in pairs)


def _neighbours(errors: Tensor) -> tuple[Tensor, Tensor]:
    """Tell how far neighbours along each axis of a sample stray together: mean and second moment.

    Shapes: errors (n, b, ...), over n masks; returns two of (axes behind b, b, ...).
    """
    axes = range(2, errors.dim())
    products = [errors * errors.roll(1, axis) for axis in axes]
    empty = errors.new_empty(0, *errors.shape[1:])
    means = [product.mean(0) for product in products]
    seconds = [product.square_().mean(0) for product in products]
    return (torch.stack(means), torch.stack(seconds)) if products else (empty, empty)
