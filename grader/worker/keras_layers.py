"""Layers of Keras, which are modules of torch's where torch is the backend; see `torch_modules`.

What differs: the parameters come with the first call, kernels are (in, out), what Keras tracks
stands in lists of its own, training is an argument of the call, and there is a default dtype more.
Importing this module imports Keras. The user's own settings of it do not count.
"""

import contextlib
import os
import random
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import nn

from grader.worker.attached import Loose
from grader.worker.binding import Bond, Unbound, own_items
from grader.worker.layouts import Form, Item, fitting_layouts
from grader.worker.pairs import name_pairs
from grader.worker.parts import Place, Uses, part_labels
from grader.worker.protocol import Role, RoleKind
from grader.worker.torch_modules import Inputs, TorchModules

os.environ["KERAS_BACKEND"] = "torch"
os.environ["KERAS_HOME"] = os.path.join(os.devnull, "none")  # where no file can be, nor be made
import keras
from keras.src.backend.common import dtypes

_MEANT = {  # the two usual parameters of a layer, as binding knows them
    "kernel": "weight", "embeddings": "weight", "gamma": "weight", "scale": "weight",
    "bias": "bias", "beta": "bias",
}  # fmt: skip
_NO_MATRIX: frozenset[Form] = frozenset()
_LAID_OUT = {  # how Keras' own layers hold a matrix, and lists of them, by the axes of a kernel:
    "io": frozenset({Form.IN_OUT, Form.N_IN_O, Form.N_I_OUT}),  # i: of the input, o: of the output
    "oi": frozenset({Form.OUT_IN, Form.N_O_IN, Form.N_OUT_I}),
    "ioo": frozenset({Form.IN_OUT, Form.IN_N_O, Form.IN_ROLES_O}),
    "oio": frozenset({Form.IN_OUT, Form.N_IN_O, Form.ROLES_IN_O}),
    "ooi": frozenset({Form.OUT_IN, Form.N_O_IN, Form.ROLES_O_IN}),
    "iio": frozenset({Form.IN_OUT, Form.N_I_OUT}),
    "ioi": frozenset({Form.OUT_IN, Form.N_OUT_I}),
    "oii": frozenset({Form.OUT_IN, Form.OUT_N_I}),
}
_OF_ANY_LAYER = frozenset(vars(keras.layers.Layer())) | {"_layers", "_torch_params"}


@dataclass(frozen=True)
class _Found:
    """A layer within another one, and where it hangs."""

    path: str  # of attributes, "" for the outermost
    layer: keras.layers.Layer


