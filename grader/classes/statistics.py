"""The statistics of a class: of each check, of its scores, and of its attempts over time.

Difficulty is the share of the points that is earned (Lord and Novick, Statistical Theories of
Mental Test Scores, 1968; Moodle calls it the facility index): where it is 1, all earn them.
Discrimination is Pearson's correlation of a check's points with those of all other checks of the
exercise: the item-total correlation without the item itself (Henrysson, Correction of item-total
correlations in item analysis, Psychometrika 28, 1963, 211-218; Moodle's discrimination index).
Its interval is Fisher's, tanh(artanh(r) ± 1.96 / sqrt(n - 3)) (Metron 1, 1921, 3-32).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import mean

import numpy as np

from grader.batch.unit import Mistake
from grader.records.calls import Array
from grader.records.ids import CheckId

FEWEST = 30  # below it the interval of a correlation of 0 is wider than ±0.36
_NORMAL = 1.96  # 95 % of a normal distribution lie within so many deviations


@dataclass(frozen=True)
class Marks:
    """What the submissions of a class got for each check of an exercise."""

    exercise: str
    checks: tuple[CheckId, ...]
    scores: Array  # (submissions, checks)
    passed: Array  # the same, 1 or 0
    possible: Array  # points, by check


@dataclass(frozen=True)
class Discrimination:
    """How far points for one thing go with the points for all others."""

    value: float | None  # -1 to 1
    low: float | None = None  # of the 95 % interval
    high: float | None = None
    why: str = ""  # there is no value


@dataclass(frozen=True)
class Item:
    """A check, or all checks of a target together, in a class."""

    exercise: str
    target: str
    check: str  # as `property/dtype`; "" for the target as a whole
    submissions: int
    passed: int
    pass_rate: float
    points: float  # possible
    difficulty: float  # the share of points that is earned: 1 is easy
    discrimination: Discrimination


def items_of(marks: Marks) -> list[Item]:
    """Return each target of an exercise, followed by its checks."""
    found = []
    for target in dict.fromkeys(check.target for check in marks.checks):
        own = [n for n, check in enumerate(marks.checks) if check.target == target]
        found.append(_item(marks, own, target, ""))
        found += [_item(marks, [n], target, marks.checks[n].in_target) for n in own]
    return found


def _item(marks: Marks, columns: Sequence[int], target: str, check: str) -> Item:
    passed: Array = marks.passed[:, columns].min(axis=1)
    points = float(marks.possible[columns].sum())
    # what is worth no point is judged by whether it passed
    scores = marks.scores[:, columns].sum(axis=1) if points else passed
    rest = np.delete(marks.scores, columns, axis=1).sum(axis=1)
    count = len(passed)
    return Item(
        marks.exercise,
        target,
        check,
        count,
        int(passed.sum()),
        round(float(passed.mean()), 4),
        round(points, 4),
        round(float(scores.mean()) / (points or 1.0), 4),
        discriminate(scores, rest),
    )


def discriminate(scores: Array, rest: Array) -> Discrimination:
    """Return the correlation of points with those for all else, or why there is none."""
    count = len(scores)
    if count < FEWEST:
        return Discrimination(None, why=f"too few: {count} of the {FEWEST} submissions it takes")
    if np.ptp(scores) == 0:
        return Discrimination(None, why="all got the same for it")
    if np.ptp(rest) == 0:
        return Discrimination(None, why="all got the same for the rest")
    value = float(np.corrcoef(scores, rest)[0, 1])
    if abs(value) > 1 - 1e-9:
        return Discrimination(round(value, 4), round(value, 4), round(value, 4))
    reach = _NORMAL / math.sqrt(count - 3)
    middle = math.atanh(value)
    low, high = (math.tanh(middle + sign * reach) for sign in (-1, 1))
    return Discrimination(round(value, 4), round(low, 4), round(high, 4))


# ---- scores, and attempts over time --------------------------------------------------------------


_BINS = 10
_MOST = 40  # columns of a time line
_UNITS = {  # that a column may stand for
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "four weeks": timedelta(weeks=4),
    "year": timedelta(days=365),
}


@dataclass(frozen=True)
class Spread:
    """Scores of those who handed in."""

    exercise: str  # "" for all together
    possible: float
    students: int
    mean: float
    deviation: float | None  # standard, of a sample; None for a single one
    least: float
    quarter: float  # the first quartile: a quarter of the class has no more
    median: float
    three_quarters: float
    most: float
    bins: tuple[int, ...]  # students by tenths of the points; the last holds full points


@dataclass(frozen=True)
class Attempt:
    """What one submission came to in one exercise, this time or an earlier one."""

    student: str
    exercise: str
    number: int  # from 1, of those that were graded
    time: datetime  # when it was handed in, else when it was graded
    score: float
    max_score: float
    mistakes: tuple[Mistake, ...]


@dataclass(frozen=True)
class Column:
    """The attempts that came in one stretch of time."""

    begin: str  # ISO 8601, UTC
    attempts: int
    share: float  # of the points, on average


@dataclass(frozen=True)
class Turn:
    """All attempts of one number: the first ones, the second ones."""

    number: int
    attempts: int
    share: float


@dataclass(frozen=True)
class TimeLine:
    """When attempts came in, and what came of trying again."""

    unit: str  # that a column stands for; "" where there are no attempts
    columns: tuple[Column, ...] = ()
    turns: tuple[Turn, ...] = ()


def spread_of(exercise: str, scores: Sequence[float], possible: float) -> Spread | None:
    """Return how scores are spread, None where there are none."""
    if not scores:
        return None
    values = np.array(scores, dtype=float)
    shares = values / possible if possible else np.zeros(len(values))
    # a hair more, for 2.1 / 3 is less than seven tenths
    places = np.clip((shares * _BINS + 1e-9).astype(int), 0, _BINS - 1)
    least, quarter, middle, three, most = (
        round(float(q), 4) for q in np.quantile(values, np.arange(5) / 4)
    )
    return Spread(
        exercise,
        round(possible, 4),
        len(values),
        round(float(values.mean()), 4),
        round(float(values.std(ddof=1)), 4) if len(values) > 1 else None,
        least,
        quarter,
        middle,
        three,
        most,
        tuple(np.bincount(places, minlength=_BINS).tolist()),
    )


def time_line(attempts: Sequence[Attempt]) -> TimeLine:
    """Return attempts by time, in columns of the shortest unit that shows them all."""
    if not attempts:
        return TimeLine("")
    times = [one.time.astimezone(UTC) for one in attempts]
    unit = next((u for u in _UNITS if _columns(times, _UNITS[u]) <= _MOST), "year")
    first, width = _floor(min(times), _UNITS[unit]), _UNITS[unit]
    most = min(_columns(times, width), _MOST)
    by_column: list[list[float]] = [[] for _ in range(most)]
    by_number: dict[int, list[float]] = {}
    for one, time in zip(attempts, times, strict=True):
        share = one.score / one.max_score if one.max_score else 0.0
        by_column[min((time - first) // width, most - 1)].append(share)
        by_number.setdefault(one.number, []).append(share)
    return TimeLine(
        unit,
        tuple(
            Column((first + n * width).isoformat(), len(own), round(mean(own or [0.0]), 4))
            for n, own in enumerate(by_column)
        ),
        tuple(Turn(n, len(own), round(mean(own), 4)) for n, own in sorted(by_number.items())),
    )


def _columns(times: Sequence[datetime], width: timedelta) -> int:
    return math.floor((max(times) - _floor(min(times), width)) / width) + 1


def _floor(time: datetime, width: timedelta) -> datetime:
    """Return the whole hour or day that a moment lies in."""
    hour = time.replace(minute=0, second=0, microsecond=0)
    return hour if width < timedelta(days=1) else hour.replace(hour=0)
