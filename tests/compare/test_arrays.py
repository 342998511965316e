"""Two arrays are the same, or the first thing that differs is told; nothing is broadcast."""

from typing import Any

import numpy as np
import pytest

from grader.compare.arrays import distance, find_difference, match
from grader.compare.evidence import Fault
from grader.course.limits import Tolerance, Tolerances

TOLERANCE = Tolerance(rtol=1e-9, atol=1e-9)
BOTH = Tolerances(float64=TOLERANCE, float32=Tolerance(rtol=1e-4, atol=1e-4))
DUE = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("came", "fault"),
    [
        (np.full((3, 2), np.nan, np.float32), Fault.SHAPE),
        (np.full((2, 3), 7), Fault.DTYPE),
        (np.where(DUE == 5, np.nan, DUE + 1), Fault.FINITE),
        (np.where(DUE == 5, np.inf, DUE), Fault.FINITE),
        (DUE + 1, Fault.VALUES),
    ],
    ids=["shape before all", "dtype before values", "NaN", "infinity", "values"],
)
def test_find_difference_keeps_its_order(came: Any, fault: Fault) -> None:
    difference = find_difference(came, DUE, TOLERANCE)
    assert difference is not None
    assert difference.fault is fault


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 3), (2, 1), (1, 2, 3), (0, 3)])
def test_find_difference_never_broadcasts(shape: tuple[int, ...]) -> None:
    difference = find_difference(np.zeros(shape), np.zeros((2, 3)), TOLERANCE)
    assert difference is not None
    assert difference.fault is Fault.SHAPE


def test_find_difference_names_the_largest_and_its_place() -> None:
    came = DUE.copy()
    came[1, 2] += 0.5
    came[0, 0] += 0.25
    difference = find_difference(came, DUE, TOLERANCE)
    assert difference is not None
    assert difference.message == "the largest difference is 0.5, at [1, 2]: 5 expected, 5.5 came"
    assert difference.actual.index == (1, 2)


def test_numbers_that_differ_are_shown_as_far_as_they_do() -> None:
    difference = find_difference(np.array([-1.5994321]), np.array([-1.5994322]), TOLERANCE)
    assert difference is not None
    assert difference.message.endswith("-1.5994322 expected, -1.5994321 came")


@pytest.mark.parametrize(("off", "same"), [(0.9, True), (1.1, False)])
def test_tolerances_act_together(off: float, same: bool) -> None:
    came = np.array([1.0 + off * 2e-9])
    assert (find_difference(came, np.array([1.0]), TOLERANCE) is None) is same


def test_distance_of_nothing_is_zero() -> None:
    assert distance(np.zeros((0, 3)), np.zeros((0, 3)), TOLERANCE) == 0


@pytest.mark.parametrize(
    ("came", "precision"),
    [
        (DUE, "float64"),
        (DUE + 1e-6, "float32"),
        (DUE.astype(np.float32), "float32"),
        (DUE + 1, ""),
    ],
    ids=["equal", "rounded", "narrow", "wrong"],
)
def test_match_tells_the_precision(came: Any, precision: str) -> None:
    matched = match(came, DUE, BOTH)
    assert matched.precision == precision
    assert (matched.difference is None) is bool(precision)
