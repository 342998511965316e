"""Dropout, compared by statistics."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.outcomes import unanswered
from grader.course.models import Case, Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import (
    EARLIER,
    STILL,
    Kind,
    StandIns,
    answers_of,
    asked_of,
    needs_factory,
)
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Call
from grader.records.results import Status
from grader.worker.names import Group, of_group, tensor_name
from grader.worker.protocol import Action

_NEXT_STEP = "check where dropout is applied, its probability, and that what is kept is scaled"
_ALONE = "use nn.Dropout, which drops each number by itself: Dropout1d and its kin drop whole rows"
_SIGMAS = 7.0  # a right dropout is this far off once in 10^11 elements


class Dropout(Kind):
    """In training mode each number is dropped by itself: mean and spread are the reference's."""

    by_values: ClassVar[bool] = True

    kind: Literal["dropout"]
    case: Case = Field(description="in training mode")
    masks: int = Field(default=4000, gt=0, description="how many are drawn")
    earlier: StandIns = EARLIER

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """Only a factory is made of earlier exercises."""
        return needs_factory(self.earlier, target)

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call with many masks."""
        drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        earlier, train = asked_of(self.earlier), Action.TRAIN
        call = planner.call(drawn, self.case, self.name, train, earlier=earlier, repeats=self.masks)
        planner.add(call)

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        call = evidence.call_of(self.name)
        answer = answers_of(evidence, [call])[call.id]
        moments = (Group.MEAN, Group.SECOND, Group.FOURTH)
        came = [of_group(answer.tensors, moment) for moment in moments]
        expected = [of_group(evidence.key.answers[call.id].tensors, m) for m in moments]
        case = evidence.case(call)
        if answer.status is not AnswerStatus.OK:
            return unanswered(evidence, call, answer)
        for name in evidence.target.outputs:
            axis = ""
            mean, second, _ = (moment.get(name) for moment in came)
            due = [moment[name] for moment in expected]
            if (
                mean is None
                or second is None
                or mean.shape != due[0].shape
                or second.shape != mean.shape
            ):
                return Judgement(
                    Status.FAILED, "in training mode the output has another shape", case=case
                )
            room = 1e-4 * (1 + np.abs(due[0]))
            mean_room = _SIGMAS * np.sqrt(due[1] / call.repeats) + room
            spread_room = _SIGMAS * np.sqrt(np.maximum(due[2] - due[1] ** 2, 0) / call.repeats)
            if not (np.abs(second - due[1]) <= spread_room + 1e-4 * (1 + due[1])).all():
                still = float(np.nan_to_num(second).max()) < STILL
                what = (
                    "dropout changes nothing"
                    if still
                    else "dropout changes the output too much or too little"
                )
            elif not (np.abs(mean - due[0]) <= mean_room).all():
                what = "dropout shifts the mean of the output"
            elif axis := _dependent(evidence, call, answer, name):
                what = f"numbers that lie side by side along {axis} are not dropped independently"
            else:
                continue
            return Judgement(
                Status.FAILED,
                f"in training mode {what}",
                next_step=_ALONE if axis else _NEXT_STEP,
                case=case,
            )
        return PASSED


def _dependent(evidence: Evidence, call: Call, answer: Answer, name: str) -> str:
    """Return along which axis of an output the masks of neighbours depend, "" along none."""
    groups = (Group.TOGETHER, Group.TOGETHER_SECOND)
    key = evidence.key.answers[call.id].tensors
    mean, second = (key[tensor_name(group, name)] for group in groups)
    came = answer.tensors.get(tensor_name(Group.TOGETHER, name))
    axes = evidence.target.output_specs[name].axes
    if came is None or came.shape != mean.shape:
        return f"`{axes[-1].text}`"
    room = _SIGMAS * np.sqrt(np.maximum(second - mean**2, 0) / call.repeats)
    far = np.abs(came - mean) > room + 1e-4 * (1 + np.abs(mean))
    return next((f"`{axes[1 + place].text}`" for place, one in enumerate(far) if one.any()), "")
