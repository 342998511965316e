"""What crosses between a parent and a child is read back as it was."""

import json

import pytest

from grader.records.calls import Call
from grader.worker import control
from grader.worker.names import (
    Group,
    call_of,
    compared,
    group_of,
    name_of,
    of_group,
    operation_of,
    place_of,
    seen_name,
    tensor_name,
)
from grader.worker.protocol import (
    Action,
    Earlier,
    Probe,
    Role,
    RoleKind,
    TargetKind,
    TensorKey,
    Training,
    Value,
    WorkerCall,
    to_json,
)

CALL = Call(
    id="Layer/fits",
    target="Layer",
    kind=TargetKind.MODULE,
    action=Action.FIT,
    construct=(Value(4), Probe("mixing", "Layer/main-1/f.own", "Layer/main-1/f.mixed")),
    options={"bias": True, "scale": 0.5, "activation": "relu"},
    inputs=(TensorKey("Layer/main-1/x"),),
    outputs=("output",),
    roles=(Role("to_keys.weight", (4, 4), RoleKind.LINEAR, ("keys",), "exercise2.Head", 1, "w"),),
    parameters={"to_keys.weight": "Layer/main-1/to_keys.weight"},
    cotangents=("Layer/main-1/cotangent.output",),
    again=(TensorKey("Layer/reusable-2/x"),),
    repeats=3,
    training=Training("Layer/fits-1/labels", 200, 0.01, 0.2),
    case="fits-1",
    earlier=Earlier.OWN,
    refused=True,
)


def test_call_is_read_back_from_a_key() -> None:
    read = Call.from_json(json.loads(to_json(CALL.to_json())))
    assert to_json(read.to_json()) == to_json(CALL.to_json())
    assert (read.earlier, read.refused, read.roles) == (Earlier.OWN, True, CALL.roles)


def test_child_reads_a_call_without_what_the_parent_alone_knows() -> None:
    sent = json.loads(CALL.sent_text)
    assert not {"case", "earlier", "refused"} & set(sent)
    read = WorkerCall.from_json(sent)
    assert read.construct == CALL.construct
    assert (read.training, read.action, read.kind) == (CALL.training, Action.FIT, TargetKind.MODULE)


@pytest.mark.parametrize(
    "message",
    [
        control.Start(control.Limits(cpu_seconds=9, data_mib=512, open_files=32)),
        control.End(7, grace=True),
        control.Ready(),
        control.Started(7),
        control.Refused("no wall"),
        control.Death(signal=9, exit=None, cpu=0.25, peak_kib=1024),
    ],
    ids=lambda message: type(message).__name__,
)
def test_message_is_read_back(message: control.Message) -> None:
    assert control.parse(control.pack(message)) == message


def test_name_of_a_tensor_tells_its_group_and_its_name() -> None:
    name = tensor_name(Group.GRADIENT, "layers.0.weight")
    assert (group_of(name), name_of(name)) == (Group.GRADIENT, "layers.0.weight")
    assert group_of(tensor_name(Group.AFTER)) is Group.AFTER
    seen = name_of(seen_name(3, "softmax", (0, 7, 7, 4, 30), "2 attend"))
    assert (operation_of(seen), call_of(seen)) == ("softmax", "2 attend")
    assert place_of(seen) == (0, 7, 7, 4, 30)
    nowhere = name_of(seen_name(3, "softmax", (), ""))
    assert (place_of(nowhere), call_of(nowhere)) == ((), "")


def test_gradients_of_inputs_are_compared_with_those_of_parameters_and_are_none() -> None:
    """A parameter of a list may be called 0, as the first input is."""
    tensors = {
        tensor_name(Group.INPUT_GRADIENT, 0): "input",
        tensor_name(Group.GRADIENT, "0"): "parameter",
        tensor_name(Group.OUTPUT, "0"): "output",
    }
    assert list(compared(tensors, Group.GRADIENT).values()) == ["input", "parameter"]
    assert of_group(tensors, Group.GRADIENT) == {"0": "parameter"}


@pytest.mark.parametrize("name", ["", "001", "001/softmax", "001/softmax/a,b", "1/s/1,2,3,4,5,6/x"])
def test_name_that_a_child_made_up_tells_no_place(name: str) -> None:
    assert place_of(name) == ()
    assert isinstance(call_of(name), str)
