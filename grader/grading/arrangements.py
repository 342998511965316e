"""Other ways in which a module's parameters may play their roles.

Where no name tells which of several alike layers is which, and in whatever order the rows of a
fused layer lie, only right values tell. Each way exchanges the values that are handed to a child:
it gets the same calls as ever, of other numbers.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations, product

import numpy as np

from grader.records.answers import Answer, Bound, Info
from grader.records.calls import Array, Call
from grader.worker.names import Group, block_of, group_of, list_pattern, name_of, tensor_name
from grader.worker.protocol import TargetKind, Told, Value

_MOST = 150  # ways that are tried
_COUNTS = 4  # arguments that may tell how many parts a role's rows have
_INNERMOST = (1, 2, 0)  # of roles, parts and a part's rows
_ROW_ORDERS = ((1, 0, 2), (2, 0, 1))  # those that depend on how many parts there are


@dataclass(frozen=True)
class Rows:
    """An order of the rows of a fused layer: some parts of each role, their axes in `order`."""

    layers: tuple[str, ...]  # of the reference, which are fused
    counted_by: int  # the place of the argument that says how many parts there are, -1 for none
    order: tuple[int, ...]

    def lay(self, values: Sequence[Array], call: Call) -> list[Array]:
        """Return what the roles get, so that the layer's rows lie in this order."""
        joined = np.stack(values)
        split = joined.reshape(len(values), self._count(call, joined), -1, *joined.shape[2:])
        behind = range(3, split.ndim)
        return list(split.transpose(*self.order, *behind).reshape(joined.shape))

    def lift(self, values: Sequence[Array], call: Call) -> list[Array]:
        """Return what the roles' own rows are, from those that lie in this order."""
        joined = np.stack(values)
        count = self._count(call, joined)
        sizes = (len(values), count, joined.shape[1] // count)
        laid = joined.reshape(*(sizes[axis] for axis in self.order), *joined.shape[2:])
        inverse = [self.order.index(axis) for axis in range(3)]
        return list(laid.transpose(*inverse, *range(3, laid.ndim)).reshape(joined.shape))

    def _count(self, call: Call, joined: Array) -> int:
        """How many parts the rows of each role are; one, where they do not divide."""
        count = dict(_counts(call)).get(self.counted_by, 1)
        return count if joined.shape[1] % count == 0 else 1


@dataclass(frozen=True)
class Arrangement:
    """A way in which parameters play roles other than the usual one."""

    layers: Mapping[str, str]  # of the reference -> the one whose values it gets
    rows: tuple[Rows, ...] = ()
    turned: frozenset[str] = frozenset()  # roles whose square matrices lie the other way round

    def arranged(self, call: Call, tensors: Mapping[str, Array]) -> dict[str, Array]:
        """Return what stands in a call's parameters, by the keys that it names them by."""
        keys = call.parameters
        values = {role: tensors[keys[self._meant(role, call)]] for role in keys}
        for rows in self.rows:
            for roles in _fused_in(rows, call):
                laid = rows.lay([values[role] for role in roles], call)
                values |= {r: np.ascontiguousarray(v) for r, v in zip(roles, laid, strict=True)}
        square = {r for r in self.turned & values.keys() if len(set(values[r].shape)) == 1}
        values |= {role: np.ascontiguousarray(values[role].T) for role in square}
        return {keys[role]: value for role, value in values.items()}

    def restored(self, call: Call, answer: Answer) -> Answer:
        """Return an answer to `arranged`'s call with each gradient under its real role."""
        tensors = dict(answer.tensors)
        for name in {tensor_name(Group.GRADIENT, role) for role in self.turned} & tensors.keys():
            tensors[name] = tensors[name].T
        shapes = {role.name: tuple(role.shape) for role in call.roles}
        for rows in self.rows:
            for roles in _fused_in(rows, call):
                names = [tensor_name(Group.GRADIENT, role) for role in roles]
                due = [shapes[role] for role in roles]
                if [tensors[name].shape for name in names if name in tensors] == due:
                    own = rows.lift([tensors[name] for name in names], call)
                    tensors |= zip(names, own, strict=True)
        renamed = {
            tensor_name(Group.GRADIENT, self._meant(name_of(name), call))
            if group_of(name) is Group.GRADIENT
            else name: value
            for name, value in tensors.items()
        }
        return replace(answer, tensors=renamed, info=self._renamed(call, answer.info))

    def _shared(self, roles: Sequence[str]) -> list[str]:
        """The roles that a layer plays: where its rows are parts of several, all of these."""
        stem, _, last = roles[0].rpartition(".")
        rows = [one for one in self.rows if stem in one.layers and len(roles) == 1]
        return [f"{layer}.{last}" for one in rows for layer in one.layers] or [*roles]

    def _meant(self, role: str, call: Call) -> str:
        """The role whose values a role gets."""
        stem, _, last = role.rpartition(".")
        other = f"{self.layers.get(stem, stem)}.{last}" if stem else self.layers.get(role, role)
        return other if other in call.parameters else role

    def _renamed(self, call: Call, info: Info) -> Info:
        def really(roles: Sequence[str]) -> list[str]:
            return [self._meant(role, call) for role in roles]

        bound = [
            one.model_copy(update={"roles": really(self._shared(one.roles))}) for one in info.bound
        ]
        idle = [one.model_copy(update={"roles": really(one.roles)}) for one in info.untrained]
        return info.model_copy(update={"bound": bound, "untrained": idle})


def _fused_in(rows: Rows, call: Call) -> list[list[str]]:
    """The roles of a call that lie in a fused layer's weight, and those that lie in its bias."""
    lasts = dict.fromkeys(role.rpartition(".")[2] for role in call.parameters)
    found = [[f"{layer}.{last}" for layer in rows.layers] for last in lasts]
    return [roles for roles in found if set(roles) <= call.parameters.keys()]


def _counts(call: Call) -> list[tuple[int, int]]:
    """The arguments that may tell of how many parts a role's rows are, by their places."""
    values = [a.value if isinstance(a, Value) else None for a in call.construct]
    return [(i, v) for i, v in enumerate(values) if type(v) is int and v > 0][:_COUNTS]


def arrangements_of(call: Call, bound: Sequence[Bound]) -> list[Arrangement]:
    """Return the ways other than the usual one in which a call's module may be meant."""
    blocks = _blocks(call)
    one_of_each = in_one_block(call, bound)
    fused = _fused(call, one_of_each)
    named = [[_stem(role) for role in one.roles] for one in fused if one.told is Told.NAME]
    alike = _alike(call, one_of_each)
    exchanged = [_exchanges(layers) for layers in (*alike, *named)]
    shuffled = [_row_orders(call, one) for one in fused]
    lone = {_stem(one.roles[0]) for one in one_of_each if len(one.roles) == 1}
    shuffled += [_by_head(call, layers) for layers in alike if lone.issuperset(layers)]
    ways = product(_turns(bound), *exchanged, *shuffled)  # few turn: every order comes first
    found = []
    for way in islice(ways, _MOST + 1):
        layers = {one: other for part in way for one, other in part.layers.items()}
        rows = tuple(rows for part in way for rows in part.rows)
        found.append(_in_all(blocks, Arrangement(layers, rows, way[0].turned)))
    return found[1:]  # the first is the usual one


def in_one_block(call: Call, bound: Sequence[Bound]) -> list[Bound]:
    """Return what is told of a stack's first block, and of what is around its blocks."""
    others = _blocks(call)[1:]
    return [one for one in bound if block_of(one.roles[0])[0] not in others]


def _blocks(call: Call) -> list[str]:
    """The blocks of a stack that a factory makes: what is so in one is so in all."""
    if call.kind is not TargetKind.FACTORY:
        return []
    return list(dict.fromkeys(block for role in call.roles if (block := block_of(role.name)[0])))


def _in_all(blocks: Sequence[str], way: Arrangement) -> Arrangement:
    """Return what is a way in the first block as a way in all."""
    layers, rows = dict(way.layers), list(way.rows)
    for block in blocks[1:]:
        layers |= {_in(block, one): _in(block, other) for one, other in way.layers.items()}
        rows += [replace(one, layers=tuple(_in(block, n) for n in one.layers)) for one in way.rows]
    return replace(way, layers=layers, rows=tuple(dict.fromkeys(rows)))


def _in(block: str, name: str) -> str:
    """Return the name of what is in another block, or around all of them."""
    own, inner = block_of(name)
    return f"{block}.{inner}" if own else name


def settled(
    way: Arrangement, case: str, bound: Mapping[str, Sequence[Bound]]
) -> dict[str, Arrangement]:
    """Return the way of each case, "" standing for any other, from that of one of them.

    A layer plays one part in all cases, though it may be guessed to play another where an option
    gives biases to more layers. `bound` tells by case what was guessed.
    """
    alone = _layers(bound[case])
    meant = {own: way.layers.get(layer, layer) for own, layer in alone.items()}
    fused = {one: other for one, other in way.layers.items() if one not in alone.values()}
    all_turned = bool(way.turned) and way.turned == _turnable(bound[case])
    ways = {"": way} if way != Arrangement({}) else {}
    for name, guess in bound.items():
        if not guess:
            continue  # it came to nothing
        parts = [(layer, _part_of(own, meant)) for own, layer in _layers(guess).items()]
        found = {layer: part for layer, part in parts if part}  # of a bias alone nothing is known
        layers = fused | {layer: part for layer, part in found.items() if part != layer}
        there = _turnable(guess)
        turned = there if all_turned else way.turned & there
        if set(layers) == set(layers.values()):  # else a part is played twice: nothing is known
            ways[name] = Arrangement(layers, way.rows, turned)
    return ways


def kept_within(
    way: Arrangement, inner: Sequence[Bound], outer: Sequence[Bound]
) -> Arrangement | None:
    """Return the way of a module's parameters from that of a part that holds them all.

    `inner` is what the part's parameters are by themselves, where `way` is the right one, and
    `outer` what those of the module are guessed to be. None where it does not hold such a part, or
    has other parameters as well.
    """
    held = {other.name: other.roles for other in outer}
    within = [
        [(one.roles, roles) for name, roles in held.items() if name.endswith(f".{one.name}")]
        for one in inner
    ]
    if len(inner) != len(outer) or any(len(found) != 1 for found in within):
        return None
    pairs = [pair for ((own, roles),) in within for pair in zip(own, roles, strict=False)]
    names = {own: role for own, _ in pairs for _, role in pairs if role.endswith(f".{own}")}
    if len(names) != len(pairs):
        return None
    stems = {_stem(own): _stem(role) for own, role in names.items()}
    played = [(_stem(role), stems[_stem(own)]) for own, role in pairs]
    layers = {role: own for role, own in played if role != own}
    rows = tuple(replace(one, layers=tuple(stems[n] for n in one.layers)) for one in way.rows)
    return Arrangement(layers, rows, frozenset(names[role] for role in way.turned))


def _part_of(own: str, meant: Mapping[str, str]) -> str:
    """The part of a layer, "" where nothing is known; one head's layer is that of a list of one."""
    if own in meant:
        return meant[own]
    lists = {one: list_pattern(one) for one in meant if "*" in one}
    return next((meant[one] for one, form in lists.items() if re.fullmatch(form, own)), "")


def _layers(bound: Sequence[Bound]) -> dict[str, str]:
    """The part that each layer plays, by the submission's name of it; fused ones aside."""
    return {_layer_of(one.name): _stem(one.roles[0]) for one in bound if len(one.roles) == 1}


def _layer_of(name: str) -> str:
    """The layer that holds a parameter; one of a list of parameters stands by itself."""
    layer, _, last = name.rpartition(".")
    return name if last.isdigit() else layer or name


def _alike(call: Call, bound: Sequence[Bound]) -> list[list[str]]:
    """Layers of equal shapes that were told by their order, alone or by what a fused one left.

    A layer of the reference is what its weight and bias belong to.
    """
    shapes = {role.name: role.shape for role in call.roles}
    fused = [one for one in _fused(call, bound) if one.told is Told.ORDER]
    left = {shapes[one.roles[0]] for one in fused}
    layers: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for one in bound:
        shape = shapes[one.roles[0]]
        lone = len(one.roles) == 1 and one.told is Told.SHAPE and shape in left
        if lone or one in fused or (one.told is Told.ORDER and len(one.roles) == 1):
            for role in one.roles:
                last = role.rpartition(".")[2] if "." in role else ""
                layers.setdefault(_stem(role), []).append((last, shapes[role]))
    groups: dict[object, list[str]] = {}
    for stem, looks in layers.items():
        needed = [look for look in looks if look[0] != "bias"] or looks
        groups.setdefault(tuple(sorted(needed)), []).append(stem)
    return [group for group in groups.values() if len(group) > 1]


def _exchanges(layers: Sequence[str]) -> list[Arrangement]:
    """Every order of some layers, the usual one first."""
    return [
        Arrangement({one: other for one, other in zip(layers, order, strict=True) if one != other})
        for order in islice(permutations(layers), _MOST + 1)
    ]


def _turns(bound: Sequence[Bound]) -> list[Arrangement]:
    """Square matrices of the code's own as they are, and the other way round.

    All of them, one of them, or all but one: what is split into heads lies in two ways.
    """
    each, every = [frozenset(one.roles) for one in bound if one.turnable], _turnable(bound)
    some = [every, *each, *(every - one for one in each)]
    return [Arrangement({}, (), turned) for turned in dict.fromkeys([frozenset[str](), *some])]


def _turnable(bound: Sequence[Bound]) -> frozenset[str]:
    """The roles whose matrices may lie either way."""
    return frozenset(role for one in bound if one.turnable for role in one.roles)


def _fused(call: Call, bound: Sequence[Bound]) -> list[Bound]:
    """Weights that play several roles of equal shape."""
    shapes = {role.name: role.shape for role in call.roles}
    return [
        one
        for one in bound
        if len(one.roles) > 1
        and len({shapes[role] for role in one.roles}) == 1
        and len(shapes[one.roles[0]]) > 1
    ]


def _row_orders(call: Call, fused: Bound) -> list[Arrangement]:
    """Every way in which the rows of a fused layer's parts may lie, the usual one first."""
    width = {role.name: role.shape[0] for role in call.roles}[fused.roles[0]]
    layers = tuple(_stem(role) for role in fused.roles)
    places = [place for place, count in _counts(call) if 1 < count < width and width % count == 0]
    # all parts of a head side by side, or behind the queries of all those of the others
    mixed = [layers, *([layers[1:]] if len(layers) > 2 else [])]
    orders = [(place, order) for place in places for order in _ROW_ORDERS]
    orders.append((-1, _INNERMOST))  # the same, whatever the count
    shuffles = [(), *((Rows(some, *order),) for some in mixed for order in orders)]
    return [Arrangement({}, shuffle) for shuffle in shuffles]


def _by_head(call: Call, layers: Sequence[str]) -> list[Arrangement]:
    """The usual way, and one where as many layers as there are heads hold a head of each role.

    Only as many heads as roles make such layers as large as one role's.
    """
    places = [place for place, count in _counts(call) if count == len(layers)]
    rows = [(Rows(tuple(layers), place, _ROW_ORDERS[0]),) for place in places]
    return [Arrangement({}, one) for one in ((), *rows)]


def shown_guesses(
    call: Call, bound: Sequence[Bound], *, matrix: str = "weight"
) -> dict[str, list[str]]:
    """Return each layer whose part was guessed, as the submission calls it, and its parts.

    `matrix` is what the layer's matrix is called.
    """
    lone = {_stem(one.roles[0]) for one in bound if len(one.roles) == 1}
    groups = [set(layers) for layers in _alike(call, bound)]
    alike = {stem for layers in groups if layers & lone for stem in layers}
    guessed = [
        one
        for one in bound
        if one.told is not Told.NAME
        and alike.issuperset(map(_stem, one.roles))
        and not one.name.endswith("bias")
    ]
    parts = Counter(_stem(role) for one in guessed for role in one.roles)  # 2: weight and bias
    return {
        one.name.removesuffix(f".{matrix}"): [
            role if parts[_stem(role)] > 1 else _stem(role) for role in one.roles
        ]
        for one in guessed
    }


def _stem(role: str) -> str:
    return role.rpartition(".")[0] or role
