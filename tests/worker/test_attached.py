"""What hangs on a module and is not registered."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from grader.worker.attached import loose_things, untrained
from grader.worker.torch_modules import TorchModules


class Closed(tuple[Any, ...]):
    """A container that shows nothing of what it holds."""

    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Shut(dict[str, Any]):
    """One more."""

    def values(self) -> Any:
        return ()


@pytest.mark.parametrize(
    "held",
    [
        [nn.Linear(1, 1)],
        {"one": nn.Linear(1, 1)},
        Closed([nn.Linear(1, 1)]),
        Shut(one=nn.ReLU()),
        (lambda layer: lambda x: layer(x))(nn.Linear(1, 1)),
    ],
    ids=["list", "dict", "own tuple", "own dict", "function"],
)
def test_layers_in_any_container_are_found(held: object) -> None:
    module = nn.Module()
    module.layers = held  # type: ignore[assignment]
    assert [(one.path, one.what) for one in loose_things(module)] == [("layers", "module")]


def test_what_is_registered_may_stand_in_a_list_too() -> None:
    module = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
    module.again = [*module, *module.parameters(), *module.buffers()]  # type: ignore[assignment]
    assert loose_things(module) == []


def test_what_hangs_loose_has_the_name_that_it_would_have() -> None:
    module, part, first = nn.Module(), nn.Module(), nn.Linear(1, 1)
    part.layers = [first, {"last": [nn.Linear(1, 1, bias=False)]}]  # type: ignore[assignment]
    parameter = nn.Parameter(torch.ones(1))
    # what is computed, or counts, is no parameter that was forgotten
    part.raw = (parameter, torch.ones(3), parameter * 2, torch.arange(3))  # type: ignore[assignment]
    module.part = part
    names = [item.name for item in TorchModules().hidden(module, ())]
    assert names == [
        *("part.layers.0.weight", "part.layers.0.bias", "part.layers.1.last.0.weight"),
        *("part.raw.0", "part.raw.1"),
    ]
    # a given one's parameters are its own
    assert [item.name for item in TorchModules().hidden(module, [first])] == names[2:]


def test_what_rounding_leaves_in_a_matrix_is_no_gradient() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)])
    parameters = dict(layers.named_parameters())
    sizes = {"0.weight": 1.0, "1.weight": 1e-17, "1.bias": 1e-17, "2.weight": 1e-9}
    for name, size in sizes.items():
        parameters[name].grad = torch.full_like(parameters[name], size)
    parameters["2.bias"].grad = torch.full((2,), torch.nan)
    assert [one.name for one in untrained(parameters, [])] == ["0.bias", "1.weight"]
