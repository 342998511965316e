"""One module for several inputs."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from grader.compare.evidence import NOT_THERE, PASSED, Evidence, Fault, Judgement
from grader.compare.outcomes import judge_call
from grader.course.cases import Case
from grader.course.expressions import Range
from grader.course.models import Exercise, Target
from grader.plan.draw import Dims
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind
from grader.records.ids import MAIN
from grader.worker.names import Group
from grader.worker.protocol import Action, TargetKind


class Reusable(Kind):
    """One module serves several inputs, one after the other, of other shapes and values.

    What its caller writes into a result shows in no later one.
    """

    by_values: ClassVar[bool] = True

    kind: Literal["reusable"]
    dims: list[str] = Field(min_length=1, description="the dims that change between the calls")

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """The target has to have the dims, as ranges, and inputs that read them."""
        read = {name for spec in target.input_specs.values() for name in spec.names()}
        for dim in self.dims:
            if dim not in target.dims:
                return f"it has no dim '{dim}'"
            if not isinstance(target.dim_specs[dim], Range):
                return f"the dim '{dim}' is no range"
            if dim not in read:
                return f"no input reads the dim '{dim}'"
        return ""

    def plan(self, planner: TargetPlanner) -> None:
        """Add calls of one module, the later ones with larger inputs."""
        drawn = planner.main
        moved: Dims = {**drawn.dims, **{d: drawn.dims[d] + 1 for d in self.dims}}
        second = replace(drawn, slug=self.name, number=2, dims=moved)
        again = planner.inputs(second, Case(name=MAIN))
        planner.add(planner.derived(self.name, Action.REUSE, again=again))

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        outcome = judge_call(evidence, evidence.call_of(self.name), Group.OUTPUT)
        if outcome.passed or outcome.fault in (*NOT_THERE, Fault.UNBOUND):
            return PASSED if outcome.passed else outcome
        of_module = evidence.target.kind is not TargetKind.FUNCTION
        return Judgement(
            outcome.status,
            f"a later input of another shape fails on the same module: {outcome.message}"
            if of_module
            else f"once its caller has changed a result, the next one is wrong: {outcome.message}",
            outcome.detail,
            "try a new module on this input: if that is right, keep nothing between calls; if not, "
            "look for a size that is fixed somewhere"
            if of_module
            else "make a new tensor at each call, and keep nothing between calls",
            case=outcome.case,
            place=outcome.place,
        )
