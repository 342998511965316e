"""Shapes in the letters of a lesson: (2, 5, 12) is (b, t, h*d)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations


def name_sizes(shape: Sequence[int], dims: Mapping[str, int], products: Collection[str]) -> str:
    """Return a shape in the lesson's letters, "" where a size could be two of them.

    `products` of two dims may be sizes as well.
    Example: (2, 5, 12) with b=2, t=5, h=3, d=4 is "(b, t, h*d)".
    """
    sizes = _lettered(dims)
    if not sizes:
        return ""
    ways = _ways(sizes, products)
    batch, *others = sizes
    named = [ways.get(size, []) for size in shape]
    folded = {
        sizes[batch] * sizes[other] for other in others if min(sizes[batch], sizes[other]) > 1
    }
    if named and shape[0] in folded and "*" not in "".join(named[0]):
        return ""  # by chance: heads may be folded into the batch
    if any(len(names) != 1 for names in named):
        return ""
    return f"({', '.join(names[0] for names in named)})"


def alike_sizes(
    shapes: Iterable[Sequence[int]], dims: Mapping[str, int], products: Collection[str]
) -> list[str]:
    """Return the sizes in shapes that could be two of the lesson's: "k = h*d = 12"."""
    ways = _ways(_lettered(dims), products)
    sizes = dict.fromkeys(size for shape in shapes for size in shape)
    return [f"{' = '.join(ways[size])} = {size}" for size in sizes if len(ways.get(size, ())) > 1]


def _lettered(dims: Mapping[str, int]) -> dict[str, int]:
    return {name: size for name, size in dims.items() if len(name) == 1}


def _ways(sizes: Mapping[str, int], products: Collection[str]) -> dict[int, list[str]]:
    """The letters, and products of two, that each size may be."""
    ways: dict[int, list[str]] = {}
    for name, size in sizes.items():
        ways.setdefault(size, []).append(name)
    for one, two in combinations(sizes, 2):
        if f"{one}*{two}" in products:
            ways.setdefault(sizes[one] * sizes[two], []).append(f"{one}*{two}")
    return ways
