"""Which calls are worth another try.

In float32: code that insists on it raises in float64. With the parameters in other roles, which
no name tells: only right values do.
"""

from collections.abc import Mapping

import numpy as np

from grader.compare.arrays import match
from grader.course.limits import Tolerances
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import PLAIN, Call
from grader.records.ids import CallId
from grader.records.key import AnswerKey
from grader.worker.names import Group, compared
from grader.worker.protocol import Action, TargetKind

_ACTIONS = (
    Action.FORWARD,
    Action.GRADIENT,
    Action.REUSE,
    Action.TRAIN,
    Action.PIECES,
    Action.SAMPLE,
    Action.DEVICE,
)
_HOPELESS = ("NotImplementedError", "NameError", "AttributeError")


def calls_to_retry(key: AnswerKey, answers: Mapping[str, Answer]) -> list[Call]:
    """Return the calls to make again in a child that works in float32 from the first.

    These are all calls of the targets that raised where the reference answers, but never hung; and
    the calls in float32 that came to something else, for the code may keep what it made before.
    """
    made = [call for call in key.plan.calls if call.id in answers]
    hung = {c.target for c in made if answers[c.id].status is AnswerStatus.TIMEOUT}
    insisting = {c.target for c in made if _may_insist(c, key.answers[c.id], answers[c.id])}
    narrow = {c.id: c.target for c in made if c.action is Action.FLOAT32}
    answered = {c.target for c in made if c.id not in narrow and _is_ok(answers[c.id])}
    other = {i for i, t in narrow.items() if t in answered and not _is_float32(answers[i])}
    return [
        call
        for call in key.plan.calls
        if call.target not in hung
        and (call.id in other or (call.target in insisting and call.action in _ACTIONS))
    ]


def plain_calls(key: AnswerKey, target: str) -> list[Call]:
    """Return a target's numeric calls without an option."""
    cases = [case.id for case in key.plan.numeric_cases(target) if case.group == PLAIN]
    return [key.plan.call(CallId(target, case, Action.FORWARD)) for case in cases]


def telling_calls(key: AnswerKey, target: str) -> list[Call]:
    """Return the calls whose values tell what plays which role: the plain ones.

    What a factory makes has the reference's parameters only where it is made of correct parts.
    """
    calls = key.plan.of_target(target)
    if calls and calls[0].kind is not TargetKind.FACTORY:
        return [call for call in plain_calls(key, target) if call.roles]
    return [call for call in calls if call.roles and call.action is Action.FORWARD]


def agrees(
    call: Call, key: AnswerKey, answers: Mapping[str, Answer], tolerances: Tolerances
) -> bool:
    """Whether a call's outputs are the expected ones, at some precision."""
    came = answers[call.id].tensors
    return all(
        name in came and match(came[name], expected, tolerances).difference is None
        for name, expected in compared(key.answers[call.id].tensors, Group.OUTPUT).items()
    )


def same_outputs(one: Answer, other: Answer) -> bool:
    """Whether two answers to the same call are alike, but for rounding."""
    before, after = (compared(answer.tensors, Group.OUTPUT) for answer in (one, other))
    return (
        one.status is other.status
        and before.keys() == after.keys()
        and all(
            before[name].shape == after[name].shape
            and np.allclose(before[name], after[name], rtol=1e-6, atol=1e-9, equal_nan=True)
            for name in before
        )
    )


def _is_ok(answer: Answer) -> bool:
    return answer.status is AnswerStatus.OK


def _is_float32(answer: Answer) -> bool:
    outputs = compared(answer.tensors, Group.OUTPUT).values()
    others = {one.dtype.name for one in outputs if one.dtype.kind == "f"} - {"float32"}
    return _is_ok(answer) and not others


def _may_insist(call: Call, expected: Answer, answer: Answer) -> bool:
    return (
        answer.status is AnswerStatus.RAISED
        and expected.status is AnswerStatus.OK
        and call.action in _ACTIONS
        and answer.error is not None
        and answer.error.type not in _HOPELESS
    )
