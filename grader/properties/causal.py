"""Outputs that know nothing of what comes later."""

from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from grader.compare.arrays import Words
from grader.plan.planner import TargetPlanner
from grader.properties.base import changed
from grader.properties.moved import Moved
from grader.records.calls import Array


class Causal(Moved):
    """Inputs later along `dim` do not move earlier outputs; masks stay as they are."""

    sentence: ClassVar[str] = "what comes later along {dim} should not change earlier outputs"
    words: ClassVar[Words] = ("before later inputs change", "after that")
    step: ClassVar[str] = (
        "look for a place that sees all of {dim}: a mask that is missing or one too far, a reshape "
        "that mixes places, or a sum or a mean over everything"
    )

    kind: Literal["causal"]

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case with all inputs changed from some place on."""
        size = planner.main.dims[self.dim]
        for place in sorted({1, size // 2, size - 1} - {0, size}):
            planner.add(planner.moved(self.name, str(place), self.dim, _from(place)))

    def expected(self, array: Array, axis: int, part: str) -> Array:
        """Return the outputs before the change."""
        return np.split(array, [int(part)], axis)[0]

    def looked_at(self, array: Array, axis: int, part: str) -> Array:
        """Return the outputs before the change."""
        return self.expected(array, axis, part) if axis < array.ndim else array


def _from(place: int) -> Callable[[Array, int], Array]:
    def change(array: Array, axis: int) -> Array:
        before, behind = np.split(array, [place], axis)
        return np.concatenate([before, changed(behind)], axis)

    return change
