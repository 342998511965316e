"""Finds which parameter of a submission's module plays which role of the reference.

By name where the name is there (or an alias that the course lists), else by unique shape, else in
order of registration. In what a factory puts together the order of use comes first.
"""

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import torch
from torch import Tensor, nn

from grader.worker.layouts import Form, Item, Layout, fitting_layouts
from grader.worker.pairs import KINDS, last_of, name_pairs, stem_of
from grader.worker.protocol import BoundClaim, InfoClaim, Role, RoleKind, ShapeClaim, Told

Memory = dict[str, tuple[Form, ...]]  # by name: the forms that all shapes so far allow

_LISTED = 64  # parameters that an answer lists
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LETTER = re.compile(r"(?:\w+\.)*[wb]?_?[a-z](?:\.(?:weight|bias))?", re.IGNORECASE)
NUMBER = re.compile(r"(?<![^.])\d+(?=\.)")  # a place in a list, as in `heads.0.weight`
_AFTER = ("post", "after")
_AFFIXES = ("to", "w", "lin", "linear", "fc", "proj")


@dataclass(frozen=True)
class Bond:
    """One item that plays one role, or several that are fused in it."""

    roles: tuple[Role, ...]
    item: Item
    layout: Layout
    told: Told = Told.NAME
    turnable: bool = False  # as well it may lie the other way round

    @property
    def claim(self) -> BoundClaim:
        """What the parent hears of it."""
        roles = [role.name for role in self.roles]
        return BoundClaim(self.item.name[:80], roles, self.told, self.turnable)

    def rebound(self, own: Mapping[str, nn.Parameter]) -> "Bond":
        """Return the same bond with another instance's parameters, by their names."""
        item = self.item
        parameters = tuple(own[name] for name in item.members)
        own_item = Item(item.name, parameters, item.owner, item.members, rows=item.rows)
        return replace(self, item=own_item)

    def load(self, values: Sequence[Tensor]) -> None:
        """Store the roles' values in the item."""
        joined = torch.cat(list(values)) if len(values) > 1 else values[0]
        self.item.load(self.layout.lay(joined, self.item.shape))

    def gradients(self) -> list[Tensor | None]:
        """Return one gradient a role, in the role's shape."""
        gradient = self.item.gradient()
        if gradient is None:
            return [None] * len(self.roles)
        rows = [role.shape[0] for role in self.roles]
        joined = self.layout.lift(gradient, (sum(rows), *self.roles[0].shape[1:]))
        return list(joined.split(rows))


class Unbound(Exception):
    """Roles that no parameter can play."""

    def __init__(self, sought: Sequence[Role], items: Sequence[Item]) -> None:
        super().__init__("no parameter fits")
        self.info = InfoClaim(
            sought=[ShapeClaim(role.name, list(role.shape)) for role in sought],
            present=[ShapeClaim(item.name, list(item.shape)) for item in items[:_LISTED]],
        )


def bind(
    items: list[Item], roles: Sequence[Role], memory: Memory, *, by_use: Collection[RoleKind] = ()
) -> list[Bond]:
    """Return the bonds of all roles to a module's own items; raises Unbound.

    `memory` tells forms that another instance's shapes told; forms told here are added to it. Where
    items stand in the order of use, it comes before names for roles of the kinds `by_use`: names
    inside an assembled module are free.
    """
    search = _Search(list(roles), memory)
    search.in_order(items, Told.USE, [role for role in roles if role.kind in by_use])
    # layers of a stack repeat each other: their parameters are not one list
    sets = [items] if any(role.part for role in roles) else [items, _families(items)]
    for candidates in sets:
        search.by_meaning(candidates)
    search.in_order(_as_registered(sets), Told.ORDER, roles)
    search.in_longer_tables(items)
    # a bias that may be missing is not missing where one of its name is there, in another shape
    left = {item.meant for item in items if not search.used & set(item.members)}
    needed = [role for role in search.roles if not role.optional]
    if needed := needed or [role for role in search.roles if role.name in left]:
        raise Unbound(needed, items)
    return search.bonds


