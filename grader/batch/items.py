"""Classical item analysis: how hard a check is, and whether it tells strong from weak work.

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

import numpy as np

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
