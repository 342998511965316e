"""Whether what calls came to is the same, in one respect or in all."""

from collections.abc import Mapping

import numpy as np

from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array
from grader.worker.names import Group, of_group

CLOSE = 1e-9  # of values that are the same in float64
Answers = Mapping[str, Answer]  # by call


def registered(answers: Answers) -> dict[str, int]:
    """How many numbers are registered, for each call in which a module came about."""
    found = {call: answer.info.registered for call, answer in answers.items()}
    return {call: count for call, count in found.items() if count is not None}


def same_answer(one: Answer, other: Answer) -> bool:
    """Whether two calls ended alike, in all that a learner could see."""
    looks = [
        (
            answer.status,
            answer.error and (answer.error.type, answer.error.message),
            answer.info.registered,
            [part.type for part in answer.info.parts],
            [what for _, what in answer.info.loose],
            [one.name for one in answer.info.untrained],
        )
        for answer in (one, other)
    ]
    return looks[0] == looks[1] and _close(one.tensors, other.tensors)


def same_values(one: Answer, other: Answer, close: float = CLOSE) -> bool:
    """Whether two calls gave an output, and the same one."""
    if one.status is not AnswerStatus.OK or other.status is not AnswerStatus.OK:
        return False
    mine, theirs = (of_group(answer.tensors, Group.OUTPUT) for answer in (one, other))
    return _close(mine, theirs, close)


def _close(mine: Mapping[str, Array], theirs: Mapping[str, Array], close: float = CLOSE) -> bool:
    return mine.keys() == theirs.keys() and all(
        mine[name].shape == theirs[name].shape
        and mine[name].dtype == theirs[name].dtype
        and np.allclose(mine[name], theirs[name], rtol=close, atol=close, equal_nan=True)
        for name in mine
    )