def _as_registered(sets: Sequence[Sequence[Item]]) -> list[Item]:
    """Items, and lists of some of them where their first one stands, behind it."""
    places = {item.name: place for place, item in enumerate(sets[0])}
    return sorted(itertools.chain(*sets), key=lambda item: places.get(item.members[0], len(places)))


def may_lie_otherwise(items: Sequence[Item], roles: Sequence[Role]) -> bool:
    """Whether other instances' shapes may tell how parameters lie.

    They do so for raw matrices, and for a list of layers where several roles may be fused in each.
    """
    fused = any(run[0].kind is RoleKind.LINEAR for run in _runs(roles))
    return any(
        item.parameters[0].dim() > 1 and (item.raw or (fused and bool(NUMBER.search(item.name))))
        for item in items
    )


def own_items(module: nn.Module, given: Iterable[nn.Module]) -> list[Item]:
    """Return the module's own parameters in order of registration, each once under its names."""
    excluded = {id(p) for sublayer in given for p in sublayer.parameters()}
    items = []
    for path, owner in module.named_modules(remove_duplicate=False):
        for last, parameter in owner._parameters.items():
            if parameter is not None and id(parameter) not in excluded:
                name = f"{path}.{last}" if path else last
                items.append(Item(name, (parameter,), type(owner), (name,)))
    return name_pairs(items)


