"""A case of its own, on which the values are the reference's."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from grader.compare.evidence import NOT_THERE, PASSED, Evidence, Fault, Judgement
from grader.compare.outcomes import judge_call
from grader.course.cases import Case
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import (
    EARLIER,
    Kind,
    StandIns,
    asked_of,
    has_right_values,
    needs_factory,
    needs_tensor,
)
from grader.worker.names import Group
from grader.worker.protocol import Action, TargetKind

# faults that have nothing to do with the case
_ALWAYS = (*NOT_THERE, Fault.TIMEOUT, Fault.CRASHED)
_TOGETHER = (
    "the parts of other files are right ones here: look at how your file puts them together, at "
    "what each is given, and at what becomes of its result"
)


class Agrees(Kind):
    """The reference's values on a case of its own."""

    by_values: ClassVar[bool] = True

    step_alone: ClassVar[str] = "draw at random in training mode alone"

    kind: Literal["agrees"]
    case: Case = Field(description="on which the values are compared")
    strided: bool = Field(default=False, description="the inputs are views, not contiguous")
    as_made: bool = Field(
        default=False, description="the module's parameters stay as its constructor made them"
    )
    earlier: StandIns = EARLIER

    @property
    def of_parts(self) -> bool:  # type: ignore[override]
        """Whether it compares values of a factory made of correct parts."""
        return self.earlier is not None

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """Strided inputs are tensors; only a factory is made of earlier exercises."""
        if self.as_made and target.kind is not TargetKind.MODULE:
            return "`as_made` is for modules"
        return (self.strided and needs_tensor(target)) or needs_factory(self.earlier, target)

    def plan(self, planner: TargetPlanner) -> None:
        """Add a forward call for each draw of the case."""
        for drawn in planner.draw_cases(self.case, self.name, numeric=False):
            planner.add(
                planner.call(
                    drawn,
                    self.case,
                    self.name,
                    Action.FORWARD,
                    part=drawn.id,
                    earlier=asked_of(self.earlier),
                    filled=not self.as_made,
                    strided=self.strided,
                )
            )

    def deviation(self, evidence: Evidence) -> str:
        """What is random on the case alone, beside wrong values: they are no other mistake's."""
        calls, others = evidence.calls_of(self.name), evidence.numeric_calls(Action.FORWARD)
        if has_right_values(evidence) or not all(evidence.is_random(c) for c in calls):
            return ""
        often = any(evidence.is_random(call) for call in others)
        return "" if often else f"numbers are drawn at random {evidence.case(calls[0]).name}"

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        for call in evidence.calls_of(self.name):
            outcome = judge_call(evidence, call, Group.OUTPUT)
            if not outcome.passed:
                if outcome.fault in _ALWAYS:
                    return outcome
                name = evidence.case(call).name
                if evidence.is_random(call):
                    said = f"{name}: two calls with the same input give different outputs"
                    return replace(
                        outcome, message=said, detail="", next_step=evidence.words.by_mode
                    )
                wrong = self.of_parts and outcome.fault is Fault.VALUES
                step = _TOGETHER if wrong else outcome.next_step
                return replace(outcome, message=f"{name}: {outcome.message}", next_step=step)
        return PASSED
