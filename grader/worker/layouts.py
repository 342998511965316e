"""How the values of roles lie in the parameters of a submission's module.

A layout says it: transposed, stacked by heads, fused with neighbours, or spread over a list.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import prod

import torch
from torch import Tensor, nn

from grader.worker.protocol import Role, RoleKind

Shape = tuple[int, ...]


class Form(Enum):
    """The forms of layouts; letters are axes, n counts parts of the outputs o or the inputs i."""

    AS_IT_IS = auto()
    TURNED = auto()  # a table, as a layer that reads one-hot rows holds it
    LISTED = auto()
    LISTED_INPUTS = auto()
    LISTED_ROLES = auto()  # each member holds a part of every role
    IN_OUT = auto()
    OUT_IN = auto()
    N_IN_O = auto()
    N_O_IN = auto()
    IN_N_O = auto()
    O_N_IN = auto()
    O_IN_N = auto()
    IN_O_N = auto()
    ROLES_IN_O = auto()  # parts that are fused roles
    ROLES_O_IN = auto()
    IN_ROLES_O = auto()
    N_I_OUT = auto()
    OUT_N_I = auto()
    N_OUT_I = auto()
    I_N_OUT = auto()
    I_OUT_N = auto()
    OUT_I_N = auto()
    ROLES_N_IN_O = auto()
    ROLES_N_O_IN = auto()
    N_ROLES_IN_O = auto()
    N_ROLES_O_IN = auto()
    N_IN_ROLES_O = auto()
    IN_ROLES_N_O = auto()
    IN_N_ROLES_O = auto()
    N_O_ROLES_IN = auto()
    IN_N_O_ROLES = auto()
    N_IN_O_ROLES = auto()
    N_O_IN_ROLES = auto()
    O_ROLES = auto()

    def turns(self, other: "Form") -> bool:
        """Whether a square matrix in one form is its transpose in the other."""
        return (self, other) in _TURNS or (other, self) in _TURNS


_TURNS = (
    (Form.IN_OUT, Form.OUT_IN),
    (Form.N_O_IN, Form.N_I_OUT),
    (Form.N_IN_O, Form.N_OUT_I),
    (Form.IN_N_O, Form.OUT_N_I),
    (Form.O_N_IN, Form.I_N_OUT),
    (Form.O_IN_N, Form.I_OUT_N),
    (Form.IN_O_N, Form.OUT_I_N),
)
_OF_PARTS = (
    (Form.N_IN_O, (0, 2, 1)),
    (Form.N_O_IN, (0, 1, 2)),
    (Form.IN_N_O, (2, 0, 1)),
    (Form.O_N_IN, (1, 0, 2)),
    (Form.O_IN_N, (1, 2, 0)),
    (Form.IN_O_N, (2, 1, 0)),
)
_OF_ROLES = (
    (Form.ROLES_IN_O, (0, 2, 1)),
    (Form.ROLES_O_IN, (0, 1, 2)),
    (Form.IN_ROLES_O, (2, 0, 1)),
)
_OF_PARTS_OF_ROLES = (  # axes of roles, parts, a part's outputs, and inputs
    (Form.ROLES_N_IN_O, (0, 1, 3, 2)),
    (Form.ROLES_N_O_IN, (0, 1, 2, 3)),
    (Form.N_ROLES_IN_O, (1, 0, 3, 2)),
    (Form.N_ROLES_O_IN, (1, 0, 2, 3)),
    (Form.N_IN_ROLES_O, (1, 3, 0, 2)),
    (Form.IN_ROLES_N_O, (3, 0, 1, 2)),
    (Form.IN_N_ROLES_O, (3, 1, 0, 2)),
    (Form.N_O_ROLES_IN, (1, 2, 0, 3)),
    (Form.IN_N_O_ROLES, (3, 1, 2, 0)),
    (Form.N_IN_O_ROLES, (1, 3, 2, 0)),
    (Form.N_O_IN_ROLES, (1, 2, 3, 0)),
)
_OF_INPUTS = (
    (Form.N_I_OUT, (1, 2, 0)),
    (Form.OUT_N_I, (0, 1, 2)),
    (Form.N_OUT_I, (1, 0, 2)),
    (Form.I_N_OUT, (2, 1, 0)),
    (Form.I_OUT_N, (2, 0, 1)),
    (Form.OUT_I_N, (0, 2, 1)),
)


@dataclass(frozen=True)
class Layout:
    """student = role.reshape(split).permute(order).reshape(shape of the parameter)."""

    form: Form
    split: Shape
    order: tuple[int, ...]

    def lay(self, value: Tensor, shape: Shape) -> Tensor:
        """Bring a role's values into a parameter's shape."""
        return value.reshape(self.split).permute(self.order).reshape(shape)

    def lift(self, value: Tensor, role_shape: Shape) -> Tensor:
        """Bring a parameter's values (or gradient) back into the role's shape."""
        laid = [self.split[axis] for axis in self.order]
        inverse = [self.order.index(axis) for axis in range(len(self.order))]
        return value.reshape(laid).permute(inverse).reshape(role_shape)


@dataclass(frozen=True)
class Item:
    """A parameter, or a list of alike parameters that together play a role."""

    name: str
    parameters: tuple[nn.Parameter, ...]
    owner: type[nn.Module]
    members: tuple[str, ...]  # the parameters' own names
    said: str = ""  # its name with `weight` or `bias` in place of another word, where that is known
    guessed: bool = False  # whether `said` rests on the order in its layer alone
    forms: frozenset[Form] | None = None  # of a library's layer, None where the class tells them
    rows: int | None = None  # how many of its first rows play the role, where not all do

    @property
    def meant(self) -> str:
        """The name by which its part is looked for."""
        return self.said or self.name

    @property
    def shape(self) -> Shape:
        """Shape of the parameter; a list's members are stacked on a first axis."""
        own = tuple(self.parameters[0].shape)
        one = (self.rows, *own[1:]) if self.rows else own
        return one if len(self.parameters) == 1 else (len(self.parameters), *one)

    @property
    def frozen(self) -> bool:
        """Whether no training changes it, so that it is kept as a buffer is."""
        return not any(parameter.requires_grad for parameter in self.parameters)

    @property
    def raw(self) -> bool:
        """Whether its orientation is the student's own choice."""
        if self.forms is not None:
            return False
        return not issubclass(self.owner, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Embedding)

    @property
    def of_torch(self) -> bool:
        """Whether it belongs to a layer of a library, which stores it in one way only."""
        plain = not self.raw or self.parameters[0].dim() <= 1
        return plain and self.owner.__module__.startswith(("torch.", "keras."))

    def load(self, value: Tensor) -> None:
        """Store `value`, of this item's shape."""
        parts = value.unbind(0) if len(self.parameters) > 1 else (value,)
        for parameter, part in zip(self.parameters, parts, strict=True):
            (parameter[: self.rows] if self.rows else parameter).copy_(part)

    def gradient(self) -> Tensor | None:
        """Return the gradient in this item's shape, None where there is none."""
        parts = [parameter.grad for parameter in self.parameters]
        if all(part is None for part in parts):
            return None
        full = [
            torch.zeros_like(p) if g is None else g
            for p, g in zip(self.parameters, parts, strict=True)
        ]
        if len(full) > 1:
            return torch.stack(full)
        return full[0][: self.rows] if self.rows else full[0]


