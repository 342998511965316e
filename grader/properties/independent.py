"""Items that do not see each other."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from grader.compare.evidence import Evidence, Judgement
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind
from grader.properties.moved import judge_moved, needs_axis
from grader.records.calls import Array

_FIRST, _LAST = "first", "last"


class Independent(Kind):
    """An item along `dim` is treated alike alone and among others."""

    shrinkable: ClassVar[bool] = True

    kind: Literal["independent"]
    dim: str = Field(description="whose items are looked at")

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """An input and an output have to have the dim as an axis."""
        return needs_axis(self.dim, target)

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case with its first item alone, and with its last alone."""
        planner.add(planner.moved(self.name, _FIRST, self.dim, _first))
        planner.add(planner.moved(self.name, _LAST, self.dim, _last))

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        dim = self.dim

        return judge_moved(
            evidence,
            evidence.calls_of(self.name),
            dim,
            _item,
            f"each item along {dim} should give the same result alone and among others",
            f"look for an operation that mixes along {dim}: a softmax, a mean or a reshape",
        )


def _item(array: Array, axis: int, part: str) -> Array:
    """Return the item of an output that a call's only item should become."""
    # a slice, for what came may be empty along any axis
    before, behind = np.split(array, [1 if part == _FIRST else max(0, array.shape[axis] - 1)], axis)
    return before if part == _FIRST else behind


def _first(array: Array, axis: int) -> Array:
    return np.take(array, [0], axis)


def _last(array: Array, axis: int) -> Array:
    return np.take(array, [array.shape[axis] - 1], axis)
