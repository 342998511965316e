"""Makes targets ready to be called: constructs modules and fills the reference's parameters in."""

import contextlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from grader.worker.attached import named
from grader.worker.binding import Bond, Memory, Unbound, bind, may_lie_otherwise
from grader.worker.blocks import bind_blocks
from grader.worker.defaults import claim_defaults, other_defaults, own_defaults, required
from grader.worker.layouts import Form, Item
from grader.worker.parts import Uses
from grader.worker.probes import build_probe
from grader.worker.protocol import (
    Argument,
    DefaultClaim,
    Probe,
    Role,
    RoleKind,
    Scalar,
    TargetKind,
    TensorKey,
    Tool,
    Value,
    WorkerCall,
)
from grader.worker.tools import build_tool
from grader.worker.torch_modules import TorchModules

_Find = Callable[[list[Item], Sequence[Role], Memory], list[Bond]]

# how modules of the same names and shapes are bound, if they are
Recipes = dict[Hashable, list[Bond] | Unbound]


@dataclass(frozen=True)
class Ready:
    """A target that can be called with its inputs."""

    function: Callable[..., Any]
    module: nn.Module | None = None  # None for a function
    bonds: Sequence[Bond] = ()  # which parameters play which roles
    absent: Sequence[str] = ()  # what the module's call is given None for


@dataclass(frozen=True)
class Made:
    """A module that a target made, and the given sublayers that it got."""

    module: nn.Module
    given: Sequence[nn.Module]


