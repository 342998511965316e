"""Outputs of the input's precision."""

from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from grader.compare.arrays import distance
from grader.compare.evidence import PASSED, Evidence, Fault, Judgement
from grader.compare.explain import explain_status
from grader.compare.outcomes import judge_call, sound_calls
from grader.course.expressions import TensorSpec
from grader.course.limits import Tolerance
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind, outputs_of
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Call
from grader.records.results import Facts, Status
from grader.worker.names import Group
from grader.worker.protocol import Action

_ROUNDING = Tolerance(rtol=1e-6, atol=1e-6)  # a dozen steps of float32's 6e-8
_EITHER = "its last digits are wrong, as float32, a rounded constant or an epsilon makes them"
_NEAR = "the output is near the right one, and off by up to"
_OTHER = "that is too much for rounding: another constant or epsilon makes such a difference"
_CONSTANTS = "compare each constant with the lesson's, an epsilon above all"


class Dtype(Kind):
    """Outputs come in the default dtype and at its precision, in float64 and in float32."""

    by_values: ClassVar[bool] = True

    kind: Literal["dtype"]

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """There has to be an output of floats."""
        kinds = {spec.kind for spec in target.output_specs.values()}
        return "" if "float" in kinds else "no output is of floats"

    def deviation(self, evidence: Evidence) -> str:
        """Right values, rounded; in float32 where nothing else gives such numbers."""
        calls = sound_calls(evidence, Action.FORWARD)
        right = all(judge_call(evidence, call, Group.OUTPUT).passed for call in calls)
        if not right or not all(_is_rounded(evidence, call) for call in calls):
            return ""
        if all(_is_exact(evidence, call) for call in calls):
            return self._judge_float32(evidence).message
        if all(_is_float32(evidence, call) for call in calls):
            return f"its numbers are float32's where {_due(evidence)}"
        others = [call for call in calls if _dtypes(evidence, call) != {"float64"}]
        if others and all(_is_exact(evidence, call) for call in calls if call not in others):
            cases = f"{len(others)} of {len(calls)} cases"
            return f"the output of {cases} is float32 where {_due(evidence)}"
        return _EITHER

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case in float32."""
        planner.add(planner.derived(self.name, Action.FLOAT32))

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        for call in sound_calls(evidence, Action.FORWARD):
            outcome = judge_call(evidence, call, Group.OUTPUT)
            if outcome.passed and outcome.precision != "float64":
                return replace(_told(evidence, call), case=evidence.case(call))
            if not outcome.passed and outcome.fault is not Fault.VALUES:
                return outcome
        return self._judge_float32(evidence)

    def _judge_float32(self, evidence: Evidence) -> Judgement:
        """Judge what comes where all is float32, which is torch's default elsewhere."""
        call = evidence.call_of(self.name)
        answer = evidence.answers32.get(call.id, evidence.answers[call.id])
        if evidence.answers[evidence.first_call.id].status is not AnswerStatus.OK:
            return PASSED  # it has nothing to do with precision
        if answer.status is not AnswerStatus.OK:
            outcome = explain_status(evidence, answer, evidence.case(call))
            return replace(outcome, message=f"in float32, {outcome.message}")
        others = sorted(_floats(evidence, answer) - {"float32"})
        if not others:
            return PASSED
        words = evidence.words
        return Judgement(
            Status.FAILED,
            f"the output is {others[0]} where {_due(evidence, 'float32')}",
            next_step=words.widened.format(others[0]) if _given(evidence) else words.default_dtype,
            expected=Facts(dtype="float32"),
            actual=Facts(dtype=others[0]),
        )


def _told(evidence: Evidence, call: Call) -> Judgement:
    """Say how outputs that are right at float32's tolerance differ from the right ones."""
    outputs = outputs_of(evidence.answers[call.id])
    dtypes = _dtypes(evidence, call)
    if dtypes == {"float64"} and not _is_rounded(evidence, call):
        due = outputs_of(evidence.key.answers[call.id])
        off = max(float(np.abs(outputs[name] - due[name]).max(initial=0)) for name in due)
        return Judgement(Status.FAILED, f"{_NEAR} {off:.2g}", _OTHER, next_step=_CONSTANTS)
    came = (
        f"the output is {min(dtypes)} where {_due(evidence)}"
        if dtypes - {"float64"}
        else f"the output{_of_what(evidence)} is right but for float64's precision: {_EITHER}"
    )
    facts, step = (Facts(dtype="float64"), Facts(dtype="float32")), evidence.words.own_dtype
    return Judgement(Status.FAILED, came, next_step=step, expected=facts[0], actual=facts[1])


def _of_what(evidence: Evidence) -> str:
    """Say that it is so of this case alone, where others are wrong by more."""
    calls = evidence.numeric_calls(Action.FORWARD)
    right = all(judge_call(evidence, call, Group.OUTPUT).passed for call in calls)
    return "" if right else " of this case"


def _floats(evidence: Evidence, answer: Answer) -> set[str]:
    """The dtypes of the outputs that are of floats."""
    floats = {name for name, spec in evidence.target.output_specs.items() if spec.kind == "float"}
    return {one.dtype.name for name, one in outputs_of(answer).items() if name in floats}


def _given(evidence: Evidence) -> bool:
    """Whether an input is of floats."""
    specs = evidence.target.input_specs.values()
    return any(isinstance(one, TensorSpec) and one.kind == "float" for one in specs)


def _due(evidence: Evidence, dtype: str = "float64") -> str:
    """Say why outputs should be of a dtype."""
    whose = "the input" if _given(evidence) else "torch's default dtype"
    return f"{whose} is {dtype}"


def _dtypes(evidence: Evidence, call: Call) -> set[str]:
    return {array.dtype.name for array in outputs_of(evidence.answers[call.id]).values()}


def _is_exact(evidence: Evidence, call: Call) -> bool:
    """Whether outputs are right at float64's tolerance."""
    return judge_call(evidence, call, Group.OUTPUT).precision == "float64"


def _is_rounded(evidence: Evidence, call: Call) -> bool:
    """Whether outputs are as far from the right ones as rounding in float32 takes them.

    What is farther, though near, comes of another constant, such as an epsilon.
    """
    answer = evidence.answers[call.id]
    if answer.status is not AnswerStatus.OK:
        return True  # it was judged in float32, on which it insists
    came = outputs_of(answer)
    return all(
        came[name].dtype != expected.dtype or distance(came[name], expected, _ROUNDING) <= 1
        for name, expected in outputs_of(evidence.key.answers[call.id]).items()
    )


def _is_float32(evidence: Evidence, call: Call) -> bool:
    """Whether all outputs are numbers of float32, which those of float64 are by no accident."""
    outputs = outputs_of(evidence.answers[call.id]).values()
    return all(np.array_equal(one, one.astype(np.float32), equal_nan=True) for one in outputs)
