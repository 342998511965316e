"""Results that are no float tensors: masks, plain numbers, dicts; and infinities among them."""

from pathlib import Path

import pytest
from small import course_of, judged

from grader.course.load import CourseFolder
from grader.records.results import CheckResult, Status

MASK = """
name: answer
kind: function
dims: {t: 3..6, k: 7..9}
inputs: {x: "float[t, k]"}
outputs: {mask: "bool[t, k]"}
points: {shape: 1, numeric: 2}
"""
NUMBER = MASK.replace("mask:", "loss:").replace('"bool[t, k]"', "number")
DICT = MASK.replace(
    'outputs: {mask: "bool[t, k]"}',
    'as_dict: true\noutputs: {mean: "float[k]", most: number}',
).replace("numeric: 2", "numeric: 2, gradient: 1")
REAL = MASK.replace("bool[t, k]", "float[t, k]")


def check_of(folder: Path, target: str, right: str, wrong: str, check: str) -> CheckResult:
    """Judge one expression where another is right; the right one passes."""
    text = "import math\nimport torch\ndef answer(x):\n    return {}\n"
    course = course_of(folder, target, text.format(right))
    passed(course, text.format(right))
    return judged(course, text.format(wrong))[f"answer/{check}"]


def passed(course: CourseFolder, text: str) -> None:
    """Fail where a text does not get every point."""
    assert {r.message for r in judged(course, text).values() if r.status is not Status.PASSED} == (
        set()
    )


@pytest.mark.parametrize(
    ("wrong", "check", "said"),
    [
        ("x >= -1", "numeric", "are wrong, the first at ["),
        ("(x > 0).long()", "shape", "is int64, where true and false are asked for"),
        (
            "(x > 0).double()",
            "shape",
            "holds floating-point numbers, where true and false are asked for",
        ),
        ("(x > 0).double() - 1", "numeric", "the dtype should be bool, it is float64"),
        ("(x > 0) * 2", "numeric", "the dtype should be bool, it is int64"),
        ("(x > 0)[0]", "shape", "the output has the wrong shape"),
        ("(x > 0).tolist()", "shape", "should return a tensor, it returned a list"),
    ],
)
def test_mask_has_to_be_bool(tmp_path: Path, wrong: str, check: str, said: str) -> None:
    result = check_of(tmp_path, MASK, "x > 0", wrong, check)
    assert result.status is Status.FAILED
    assert said in result.message


def test_mask_of_numbers_is_told_how_to_be_bool(tmp_path: Path) -> None:
    result = check_of(tmp_path, MASK, "x > 0", "(x > 0).int()", "shape")
    assert result.next_step == "return true and false: a comparison gives them"


@pytest.mark.parametrize(
    ("wrong", "check", "said"),
    [
        ("x.amax().item() + 1", "numeric", "right shape but wrong values"),
        ("math.nan", "numeric", "1 of 1 numbers are NaN"),
        ("math.inf", "numeric", "1 of 1 numbers are infinite"),
        ("10 ** 400", "numeric", "1 of 1 numbers are infinite"),
        ("int(x.amax())", "numeric", "right shape but wrong values"),
        ("x.amax()", "shape", "should return a number, it returned a Tensor of shape ()"),
        ("True", "shape", "should return a number, it returned a bool"),
        ("str(x.amax().item())", "shape", "should return a number, it returned a str"),
        ("None", "shape", "should return a number, it returned None"),
        ("type('float', (float,), {})(x.amax())", "shape", "return a number, it returned a float"),
    ],
)
def test_number_has_to_be_pythons(tmp_path: Path, wrong: str, check: str, said: str) -> None:
    result = check_of(tmp_path, NUMBER, "x.amax().item()", wrong, check)
    assert result.status is Status.FAILED
    assert said in result.message


def test_whole_number_does_for_a_number(tmp_path: Path) -> None:
    text = "def answer(x):\n    return {}\n"
    course = course_of(tmp_path, NUMBER, text.format("3.0"))
    passed(course, text.format("3"))


def test_numpys_float64_does_for_a_number(tmp_path: Path) -> None:
    """It is a float of Python's, too; other numbers of numpy's are not."""
    text = "import numpy as np\n\n\ndef answer(x):\n    return {}\n"
    course = course_of(tmp_path, NUMBER, text.format("3.0"))
    passed(course, text.format("np.float64(3)"))


def test_float_is_no_tensor(tmp_path: Path) -> None:
    target = MASK.replace("bool[t, k]", "float[]")
    result = check_of(tmp_path, target, "x.sum()", "x.sum().item()", "shape")
    assert "should return a tensor, it returned a float" in result.message


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('{"mean": x.mean(0)}', "`most` is missing"),
        ('{"mean": x.mean(0), "most": 1.0, "extra": x}', "and no more: `extra` is there too"),
        ('{"mean": x.mean(0), 3: 1.0}', "`most` is missing"),
        ('{"mean": x.mean(0), "most": 1.0, 3: 1}', "and no more: `a int` is there too"),
        ('{**{"mean": x.mean(0), "most": 1.0}, **{str(i): x for i in range(99)}}', "and no more"),
        ("(x.mean(0), x.amax().item())", "a dict with `mean`, `most`, it returned a Tensor"),
        ("{}", "`mean` is missing"),
        ("None", "a dict with `mean`, `most`, it returned None"),
        ('{"mean": x.mean(0), "most": x.amax()}', "a number as `most`, it returned a Tensor"),
        ('{"mean": 1.0, "most": 1.0}', "a tensor as `mean`, it returned a float"),
    ],
)
def test_dict_has_the_declared_names(tmp_path: Path, wrong: str, said: str) -> None:
    right = '{"most": x.amax().item(), "mean": x.mean(0)}'
    result = check_of(tmp_path, DICT, right, wrong, "shape")
    assert result.status is Status.FAILED
    assert said in result.message


def test_gradient_of_a_dict_is_that_of_its_tensors(tmp_path: Path) -> None:
    right = '{"most": x.amax().item(), "mean": x.mean(0)}'
    wrong = '{"most": x.amax().item(), "mean": x.detach().mean(0) + 0 * x.mean(0)}'
    assert check_of(tmp_path, DICT, right, wrong, "gradient").status is Status.FAILED


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("x.masked_fill(x > 0, -1e30)", "the largest difference is inf"),
        ("x.masked_fill(x > 0, math.inf)", "are infinite, the first at ["),
        ("x.masked_fill(x > 0, math.nan)", "are NaN, the first at ["),
        ("torch.full_like(x, -math.inf)", "are infinite, the first at ["),
        ("x", "the largest difference is inf"),
    ],
)
def test_infinity_is_compared_as_such(tmp_path: Path, wrong: str, said: str) -> None:
    result = check_of(tmp_path, REAL, "x.masked_fill(x > 0, -math.inf)", wrong, "numeric")
    assert result.status is Status.FAILED
    assert said in result.message


def test_infinity_of_the_reference_alone_leaves_valid_json(tmp_path: Path) -> None:
    result = check_of(tmp_path, REAL, "x.masked_fill(x > 0, -math.inf)", "x", "numeric")
    assert result.expected.value is None
    assert result.actual.largest_difference is None