class KerasLayers(TorchModules):
    """Layers of Keras, and what else is a module of torch's."""

    module = "a layer of Keras"

    def __init__(self) -> None:
        """Set what holds for as long as the process lives."""
        # two float64 make a float32 in Keras else, as with JAX
        dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"
        # which adds a page to each exception else
        keras.config.disable_traceback_filtering()
        warnings.filterwarnings("ignore", module=r"keras\.")

    def set_dtype(self, dtype: torch.dtype) -> None:
        """Let new tensors and variables have this dtype."""
        super().set_dtype(dtype)
        name = str(dtype).removeprefix("torch.")
        keras.config.set_floatx(name)
        keras.config.set_dtype_policy(name)

    def seed(self, seed: int) -> None:
        """Let all that is drawn at random depend on `seed`; Keras seeds layers by Python."""
        super().seed(seed)
        random.seed(seed)

    def given(self, probe: nn.Module) -> nn.Module:
        """Return a layer that calls the module."""
        layer: nn.Module = keras.layers.TorchModuleWrapper(probe)
        return layer

    def build(self, module: nn.Module, inputs: Inputs) -> None:
        """Call it once: only then there are all layers and variables.

        Layers that are made and not called have none. They get the sizes of the first input, so
        that it is seen what would be theirs.
        """
        given = inputs()
        with torch.no_grad():
            module(*given)
        shapes = [tuple(value.shape) for value in given if isinstance(value, torch.Tensor)]
        for one in _layers(module) if shapes else ():
            if not getattr(one.layer, "built", True):
                with contextlib.suppress(Exception):
                    one.layer.build(shapes[0])

    def modules(self, module: nn.Module) -> list[nn.Module]:
        """Return a layer and all that it is made of, in lists too, which torch does not see."""
        found = {id(part): part for part in module.modules()}
        for one in _layers(module):
            found |= {id(part): part for part in one.layer.modules()}
        return list(found.values())

    def items(self, module: nn.Module, given: Sequence[nn.Module]) -> list[Item]:
        """Return the variables that training changes, by the attributes that hold them."""
        excluded = {id(p) for sublayer in given for p in sublayer.parameters()}
        for layer in (layer for layer in given if isinstance(layer, keras.layers.Layer)):
            excluded |= {id(variable.value) for variable in layer.variables}
        if not isinstance(module, keras.layers.Layer):
            return own_items(module, given)
        items = [item for one in _layers(module) for item in _items(one)]
        return name_pairs([item for item in items if id(item.parameters[0]) not in excluded])

    def parameters(self, module: nn.Module) -> Mapping[str, nn.Parameter]:
        """Return all variables that training changes, by name."""
        return {item.name: item.parameters[0] for item in self.items(module, ())}

    def loose(self, module: nn.Module) -> list[Loose]:
        """Return layers and variables that Keras does not track.

        A tensor in an attribute is no state: Keras keeps what is not trained in such, too.
        """
        if not isinstance(module, keras.layers.Layer):
            return super().loose(module)
        tracked = {id(one.layer) for one in _layers(module)}
        tracked |= {id(variable) for variable in module.variables}
        return [
            Loose(f"{one.path}.{name}".lstrip("."), what, thing, place)
            for one in _layers(module)
            if not isinstance(one.layer, keras.layers.TorchModuleWrapper)
            for name, value in _own(one.layer)
            for what, thing, place in _states(value)
            if id(thing) not in tracked and not isinstance(thing, keras.random.SeedGenerator)
        ]

    def role(self, module: nn.Module, item: Item) -> Role:  # noqa: ARG002 - the item knows
        """Return the role that a variable of the reference plays: matrices are (out, in)."""
        last = item.meant.rpartition(".")[2]
        if len(item.shape) == 2 and not issubclass(item.owner, keras.layers.Embedding):
            return Role(item.meant, item.shape[::-1], RoleKind.LINEAR)
        if len(item.shape) == 2:
            return Role(item.meant, item.shape, RoleKind.TABLE)
        matrix = issubclass(item.owner, keras.layers.Dense | keras.layers.EinsumDense)
        kind = RoleKind.BIAS if matrix and last == "bias" else RoleKind.VECTOR
        return Role(item.meant, item.shape, kind)

    def places(self, module: nn.Module, exercises: Collection[str]) -> Mapping[str, Place]:
        """Return in which parts, of earlier exercises' classes, the parameters of a layer lie."""
        names = {id(item.parameters[0]): item.name for item in self.items(module, ())}
        places: dict[str, Place] = {}
        count: Counter[str] = Counter()
        for one in _layers(module):
            labels = [name for name in part_labels(one.layer) if name.split(".")[0] in exercises]
            for item in self.items(one.layer, ()) if labels else ():  # an inner part comes later
                place = Place(labels[0], count[labels[0]], item.meant)
                places[names[id(item.parameters[0])]] = place
            count.update(labels[:1])
        return places

    def bind_parts(
        self, module: nn.Module, roles: Sequence[Role], uses: Uses, run: Callable[[], Any]
    ) -> tuple[list[Bond], list[nn.Module]]:
        """Bind as torch's are; the order of use is that of the parts' variables."""
        with torch.no_grad():
            uses.note(run)
        parts = self._parts(module, {role.part for role in roles}, uses)
        due = {role.part: 1 + max(r.number for r in roles if r.part == role.part) for role in roles}
        items = self.items(module, ())
        whole = {id(item.parameters[0]): item for item in items}
        bonds = []
        for role in roles:
            alike = parts.get(role.part, [])
            own = self.items(alike[role.number], ()) if len(alike) == due[role.part] else []
            found = next((item for item in own if item.meant == role.inner), None)
            layouts = fitting_layouts([role], found) if found else []
            if found is None or not layouts:
                raise Unbound([role], items)
            bonds.append(Bond((role,), whole[id(found.parameters[0])], layouts[0]))
        return bonds, [layer for alike in parts.values() for layer in alike]

    def _parts(
        self, module: nn.Module, wanted: Collection[str], uses: Uses
    ) -> dict[str, list[nn.Module]]:
        """Return the parts of the wanted classes, in the order of use."""
        named = {label.partition(".")[2]: label for label in wanted}
        parts: dict[str, list[nn.Module]] = {}
        for layer in self.modules(module):
            # by name alone: a copy of an earlier class in the same file counts too
            labels = [
                named[kind.__name__] for kind in type(layer).__mro__ if kind.__name__ in named
            ]
            if labels:
                parts.setdefault(labels[0], []).append(layer)
        for alike in parts.values():
            alike.sort(key=lambda layer: uses.first(self.items(layer, ())))
        return parts

    def evaluating(self, module: nn.Module) -> Callable[..., Any]:
        """Return what calls a layer as it is called by default."""
        return super().evaluating(module)

    def training(self, module: nn.Module) -> Callable[..., Any]:
        """Return what calls a layer with `training=True`; it hands that on by itself."""
        called = super().training(module)
        return partial(called, training=True) if isinstance(module, keras.layers.Layer) else called


