"""Whether a step's values occur among the tensors of a run, as they are or in another order."""

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np

from grader.records.calls import Array

_RTOL = 1e-7  # between float64's rounding and the least mistake; float32 gets the wider one
_RTOL32 = 1e-4
_AXES = 4  # more axes than this are not reordered
_NUMBERS = 4  # different ones, of a step that others are multiples of


def factor_of(step: Array, array: Array) -> float:
    """By which number a tensor is a step, in the same order; 0 where it is no multiple.

    Axes may be joined or split, as heads and samples are. Where a step counts evenly, as positions
    do, a multiple tells nothing: others count so, too.
    """
    finite = bool(np.isfinite(step).all() and np.isfinite(array).all())
    if array.size != step.size or not finite or len(np.unique(step)) < _NUMBERS:
        return 0.0
    step, array = step.ravel(), array.ravel()
    if np.abs(np.diff(step, 2)).max() <= _RTOL * np.abs(step).max():
        return 0.0
    top = int(np.abs(step).argmax())
    factor = float(array[top] / step[top])
    room = _RTOL if array.dtype == np.float64 else _RTOL32
    return factor if np.allclose(array, factor * step, room, room * abs(factor)) else 0.0


def only_moves(wanted: Array, before: Sequence[Array]) -> bool:
    """Whether a step only rearranges what came before it."""
    return any(rearranged(wanted, array) for array in before)


def rearranged(one: Array, other: Array) -> bool:
    """Whether two tensors hold the same numbers, in whatever order."""
    return one.size == other.size and bool(np.allclose(np.sort(one, None), np.sort(other, None)))


def holds_all(some: Array, array: Array) -> bool:
    """Whether a larger tensor holds all numbers of another one, among more."""
    if array.size <= some.size or not some.size:
        return False
    wanted, known = some.ravel(), np.sort(array, None)
    places = np.searchsorted(known, wanted).clip(1, known.size - 1)
    near = np.minimum(np.abs(known[places] - wanted), np.abs(known[places - 1] - wanted))
    return bool(np.all(near <= 1e-8 * (1 + np.abs(wanted))))


def same_values(expected: Array, values: Array) -> bool:
    """Whether two tensors have one shape and the same values, each at its place."""
    return expected.shape == values.shape and occurs(expected.ravel(), [values.ravel()])


def occurs(step: Array, seen: Sequence[Array], *, turned: bool = False) -> bool:
    """Whether one of the tensors holds a step's values, in whatever order of axes.

    Axes of one size keep their order, unless `turned`: weights whose rows are columns are others.
    """
    alike = [array for array in seen if array.size == step.size]  # few are, and the rest is slow
    return bool(alike) and _occurs(step.ravel(), alike, turned=turned)


@np.errstate(over="ignore", invalid="ignore")  # a mask may be the least number that there is
def _occurs(wanted: Array, seen: Sequence[Array], *, turned: bool) -> bool:
    scale = np.abs(wanted).max(initial=0.0) + 1e-12
    total, power = wanted.sum(), np.square(wanted).sum()
    for array in seen:
        room = (_RTOL if array.dtype == np.float64 else _RTOL32) * scale
        flat = array.astype(np.float64)
        if abs(flat.sum() - total) > room * wanted.size:
            continue
        if abs(np.square(flat).sum() - power) > 4 * room * scale * wanted.size:
            continue
        orders = orders_of(flat, turned=turned)
        if any(np.abs(order.ravel() - wanted).max() <= room for order in orders):
            return True
    return False


def orders_of(array: Array, *, turned: bool = False) -> list[Array]:
    """Return an array in each order of its axes, those of one size in order unless `turned`."""
    if array.ndim > _AXES:
        return [array]
    orders = permutations(range(array.ndim))
    return [array.transpose(axes) for axes in orders if turned or _keeps_like_axes(array, axes)]


def _keeps_like_axes(array: Array, axes: Sequence[int]) -> bool:
    """Whether axes of one size stay in order."""
    pairs = combinations(axes, 2)
    return all(one < two or array.shape[one] != array.shape[two] for one, two in pairs)
