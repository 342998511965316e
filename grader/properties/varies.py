"""Dropout that is there at all."""

from typing import Literal

import numpy as np
from pydantic import Field

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.course.cases import Case
from grader.plan.planner import TargetPlanner
from grader.properties.base import STILL, Kind, answers_of
from grader.records.answers import AnswerStatus
from grader.records.results import Status
from grader.worker.names import Group, of_group
from grader.worker.protocol import Action

_MASKS = 8  # by which it shows that there are any


class Varies(Kind):
    """In training mode the outputs differ from mask to mask; how much is not compared."""

    kind: Literal["varies"]
    case: Case = Field(description="in training mode")

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call with a few masks."""
        drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        planner.add(planner.call(drawn, self.case, self.name, Action.TRAIN, repeats=_MASKS))

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        call = evidence.call_of(self.name)
        answer = answers_of(evidence, [call])[call.id]
        case = evidence.case(call)
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, case)
        spread = of_group(answer.tensors, Group.SECOND).values()
        if any(float(np.nan_to_num(a).max()) > STILL for a in spread if a.size):
            return PASSED
        return Judgement(
            Status.FAILED,
            f"{evidence.words.training} dropout changes nothing",
            next_step="pass `dropout` on to every part that takes it",
            case=case,
        )
