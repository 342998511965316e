"""The kinds causal and padding."""

from pathlib import Path

import pytest
from small import course_of, judged

from grader.errors import CourseError
from grader.key.build import build_answer_key
from grader.records.results import CheckResult, Status

RUNNING = """
name: running
kind: function
dims: {b: 2..4, t: 4..7}
inputs: {x: "float[b, t]"}
outputs: {sums: "float[b, t]"}
properties: [{kind: causal, dim: t}]
points: {shape: 1, numeric: 2, property: 1}
"""
POOL = """
name: pool
kind: function
dims: {b: 3..5, t: 4..7, k: 2..3}
inputs: {x: "float[b, t, k]", mask: "bool[b, t] by lengths"}
outputs: {mean: "float[b, k]", shown: "float[b, t, k]"}
properties: [{kind: padding, dim: t, mask: mask}]
points: {shape: 1, numeric: 2, property: 1}
"""
MEAN = """
import torch
def pool(x, mask):
    shown = {shown}
    kept = x.masked_fill(~mask[..., None], 0)
    return {mean}, shown
"""
SHOWN, KEPT = "x * 2", "kept.sum(1) / mask.sum(1, keepdim=True)"
TOKENS = """
name: count
kind: function
dims: {b: 3..5, t: 4..7}
inputs: {tokens: "int[b, t] < 9", lengths: "int[b] < t by ragged"}
outputs: {sums: "int[b] < 99"}
properties: [{kind: padding, dim: t, mask: lengths}]
points: {shape: 1, numeric: 2, property: 1}
"""
RAGGED = "def ragged(shape, dims, generator):\n    return generator.integers(1, dims['t'], shape)\n"
COUNT = """
import torch
def count(tokens, lengths):
    return (tokens * (torch.arange(tokens.size(1)) < lengths[:, None])).sum(1)
"""


def causal(folder: Path, body: str) -> CheckResult:
    """Judge a body of `running`."""
    text = "import torch\ndef running(x):\n    return {}\n"
    course = course_of(folder, RUNNING, text.format("x.cumsum(1)"))
    return judged(course, text.format(body))["running/property/causal"]


def padding(folder: Path, shown: str, mean: str, target: str = POOL) -> CheckResult:
    """Judge a body of `pool`."""
    course = course_of(folder, target, MEAN.format(shown=SHOWN, mean=KEPT))
    return judged(course, MEAN.format(shown=shown, mean=mean))["pool/property/padding"]


@pytest.mark.parametrize("body", ["x.cumsum(1)", "torch.stack([*x.cumsum(1).T], 1)"])
def test_running_sum_is_causal(tmp_path: Path, body: str) -> None:
    assert causal(tmp_path, body).status is Status.PASSED


@pytest.mark.parametrize(
    "body",
    [
        "x.flip(1).cumsum(1).flip(1)",
        "x.cumsum(1) + x.mean(1, keepdim=True)",
        "x.cumsum(1).roll(-1, 1)",
        "x.cumsum(1) + torch.cat([x[:, -1:], 0 * x[:, 1:]], 1)",
        "x.cumsum(1) + torch.cat([0 * x[:, 2:], x[:, -1:], 0 * x[:, :1]], 1)",
    ],
    ids=["backwards", "mean", "one too far", "last at first", "last one early"],
)
def test_what_looks_ahead_is_not_causal(tmp_path: Path, body: str) -> None:
    check = causal(tmp_path, body)
    assert check.status is Status.FAILED
    assert check.message.startswith("what comes later along t should not change earlier outputs")


def test_stub_is_not_causal(tmp_path: Path) -> None:
    assert causal(tmp_path, "int('')").status is not Status.PASSED


@pytest.mark.parametrize("shown", [SHOWN, "x + x"])
def test_mean_of_what_counts_is_not_moved(tmp_path: Path, shown: str) -> None:
    assert padding(tmp_path, shown, KEPT).status is Status.PASSED


@pytest.mark.parametrize(
    ("shown", "mean", "said"),
    [
        (SHOWN, "x.mean(1)", "`mean`: the largest difference"),
        (SHOWN, "(x - 9e5 * ~mask[..., None]).amax(1)", "`mean`: the largest difference"),
        (SHOWN, KEPT + " + 0 * x.square().square().square().exp().sum(1)", "there is NaN in it"),
        ("x + x.mean(1, keepdim=True)", KEPT, "`shown`: the largest difference"),
        ("x / (x.abs() < 9e5)  * 0 + x", KEPT, "`shown`: there is NaN in it"),
    ],
    ids=["no mask", "large number", "NaN", "seen elsewhere", "NaN in padding"],
)
def test_what_counts_padding_is_moved(tmp_path: Path, shown: str, mean: str, said: str) -> None:
    check = padding(tmp_path, shown, mean)
    assert check.status is Status.FAILED
    assert check.message.startswith("what stands in padded places should change nothing")
    assert said in check.message


@pytest.mark.parametrize(("add", "passes"), [("", True), (" + tokens[:, -1]", False)])
def test_lengths_tell_padded_tokens(tmp_path: Path, add: str, passes: bool) -> None:
    course = course_of(tmp_path, TOKENS, COUNT)
    (course.solutions / "drawing.py").write_text(RAGGED, encoding="utf-8")
    check = judged(course, COUNT.replace(".sum(1)", f".sum(1){add}"))["count/property/padding"]
    assert (check.status is Status.PASSED) is passes


def test_padding_has_a_case_of_its_own(tmp_path: Path) -> None:
    case = "case: {name: one more, inputs: {mask: [[true, false]]}, dims: {b: 1, t: 2}}"
    target = POOL.replace("mask: mask}", f"mask: mask, {case}}}").replace(
        "by lengths", "by some_true"
    )
    assert padding(tmp_path, SHOWN, KEPT, target).status is Status.PASSED
    assert padding(tmp_path, SHOWN, "x.mean(1)", target).status is Status.FAILED


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mask: mask", "mask: mas", "'mas' is no input that is a tensor"),
        ("mask: mask", "mask: x", "neither a mask with an axis 't' nor lengths"),
        ("dim: t", "dim: k", "neither a mask with an axis 'k' nor lengths"),
        ('x: "float[b, t, k]"', 'x: "float[b, k]"', "no input to fill has an axis 't'"),
    ],
)
def test_padding_that_means_nothing_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(CourseError, match=f"means nothing for pool: .*{said}"):
        course_of(tmp_path, POOL.replace(old, new), "")


def test_padding_with_no_padded_place_is_refused(tmp_path: Path) -> None:
    case = "case: {name: full, inputs: {mask: [[true, true]]}, dims: {b: 1, t: 2}}"
    target = POOL.replace("mask: mask}", f"mask: mask, {case}}}")
    course = course_of(tmp_path, target, MEAN.format(shown=SHOWN, mean=KEPT))
    with pytest.raises(CourseError, match="'padding' finds no padded place"):
        build_answer_key(course, course.course.exercises[0], "public", b"public")
