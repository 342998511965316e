"""Gradients that reach every parameter."""

from math import prod
from typing import Literal

import numpy as np

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.compare.outcomes import sound_calls
from grader.compare.vocabulary import Vocabulary
from grader.course.models import Exercise, Target
from grader.properties.base import Kind, needs_parameters
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Call, DrawnCase
from grader.records.ids import CallId
from grader.records.results import Status
from grader.records.text import clean, counted
from grader.worker.names import Group, of_group
from grader.worker.protocol import Action


class Trained(Kind):
    """A gradient reaches every registered parameter."""

    kind: Literal["trained"]

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """There have to be parameters, and gradients that are asked for."""
        asked = "" if target.points.gradient else "the target has no points for gradients"
        return needs_parameters(target) or asked

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        return judge_trained(evidence)


def judge_trained(evidence: Evidence) -> Judgement:
    """Whether a gradient reached every registered parameter that the reference trains.

    Once is enough: a mistake elsewhere may be without a gradient on some case.
    """
    for call in sound_calls(evidence, Action.GRADIENT):
        answer, expected = _answer(evidence, call), evidence.key.answers[call.id]
        case = evidence.case(call)
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, case)
        gradients = of_group(expected.tensors, Group.GRADIENT)
        idle = {role for role, one in gradients.items() if np.abs(one).max(initial=0.0) < 1e-12}
        due = [  # a bias too many the audit of parameters tells
            one
            for one in answer.info.untrained
            if (not set(one.roles) <= idle if one.roles else not one.name.endswith("bias"))
        ]
        never = _never_reached(evidence) if due else set()  # right code need not be searched
        if found := [one for one in due if one.name in never]:
            own, first = _own_names(evidence, call), found[0]
            others = len(never & own - {first.name})
            surplus = None if first.roles else judge_idle(evidence, case)
            part = "" if first.name in own else first.name.rpartition(".")[0]
            return surplus or _unreached(first.name, part, others, case, evidence.words)
    return PASSED


def _answer(evidence: Evidence, call: Call) -> Answer:
    answer = evidence.answers[call.id]
    insists = call.id in evidence.answers32 and answer.status is AnswerStatus.RAISED
    return evidence.answers32[call.id] if insists else answer


def _own_names(evidence: Evidence, call: Call) -> set[str]:
    """The parameters that a module registers in the case of a call, none of a given part's."""
    forward = CallId(evidence.target.name, call.case, Action.FORWARD)
    return {one.name for one in evidence.answers[str(forward)].info.names}


def _never_reached(evidence: Evidence) -> set[str]:
    """The parameters without a gradient in every case that has them; given parts always do."""
    calls = sound_calls(evidence, Action.GRADIENT)
    there = [_own_names(evidence, call) for call in calls]
    cut = [{one.name for one in _answer(evidence, call).info.untrained} for call in calls]
    own = {name for names in there for name in names}
    return {
        name
        for name in {name for names in cut for name in names}
        if all(
            name in idle
            for names, idle in zip(there, cut, strict=True)
            if name in names or name not in own
        )
    }


def judge_idle(evidence: Evidence, case: DrawnCase) -> Judgement | None:
    """Judge layers that nobody asked for and that no gradient reaches, None where there are none.

    They come back only where they are all that is registered beside what is asked for.
    """
    forward, gradient = (
        str(CallId(evidence.target.name, case.id, action))
        for action in (Action.FORWARD, Action.GRADIENT)
    )
    if gradient not in evidence.answers:
        return None
    info, due = evidence.answers[forward].info, evidence.key.answers[forward].info
    own = {one.name for one in info.names} & _never_reached(evidence)  # and none of a given part
    untrained = evidence.answers[gradient].info.untrained
    idle = {one.name for one in untrained if not one.roles and one.name in own}
    surplus = (info.registered or 0) - (due.registered or 0)
    if not idle or surplus != sum(prod(one.shape) for one in info.names if one.name in idle):
        return None
    layers = dict.fromkeys(name.rpartition(".")[0] or name for name in sorted(idle))
    named, several = " and ".join(f"`{clean(one, 60)}`" for one in layers), len(layers) > 1
    step = "remove {0} where no output needs {0}; else register {0} as a buffer"
    return Judgement(
        Status.FAILED,
        f"no gradient reaches {named}, which nobody asked for",  # it may be frozen
        next_step=step.format("them" if several else "it"),
        case=case,
    )


def _unreached(name: str, part: str, others: int, case: DrawnCase, words: Vocabulary) -> Judgement:
    """Say so of a parameter, and of how many others it is so.

    `part` is the given part that holds it, "" for one of its own.
    """
    shown, use = f"the parameter `{clean(name, 80)}`", "uses"
    if part:
        shown, use = f"`{clean(part, 80)}`, which is given", "calls"
    elif others:
        shown += f", nor {counted(others, 'other')}"
    step = f"check that {words.method} {use} it, and that nothing is detached or frozen"
    return Judgement(Status.FAILED, f"no gradient reaches {shown}", next_step=step, case=case)