@dataclass
class _Search:
    roles: list[Role]  # still without an item, in order
    memory: Memory
    items: list[Item] = field(default_factory=list)
    bonds: list[Bond] = field(default_factory=list)
    used: set[str] = field(default_factory=set)  # names of the parameters that play a role

    def by_meaning(self, items: list[Item]) -> None:
        """Bind what names and shapes tell."""
        self.items = items
        self._by_exact_name()
        self._by_alias()
        while self._by_companion() or self._by_unique_shape() or self._by_fusion():
            pass

    def in_order(self, items: list[Item], told: Told, roles: Sequence[Role]) -> None:
        """Bind what is left of some roles in the order of the items."""
        self.items = items
        shapes = {role.name: self._likely_shapes(role) for role in roles if role in self.roles}
        for careless in (False, True):
            for role in roles:
                for item in self._free():
                    likely = role in self.roles and item.shape in shapes[role.name]
                    alike = likely and (careless or not _is_other_kind(item.meant, role))
                    if alike and self._fits(role, item):
                        self._take([role], item, told)
                        while self._by_companion():
                            pass

    def in_longer_tables(self, items: list[Item]) -> None:
        """Bind tables that are left to the first rows of one that has some more.

        Its numbers are counted elsewhere; what it computes need not be wrong for that.
        """
        self.items = items
        for role in [role for role in self.roles if role.kind is RoleKind.TABLE]:
            rows, *width = role.shape
            tables = [item for item in self._free() if item.raw or item.owner is nn.Embedding]
            longer = [i for i in tables if [*i.shape[1:]] == width and i.shape[0] > rows]
            if len(longer) == 1:
                self._take([role], replace(longer[0], rows=rows), Told.SHAPE)

    def _free(self) -> list[Item]:
        return [item for item in self.items if not self.used & set(item.members)]

    def _likely_shapes(self, role: Role) -> set[tuple[int, ...]]:
        """The shapes of items that may play a role: those of as many items as roles are alike."""
        alike = sum((one.kind, one.shape) == (role.kind, role.shape) for one in self.roles)
        found = Counter(item.shape for item in self._free() if self._fits(role, item))
        return {shape for shape in found if found[shape] >= alike} or {*found}

    def _take(self, roles: Sequence[Role], item: Item, told: Told) -> bool:
        if not (found := self._layouts(roles, item)):
            return False
        told = Told.ORDER if item.guessed else told
        turnable = any(found[0].form.turns(form) for form in self.memory[item.name])
        self.bonds.append(Bond(tuple(roles), item, found[0], told, turnable))
        self.used |= set(item.members)
        for role in roles:
            self.roles.remove(role)
        return True

    def _layouts(self, roles: Sequence[Role], item: Item) -> list[Layout]:
        """The ways the roles fit the item, the likeliest first; one alone where memory knows."""
        found = fitting_layouts(roles, item)
        if forms := tuple(dict.fromkeys(layout.form for layout in found)):
            before = self.memory.get(item.name, forms)
            self.memory[item.name] = tuple(form for form in before if form in forms) or forms
        return [layout for layout in found if layout.form is self._remembered(item)] or found

    def _remembered(self, item: Item) -> Form | None:
        """The likeliest form of a parameter; a bias lies as its layer's weight does."""
        weight = f"{_layer_of(item.name)}.weight"
        forms = self.memory.get(weight if weight in self.memory else item.name, ())
        return next(iter(forms), None)

    def _fits(self, role: Role, item: Item) -> bool:
        return bool(fitting_layouts([role], item)) and not self._parts_a_layer(role, item)

    def _parts_a_layer(self, role: Role, item: Item) -> bool:
        """Whether a layer's weight and bias would go to different layers of the reference."""
        stem, layer = stem_of(role.name), _layer_of(item.meant)
        if not layer or not self._is_whole(layer):
            return False
        for bond in self.bonds:
            of_stem = any(stem_of(other.name) == stem for other in bond.roles)
            if of_stem != (_layer_of(bond.item.meant) == layer):
                return True
        return False

    def _is_whole(self, layer: str) -> bool:
        """Whether there are both a weight and a bias of a layer: else it may hold layers itself."""
        names = {one.meant for one in (*self.items, *(bond.item for bond in self.bonds))}
        return all(f"{layer}.{last}" in names for last in KINDS)

    def _by_exact_name(self) -> None:
        by_name = {item.meant: item for item in self.items}
        for role in list(self.roles):
            stem = role.name.rpartition(".")[0]
            for name in (role.name, stem if role.kind is not RoleKind.BIAS else ""):
                if name in by_name and self._fits(role, by_name[name]):
                    self._take([role], by_name[name], Told.NAME)
                    break

    def _by_alias(self) -> None:
        meant = {
            id(item): [role for role in self.roles if names_role(item.meant, role)]
            for item in self._free()
        }
        for item in self._mere_letters(meant):
            meant[id(item)] = []
        for item in self._free():
            fitting = [role for role in meant[id(item)] if self._fits(role, item)]
            rivals = [
                other
                for other in self._free()
                if other is not item
                and any(role in meant[id(other)] for role in fitting)
                and any(self._fits(role, other) for role in fitting)
            ]
            if len(fitting) == 1 and not rivals and fitting[0] in self.roles:
                self._take(fitting, item, Told.NAME)

    def _mere_letters(self, meant: Mapping[int, Sequence[Role]]) -> list[Item]:
        """Parameters that bear one letter, as most of equal shape that do mean no role by it.

        In u, v, w no letter tells; in q, k, v, w three do.
        """
        shapes: dict[tuple[int, ...], list[Item]] = {}
        for item in self._free():
            if _LETTER.fullmatch(item.meant):
                shapes.setdefault(item.shape, []).append(item)
        groups = [[one for one in alike if meant[id(one)]] for alike in shapes.values()]
        return [
            item
            for told, alike in zip(groups, shapes.values(), strict=True)
            if 2 * len(told) <= len(alike)
            for item in told
        ]

    def _by_unique_shape(self) -> bool:
        for role in list(self.roles):
            fitting = [item for item in self._free() if self._fits(role, item)]
            rivals = [r for r in self.roles if fitting and self._fits(r, fitting[0])]
            if len(fitting) == 1 and len(rivals) == 1:
                return self._take([role], fitting[0], Told.SHAPE)
        return False

    def _by_fusion(self) -> bool:
        runs = _runs(self.roles)
        for item in self._free():
            for run in runs:
                if not fitting_layouts(run, item) or any(self._fits(r, item) for r in self.roles):
                    continue
                of_each = self._remembered(item) is Form.LISTED_ROLES
                if len(item.parameters) == len(run) and not of_each:
                    continue  # a list of layers, each of which plays one
                if any(_is_other_kind(item.meant, r) or self._parts_a_layer(r, item) for r in run):
                    continue  # as a bias of too many, which is as long as some norms' weights
                meant = {role for role in self.roles if names_role(item.meant, role)}
                if not meant or meant.issuperset(run):  # else its name tells one alone, or another
                    return self._take(run, item, Told.NAME if meant else Told.ORDER)
        return False

    def _by_companion(self) -> bool:
        """A layer's weight and bias play the weight and bias of one role's layer."""
        homes = {stem_of(bond.roles[0].name): bond for bond in self.bonds if len(bond.roles) == 1}
        for role in self.roles:
            stem, _, last = role.name.rpartition(".")
            if stem not in homes:
                continue
            home = homes[stem]
            sought = f"{stem_of(home.item.name)}.{last}"
            for item in self._free():
                if item.meant == sought and self._fits(role, item):
                    return self._take([role], item, home.told)
        return False


