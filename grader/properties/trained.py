"""Gradients that reach every parameter."""

from typing import Literal

import numpy as np

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.compare.outcomes import sound_calls
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
        idle = {
            role
            for role, array in of_group(expected.tensors, Group.GRADIENT).items()
            if np.abs(array).max(initial=0.0) < 1e-12
        }
        cut = {one.name: one for one in answer.info.untrained}
        same = CallId(evidence.target.name, call.case, Action.FORWARD)  # lists the parameters
        cuts.append(({one.name for one in evidence.answers[str(same)].info.names}, {*cut}))
        for name, untrained in cut.items():
            if not untrained.roles and name.endswith("bias"):
                continue  # one too many, which the audit of parameters tells
            if not untrained.roles or not set(untrained.roles) <= idle:
                failures.setdefault(name, _unreached(name, case, evidence.words.method))
    own = {name for there, _ in cuts for name in there}  # those of probes are always there
    for name, failure in failures.items():
        if all(name in cut for there, cut in cuts if name in there or name not in own):
            return failure
    return PASSED


def _unreached(name: str, case: DrawnCase, method: str) -> Judgement:
    return Judgement(
        Status.FAILED,
        f"no gradient reaches the parameter `{clean(name, 80)}`",
        next_step=f"check that {method} uses it, and that nothing is detached",
        case=case,
    )