def fitting_layouts(roles: Sequence[Role], item: Item) -> list[Layout]:
    """Return every way that the roles' values can lie in the item, the likeliest first."""
    first = roles[0]
    if any(role.shape[1:] != first.shape[1:] for role in roles):
        return []
    shape = (sum(role.shape[0] for role in roles), *first.shape[1:])
    if prod(shape) != prod(item.shape):
        return []
    fused = len(roles) if len({role.shape for role in roles}) == 1 else 1
    if first.kind is not RoleKind.LINEAR:
        return _plain_layouts(shape, item, fused)
    stacked = len(roles) if len(roles) > 1 else None
    if item.forms is not None:
        found = _linear_layouts(shape, item.shape, stacked)
        return [layout for layout in found if layout.form in item.forms]
    if not item.raw:
        return _owned_layouts(shape, item, fused)
    return _linear_layouts(shape, item.shape, stacked)


def _plain_layouts(shape: Shape, item: Item, fused: int) -> list[Layout]:
    """A bias, table or vector: as it is, axes of size one aside, or a vector split in parts.

    A linear layer without bias that reads one-hot rows holds a table, turned.
    """
    order = tuple(range(len(shape)))
    if issubclass(item.owner, nn.Linear) and len(shape) == 2 and item.shape == shape[::-1]:
        return [Layout(Form.TURNED, shape, (1, 0))]
    same = _squeezed(item.shape) == _squeezed(shape)
    folds = item.raw or bool(item.forms)
    split = len(shape) == 1 and len(_squeezed(item.shape)) in (2, 3) and folds
    found = [Layout(Form.AS_IT_IS, shape, order)] if same or split else []
    each = shape[0] // fused
    if split and item.shape == (each, fused) != (fused, each):
        return [Layout(Form.O_ROLES, (fused, each), (1, 0))]  # roles behind a bias's numbers
    if len(shape) == 1 and len(item.parameters) > 1:
        return found or _listed_layouts(Form.AS_IT_IS, shape, item, fused)
    return found


