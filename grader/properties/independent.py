"""Items that do not see each other."""

from typing import ClassVar, Literal

import numpy as np

from grader.compare.arrays import Words
from grader.plan.planner import TargetPlanner
from grader.properties.moved import Moved
from grader.records.calls import Array

_FIRST, _LAST = "first", "last"


class Independent(Moved):
    """An item along `dim` is treated alike alone and among others."""

    sentence: ClassVar[str] = (
        "what comes for one item along {dim} should be the same alone and among others"
    )
    words: ClassVar[Words] = ("among others", "alone")
    step: ClassVar[str] = (
        "look for what mixes along {dim}, such as a softmax, a mean or a reshape, for a mask or "
        "dropout, or for the size of that axis in a formula"
    )

    kind: Literal["independent"]

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case with its first item alone, and with its last alone."""
        planner.add(planner.moved(self.name, _FIRST, self.dim, _first))
        planner.add(planner.moved(self.name, _LAST, self.dim, _last))

    def expected(self, array: Array, axis: int, part: str) -> Array:
        """Return the item of an output that a call's only item should become."""
        # a slice, for what came may be empty along any axis
        cut = 1 if part == _FIRST else max(0, array.shape[axis] - 1)
        before, behind = np.split(array, [cut], axis)
        return before if part == _FIRST else behind

    def begins(self, array: Array, axis: int, part: str) -> int:
        """The last one is the only one in its call, and is told with its place among the others."""
        return max(0, array.shape[axis] - 1) if part == _LAST else 0


def _first(array: Array, axis: int) -> Array:
    return np.take(array, [0], axis)


def _last(array: Array, axis: int) -> Array:
    return np.take(array, [array.shape[axis] - 1], axis)
