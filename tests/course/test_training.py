"""A target that is a step of training: what it does to a given model counts."""

from pathlib import Path

import pytest
from small import course_of, judged

from grader.errors import CourseError
from grader.records.results import CheckResult, Status

STEP = """
name: step
kind: function
dims: {b: 2..3, k: 4..5}
inputs:
  model: "pointwise[k] training"
  optimizer: momentum of model
  loss: squared error
  x: "float[b, 2, k]"
outputs: {loss: number, parameters: "float[2, k, k] after model"}
cases:
  - {name: two steps, calls: 2}
properties:
  - {kind: inputs-unchanged}
points: {shape: 1, numeric: 2, property: 1}
"""
RIGHT = """
def step(model, optimizer, loss, x):
    optimizer.zero_grad()
    value = loss(model, x)
    value.backward()
    optimizer.step()
    return value.item()
"""
BY_HAND = """
import torch
past = {}
def step(model, optimizer, loss, x):
    value = loss(model, x)
    parameters = list(model.parameters())
    for p, g in zip(parameters, torch.autograd.grad(value, parameters)):
        optimizer.state[p] = optimizer.state.get(p, 0) * 0.9 + g
        p.data -= 0.1 * optimizer.state[p]
    return value.detach().item()
"""


def check(folder: Path, text: str, name: str) -> CheckResult:
    """Judge one check of a text."""
    return judged(course_of(folder, STEP, RIGHT), text)[f"step/{name}"]


@pytest.mark.parametrize("text", [RIGHT, BY_HAND], ids=["torch", "by hand"])
def test_right_steps_have_full_marks(tmp_path: Path, text: str) -> None:
    results = judged(course_of(tmp_path, STEP, RIGHT), text)
    assert {r.message for r in results.values() if r.status is not Status.PASSED} == set()


@pytest.mark.parametrize(
    ("old", "new", "name", "said"),
    [
        ("    optimizer.zero_grad()\n", "", "numeric", "`parameters` has the right shape"),
        ("    optimizer.step()\n", "", "numeric", "`parameters` has the right shape"),
        ("value.item()", "loss(model, x).item()", "numeric", "`loss` has the right shape"),
        ("value.item()", "value", "shape", "`loss`"),
        ("    return value.item()\n", "", "shape", "`loss`"),
        ("    optimizer.step()\n", "    optimizer.step()\n    model.eval()\n",
         "property/inputs-unchanged", "is left in evaluation mode"),
    ],
    ids=["adds up", "stays", "afterwards", "tensor", "nothing", "mode"],
)  # fmt: skip
def test_wrong_steps_are_told(tmp_path: Path, old: str, new: str, name: str, said: str) -> None:
    found = check(tmp_path, RIGHT.replace(old, new), name)
    assert found.status is Status.FAILED
    assert said in found.message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("momentum of model", "momentum of x", "'x' is no given module among the inputs"),
        ("after model", "after loss", "'loss' is no given module among the inputs"),
        ("{loss: number, parameters", "{parameters", "it comes second"),
        ("parameters: ", "more: number, parameters: ", "it comes second"),
    ],
)
def test_training_that_means_nothing_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(CourseError, match=said):
        course_of(tmp_path, STEP.replace(old, new), "")
