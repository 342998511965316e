"""The parameters that torch knows of."""

from dataclasses import replace
from typing import ClassVar, Literal

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.compare.outcomes import sound_calls
from grader.course.models import Exercise, Target
from grader.properties.base import Kind, answers_of, needs_parameters
from grader.records.answers import AnswerStatus, Info
from grader.records.results import Facts, Status
from grader.records.text import clean
from grader.worker.protocol import Action

_KEEP = {
    "tensor": "keep it by register_buffer, so that .to() and state_dict() see it",
    "module": "keep modules in nn.ModuleList or nn.ModuleDict, not in a list",
    "parameter": "keep it as an attribute of its own, an nn.Parameter",
}

_SHOWN = 8  # parameters that are named


class Registered(Kind):
    """The module registers exactly the parameters that the reference has, and hides no state."""

    claim: ClassVar[bool] = True

    kind: Literal["registered"]

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """There have to be parameters."""
        return needs_parameters(target)

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        for call in sound_calls(evidence, Action.FORWARD):
            answer, expected = answers_of(evidence, [call])[call.id], evidence.key.answers[call.id]
            if answer.status is not AnswerStatus.OK:
                return explain_status(evidence, answer, evidence.case(call))
            found = (
                _loose(answer.info)
                or _sublayers(answer.info, expected.info)
                or _counted(answer.info, expected.info)
            )
            if found is not None:
                return replace(found, case=evidence.case(call))
        return _hidden(evidence)


def _loose(info: Info) -> Judgement | None:
    """Judge what hangs on the module where torch does not see it."""
    if not info.loose:
        return None
    first = info.loose[0]
    kind = first.what if first.what in ("tensor", "module") else "parameter"
    message = f"`{clean(first.path, 80)}` holds a {kind} that is not registered"
    return Judgement(Status.FAILED, message, next_step=_KEEP[kind])


def _hidden(evidence: Evidence) -> Judgement:
    """Judge what the output depends on, wherever it is kept."""
    for call in sound_calls(evidence, Action.GRADIENT):
        count = answers_of(evidence, [call])[call.id].info.hidden
        if count:
            return Judgement(
                Status.FAILED,
                f"the output depends on {count} trained numbers that the module does not register",
                next_step=_KEEP["parameter"],
                case=evidence.case(call),
            )
    return PASSED


def _sublayers(info: Info, expected: Info) -> Judgement | None:
    if info.given == expected.given:
        return None
    return Judgement(
        Status.FAILED,
        "the given sublayers are not registered on the module",
        next_step="store each given sublayer as an attribute",
    )


def _counted(info: Info, expected: Info) -> Judgement | None:
    """Judge how many numbers are trained."""
    count, due = info.registered, expected.registered
    if count == due:
        return None
    more = "more" if (count or 0) > (due or 0) else "fewer"
    shown, rest = info.names[:_SHOWN], info.names[_SHOWN:]
    named = ", ".join(f"`{clean(one.name, 60)}` {tuple(one.shape)}" for one in shown)
    if more == "fewer":
        step = "look for a layer that is shared, missing or too narrow, or a bias that is left out"
    elif due:
        step = "look for a layer or a bias that nobody asked for, or a layer that is too wide"
    else:
        step = "nothing is trained here: keep what is fixed as a buffer, with self.register_buffer"
    return Judgement(
        Status.FAILED,
        f"the module registers {count} numbers as parameters, {more} than the {due} it needs",
        f"it has {named or 'nothing'}{', and others' if rest else ''}",
        step,
        Facts(parameters=due),
        Facts(parameters=count),
    )
