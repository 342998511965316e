"""Inputs that stay as they were."""

from typing import ClassVar, Literal

from grader.compare.beside import changed_input
from grader.compare.evidence import NEW_TENSOR, PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.compare.outcomes import sound_calls
from grader.course.models import Exercise, Target
from grader.properties.base import Kind, answers_of, needs_tensor
from grader.records.answers import AnswerStatus
from grader.records.calls import DrawnCase
from grader.records.results import Status
from grader.worker.names import Group, tensor_name
from grader.worker.protocol import Action, Probe


class InputsUnchanged(Kind):
    """The caller's tensors are as they were, and given modules in the mode that they were in."""

    claim: ClassVar[bool] = True
    shrinkable: ClassVar[bool] = True

    kind: Literal["inputs-unchanged"]

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """There has to be an input that could be changed."""
        return needs_tensor(target)

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        for call in sound_calls(evidence, Action.FORWARD):
            answer = answers_of(evidence, [call])[call.id]
            if answer.status is not AnswerStatus.OK:
                return explain_status(evidence, answer, evidence.case(call))
            for place, (name, argument) in enumerate(
                zip(evidence.target.inputs, call.inputs, strict=False)
            ):
                if isinstance(argument, Probe):
                    mode = answer.tensors.get(tensor_name(Group.INPUT, place))
                    if mode is None or bool(mode) is not argument.training:
                        return _in_other_mode(name, argument, evidence.case(call))
            if name := changed_input(evidence, call, answer):
                return Judgement(
                    Status.FAILED,
                    f"`{name}`, the caller's tensor, is changed by the call",
                    next_step=NEW_TENSOR,
                    case=evidence.case(call),
                )
        return PASSED


def _in_other_mode(name: str, given: Probe, case: DrawnCase) -> Judgement:
    came, left = ("training", "evaluation") if given.training else ("evaluation", "training")
    return Judgement(
        Status.FAILED,
        f"`{name}` comes in {came} mode, and is left in {left} mode, all of it or a part",
        next_step=f"set no mode; or, where another one is needed, note `{name}.training` at the "
        f"beginning, and end with {name}.train(noted)",
        case=case,
    )