def _layer_of(name: str) -> str:
    """The layer whose weight or bias it is, "" for a parameter that stands alone."""
    stem, _, last = name.rpartition(".")
    return stem if last in KINDS else ""


def _runs(roles: Sequence[Role]) -> list[list[Role]]:
    """Neighbours of one kind that could be fused, longest first.

    Weights and biases alternate in the order of registration, so neighbours are counted
    among the roles of their own kind; a norm's weight and bias are vectors both.
    """
    found: list[list[Role]] = []
    fused = [role for role in roles if role.kind is not RoleKind.TABLE]
    for kind in dict.fromkeys((role.kind, last_of(role.name)) for role in fused):
        alike = [role for role in fused if (role.kind, last_of(role.name)) == kind]
        for start in range(len(alike)):
            for end in range(start + 2, len(alike) + 1):
                found.append(alike[start:end])
    return sorted(found, key=len, reverse=True)


def _families(items: Sequence[Item]) -> list[Item]:
    """Lists of alike parameters: names that differ in one number, of equal shape.

    Places in a list come first: of `fc1.0` and `fc2.0` each belongs with its own list's layers.
    """
    groups: dict[str, list[Item]] = {}
    for number in (r"(?<![^.])\d+(?![^.])", r"(?<=[^.\d])\d+(?![^.])"):
        for item in items:
            for found in re.finditer(number, item.name):
                pattern = f"{item.name[: found.start()]}*{item.name[found.end() :]}"
                groups.setdefault(pattern, []).append(item)
    return [
        Item(
            pattern,
            tuple(m.parameters[0] for m in members),
            members[0].owner,
            tuple(m.name for m in members),
            forms=members[0].forms,
        )
        for pattern, members in groups.items()
        if len({m.shape for m in members}) == 1 and len(members) > 1
    ]


@lru_cache(maxsize=4096)  # modules are alike, and made for each call
def names_role(name: str, role: Role) -> bool:
    """Whether a parameter's name means the role, by the role's stem or an alias.

    A norm's weight and bias have one shape: each name means its own kind only.
    """
    stem, _, last = role.name.rpartition(".")
    if _is_other_kind(name, role):
        return False
    if not stem and last in KINDS and last_of(name) == last:
        return True  # the target is the layer itself
    wanted = {_plain(alias) for alias in (stem or last, *role.aliases)}
    parts = [part for part in name.split(".") if not part.isdigit() and part != "*"]
    if len(parts) > 1 and parts[-1] in ("weight", "bias"):
        parts.pop()
    words = set()
    for part in parts:
        pieces = [p.lower() for p in re.split(r"_+", _CAMEL.sub("_", part)) if p]
        # post_attention_norm may be attention's or the next sublayer's: `attention` tells nothing
        told = [p for i, p in enumerate(pieces) if not i or pieces[i - 1] not in _AFTER]
        words |= {_plain(part), *told}
    # wq and bq: a bias that stands alone takes its role's name as a weight does
    for affix in (*_AFFIXES, "b") if role.kind is RoleKind.BIAS else _AFFIXES:
        words |= {word.removeprefix(affix) for word in words if word != affix}
        words |= {word.removesuffix(affix) for word in words if word != affix}
    return bool(wanted & words)


def _is_other_kind(name: str, role: Role) -> bool:
    """Whether a parameter is called a bias, and the role is a weight, or the other way round."""
    last = last_of(role.name)
    parts = name.split(".")
    said = parts[-1:] if parts[-1] in KINDS else parts
    pieces = {p.rstrip("0123456789") for part in said for p in part.lower().split("_")}
    other = [words for kind, words in KINDS.items() if kind != last]
    return last in KINDS and any(pieces.intersection(words) for words in other)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
