"""How the scores of a class are spread, and its attempts over time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import mean

import numpy as np

from grader.batch.history import Attempt

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
