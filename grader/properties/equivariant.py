"""The order of items is kept."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from grader.compare.evidence import Evidence, Judgement
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind
from grader.properties.moved import judge_moved, needs_axis
from grader.records.calls import Array


class Equivariant(Kind):
    """Permuting the inputs along `dim` permutes the outputs, and does no more."""

    shrinkable: ClassVar[bool] = True

    kind: Literal["equivariant"]
    dim: str = Field(description="whose items change places")

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """An input and an output have to have the dim as an axis."""
        return needs_axis(self.dim, target)

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case, rolled by one along the dim."""
        planner.add(planner.moved(self.name, "rolled", self.dim, _rolled))

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        dim = self.dim
        return judge_moved(
            evidence,
            evidence.calls_of(self.name),
            dim,
            lambda array, axis, _: _rolled(array, axis),
            f"reordering the input along {dim} should reorder the output in the same way, and "
            "change nothing else",
            f"look for a place where the order along {dim} matters",
        )


def _rolled(array: Array, axis: int) -> Array:
    return np.roll(array, 1, axis)