def _layers(outermost: nn.Module) -> Iterator[_Found]:
    """Yield a layer and those that it holds, each once, by the first attribute that has it."""
    seen: set[int] = set()
    waiting = [_Found("", outermost)]
    while waiting:
        one = waiting.pop(0)
        if id(one.layer) in seen:
            continue
        seen.add(id(one.layer))
        yield one
        inner = [
            _Found(f"{one.path}.{name}{place}".lstrip("."), layer)
            for name, value in _own(one.layer)
            for place, layer in _within(value, keras.layers.Layer)
        ]
        # a model made of other layers' outputs holds them in no attribute, or in private ones
        rest = [
            _Found(f"{one.path}.layers.{place}".lstrip("."), layer)
            for place, layer in enumerate(_held(one.layer))
        ]
        ready = isinstance(one.layer, keras.Model) and _is_of_keras(type(one.layer))
        waiting = [*rest, *inner, *waiting] if ready else [*inner, *rest, *waiting]


def _held(layer: nn.Module) -> list[nn.Module]:
    """Return the layers that a model is made of, but for those that stand for its inputs."""
    held = getattr(layer, "_layers", [])
    return [one for one in held if not isinstance(one, keras.layers.InputLayer)]


def _is_of_keras(kind: type) -> bool:
    """Whether a class is one of the library's, and not of whoever uses it."""
    return kind.__module__.startswith("keras.")


def _items(found: _Found) -> Iterator[Item]:
    """Yield what a layer itself trains."""
    layer = found.layer
    if isinstance(layer, keras.layers.TorchModuleWrapper):
        for item in own_items(layer.module, ()):
            name = f"{found.path}.{item.name}".lstrip(".")
            said = f"{found.path}.{item.said}".lstrip(".") if item.said else ""
            yield replace(item, name=name, members=(name,), said=said)
        return
    library = _is_of_keras(type(layer))
    names = {
        id(variable): f"{name}{place}"
        for name, value in _own(layer)
        for place, variable in _within(value, keras.Variable)
    }
    for variable in (v for v in layer._trainable_variables if v.trainable):
        held = variable.name if library else names.get(id(variable), variable.name)
        name = f"{found.path}.{held}".lstrip(".")
        item = Item(name, (variable.value,), type(layer), (name,))
        if not library:
            yield item
            continue
        said = f"{found.path}.{_MEANT[held]}".lstrip(".") if held in _MEANT else ""
        folds = held == "bias" and isinstance(layer, keras.layers.EinsumDense)
        forms = _LAID_OUT.get(_axes(layer) if held == "kernel" or folds else "", _NO_MATRIX)
        yield replace(item, said=said, forms=forms)


def _axes(layer: nn.Module) -> str:
    """Tell which axes of a layer's kernel are of its input and which of its output."""
    if not isinstance(layer, keras.layers.EinsumDense):
        return "io"  # of convolutions, too, behind axes of size one
    given, _, made = layer.equation.partition("->")
    before, _, kernel = given.partition(",")
    return "".join(
        "i" if axis in before else "o" for axis in kernel.strip() if axis in before + made
    )


def _own(layer: nn.Module) -> list[tuple[str, Any]]:
    """Return the attributes of a layer that are not those of each layer."""
    held = {**layer._modules, **vars(layer)}  # torch keeps modules apart
    return [pair for pair in held.items() if pair[0] not in _OF_ANY_LAYER]


def _within(value: Any, kind: type) -> Iterator[tuple[str, Any]]:
    """Yield what is of a kind in an attribute, with the place where it is one of several."""
    if isinstance(value, kind):
        yield "", value
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from ((f".{place}{more}", one) for more, one in _within(part, kind))
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from ((f".{key}{more}", one) for more, one in _within(part, kind))


def _states(value: Any) -> Iterator[tuple[str, Any, str]]:
    kinds = (("module", nn.Module), ("parameter", nn.Parameter), ("parameter", keras.Variable))
    for what, kind in kinds:
        yield from ((what, one, place.lstrip(".")) for place, one in _within(value, kind))
