"""Which calls are worth a second try in float32: code that insists on it raises in float64."""

from collections.abc import Mapping

from grader.execute.answers import Answer, AnswerStatus
from grader.key.store import AnswerKey
from grader.plan.records import Call

_ACTIONS = ("forward", "gradient", "reuse", "train")
_HOPELESS = ("NotImplementedError", "NameError", "AttributeError")


def calls_to_retry(key: AnswerKey, answers: Mapping[str, Answer]) -> list[Call]:
    """Return all calls of the targets that raised where the reference answers."""
    insisting = {
        call.target
        for call in key.plan.calls
        if call.id in answers and _may_insist(call, key.answers[call.id], answers[call.id])
    }
    return [c for c in key.plan.calls if c.target in insisting and c.action in _ACTIONS]


def _may_insist(call: Call, expected: Answer, answer: Answer) -> bool:
    return (
        answer.status is AnswerStatus.RAISED
        and expected.status is AnswerStatus.OK
        and call.action in _ACTIONS
        and answer.error is not None
        and answer.error.type not in _HOPELESS
    )
