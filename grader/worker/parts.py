"""Finds the parts of an assembled module: instances of classes called as earlier exercises' are.

What a factory puts together is known by these parts, whatever containers hold them and in
whatever order they are registered; their order is the order of use.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from grader.worker.binding import Bond, Unbound, own_items
from grader.worker.layouts import Form, Item, Layout
from grader.worker.protocol import Role

_LAST = float("inf")

Parts = dict[str, list[nn.Module]]  # "exercise5.EncoderLayer" -> its instances


@dataclass(frozen=True)
class Place:
    """Where a parameter lies: in which part, and under which name there."""

    part: str
    number: int
    inner: str


def part_labels(module: nn.Module) -> list[str]:
    """Return `exercise5.EncoderLayer` for a module's class and each class that it inherits."""
    return [
        f"{kind.__module__.rpartition('.')[2].split('_', 1)[0]}.{kind.__name__}"
        for kind in type(module).__mro__
    ]


def locate_parts(module: nn.Module, exercises: Collection[str]) -> dict[str, Place]:
    """Return the place of every parameter that lies in a part, the innermost where parts nest."""
    places: dict[str, Place] = {}
    count: dict[str, int] = {}
    for path, inner in module.named_modules():
        labels = [label for label in part_labels(inner) if label.split(".")[0] in exercises]
        if not labels:
            continue
        number = count[labels[0]] = count.get(labels[0], -1) + 1
        for name, _ in inner.named_parameters():  # an inner part comes later, and takes its own
            places[f"{path}.{name}".lstrip(".")] = Place(labels[0], number, name)
    return places


def bind_parts(
    module: nn.Module, roles: Sequence[Role], run: Callable[[], Any]
) -> tuple[list[Bond], list[nn.Module]]:
    """Return the bonds of the roles that parts play, and the parts; raises Unbound.

    `run` makes one call of the module, which tells the order of use.
    """
    wanted = {role.part for role in roles}
    parts = _in_order_of_use(module, wanted, run)
    items = own_items(module, ())
    names = {id(item.parameters[0]): item for item in reversed(items)}
    bonds = []
    for role in roles:
        alike = parts.get(role.part, [])
        due = 1 + max(other.number for other in roles if other.part == role.part)
        own = dict(alike[role.number].named_parameters()) if len(alike) == due else {}
        parameter = own.get(role.inner)
        if parameter is None or tuple(parameter.shape) != role.shape:
            raise Unbound([role], items)
        item: Item = names[id(parameter)]
        layout = Layout(Form.AS_IT_IS, role.shape, tuple(range(len(role.shape))))
        bonds.append(Bond((role,), item, layout))
    return bonds, [part for alike in parts.values() for part in alike]


def _in_order_of_use(module: nn.Module, wanted: Collection[str], run: Callable[[], Any]) -> Parts:
    """Return the parts of the wanted classes; those that no call reached come last."""
    found: list[tuple[str, nn.Module]] = []
    named = {label.partition(".")[2]: label for label in wanted}
    for inner in module.modules():
        # by name alone: a copy of an earlier class in the same file counts too
        labels = [named[kind.__name__] for kind in type(inner).__mro__ if kind.__name__ in named]
        if labels:
            found.append((labels[0], inner))
    used: dict[int, int] = {}

    def note(part: nn.Module, _: Any) -> None:
        used.setdefault(id(part), len(used))

    hooks = [part.register_forward_pre_hook(note) for _, part in found]
    try:
        with torch.no_grad():
            run()
    finally:
        for hook in hooks:
            hook.remove()
    parts: Parts = {}
    for label, part in sorted(found, key=lambda pair: used.get(id(pair[1]), len(used))):
        parts.setdefault(label, []).append(part)
    return parts


class Uses(TorchFunctionMode):
    """Notes the order in which parameters are first used.

    A block that a submission wrote itself may register its layers in any order.
    """

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[int, int] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note what one function gets."""
        kwargs = kwargs or {}
        for value in (*args, *kwargs.values()):
            if isinstance(value, nn.Parameter):
                self._first.setdefault(id(value), len(self._first))
        return func(*args, **kwargs)

    def note(self, run: Callable[[], Any]) -> None:
        """Note the uses of a run."""
        with self:
            run()

    def first(self, items: Sequence[Item]) -> float:
        """Return when some of the items was first used, in no unit; infinity where none was."""
        return min(
            (self._first.get(id(item.parameters[0]), _LAST) for item in items), default=_LAST
        )

    def ordered(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in the order of use; those that no call reached come last."""
        return sorted(items, key=lambda item: self._first.get(id(item.parameters[0]), _LAST))
