"""Which outputs tell mistakes apart, and whether parameters are what they are taken for."""

from collections.abc import Sequence
from math import prod

import numpy as np

from grader.compare.evidence import Evidence
from grader.records.answers import AnswerStatus, Info
from grader.records.calls import PLAIN, Array, Call
from grader.worker.names import Group, of_group
from grader.worker.protocol import Action, TensorKey, Told, Value


def telling(evidence: Evidence, call: Call) -> list[Array]:
    """Return the outputs of a call that tell mistakes apart.

    One number again and again does not, whether in one output, behind a copy of an input, or as
    the only number that comes out of all calls; nor does a number that was given.
    """
    outputs = outputs_of(evidence, call)
    tensors = evidence.key.plan.tensors
    given = [tensors[one.tensor] for one in call.inputs if isinstance(one, TensorKey)]
    numbers = [
        *(one.value for one in call.inputs if isinstance(one, Value)),
        *call.options.values(),
    ]
    if any(one.size == 1 for one in outputs) and _one_number(evidence):
        return []
    own = [one for one in outputs if one.size != 1 or one.item() not in numbers]
    return [one for one in own if _varies(_behind(one, given))]


def outputs_of(evidence: Evidence, call: Call) -> list[Array]:
    """Return what came out of a call, nothing where it did not end."""
    answer = evidence.answers[call.id]
    ended = answer.status is AnswerStatus.OK
    return list(of_group(answer.tensors, Group.OUTPUT).values()) if ended else []


def _one_number(evidence: Evidence) -> bool:
    """Whether several calls gave one number each, and all the same."""
    calls = evidence.numeric_calls(Action.FORWARD)
    came = [output for call in calls for output in outputs_of(evidence, call)]
    return len(came) > 1 and all(one.size == 1 and one.item() == came[0].item() for one in came)


def _behind(output: Array, given: Sequence[Array]) -> Array:
    """Return what an output of whole numbers has behind a copy of an input, else all of it."""
    for one in given:
        longer = 0 < one.ndim == output.ndim and one.shape[-1] < output.shape[-1]
        if longer and output.dtype.kind == "i":
            before, behind = np.split(output, [one.shape[-1]], axis=-1)
            if np.array_equal(before, one):
                return behind
    return output


def _varies(output: Array) -> bool:
    numbers = output[np.isfinite(output)]
    return numbers.size > 0 and (output.size == 1 or bool((numbers != numbers.flat[0]).any()))


def in_shape(evidence: Evidence, call: Call) -> bool:
    """Whether the outputs of a call have the shapes that are due."""
    due = of_group(evidence.key.answers[call.id].tensors, Group.OUTPUT).values()
    return [came.shape for came in outputs_of(evidence, call)] == [one.shape for one in due]


def shares_parameters(info: Info) -> bool:
    """Whether one parameter plays several parts: which was filled in last makes all values.

    One that has a second name, under which nothing is filled in, plays one part.
    """
    filled = {one.name for one in info.bound}
    parts = sum(prod(one.shape) for one in info.names if one.name in filled)
    return info.registered is not None and info.registered < parts


def filled_by_chance(evidence: Evidence, runs: Sequence[Call]) -> bool:
    """Whether no name tells what plays a part in some run, and elsewhere nothing fits it at all.

    Where sizes are equal by chance the numbers are filled in at random.
    """
    usual = evidence.numeric_calls(Action.FORWARD, PLAIN)
    unfit = any(evidence.answers[one.id].status is AnswerStatus.UNBOUND for one in usual)
    bonds = (bond for call in runs for bond in evidence.answers[call.id].info.bound)
    return unfit and any(bond.told is not Told.NAME for bond in bonds)
