"""A wrong default costs its own check: elsewhere what it should be is given by name."""

from pathlib import Path

import pytest
from small import course_of, judged

from grader.course.load import CourseFolder
from grader.errors import CourseError
from grader.records.results import Status

FUNCTION = """
name: power
kind: function
dims: {t: 3..6, k: 7..9}
inputs: {x: "float[t, k]"}
defaults: {exponent: 2, shift: 0.0}
outputs: {output: "float[t, k]"}
cases: [{name: a cube, options: {exponent: 3}}]
properties: [{kind: defaults}]
points: {shape: 1, numeric: 2, property: 1}
"""
MODULE = """
name: Wide
kind: module
dims: {t: 3..6, k: 7..9, f: 10..12}
constructor: {width: k}
inputs: {x: "float[t, k]"}
defaults: {hidden: 2*k, bias: false}
outputs: {output: "float[t, k]"}
cases: [{name: hidden given, options: {hidden: f}}, {name: biases, options: {bias: true}}]
properties: [{kind: defaults}]
points: {shape: 1, numeric: 2, property: 1}
"""
POWER = "def power(x, exponent={}, shift={}):\n    return x**exponent + shift\n"
WIDE = """from torch import nn

class Wide(nn.Module):
    def __init__(self, width, *, hidden=None, bias={bias}):
        super().__init__()
        hidden = {times} * width if hidden is None else hidden
        self.up = nn.Linear(width, hidden, bias=bias)
        self.down = nn.Linear(hidden, width, bias=bias)

    def forward(self, x):
        return self.down(self.up(x))
"""
CHECK = "property/defaults"


@pytest.fixture
def power(tmp_path: Path) -> CourseFolder:
    return course_of(tmp_path, FUNCTION, POWER.format(2, 0.0))


@pytest.fixture
def wide(tmp_path: Path) -> CourseFolder:
    return course_of(tmp_path, MODULE, WIDE.format(bias=False, times=2))


def failed(course: CourseFolder, text: str) -> list[str]:
    """Return the checks that a text fails, by their ids without the target."""
    checks = judged(course, text)
    return [i.split("/", 1)[1] for i, c in checks.items() if c.status is not Status.PASSED]


@pytest.mark.parametrize(
    "text",
    [
        POWER.format(3, 0.0),
        POWER.format(2, 0.5),
        POWER.format(0, 1),
        "def power(x, exponent, shift=0.0):\n    return x**exponent + shift\n",
        POWER.format(None, 0.0).replace("**exponent", "**(3 if exponent is None else exponent)"),
    ],
    ids=["one", "the other", "both", "not there", "behind None"],
)
def test_another_default_fails_its_check_alone(power: CourseFolder, text: str) -> None:
    assert failed(power, text) == [CHECK]


def test_an_argument_that_is_not_used_fails_where_nothing_is_given(power: CourseFolder) -> None:
    text = POWER.format(2, 0.0).replace("x**exponent", "x**3")
    assert "numeric" in failed(power, text)


def test_code_without_the_argument_is_judged_as_it_is(power: CourseFolder) -> None:
    assert failed(power, "def power(x, exponent=2):\n    return x**exponent\n") == []


def test_an_argument_of_another_kind_is_left_alone(power: CourseFolder) -> None:
    text = "def power(x, exponent=lambda x: x * x):\n    return exponent(x)\n"
    assert failed(power, text) == ["shape/exponent", "numeric/exponent"]


@pytest.mark.parametrize(("bias", "times"), [(False, 3), (True, 2)])
def test_another_size_or_bias_fails_its_check_alone(
    wide: CourseFolder, bias: bool, times: int
) -> None:
    assert failed(wide, WIDE.format(bias=bias, times=times)) == [CHECK]


def test_what_means_something_else_keeps_its_own_default(wide: CourseFolder) -> None:
    text = WIDE.format(bias=False, times=2).replace("hidden=None", "hidden=2")
    text = text.replace("2 * width if hidden is None else hidden", "hidden * width")
    assert failed(wide, text) == ["shape/hidden", "numeric/hidden"]


def test_a_default_that_the_reference_does_not_have_is_an_error(tmp_path: Path) -> None:
    course = course_of(tmp_path, FUNCTION.replace("exponent: 2", "exponent: 4"), POWER.format(2, 0))
    with pytest.raises(CourseError, match="power has other defaults than"):
        judged(course, POWER.format(2, 0))


def test_a_default_reads_declared_dims(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="reads the dim 'z', not declared"):
        course_of(tmp_path, FUNCTION.replace("exponent: 2", "exponent: z"), POWER.format(2, 0))
