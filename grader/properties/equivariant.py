"""The order of items is kept."""

from typing import ClassVar, Literal

import numpy as np

from grader.compare.arrays import Words
from grader.plan.planner import TargetPlanner
from grader.properties.moved import Moved
from grader.records.calls import Array


class Equivariant(Moved):
    """Permuting the inputs along `dim` permutes the outputs, and does no more."""

    sentence: ClassVar[str] = (
        "reordering the input along {dim} should reorder the output in the same way, and "
        "change nothing else"
    )
    words: ClassVar[Words] = ("with the output reordered", "with the input reordered")
    step: ClassVar[str] = "look for a place where the order along {dim} matters"

    kind: Literal["equivariant"]

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case, rolled by one along the dim."""
        planner.add(planner.moved(self.name, "rolled", self.dim, _rolled))

    def expected(self, array: Array, axis: int, part: str) -> Array:
        """Return the output rolled as the input was."""
        return _rolled(array, axis)


def _rolled(array: Array, axis: int) -> Array:
    return np.roll(array, 1, axis)
