"""Binds what a factory assembled from layers of its own: each block of a stack by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.worker.binding import NUMBER, Bond, Memory, bind
from grader.worker.layouts import Item
from grader.worker.names import block_of
from grader.worker.protocol import Role, RoleKind


@dataclass
class _Block:
    """A block's roles, and the items that play them, by the names that they have in all blocks."""

    roles: dict[str, Role] = field(default_factory=dict)  # by their names in the block
    items: list[Item] = field(default_factory=list)
    whole: dict[str, Item] = field(default_factory=dict)  # the items as they are called


def bind_blocks(items: Sequence[Item], roles: Sequence[Role], memory: Memory) -> list[Bond]:
    """Return the bonds of roles that lie in the blocks of a stack, and of those around it.

    Items stand in the order of use. It tells which norm is which; projections are what they are
    called. Raises Unbound where the items are no such stack, or no parameter fits.
    """
    blocks = _blocks(items, roles)
    bonds = []
    for block in blocks.values():
        # without parts, so that lists of heads are looked for, too
        own = [replace(role, name=name, part="") for name, role in block.roles.items()]
        for bond in bind(block.items, own, memory, by_use=(RoleKind.VECTOR,)):
            played = tuple(block.roles[role.name] for role in bond.roles)
            bonds.append(replace(bond, roles=played, item=_as_called(bond.item, block.whole)))
    return bonds


def _blocks(items: Sequence[Item], roles: Sequence[Role]) -> dict[str, _Block]:
    """Return the blocks by their names in the reference; what is around them is called ""."""
    blocks: dict[str, _Block] = {}
    for role in roles:
        name, inner = block_of(role.name)
        blocks.setdefault(name, _Block()).roles[inner] = role
    stack = [name for name in blocks if name]
    lists: dict[str, set[int]] = {}
    for item in items:
        for found in NUMBER.finditer(item.name):
            lists.setdefault(item.name[: found.start()], set()).add(int(found.group()))
    as_long = {start: sorted(seen) for start, seen in lists.items() if len(seen) == len(stack)}
    for item in items:
        for found in NUMBER.finditer(item.name):
            if places := as_long.get(item.name[: found.start()]):
                block = blocks[stack[places.index(int(found.group()))]]
                one = _without(item, found.start(), found.end() + 1)
                break
        else:
            block, one = blocks.setdefault("", _Block()), item
        block.items.append(one)
        block.whole[one.name] = item
    return blocks


def _without(item: Item, start: int, end: int) -> Item:
    """Return an item by the name that it has in each block."""
    name = item.name[:start] + item.name[end:]
    said = item.said and item.said[:start] + item.said[end:]
    return replace(item, name=name, members=(name,), said=said)


def _as_called(item: Item, whole: Mapping[str, Item]) -> Item:
    """Return an item of a block, or a list of some, by the names that they have in the module."""
    if len(item.members) == 1:
        return whole[item.name]
    members = tuple(whole[name].name for name in item.members)
    start, _, end = item.name.partition("*")
    longer = len(members[0]) - len(item.members[0])  # by the block's number, which comes first
    name = f"{members[0][: len(start) + longer]}*{end}"
    return replace(item, name=name, members=members)
