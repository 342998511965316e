"""Compares an array with the expected one: type, shape, dtype, finiteness, values, in that order.

Nothing is broadcast, and rtol and atol act together as in torch.testing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np

from grader.compare.evidence import Fault
from grader.course.limits import Tolerance, Tolerances
from grader.records.calls import Array
from grader.records.results import Facts
from grader.records.text import shown_shape

_REALS = ("float64", "float32", "float16")
_DIGITS = range(4, 18)  # significant ones: as few as tell two numbers apart
Words = tuple[str, str]
DUE: Words = ("expected", "came")


@dataclass(frozen=True)
class Difference:
    """The first way in which an array is not the expected one."""

    fault: Fault
    message: str
    expected: Facts = Facts()
    actual: Facts = Facts()


def find_difference(
    actual: Array,
    expected: Array,
    tolerance: Tolerance,
    said: Words = DUE,
    begin: Sequence[int] = (),
) -> Difference | None:
    """Return the first difference, None where the arrays agree within `tolerance`.

    `said` are the words for a value of `expected` and for one of `actual`; `begin` is where the
    arrays' first values stand, if they are a part of others.
    """
    if actual.shape != expected.shape:
        return shape_difference(actual.shape, expected.shape)
    if _family(actual.dtype) != _family(expected.dtype):
        return Difference(
            Fault.DTYPE,
            f"the dtype should be {expected.dtype.name}, it is {actual.dtype.name}",
            Facts(dtype=expected.dtype.name),
            Facts(dtype=actual.dtype.name),
        )
    # an infinity is right where the expected number is the same one; NaN never is
    odd = ~np.isfinite(actual) & ~(np.isinf(expected) & (actual == expected))
    if odd.any():
        return _not_finite(actual, odd)
    excess = distance(actual, expected, tolerance)
    return None if excess <= 1 else _values(actual, expected, said, begin)


def shape_difference(actual: tuple[int, ...], expected: tuple[int, ...]) -> Difference:
    """Return the difference of two shapes."""
    return Difference(
        Fault.SHAPE,
        f"the shape should be {shown_shape(expected)}, it is {shown_shape(actual)}",
        Facts(shape=expected),
        Facts(shape=actual),
    )


def exactly_equal(one: Array, other: Array) -> bool:
    """Whether two arrays are the same in every bit but for NaN."""
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=True)


def distance(actual: Array, expected: Array, tolerance: Tolerance) -> float:
    """Return the greatest difference of two arrays of one shape, in tolerances."""
    if actual.size == 0:
        return 0.0
    wanted = expected.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        apart = _apart(actual, expected)
        ratio = np.where(
            np.isinf(apart), apart, apart / (tolerance.atol + tolerance.rtol * np.abs(wanted))
        )
    return float("inf") if np.isnan(ratio).any() else float(ratio.max())


def is_near(actual: Array, expected: Array) -> bool:
    """Whether finite arrays of one shape differ by a twentieth of the greatest number, at most."""
    return bool(_apart(actual, expected).max() <= np.abs(expected).max() / 20)


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
        if found is None or (free and found.fault is Fault.VALUES):
            return Match(precision)
    return Match("", found)


@cache  # a dtype's name is made anew at each look
def _family(dtype: np.dtype[Any]) -> str:
    return "real" if dtype.name in _REALS else dtype.name


def _apart(actual: Array, expected: Array) -> Array:
    """Return how far numbers are apart: equal infinities not at all, other ones infinitely."""
    one, other = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(one == other, 0.0, np.abs(one - other))


def _not_finite(actual: Array, odd: Array) -> Difference:
    flat, count = actual.ravel(), int(odd.sum())
    kind = "NaN" if np.isnan(flat).any() else "infinite"
    first = int(np.flatnonzero(odd)[0])
    index = tuple(int(i) for i in np.unravel_index(first, actual.shape))
    return Difference(
        Fault.FINITE,
        f"{count} of {flat.size} numbers are {kind}, the first at {list(index)}",
        Facts(finite=True),
        Facts(finite=False, count=count, index=index),
    )


def _values(actual: Array, expected: Array, words: Words, begin: Sequence[int]) -> Difference:
    apart = _apart(actual, expected)
    where = np.unravel_index(int(apart.argmax()), apart.shape)
    index = tuple(int(i) + start for i, start in zip_longest(where, begin, fillvalue=0))
    wanted, came, most = float(expected[where]), float(actual[where]), float(apart[where])
    if expected.dtype == np.bool_:
        said = f"{int(apart.sum())} of {apart.size} are wrong, the first at {list(index)}: "
        shown = (str(bool(wanted)), str(bool(came)))
    else:
        place = f", at {list(index)}" if index else ""
        said = f"the largest difference is {most:.3g}{place}: "
        shown = _told_apart(wanted, came)
    said += f"{shown[0]} {words[0]}, {shown[1]} {words[1]}"
    return Difference(
        Fault.VALUES,
        said,
        Facts(expected.shape, expected.dtype.name, value=_short(wanted)),
        Facts(
            actual.shape,
            actual.dtype.name,
            value=_short(came),
            largest_difference=_short(most),
            index=index,
        ),
    )


def _told_apart(one: float, other: float) -> tuple[str, str]:
    """Return two different numbers as texts that differ."""
    texts = [(f"{one:.{digits}g}", f"{other:.{digits}g}") for digits in _DIGITS]
    return next((pair for pair in texts if pair[0] != pair[1]), texts[0])


def _short(value: float) -> float | None:
    """Six significant digits: enough to read, and the same on every machine.

    None for an infinity, which JSON has no word for: the message has it.
    """
    return float(f"{value:.6g}") if np.isfinite(value) else None
