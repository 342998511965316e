"""What an answer may look like: tensors from bytes, and no other form."""

import struct
import time
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from grader.records.answers import AnswerStatus, load_tensors, parse_answer, parse_greeting
from grader.worker.wire import Violation


def header(**more: Any) -> dict[str, Any]:
    """Return an answer's header."""
    return {"call": "1", "status": "ok", **more}


def test_parse_answer_rebuilds_tensors() -> None:
    payload = safetensors.numpy.save({"output/y": np.arange(3.0)})
    answer = parse_answer(header(), payload, "1")
    assert answer.tensors["output/y"].tolist() == [0, 1, 2]
    assert answer.status is AnswerStatus.OK


@pytest.mark.parametrize(
    "claimed",
    [
        {"status": "ok"},
        header(call=1),
        header(status="fine"),
        header(status="timeout"),
        header(status="refused"),
        header(extra=1),
        header(info={"count": "3"}),
        header(info={"parts": [{"type": "x"}] * 9}),
        header(info={"parts": [{"type": "x", "shape": [-1]}]}),
        header(info={"parts": [{"type": "x", "shape": [10**400]}]}),
        header(info={"count": True}),
        header(info={"count": float("nan")}),
        header(info={"returned": "\ud800"}),
        header(info={"loose": [{"path": "a"}]}),
        header(error={"type": "E", "bases": [], "message": "", "frames": []}),
        header(
            status="raised", error={"type": "E" * 401, "bases": [], "message": "", "frames": []}
        ),
    ],
    ids=[
        "no call",
        "number for a call",
        "unknown status",
        "the parent's own timeout",
        "the parent's own refusal",
        "unknown key",
        "text for a number",
        "too many parts",
        "negative size",
        "enormous size",
        "truth for a number",
        "NaN",
        "half a character",
        "half a record",
        "error beside ok",
        "long type",
    ],
)
def test_parse_answer_refuses_another_form(claimed: dict[str, Any]) -> None:
    with pytest.raises(Violation):
        parse_answer(claimed, b"", "1")


@pytest.mark.parametrize("payload", [b"x", b"\xff" * 64, struct.pack("<Q", 1 << 60) + b"{}"])
def test_load_tensors_refuses_what_it_cannot_read(payload: bytes) -> None:
    with pytest.raises(Violation, match="cannot be read"):
        load_tensors(payload)


def test_load_tensors_refuses_other_dtypes() -> None:
    payload = safetensors.numpy.save({"a": np.zeros(2, np.uint64)})
    with pytest.raises(Violation, match="a dtype that nobody asked for"):
        load_tensors(payload)


def _laid(names: str, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(names)) + names.encode() + data


@pytest.mark.parametrize(
    "payload",
    [
        _laid('{"a":{"dtype":"F64","shape":[-1],"data_offsets":[0,8]}}', bytes(8)),
        _laid('{"a":{"dtype":"F64","shape":[1],"data_offsets":[8,16]}}', bytes(16)),
        _laid(
            '{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},'
            '"b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}',
            bytes(8),
        ),
        _laid(f'{{"a":{{"dtype":"F64","shape":[{1 << 62},8],"data_offsets":[0,0]}}}}'),
        _laid(f'{{"a":{{"dtype":"F64","shape":{[1] * 999},"data_offsets":[0,8]}}}}', bytes(8)),
        _laid('{"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}', bytes(8)),
        _laid('{"a":' + "[" * 60_000),
        _laid('{"\\ud800":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}', bytes(8)),
        _laid(
            "{"
            + ",".join(
                f'"{n}":{{"dtype":"F64","shape":[0],"data_offsets":[0,0]}}' for n in range(50_000)
            )
            + "}"
        ),
    ],
    ids=[
        "negative size",
        "hole",
        "overlap",
        "overflow",
        "999 axes",
        "bfloat16",
        "deep JSON",
        "half a character",
        "50,000 tensors",
    ],
)
def test_parse_answer_refuses_odd_tensors_at_once(payload: bytes) -> None:
    begun = time.process_time()
    with pytest.raises(Violation):
        parse_answer(header(), payload, "1")
    assert time.process_time() - begun < 1


def test_load_tensors_takes_every_byte_but_zero_for_true() -> None:
    laid = _laid('{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}', b"\x02\x00")
    array = load_tensors(laid)["a"]
    assert array.view(np.uint8).tolist() == [1, 0]


def test_load_tensors_keeps_one_order() -> None:
    names = [f"grad/{letter}" for letter in "zyxwvutsrqponm"]
    payload = safetensors.numpy.save({name: np.zeros(1) for name in names})
    orders = {tuple(load_tensors(payload)) for _ in range(5)}
    assert len(orders) == 1


def test_parse_greeting_refuses_another_form() -> None:
    with pytest.raises(Violation, match="a greeting of another form"):
        parse_greeting({"loaded": "yes", "error": None, "names": []})


def test_load_tensors_keeps_the_shape_of_a_scalar() -> None:
    (array,) = load_tensors(safetensors.numpy.save({"output": np.array(1.5)})).values()
    assert array.shape == ()
