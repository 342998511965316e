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
from grader.records.answers import AnswerStatus
from grader.records.calls import DrawnCase
from grader.records.ids import CallId
from grader.records.results import Status
from grader.records.text import clean
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
    failures: dict[str, Judgement] = {}
    cuts: list[tuple[set[str], set[str]]] = []  # names that are there, and those without a gradient
    for call in sound_calls(evidence, Action.GRADIENT):
        answer, expected = evidence.answers[call.id], evidence.key.answers[call.id]
        if call.id in evidence.answers32 and answer.status is AnswerStatus.RAISED:
            answer = evidence.answers32[call.id]
        case = evidence.case(call)
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, case)
        gradients = of_group(expected.tensors, Group.GRADIENT)
        idle = {role for role, one in gradients.items() if np.abs(one).max(initial=0.0) < 1e-12}
        cut = {one.name: one for one in answer.info.untrained}
        same = CallId(evidence.target.name, call.case, Action.FORWARD)  # lists the parameters
        cuts.append(({one.name for one in evidence.answers[str(same)].info.names}, {*cut}))
        for name, untrained in cut.items():
            # a bias too many the audit of parameters tells
            if not (set(untrained.roles) <= idle if untrained.roles else name.endswith("bias")):
                surplus = None if untrained.roles else judge_idle(evidence, case)
                part = name.rpartition(".")[0] if name not in cuts[-1][0] else ""
                failures.setdefault(name, surplus or _unreached(name, part, case, evidence.words))
    own = {name for there, _ in cuts for name in there}  # those of probes are always there
    for name, failure in failures.items():
        if all(name in cut for there, cut in cuts if name in there or name not in own):
            return failure
    return PASSED


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
    own = {one.name for one in info.names}  # and none of a given part
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


def _unreached(name: str, part: str, case: DrawnCase, words: Vocabulary) -> Judgement:
    """Say so of a parameter; `part` is the given part that holds it, "" for one of its own."""
    shown, use = f"the parameter `{clean(name, 80)}`", "uses"
    if part:
        shown, use = f"`{clean(part, 80)}`, which is given", "calls"
    step = f"check that {words.method} {use} it, and that nothing is detached"
    return Judgement(Status.FAILED, f"no gradient reaches {shown}", next_step=step, case=case)