class Targets:
    """The targets of a namespace, with the tensors that their calls name."""

    def __init__(
        self,
        namespace: Mapping[str, Any],
        tensors: dict[str, Tensor],
        framework: TorchModules,
        *,
        shared: Recipes | None = None,
    ) -> None:
        """`shared` keeps what others learnt of modules that are made of a library's layers."""
        self.namespace = namespace
        self.framework = framework
        self.tensors = tensors
        self.announced: dict[str, list[WorkerCall]] = {}  # by target; they tell layouts
        self._shared = {} if shared is None else shared
        self._recipes: Recipes = {}
        self._memories: dict[str, Memory] = {}
        self._own_defaults: dict[str, Mapping[str, object]] = {}
        self._narrow = False  # whether what is made is of float32
        self._absent: dict[str, list[str]] = {}  # of forward's arguments, by target

    @contextlib.contextmanager
    def in_float32(self) -> Iterator[None]:
        """Make what is made in float32; the default dtype is set anew for each call."""
        self.framework.set_dtype(torch.float32)
        self._narrow = True
        try:
            yield
        finally:
            self._narrow = False

    def get_ready(self, call: WorkerCall) -> Ready:
        """Return what a call calls; raises Unbound, and whatever the submission raises."""
        given = self.options(call)
        if call.kind is TargetKind.FUNCTION:
            return Ready(partial(self.namespace[call.target], **given))
        try:
            ready = self._make(call, given)
        except Exception:
            if given != call.options:
                # the code may mean something else by an argument: then its own default has to do
                with contextlib.suppress(Exception):
                    return self._make(call, call.options)
            raise
        if call.spare and ready.module is not None:
            forward = own_defaults(ready.module.forward)
            if absent := required(forward, len(call.inputs), call.spare, ()):
                self._absent[call.target] = absent
                function = partial(ready.function, **dict.fromkeys(absent))
                return replace(ready, function=function, absent=absent)
        return ready

    def defaults(self, call: WorkerCall) -> list[DefaultClaim]:
        """Tell the defaults that the target has in place of those that are asked for."""
        own = self._own(call.target)
        others = [name for name in self.options(call) if name not in call.options]
        return claim_defaults(own, [*others, *self._absent.get(call.target, ())])

    def _own(self, target: str) -> Mapping[str, object]:
        if target not in self._own_defaults:
            self._own_defaults[target] = own_defaults(self.namespace[target])
        return self._own_defaults[target]

    def options(self, call: WorkerCall) -> dict[str, Scalar | None]:
        """Return what a call gives by name: its options, and defaults that the code has not."""
        own = self._own(call.target) if call.defaults or call.nones or call.spare else {}
        function = call.kind is TargetKind.FUNCTION
        places, spare = (len(call.inputs), call.spare) if function else (len(call.construct), 0)
        absent = dict.fromkeys(required(own, places, spare, call.nones))
        return {**absent, **other_defaults(own, call.defaults), **call.options}

    def _make(self, call: WorkerCall, options: Mapping[str, Scalar | None]) -> Ready:
        made = self.construct(call.target, call.construct, options)
        self.framework.build(made.module, partial(self.inputs, call.inputs))
        bonds = self._load_parameters(call, made) if call.roles else []
        return Ready(self.framework.evaluating(made.module), made.module, bonds)

    def construct(
        self, target: str, construct: Sequence[Argument], options: Mapping[str, Scalar | None]
    ) -> Made:
        """Return the module that a target makes; raises TypeError where it makes none."""
        arguments = self.inputs(construct)
        module = self.namespace[target](*arguments, **options)
        if not isinstance(module, nn.Module):
            raise TypeError(
                f"{target} makes a {type(module).__name__}, not {self.framework.module}"
            )
        return Made(module, [a for a in arguments if isinstance(a, nn.Module)])

    def inputs(self, arguments: Sequence[Argument], *, strided: bool = False) -> list[Any]:
        """Return fresh values of arguments; `strided` tensors are not contiguous."""
        made: list[Any] = []
        for argument in arguments:
            match argument:
                case TensorKey(key):
                    value = self._fresh(key)
                    made.append(_non_contiguous(value) if strided else value)
                case Probe(_, own, mixed):
                    values = (self._fresh(key) for key in (own, mixed))
                    made.append(self.framework.given(build_probe(argument, *values)))
                case Tool(of, used):
                    made.append(build_tool(None if of is None else made[of], used=used))
                case Value(value):
                    made.append(value)
        return made

    def _fresh(self, key: str) -> Tensor:
        """Return a copy of a tensor, in the precision of what is made."""
        value = self.tensors[key]
        narrow = self._narrow and value.is_floating_point()
        return value.to(torch.float32, copy=True) if narrow else value.clone()

    def _load_parameters(self, call: WorkerCall, made: Made) -> list[Bond]:
        bonds, items = self._bind_all(call, made)
        played = {id(p) for bond in bonds for p in bond.item.parameters}
        with torch.no_grad():
            for bond in bonds:
                bond.load([self.tensors[call.parameters[role.name]] for role in bond.roles])
            tables = [bond for bond in bonds if bond.roles[0].kind is RoleKind.TABLE]
            for item in [item for item in items if id(item.parameters[0]) not in played]:
                # What nobody asked for is the audit's and the gradients' business, not the values':
                # a bias is zero, and a layer as large as a table holds that table's numbers.
                if item.name.endswith("bias"):
                    item.parameters[0].zero_()
                elif same := [one for one in tables if one.item.shape == item.shape]:
                    item.load(same[0].item.parameters[0])
        return bonds

    def _bind_all(self, call: WorkerCall, made: Made) -> tuple[list[Bond], list[Item]]:
        """Bind what is registered, or where that does not do what hangs loose, too."""
        items = self.framework.items(made.module, made.given)
        try:
            return self._bind(call, made, items), items
        except Unbound:
            # it computes as well: that nothing trains it is told beside
            hidden = self.framework.hidden(made.module, made.given)
            if hidden and not _in_parts(call.roles):
                items = [*items, *hidden]
                with contextlib.suppress(Unbound):
                    return self._bind(call, made, items), items
            raise

    def _bind(self, call: WorkerCall, made: Made, items: list[Item]) -> list[Bond]:
        """Bind; modules of the same names and shapes are bound alike without a new search."""
        module, given, roles = made.module, made.given, call.roles
        bonds: list[Bond] = []
        how: _Find = bind
        if in_parts := _in_parts(roles):
            module.eval()
            uses = Uses()
            run = partial(module, *self.inputs(call.inputs))
            try:
                bonds, parts = self.framework.bind_parts(module, in_parts, uses, run)
            except Unbound:
                how = _find_in_blocks
            else:
                given, how = [*given, *parts], _find_by_use
                roles = _outside(roles)
            items = uses.ordered(self.framework.items(module, given))
        recipe = self._recipe(call.target, Made(module, given), items, roles, how)
        own = {item.name: item.parameters[0] for item in items}
        return [*bonds, *(bond.rebound(own) for bond in recipe)]

    def _recipe(
        self, target: str, made: Made, items: list[Item], roles: Sequence[Role], how: _Find
    ) -> list[Bond]:
        """Return how a module of these names and shapes is bound; raises Unbound."""
        memory = self._memory(target, made, roles)
        alike = (
            target,
            tuple((item.name, item.shape, item.owner, item.forms) for item in items),
            tuple((role.name, role.shape, role.optional) for role in roles),
            how,
            frozenset(name for name, one in memory.items() if one[:1] == (Form.LISTED_ROLES,)),
        )
        recipes = self._shared if all(item.of_torch for item in items) else self._recipes
        if alike not in recipes:
            try:
                recipes[alike] = how(items, roles, memory)
            except Unbound as unbound:
                recipes[alike] = unbound.with_traceback(None)
        recipe = recipes[alike]
        if isinstance(recipe, Unbound):
            # others of these names and shapes may hide something else
            recipe.info.loose = named(self.framework.loose(made.module))
            raise recipe
        return recipe

    def _memory(self, target: str, made: Made, roles: Sequence[Role]) -> Memory:
        """Layouts that the shapes of some instance tell, where one may leave them open."""
        if target not in self._memories:
            memory = self._memories[target] = {}
            items = self.framework.items(made.module, made.given)
            if may_lie_otherwise(items, _outside(roles)):
                for call in self.announced.get(target, []):
                    try:
                        other = self.construct(target, call.construct, self.options(call))
                        self.framework.build(other.module, partial(self.inputs, call.inputs))
                        items = self.framework.items(other.module, other.given)
                        bind(items, _outside(call.roles), memory)
                    except Exception:  # noqa: BLE001, S112 - the call itself will say it
                        continue
        return self._memories[target]


def _find_by_use(items: list[Item], roles: Sequence[Role], memory: Memory) -> list[Bond]:
    """Bind what stands around parts, in the order of use."""
    return bind(items, roles, memory, by_use=tuple(RoleKind))


def _find_in_blocks(items: list[Item], roles: Sequence[Role], memory: Memory) -> list[Bond]:
    """Bind what has no parts by which it is known: by its blocks, or where there are none by all.

    Parts of other names are bound as layers are, by their own names, shapes and order.
    """
    try:
        return bind_blocks(items, roles, memory)
    except Unbound:
        return bind(items, roles, memory)


def _in_parts(roles: Sequence[Role]) -> list[Role]:
    """The roles that parts of an assembled module play."""
    return [role for role in roles if role.part]


def _outside(roles: Sequence[Role]) -> list[Role]:
    return [role for role in roles if not role.part]


def _non_contiguous(value: Tensor) -> Tensor:
    """Return a view of the same values whose strides are not those of a fresh tensor."""
    if value.dim() == 0:
        return value  # it has one number, and no strides
    if value.dim() < 2:
        return value.repeat_interleave(2)[::2]
    return value.transpose(0, -1).contiguous().transpose(0, -1)
