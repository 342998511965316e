"""Dropout that is there at all."""

from typing import Literal

from pydantic import Field

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.course.cases import Case
from grader.plan.planner import TargetPlanner
from grader.properties.base import (
    Kind,
    acts,
    answers_of,
    draws_nothing,
    has_right_values,
    none_acts,
)
from grader.records.answers import AnswerStatus
from grader.records.results import Status
from grader.worker.protocol import Action

_MASKS = 8  # by which it shows that there are any
_EVALUATION = "evaluation"  # the call without masks


class Varies(Kind):
    """In training mode the outputs differ from mask to mask, and in evaluation mode they do not.

    How much they differ is not compared.
    """

    kind: Literal["varies"]
    case: Case = Field(description="in both modes")

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call with a few masks, and one in evaluation mode."""
        drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        planner.add(planner.call(drawn, self.case, self.name, Action.TRAIN, repeats=_MASKS))
        planner.add(planner.call(drawn, self.case, self.name, Action.FORWARD, part=_EVALUATION))

    def deviation(self, evidence: Evidence) -> str:
        """Dropout that is not there, beside wrong values."""
        call, _ = evidence.calls_of(self.name)
        answer = answers_of(evidence, [call])[call.id]
        still = answer.status is AnswerStatus.OK and draws_nothing(answer)
        return none_acts(evidence, call) if still and not has_right_values(evidence) else ""

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        call, still = evidence.calls_of(self.name)
        answers = answers_of(evidence, [call, still])
        answer, case = answers[call.id], evidence.case(call)
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, case)
        if answers[still.id].info.random:
            return Judgement(
                Status.FAILED,
                "dropout acts in evaluation mode too",
                next_step=evidence.words.by_mode,
                case=case,
            )
        if acts(answer.tensors):
            return PASSED
        return Judgement(
            Status.FAILED,
            f"{evidence.words.training} dropout changes nothing",
            next_step="pass `dropout` on to every part that takes it",
            case=case,
        )
