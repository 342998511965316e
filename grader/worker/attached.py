"""What is attached to a module: what training reached, and what torch does not see."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from types import FunctionType
from typing import Any

from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from grader.worker.binding import Bond
from grader.worker.layouts import Item
from grader.worker.protocol import LooseClaim, UntrainedClaim

LISTED = 64  # names of parameters that an answer lists
_NOISE = 1e-13  # of the largest gradient: what is less in a matrix, rounding has left
_OF_ANY_MODULE = frozenset(vars(nn.Module()))  # where torch itself keeps what is registered


@dataclass(frozen=True)
class Loose:
    """A tensor or module in a module's attributes that is not registered."""

    path: str  # of the attribute
    what: str  # "tensor", "parameter" or "module"
    thing: Any
    place: str = ""  # in the attribute, where that is a container


def is_lazy(module: nn.Module) -> bool:
    """Whether a parameter has yet to get its shape, from the first input."""
    parameters = (p for part in module.modules() for p in part._parameters.values())
    return any(isinstance(p, UninitializedParameter) for p in parameters)


def untrained(
    parameters: Mapping[str, nn.Parameter], bonds: Sequence[Bond]
) -> list[UntrainedClaim]:
    """Registered parameters that no gradient reached, with the roles they play.

    Of a list that plays one role, some may stay untrained: rows of positions beyond a short input.
    What rounding leaves in a matrix is no gradient; in a bias it may be all that is due.
    """
    reached = _reached([*parameters.values(), *(p for bond in bonds for p in bond.item.parameters)])
    roles: dict[int, list[str]] = {}
    resting: set[int] = set()
    for bond in bonds:
        names, own = [role.name for role in bond.roles], bond.item.parameters
        if len(names) == 1 and any(id(p) in reached for p in own):
            resting |= {id(p) for p in own}
        one_each = len(names) == len(own)
        for index, parameter in enumerate(own):
            played = names[index : index + 1] if one_each else names
            roles.setdefault(id(parameter), []).extend(played)
    trained = reached | resting
    return [
        UntrainedClaim(name, roles.get(id(p), []))
        for name, p in parameters.items()
        if id(p) not in trained
    ][:LISTED]


def count_hidden(result: Tensor, known: Iterable[Any], again: Callable[[], Tensor]) -> int:
    """How many trained numbers a result depends on that are not among those that are known.

    What another call, `again`, no longer has is a result cut off, of which a gradient is asked; a
    layer that each call makes anew is not.
    """
    expected = {id(one) for one in known}
    hidden = {i: leaf for i, leaf in _leaves(result).items() if i not in expected}
    if not hidden:
        return 0
    lasting: Mapping[int, Tensor] = {}
    with contextlib.suppress(Exception):  # that it can be called twice is another check's business
        lasting = _leaves(again())
    kept = (x for i, x in hidden.items() if i in lasting or isinstance(x, nn.Parameter))
    return sum(leaf.numel() for leaf in kept)


def _leaves(result: Tensor) -> dict[int, Tensor]:
    """Return what the gradients of a result end at, by identity."""
    leaves: dict[int, Tensor] = {}
    seen: set[Any] = set()
    waiting: list[Any] = [result.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            leaves[id(leaf)] = leaf
        waiting += [before for before, _ in node.next_functions]
    return leaves


def _reached(parameters: Sequence[nn.Parameter]) -> set[int]:
    """The ids of those that a gradient reached."""
    gradients = {id(p): p.grad.abs() for p in parameters if p.grad is not None and p.numel()}
    noise = _NOISE * max((float(one.max()) for one in gradients.values()), default=0.0)
    return {
        name
        for name, gradient in gradients.items()
        if not bool((gradient <= (noise if gradient.dim() > 1 else 0.0)).all())  # NaN is one, too
    }


def mode_of(given: nn.Module) -> bool:
    """Whether a module is left in training mode; the other one where its parts are in both."""
    mode = bool(given.training)
    return mode if all(bool(part.training) is mode for part in given.modules()) else not mode


def named(found: Sequence[Loose]) -> list[LooseClaim]:
    """The attributes that hold something loose, each once for each kind of thing."""
    return list(dict.fromkeys(LooseClaim(one.path, one.what) for one in found))[:LISTED]


def loose_things(module: nn.Module) -> list[Loose]:
    """Return unregistered tensors and modules in a module's attributes.

    What is registered as well may stand in a list, or where else it likes.
    """
    found = [
        Loose(f"{path}.{name}".lstrip("."), what, thing, place)
        for path, part in module.named_modules()
        for name, value in vars(part).items()
        if name not in _OF_ANY_MODULE
        for what, thing, place in sorted(_hidden_in(value, ()), key=lambda one: one[0])
    ]
    if not found:
        return []
    registered = {id(one) for one in (*module.modules(), *module.parameters(), *module.buffers())}
    return [one for one in found if not _is_there(one.thing, registered)]


def _is_there(thing: Any, registered: Set[int]) -> bool:
    """Whether something is registered, or is a module around nothing but what is."""
    if id(thing) in registered or not isinstance(thing, nn.Module):
        return id(thing) in registered
    _, *inner = thing.modules()
    held = {id(one) for one in (*inner, *thing.parameters(), *thing.buffers())}
    return bool(inner) and held <= registered


def hidden_items(
    loose: Iterable[Loose], items_of: Callable[[nn.Module], Iterable[Item]]
) -> list[Item]:
    """Return what may play a role of what hangs loose, named as if it were registered.

    That is a layer's parameters, a parameter, and a tensor that is made as one would be.
    """
    found = []
    for one in loose:
        path = ".".join(filter(None, (one.path, one.place)))
        if one.what == "module":
            for item in items_of(one.thing):
                members = tuple(f"{path}.{name}" for name in item.members)
                found.append(replace(item, name=f"{path}.{item.name}", members=members))
        elif one.thing.is_leaf and one.thing.is_floating_point():
            found.append(Item(path, (one.thing,), nn.Module, (path,)))
    return found


def _hidden_in(value: Any, at: tuple[str, ...]) -> list[tuple[str, Any, str]]:
    """Return the tensors and modules in a value: what each is, and its place in containers."""
    if value is None or type(value) in (bool, int, float, str):
        return []
    place = ".".join(at)
    if isinstance(value, nn.Parameter):
        return [("parameter", value, place)]
    if isinstance(value, Tensor):
        return [("tensor", value, place)] if value.dim() > 0 else []
    if isinstance(value, nn.Module):
        return [("module", value, place)]
    if len(at) == 3:
        return []
    parts = list(islice(_parts_of(value), LISTED))
    return [found for key, part in parts for found in _hidden_in(part, (*at, key))]


def _parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a container holds, or a function that was made within another one, and where.

    By the container's own class: one of the submission's may show something else.
    """
    if isinstance(value, dict):
        for place, (key, part) in enumerate(dict.items(value)):
            yield key if type(key) is str else str(place), part
    elif isinstance(value, FunctionType):
        for place, cell in enumerate(value.__closure__ or ()):
            with contextlib.suppress(ValueError):  # it is empty so far
                yield str(place), cell.cell_contents
    else:
        own = next((kind for kind in (list, tuple, set) if isinstance(value, kind)), None)
        for place, part in enumerate(own.__iter__(value) if own else ()):
            yield str(place), part
