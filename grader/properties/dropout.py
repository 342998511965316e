"""Dropout, compared by statistics."""

from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.outcomes import judge_call, unanswered
from grader.course.cases import Case
from grader.course.expressions import OPAQUE
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import (
    EARLIER,
    STILL,
    Kind,
    StandIns,
    acts,
    answers_of,
    asked_of,
    draws_nothing,
    has_right_values,
    needs_factory,
    none_acts,
)
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, Call
from grader.records.results import Status
from grader.worker.names import Drew, Group, tensor_name
from grader.worker.protocol import Action, TargetKind


class _Drawn(NamedTuple):
    """How what is drawn at random is told of."""

    what: str
    done: str  # to a number
    step: str  # where it is wrong
    unasked: str
    none: str  # what to do where it is not asked for


_OTHER = "the output has wrong values, though nothing is drawn at random"
_SAME = "numbers are drawn at random, and equal samples come out equal"
_WHOLE = "draw for each number of each sample: make the mask as large as the whole tensor"
_ALONE = (
    "run this input in evaluation mode too: where that is right, change nothing for training "
    "without a rate; where it is not, the mistake has nothing to do with dropout"
)
_IDLE = "apply it in {}, with the rate that is given"
_OUT = "drop with the rate that is given, and nothing where none is"
_OF_DROPOUT = _Drawn(
    "dropout",
    "dropped",
    "check where dropout is applied, its probability, and that what is kept is scaled",
    "dropout acts although none was asked for",
    _OUT,
)
_OF_MORE = _Drawn(
    "what is drawn at random",
    "drawn",
    "count the places where something is dropped, and look at each for the rate, the scaling and "
    "the size of the mask",
    "numbers are drawn at random, though no dropout was asked for",
    "draw nothing at random where no dropout is asked for",
)
_SIGMAS = 7.0  # a right dropout is this far off once in 10^11 elements


class Dropout(Kind):
    """In training mode each number is dropped by itself: mean and spread are the reference's."""

    by_values: ClassVar[bool] = True
    step_alone: ClassVar[str] = _OUT

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

    def deviation(self, evidence: Evidence) -> str:
        """Dropout that nobody asked for, and, beside wrong values, one that is not there."""
        call = evidence.call_of(self.name)
        answer = answers_of(evidence, [call])[call.id]
        if answer.status is not AnswerStatus.OK:
            return ""
        due, came = (acts(one.tensors) for one in (evidence.key.answers[call.id], answer))
        if came and not due:
            said = _drawn(answer)
            when = "" if said is _OF_DROPOUT else f"{evidence.words.training} "
            always = said is _OF_DROPOUT and evidence.answers[evidence.bound_call.id].info.random
            return f"{when}{said.unasked}{', in evaluation mode too' if always else ''}"
        if due and not came and _drew_by_itself(call, answer):
            return f"{evidence.words.training} {_SAME}"
        idle = due and draws_nothing(answer) and not has_right_values(evidence)
        return none_acts(evidence, call) if idle else ""

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        call = evidence.call_of(self.name)
        answer = answers_of(evidence, [call])[call.id]
        if answer.status is not AnswerStatus.OK:
            return unanswered(evidence, call, answer)
        specs = evidence.target.output_specs
        for name in (name for name, spec in specs.items() if spec.kind != OPAQUE):
            what, step = _wrong(evidence, call, answer, name)
            if what:
                case = evidence.case(call)
                message = f"{evidence.words.training} {what}"
                return Judgement(Status.FAILED, message, next_step=step, case=case)
        return PASSED


def _drawn(answer: Answer) -> _Drawn:
    """Return the words for what is drawn in an answer: of dropout only where nothing else drew."""
    return _OF_DROPOUT if answer.info.drew is Drew.DROPOUT else _OF_MORE


def _drew_by_itself(call: Call, answer: Answer) -> bool:
    """Whether more than dropout drew, in code of its own: what a factory is made of may do so."""
    return answer.info.drew is Drew.MORE and call.kind is not TargetKind.FACTORY


def _is_exact(evidence: Evidence) -> bool:
    """Whether evaluation is right to the last digits: else training mode is off as it is."""
    forward = evidence.numeric_calls(Action.FORWARD)
    judged = [judge_call(evidence, call, Group.OUTPUT) for call in forward]
    return all(one.precision == "float64" for one in judged if one.passed)


def _wrong(evidence: Evidence, call: Call, answer: Answer, name: str) -> tuple[str, str]:
    """Say what is wrong with the statistics of an output, and what to do; "" where nothing is."""
    moments = (Group.MEAN, Group.SECOND, Group.FOURTH)
    mean, second, _ = (answer.tensors.get(tensor_name(moment, name)) for moment in moments)
    key = evidence.key.answers[call.id].tensors
    due = [key[tensor_name(moment, name)] for moment in moments]
    if mean is None or second is None or {mean.shape, second.shape} != {due[0].shape}:
        return "the output has another shape", ""
    drawn = _drawn(answer)
    room = (1e-4 if _is_exact(evidence) else 1e-2) * (1 + np.abs(due[0]))
    if max(float(np.nan_to_num(one).max(initial=0.0)) for one in (second, due[1])) < STILL:
        alike = (np.abs(mean - due[0]) <= room).all()  # a rate of one draws nothing, and drops all
        return ("", "") if alike else (_OTHER, _ALONE)
    mean_room = _SIGMAS * np.sqrt(due[1] / call.repeats) + room
    spread_room = _SIGMAS * np.sqrt(np.maximum(due[2] - due[1] ** 2, 0) / call.repeats)
    off = ~(np.abs(second - due[1]) <= spread_room + 1e-4 * (1 + due[1]))
    if off.any():
        if float(np.nan_to_num(second).max()) < STILL:
            if _drew_by_itself(call, answer):
                return _SAME, _WHOLE
            return "dropout changes nothing", _IDLE.format(evidence.words.method)
        if float(np.nan_to_num(due[1]).max(initial=0.0)) < STILL:
            return drawn.unasked, drawn.none
        return f"{drawn.what} changes the output {_how_wrong((second - due[1])[off])}", drawn.step
    if not (np.abs(mean - due[0]) <= mean_room).all():
        return f"{drawn.what} shifts the mean of the output", drawn.step
    if axis := _dependent(evidence, call, answer, name):
        what = f"numbers that lie side by side along {axis} are not {drawn.done} independently"
        return what, evidence.words.dropout if drawn is _OF_DROPOUT else drawn.step
    return "", ""


def _how_wrong(more: Array) -> str:
    """Tell by how much more than due the numbers change that change wrongly."""
    if (more > 0).all():
        return "too much"
    return "too little" if (more < 0).all() else "too much in places, and too little in others"


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
