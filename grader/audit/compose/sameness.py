"""Whether what calls came to is the same, in one respect or in all."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from grader.grading.arrangements import Arrangement
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, Call
from grader.records.ids import CallId
from grader.worker.names import Group, group_of, of_group

if TYPE_CHECKING:  # torch comes with it
    from grader.audit.compose.program import OwnRun

_AXES = 4  # more axes than this are not reordered
CLOSE = 1e-9  # of values that are the same in float64
_MOVES = 1e-12  # the spread of numbers that are not the same each time
Answers = Mapping[str, Answer]  # by call


def registered(answers: Answers, *, bound: bool) -> dict[str, object]:
    """How many numbers are registered, for each call that shows it: else which are missing.

    What is missing is told of modules that are `bound` alone: in a factory's it is names.
    """
    infos = {call: answer.info for call, answer in answers.items()}
    return {
        call: info.sought if info.registered is None else info.registered
        for call, info in infos.items()
        if info.registered is not None or (bound and info.sought)
    }


def seen_of(answers: Answers, free: Collection[str]) -> Answers:
    """Return what shows of answers: `free` calls have values of their own, as drawn.

    Of these nobody can say that others were due: only which are the same in the calls that one
    property makes, and whether they are the same each time.
    """
    firsts: dict[str, Answer] = {}
    shown = dict(answers)
    for call in free:
        answer = answers[call]
        first = firsts.setdefault(CallId.parse(call).what, answer)
        shown[call] = replace(answer, tensors=_relations(answer, first))
    return shown


def _relations(answer: Answer, first: Answer) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, mine in answer.tensors.items():
        other = first.tensors.get(name)
        if group_of(name) is Group.SECOND:
            found[name] = mine > _MOVES
        elif other is not None and other.shape == mine.shape:
            found[name] = np.isclose(mine, other, rtol=CLOSE, atol=CLOSE, equal_nan=True)
        else:
            found[name] = np.zeros(mine.shape, dtype=bool)
    return found


def same_answer(one: Answer, other: Answer) -> bool:
    """Whether two calls ended alike, in all that a learner could see."""
    looks = [
        (
            answer.status,
            answer.error and (answer.error.type, answer.error.message),
            answer.info.registered,
            [(part.type, part.shape) for part in answer.info.parts],
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


def same_tensors(one: Answer, other: Answer) -> bool:
    """Whether two calls gave the same of all that they tell, moments over many masks too."""
    both = one.status is AnswerStatus.OK and other.status is AnswerStatus.OK
    return both and _close(one.tensors, other.tensors)


def _close(mine: Mapping[str, Array], theirs: Mapping[str, Array], close: float = CLOSE) -> bool:
    return mine.keys() == theirs.keys() and all(
        mine[name].shape == theirs[name].shape
        and mine[name].dtype == theirs[name].dtype
        and np.allclose(mine[name], theirs[name], rtol=close, atol=close, equal_nan=True)
        for name in mine
    )


def in_some_order(one: Array, other: Array, close: float) -> bool:
    """Whether two arrays hold the same values in the same order of some order of axes."""
    if one.size != other.size:
        return False
    orders = permutations(range(one.ndim)) if one.ndim <= _AXES else [tuple(range(one.ndim))]
    return any(
        np.allclose(one.transpose(axes).ravel(), other.ravel(), rtol=close, atol=close)
        for axes in orders
    )


def exchanged(call: Call, way: Arrangement) -> Call:
    """Return a call whose parameters are those of other layers."""
    keys = call.parameters
    meant = {}
    for role in keys:
        stem, _, last = role.rpartition(".")
        meant[role] = f"{way.layers.get(stem, stem)}.{last}" if stem else role
    parameters = {role: keys.get(other, keys[role]) for role, other in meant.items()}
    return replace(call, parameters=parameters)


def steps_seen(
    names: Sequence[str], runs: "Sequence[tuple[OwnRun, OwnRun]]", close: float
) -> dict[str, bool]:
    """Which variables end up with a step's values in every case, of those that are so called."""
    found: dict[str, bool] = {}
    for name in names:
        told = [
            in_some_order(program.steps[name], reference.steps[name], close)
            for reference, program in runs
            if name in reference.steps and name in program.steps
            if program.steps[name].size == reference.steps[name].size
        ]
        if told:
            found[name] = all(told)
    return found
