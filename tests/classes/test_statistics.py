"""The figures of a class: what each formula gives, and where there is nothing to tell."""

import statistics
from dataclasses import astuple
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from grader.classes.statistics import (
    FEWEST,
    Attempt,
    Marks,
    discriminate,
    items_of,
    spread_of,
    time_line,
)
from grader.records.ids import CheckId, Kind

_BEGIN = datetime(2026, 10, 1, 9, 30, tzinfo=UTC)


def _marks(scores: list[list[float]], possible: list[float]) -> Marks:
    kinds = (Kind.SHAPE, Kind.NUMERIC, Kind.GRADIENT)
    checks = tuple(
        CheckId("exercise1", "f" if n < 2 else "g", kinds[n]) for n in range(len(possible))
    )
    table = np.array(scores)
    passed = (table >= np.array(possible)).astype(float)
    return Marks("exercise1", checks, table, passed, np.array(possible))


def test_item_is_judged_by_the_rest_of_the_exercise_alone() -> None:
    """Moodle's and Henrysson's definition: with the item itself in the sum it would be larger."""
    scores = [[float(n % 2), float(n % 3), float(n % 5 > 2)] for n in range(60)]
    target, shape, *_ = items_of(_marks(scores, [1.0, 2.0, 1.0]))
    own, rest = [row[0] for row in scores], [row[1] + row[2] for row in scores]
    assert shape.discrimination.value == pytest.approx(statistics.correlation(own, rest), abs=1e-4)
    assert (shape.check, shape.passed, shape.pass_rate, shape.difficulty) == ("shape", 30, 0.5, 0.5)
    both, other = [row[0] + row[1] for row in scores], [row[2] for row in scores]
    assert target.discrimination.value == pytest.approx(
        statistics.correlation(both, other), abs=1e-4
    )
    assert (target.check, target.points, target.submissions) == ("", 3.0, 60)
    assert target.difficulty == pytest.approx(statistics.mean(both) / 3, abs=1e-4)


def test_interval_is_fishers() -> None:
    """The example of every textbook: r = 0.5 of 103 pairs lies between 0.34 and 0.63."""
    one, other = np.arange(103.0), np.arange(103.0)
    one -= one.mean()
    other = np.where(np.arange(103) % 2, 1.0, -1.0)
    other -= other.mean() + one * (other @ one) / (one @ one)
    mixed = one / np.linalg.norm(one) * 0.5 + other / np.linalg.norm(other) * 0.75**0.5
    found = discriminate(one, mixed)
    assert found.value == pytest.approx(0.5, abs=0.01)
    assert found.low == pytest.approx(0.34, abs=0.015)
    assert found.high == pytest.approx(0.63, abs=0.015)


@pytest.mark.parametrize(
    ("scores", "rest", "why"),
    [
        (np.arange(FEWEST - 1.0), np.arange(FEWEST - 1.0), "too few: 29 of the 30"),
        (np.ones(40), np.arange(40.0), "all got the same for it"),
        (np.arange(40.0), np.zeros(40), "all got the same for the rest"),
    ],
    ids=["a small class", "no spread", "no rest"],
)
def test_discrimination_says_why_there_is_none(
    scores: np.ndarray, rest: np.ndarray, why: str
) -> None:
    found = discriminate(scores, rest)
    assert astuple(found)[:3] == (None, None, None)
    assert found.why.startswith(why)


def test_all_alike_is_no_error_of_numbers() -> None:
    found = discriminate(np.arange(40.0), np.arange(40.0))
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_spread_has_quartiles_and_bins_with_full_points_in_the_last() -> None:
    spread = spread_of("", [0.0, 2.1, 3.0, 1.5, 3.0], 3.0)
    assert spread is not None
    assert spread.bins == (1, 0, 0, 0, 0, 1, 0, 1, 0, 2)
    assert (spread.least, spread.quarter, spread.median) == (0.0, 1.5, 2.1)
    assert (spread.three_quarters, spread.most, spread.mean) == (3.0, 3.0, 1.92)
    assert spread.deviation == pytest.approx(statistics.stdev([0.0, 2.1, 3.0, 1.5, 3.0]), abs=1e-4)


def test_spread_of_one_has_no_deviation_and_of_none_is_none() -> None:
    one = spread_of("", [1.0], 0.0)
    assert one is not None
    assert one.deviation is None
    assert spread_of("", [], 3.0) is None


def _attempt(after: timedelta, number: int = 1, score: float = 1.0) -> Attempt:
    return Attempt("ada", "exercise1", number, _BEGIN + after, score, 2.0, ())


@pytest.mark.parametrize(
    ("last", "unit"),
    [
        (timedelta(minutes=5), "hour"),
        (timedelta(days=3), "day"),
        (timedelta(days=90), "week"),
        (timedelta(days=700), "four weeks"),
        (timedelta(days=36_500), "year"),
    ],
    ids=["minutes", "days", "a term", "two years", "a wrong clock"],
)
def test_time_line_has_every_attempt_in_few_columns(last: timedelta, unit: str) -> None:
    line = time_line([_attempt(timedelta()), _attempt(last / 2), _attempt(last, 2, 2.0)])
    assert line.unit == unit
    assert len(line.columns) <= 40
    assert sum(column.attempts for column in line.columns) == 3
    assert [(turn.number, turn.attempts, turn.share) for turn in line.turns] == [
        (1, 2, 0.5), (2, 1, 1.0),
    ]  # fmt: skip


def test_time_line_of_nothing() -> None:
    assert time_line([]).columns == ()
