"""The defaults of arguments."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from grader.compare.evidence import Evidence, Fault, Judgement
from grader.compare.outcomes import judge_call
from grader.course.cases import Case
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind, answers_of
from grader.properties.registered import counted
from grader.records.answers import AnswerStatus
from grader.records.ids import MAIN
from grader.worker.names import Group
from grader.worker.protocol import Action

_STEP = "compare the defaults in your signature, and what None stands for, with the stub's"


class Defaults(Kind):
    """What is not given has the default that is asked for; elsewhere it is given by name."""

    by_values: ClassVar[bool] = True

    kind: Literal["defaults"]
    case: Case | None = Field(
        default=None, description="that shows them, where the main one does not"
    )

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """There have to be some."""
        declared = any(value is not None for value in target.defaults.values())
        return "" if declared else "it declares no defaults"

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call that gives none of them."""
        case, drawn = Case(name=MAIN), planner.main
        if self.case is not None:
            case, drawn = self.case, planner.draw_cases(self.case, self.name, numeric=False)[0]
        planner.add(planner.call(drawn, case, self.name, Action.FORWARD, defaults={}))

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        call, first = evidence.call_of(self.name), evidence.first_call
        outcome = judge_call(evidence, call, Group.OUTPUT)
        found = answers_of(evidence, [call, first])
        # what is registered in any case is another property's business
        if outcome.passed and found[call.id].info.registered != found[first.id].info.registered:
            due = evidence.key.answers[call.id].info
            outcome = counted(found[call.id].info, due, evidence.words) or outcome
        if outcome.passed:
            return outcome
        said = f"where nothing is given by name, {outcome.message}"
        other = outcome.fault is Fault.RAISED or _wrong_where_given(evidence)
        step = outcome.next_step if other else ""
        raised = outcome.fault is Fault.RAISED and found[first.id].status is AnswerStatus.OK
        case = evidence.case(call)
        return replace(outcome, message=said, next_step=step or _STEP, case=case, alone=raised)


def _wrong_where_given(evidence: Evidence) -> bool:
    """Whether values are wrong where the arguments with a default are given by name, too."""
    given = evidence.target.defaults.keys()
    calls = [
        call
        for call in evidence.numeric_calls(Action.FORWARD)
        if call.id in evidence.answers and call.options.keys() <= given
    ]
    return any(judge_call(evidence, call, Group.OUTPUT).fault is Fault.VALUES for call in calls)
