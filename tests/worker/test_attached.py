"""What hangs on a module and is not registered."""

from collections.abc import Iterator
from typing import Any

import pytest
from torch import nn

from grader.worker.attached import loose_things


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