def _owned_layouts(shape: Shape, item: Item, fused: int) -> list[Layout]:
    """A layer of torch's own: (out, in), width-one axes behind, lists stacked in front."""
    out, inner = shape
    one = tuple(item.parameters[0].shape)
    if len(item.parameters) == 1:
        width_one = one[:2] == shape and all(axis == 1 for axis in one[2:])
        return [Layout(Form.AS_IT_IS, shape, (0, 1))] if width_one else []
    count = len(item.parameters)
    if one[:2] == (out // count, inner):
        return _listed_layouts(Form.LISTED, shape, item, fused)
    if one[:2] == (out, inner // count):
        return [Layout(Form.LISTED_INPUTS, (out, count, inner // count), (1, 0, 2))]
    return []


def _listed_layouts(form: Form, shape: Shape, item: Item, fused: int) -> list[Layout]:
    """A list's members stacked in front: each is of one role, or holds a part of every role.

    Of three roles, two members can only hold a part of each, and six may do so.
    """
    count, (out, *inner) = len(item.parameters), shape
    plain = Layout(form, shape, tuple(range(len(shape))))
    split = (fused, count, out // (fused * count), *inner)
    of_each = Layout(Form.LISTED_ROLES, split, (1, 0, *range(2, len(split))))
    return [
        *([plain] if count % fused == 0 or fused % count == 0 else []),
        *([of_each] if fused > 1 and out % (fused * count) == 0 else []),
    ]


def _linear_layouts(shape: Shape, item_shape: Shape, stacked: int | None) -> list[Layout]:
    """A weight that the student laid out; (in, out) before (out, in), as `x @ weight` reads it."""
    out, inner = shape
    target = item_shape if item_shape in {shape, (inner, out)} else _squeezed(item_shape)
    layouts = []
    if target == (inner, out):
        layouts.append(Layout(Form.IN_OUT, shape, (1, 0)))
    if target == shape:
        layouts.append(Layout(Form.OUT_IN, shape, (0, 1)))
    if len(target) == 3:
        layouts += _stacked_layouts(shape, target, stacked)
    elif len(layouts) > 1 and len(item_shape) == 3:
        layouts += _stacked_layouts(shape, item_shape, stacked)  # of one: other sizes tell which
    return [*layouts, *(_parted_roles(shape, item_shape, stacked) if stacked else [])]


def _parted_roles(shape: Shape, target: Shape, roles: int) -> list[Layout]:
    """Several roles of some parts each: four axes, or three where a part's roles are joined."""
    out, inner = shape
    layouts = []
    for n in sorted(set(target)):
        if out % (roles * n) == 0:
            split = (roles, n, out // (roles * n), inner)
            for form, order in _OF_PARTS_OF_ROLES:
                axes = [split[axis] for axis in order]
                first = order.index(0)
                # roles before a part's outputs
                if order[first : first + 2] == (0, 2) and len(target) == 3:
                    axes[first : first + 2] = [axes[first] * axes[first + 1]]
                if tuple(axes) == target:
                    layouts.append(Layout(form, split, order))
    return layouts


def _stacked_layouts(shape: Shape, target: Shape, stacked: int | None) -> list[Layout]:
    """Three axes: one of them counts parts (heads, or fused roles) of the outputs or inputs."""
    out, inner = shape
    layouts = []
    for n in sorted(set(target)) if stacked is None else [stacked]:
        if out % n == 0:
            split = (n, out // n, inner)
            layouts += _orders(split, target, _OF_ROLES if stacked else _OF_PARTS)
        if inner % n == 0 and stacked is None:
            layouts += _orders((out, n, inner // n), target, _OF_INPUTS)
    return layouts


def _orders(
    split: Shape, target: Shape, forms: Sequence[tuple[Form, tuple[int, ...]]]
) -> list[Layout]:
    """Return the forms whose order of a split's axes gives the shape that is there."""
    return [
        Layout(form, split, order)
        for form, order in forms
        if tuple(split[axis] for axis in order) == target
    ]


def _squeezed(shape: Shape) -> Shape:
    return tuple(axis for axis in shape if axis != 1)
