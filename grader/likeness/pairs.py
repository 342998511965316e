"""Which pairs of a class's submissions are alike, and how much.

A pattern that half of the class uses tells nothing, one that two files share tells most, and one
that the course itself gives out counts for nothing. The likeness in an exercise is the weight of
the shared patterns over the weight of the shorter file's, so that code put around a copy hides
nothing.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grader.likeness.patterns import Pattern

_CHANCE = 5.0  # patterns that two short files may share by chance
_CLASS = 30  # files: of fewer, what most have in common may be copied as well
_SEVERAL = 6  # one exercise that is alike says more than many that are so by half
_AT_A_TIME = 2048  # patterns
_LEAST = 0.5  # below it, independent right solutions are found in numbers

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """One submission's patterns."""

    name: str  # no other's
    people: frozenset[Hashable]  # whose it is
    patterns: Mapping[str, Set[Pattern]]  # by exercise


@dataclass(frozen=True)
class Pair:
    """Two submissions that are alike."""

    one: str
    other: str
    likeness: float  # of 1, all exercises together
    exercises: Mapping[str, float]  # the likeness in each that is alike, the most alike first


def weight(files: int, using: int) -> float:
    """Return what a pattern tells that `using` of a class's files use: from 1 for two down to 0."""
    files = max(files, _CLASS) + 1
    return float(min(1.0, (math.log(files / using) / math.log(files / 2)) ** 2))


def find_pairs(works: Sequence[Work], exercises: Sequence[str], most: int) -> list[Pair]:
    """Return the most alike pairs of different people, the most alike first."""
    works = sorted(works, key=lambda work: work.name)
    by_exercise = {e: _likeness([work.patterns.get(e, set()) for work in works]) for e in exercises}
    unlike = np.ones((len(works), len(works)))
    for found in by_exercise.values():
        unlike *= 1 - found**_SEVERAL
    together = np.round((1 - unlike) ** (1 / _SEVERAL), 6)
    rows, columns = np.nonzero(np.triu(together >= _LEAST, k=1))
    pairs = []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        one, other = works[row], works[column]
        if one.people.isdisjoint(other.people):
            alike = {e: round(float(found[row, column]), 4) for e, found in by_exercise.items()}
            pairs.append(Pair(one.name, other.name, float(together[row, column]), _first(alike)))
    return sorted(pairs, key=lambda pair: (-pair.likeness, pair.one, pair.other))[:most]


def _first(alike: Mapping[str, float]) -> dict[str, float]:
    """Return the exercises that are alike, at least one, the most alike first."""
    least = min(_LEAST, max(alike.values()))
    ranked = sorted((-share, exercise) for exercise, share in alike.items() if share >= least)
    return {exercise: -share for share, exercise in ranked}


def weights(files: Sequence[Set[Pattern]]) -> dict[Pattern, float]:
    """Return what each pattern of some files tells."""
    using = Counter(pattern for file in files for pattern in file)
    handed_in = sum(map(bool, files))
    return {pattern: weight(handed_in, number) for pattern, number in using.items()}


def _likeness(files: Sequence[Set[Pattern]]) -> Matrix:
    """Return how alike any two files are, from 0 to 1."""
    told = weights(files)
    whole = np.array([math.fsum(told[pattern] for pattern in file) for file in files])
    shared = _shared(files, told)
    least = np.minimum(whole[:, None], whole[None, :])
    found: Matrix = shared / (least + _CHANCE)
    return found


def _shared(files: Sequence[Set[Pattern]], told: Mapping[Pattern, float]) -> Matrix:
    """Return the weight of what any two files share."""
    users: dict[Pattern, list[int]] = {}
    for number, file in enumerate(files):
        for pattern in file:
            users.setdefault(pattern, []).append(number)
    common = sorted((told[pattern], who) for pattern, who in users.items() if len(who) > 1)
    shared = np.zeros((len(files), len(files)))
    for begin in range(0, len(common), _AT_A_TIME):
        part = common[begin : begin + _AT_A_TIME]
        used = np.zeros((len(files), len(part)))
        for column, (_, who) in enumerate(part):
            used[who, column] = 1
        shared += used * np.array([told for told, _ in part]) @ used.T
    return shared
