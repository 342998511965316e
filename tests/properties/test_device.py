"""The kind device, told by an argument and on a case of its own."""

from pathlib import Path

import pytest
from small import course_of, judged

from grader.records.results import CheckResult, Status

ARGUMENT = """
name: square
kind: function
dims: {t: 5..9}
inputs: {size: t}
outputs: {mask: "bool[t, t]"}
properties: [{kind: device, argument: device}]
points: {shape: 1, numeric: 2, property: 1}
"""
SQUARE = """
import torch
def square(size, *, device=None):
    {body}
"""
HEARD = "return torch.arange(size, device=device) <= torch.arange(size, device=device)[:, None]"
RIGHT = {
    "made there": HEARD,
    "moved there": "return torch.ones(size, size).tril().bool().to(device)",
    "of lists": "return torch.tensor([[j <= i for j in range(size)] for i in range(size)],"
    " device=device)",
    "in a context": "with torch.device(device or 'cpu'):\n"
    "        return torch.ones(size, size).tril().bool()",
}
FIXED = "a tensor is not made on the input's device, so the code can fail on a GPU"
WRONG = {
    "unheard": (
        "return torch.ones(size, size).tril().bool()",
        f"{FIXED}: the output is on another device than `device` names",
        "make new tensors with device=device",
    ),
    "heard in part": (
        "return torch.arange(size, device=device) <= torch.arange(size)[:, None]",
        f"{FIXED}: one operation got tensors on two devices",
        "make new tensors with device=device",
    ),
    "other values": (
        "return torch.ones(size, size, device=device).bool() if device else "
        "torch.ones(size, size).tril().bool()",
        "on a GPU, the code gives another output than on the CPU",
        "compute the same on every device: make new tensors with device=device",
    ),
}
CASE = """
name: shown
kind: function
dims: {b: 2..4, t: 5..7}
inputs: {x: "float[b, t]", mask: "bool[t] by some_true"}
outputs: {sums: "float[b]"}
properties:
  - {kind: device, case: {name: without a mask, inputs: {mask: null}}}
points: {shape: 1, numeric: 2, property: 1}
"""
SHOWN = """
import torch
def shown(x, mask=None):
    if mask is None:
        mask = torch.ones(x.size(1){})
    return (x * mask).sum(1)
"""


def square(folder: Path, text: str) -> CheckResult:
    """Judge a text of `square`."""
    course = course_of(folder, ARGUMENT, SQUARE.format(body=HEARD))
    return judged(course, text)["square/property/device"]


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_device_that_an_argument_names_is_heard(tmp_path: Path, body: str) -> None:
    assert square(tmp_path, SQUARE.format(body=body)).status is Status.PASSED


@pytest.mark.parametrize(("body", "said", "step"), WRONG.values(), ids=WRONG)
def test_device_that_an_argument_names_is_unheard(
    tmp_path: Path, body: str, said: str, step: str
) -> None:
    check = square(tmp_path, SQUARE.format(body=body))
    assert check.status is Status.FAILED
    assert check.message.startswith(said)
    assert check.next_step == step


def test_function_without_the_argument_is_told_so(tmp_path: Path) -> None:
    body = "return torch.ones(size, size).tril().bool()"
    text = SQUARE.format(body=body).replace(", *, device=None", "")
    check = square(tmp_path, text)
    assert check.status is Status.FAILED
    assert check.message.startswith("given `device`, `square` raised TypeError")


def test_device_is_judged_on_a_case_of_its_own(tmp_path: Path) -> None:
    checks = judged(course_of(tmp_path, CASE, SHOWN.format(", device=x.device")), SHOWN.format(""))
    check = checks["shown/property/device"]
    assert check.status is Status.FAILED
    assert check.message.startswith(f"{FIXED}: one operation got tensors on two devices")
    assert check.case is not None
    assert check.case.name == "without a mask"


def test_device_is_judged_on_the_main_case_too(tmp_path: Path) -> None:
    right = SHOWN.format(", device=x.device")
    text = right.replace("x * mask", "x * torch.ones(x.size(1)) * mask")
    check = judged(course_of(tmp_path, CASE, right), text)["shown/property/device"]
    assert check.status is Status.FAILED
    assert check.case is not None
    assert check.case.name == "main"


def test_device_on_a_case_of_its_own_is_passed(tmp_path: Path) -> None:
    text = SHOWN.format(", device=x.device")
    checks = judged(course_of(tmp_path, CASE, text), text)
    assert {check.status for check in checks.values()} == {Status.PASSED}
