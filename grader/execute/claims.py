"""What of an answer is heard: only what an honest worker can claim of the call.

Each claim is checked here, once, so that whoever judges answers need not fear their form.
"""

from collections.abc import Mapping
from dataclasses import replace

from grader.records.answers import Answer
from grader.records.calls import Array, Call
from grader.worker.names import Group, of_group, tensor_name
from grader.worker.protocol import Probe
from grader.worker.wire import Violation

# what the submission itself made; all else the harness computes, in floating point
_OF_ANY_DTYPE = (Group.OUTPUT, Group.INPUT, Group.WRITTEN, Group.DRAWN, Group.SEEN, Group.HELD)


def heard(answer: Answer, call: Call, lines: Mapping[str, int]) -> Answer:
    """Check what an answer claims against what the parent knows; raises Violation.

    A child has inputs, and whatever it says freely could carry them. `lines` tells how many each
    file of the submission has, by label.
    """
    shapes = {role.name: tuple(role.shape) for role in call.roles}
    if any(shapes.get(one.name) != tuple(one.shape) for one in answer.info.sought):
        raise Violation("parameters sought that nobody asked for")
    played = [role for one in answer.info.bound for role in one.roles]
    if len(set(played)) < len(played) or not set(played) <= shapes.keys():
        raise Violation("roles that nobody asked for")
    _check_tensors(answer.tensors, call)
    if answer.error is None:
        return answer
    frames = [f for f in answer.error.frames if 0 < f.line <= lines.get(f.label, 0)]
    return replace(answer, error=answer.error.model_copy(update={"frames": frames}))


def _check_tensors(tensors: Mapping[str, Array], call: Call) -> None:
    groups = {name: name.partition("/")[0] for name in tensors}
    if not set(groups.values()) <= set(Group):
        raise Violation("tensors that nobody asked for")
    if not of_group(tensors, Group.OUTPUT).keys() <= set(call.outputs):
        raise Violation("outputs that nobody asked for")
    stages = call.learning.stages if call.learning else ()
    if not of_group(tensors, Group.WRITTEN).keys() <= set(map(str, stages)):
        raise Violation("writing that nobody asked for")
    if any(tensors[n].dtype.kind != "f" for n, g in groups.items() if g not in _OF_ANY_DTYPE):
        raise Violation("whole numbers where nobody asked for them")
    given = [place for place, argument in enumerate(call.inputs) if isinstance(argument, Probe)]
    modes = {tensor_name(Group.INPUT, place) for place in given}
    if any(tensors[name].shape for name in modes & tensors.keys()):
        raise Violation("several modes of one given module")
