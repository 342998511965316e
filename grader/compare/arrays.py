"""Compares an array with the expected one: type, shape, dtype, finiteness, values, in that order.

Nothing is broadcast, and rtol and atol act together as in torch.testing.
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from grader.course.models import Tolerance, Tolerances
from grader.plan.records import Array

_REALS = ("float64", "float32", "float16")


@dataclass(frozen=True)
class Difference:
    """The first way in which an array is not the expected one."""

    kind: str  # "shape", "dtype", "finite" or "values"
    message: str
    expected: dict[str, Any] = field(default_factory=dict)
    actual: dict[str, Any] = field(default_factory=dict)


def find_difference(actual: Array, expected: Array, tolerance: Tolerance) -> Difference | None:
    """Return the first difference, None where the arrays agree within `tolerance`."""
    if actual.shape != expected.shape:
        return shape_difference(actual.shape, expected.shape)
    if _family(actual.dtype) != _family(expected.dtype):
        return Difference(
            "dtype",
            f"numbers of dtype {expected.dtype.name} are due, {actual.dtype.name} came",
            {"dtype": expected.dtype.name},
            {"dtype": actual.dtype.name},
        )
    if odd := np.flatnonzero(~np.isfinite(actual)).size:
        return _not_finite(actual, odd)
    excess = distance(actual, expected, tolerance)
    return None if excess <= 1 else _values(actual, expected)


def shape_difference(actual: tuple[int, ...], expected: tuple[int, ...]) -> Difference:
    """Return the difference of two shapes."""
    return Difference(
        "shape",
        f"the shape should be {shown_shape(expected)}, it is {shown_shape(actual)}",
        {"shape": list(expected)},
        {"shape": list(actual)},
    )


def distance(actual: Array, expected: Array, tolerance: Tolerance) -> float:
    """Return the greatest difference of two arrays of one shape, in tolerances."""
    if actual.size == 0:
        return 0.0
    wanted = expected.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.abs(actual.astype(np.float64) - wanted)
        ratio = apart / (tolerance.atol + tolerance.rtol * np.abs(wanted))
    return float("inf") if np.isnan(ratio).any() else float(ratio.max())


@dataclass(frozen=True)
class Match:
    """The precision at which two arrays agree, or how they differ."""

    precision: str  # "float64", "float32", or "" where they differ in both
    difference: Difference | None = None


def match(actual: Array, expected: Array, tolerances: Tolerances, *, free: bool = False) -> Match:
    """Compare at float64's tolerance, then at float32's; `free` values may be any."""
    found = None
    for precision, tolerance in (("float64", tolerances.float64), ("float32", tolerances.float32)):
        if precision == "float64" and actual.dtype != expected.dtype:
            continue
        found = find_difference(actual, expected, tolerance)
        if found is None or (free and found.kind == "values"):
            return Match(precision)
    return Match("", found)


def shown_shape(shape: tuple[int, ...]) -> str:
    """Return a shape as a student writes it."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


@cache  # a dtype's name is made anew at each look
def _family(dtype: np.dtype[Any]) -> str:
    return "real" if dtype.name in _REALS else dtype.name


def _not_finite(actual: Array, count: int) -> Difference:
    flat = actual.ravel()
    kind = "NaN" if np.isnan(flat).any() else "infinite"
    first = int(np.flatnonzero(~np.isfinite(flat))[0])
    index = [int(i) for i in np.unravel_index(first, actual.shape)]
    return Difference(
        "finite",
        f"{count} of {flat.size} numbers are {kind}, the first at {index}",
        {"finite": True},
        {"finite": False, "count": count, "index": index},
    )


def _values(actual: Array, expected: Array) -> Difference:
    apart = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    where = np.unravel_index(int(apart.argmax()), apart.shape)
    index = [int(i) for i in where]
    wanted, came, most = float(expected[where]), float(actual[where]), float(apart[where])
    return Difference(
        "values",
        f"the largest difference is {most:.3g}, at {index}: {wanted:.4g} expected, {came:.4g} came",
        {"shape": list(expected.shape), "dtype": expected.dtype.name, "value": _short(wanted)},
        {
            "shape": list(actual.shape),
            "dtype": actual.dtype.name,
            "value": _short(came),
            "largest_difference": _short(most),
            "index": index,
        },
    )


def _short(value: float) -> float:
    """Six significant digits: enough to read, and the same on every machine."""
    return float(f"{value:.6g}")
