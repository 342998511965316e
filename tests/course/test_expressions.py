"""Sizes and literals of course.yml compute as Python does."""

import keyword
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course.expressions import (
    ProbeSpec,
    Range,
    Size,
    TensorSpec,
    ToolSpec,
    literal,
    parse_argument,
    parse_dim,
    parse_output,
    parse_size,
)
from grader.errors import CourseError
from grader.plan.draw import resolve_dims

sizes = st.integers(min_value=1, max_value=1000)
names = st.text(string.ascii_lowercase, min_size=1, max_size=3).filter(
    lambda name: name.isidentifier() and not keyword.iskeyword(name)
)


@given(a=sizes, b=sizes)
@pytest.mark.parametrize("operator", ["+", "-", "*", "//"])
def test_size_computes_as_python_does(operator: str, a: int, b: int) -> None:
    due = eval(f"a {operator} b", {"a": a, "b": b})
    assert parse_size(f"a{operator}b").size({"a": a, "b": b}) == due


@given(number=st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_literal_of_a_number_is_the_number(number: float) -> None:
    assert literal(number).value({}) == number


@pytest.mark.parametrize(
    ("value", "due"), [(True, True), ("'x'", "x"), ("-3", -3), ("k", 5), ("2*k + 1", 11)]
)
def test_literal_reads_strings_as_expressions(value: object, due: object) -> None:
    assert literal(value).value({"k": 5}) == due  # type: ignore[arg-type]


@given(low=sizes, more=sizes)
def test_dim_reads_a_range(low: int, more: int) -> None:
    assert parse_dim(f"{low}..{low + more}") == Range(low, low + more)


@given(axes=st.lists(names, min_size=1, max_size=4))
def test_tensor_reads_the_dims_of_its_axes(axes: list[str]) -> None:
    spec = parse_output(f"float[{', '.join(axes)}]")
    assert spec.names() == set(axes)
    assert spec.shape(dict.fromkeys(axes, 2)) == (2,) * len(axes)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("float[b, h*d]", TensorSpec("float", (Size("b"), Size("h*d")), None)),
        ("float[]", TensorSpec("float", (), None)),
        ("int[b, t] < v + 1", TensorSpec("int", (Size("b"), Size("t")), Size("v + 1"))),
        ("bool[b, t]", TensorSpec("bool", (Size("b"), Size("t")), None)),
        ("int32[b] < t", TensorSpec("int", (Size("b"),), Size("t"), "int32")),
        ("int[b] < t + 1 by own", TensorSpec("int", (Size("b"),), Size("t + 1"), rule="own")),
        ("bool[t, t] by causal", TensorSpec("bool", (Size("t"), Size("t")), None, rule="causal")),
        ("mixing[2*k]", ProbeSpec("mixing", (Size("2*k"),))),
        ("predicting[v, m]", ProbeSpec("predicting", (Size("v"), Size("m")))),
        ("mixing[k] training", ProbeSpec("mixing", (Size("k"),), training=True)),
        ("momentum of model", ToolSpec("model")),
        ("used momentum of model", ToolSpec("model", used=True)),
        ("squared error", ToolSpec("")),
        ("h*d", Size("h*d")),
    ],
)
def test_argument_reads_every_form(text: str, due: object) -> None:
    assert parse_argument(text) == due


@pytest.mark.parametrize(
    "text",
    [
        "float[b,]",
        "float[b, t",
        "float[b] < 3",
        "int[b]",
        "bool[b] < 2",
        "bool[b] by",
        "float[b] by causal",
        "bool[b] by sorted",
        "int64[b] < 2",
        "predicting[v]",
        "mixing[k, v]",
        "mixing[k] train",
        "momentum of",
        "adam of model",
        "b**2",
        "b/2",
        "f(b)",
        "b.real",
        "b[0]",
        "[1, 2]",
        "b if t else k",
        "'x' + 'y'",
        "__import__('os')",
        "b +",
        "",
    ],
)
def test_argument_refuses_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="'"):
        parse_argument(text)


@given(text=st.text(max_size=30))
def test_argument_raises_nothing_but_value_error(text: str) -> None:
    try:
        parse_argument(text)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - any text may be right, and then nothing is raised


def test_size_of_an_unknown_dim_names_those_that_are_known() -> None:
    with pytest.raises(ValueError, match="'k' is not a dim; known: b, t"):
        parse_size("k").size({"b": 1, "t": 2})


def test_size_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        parse_size("0.5").size({})


def test_division_by_zero_is_an_error_of_the_course() -> None:
    with pytest.raises((ValueError, CourseError)):
        parse_size("a // (b - b)").size({"a": 1, "b": 2})


def test_axis_of_is_that_dim_alone() -> None:
    spec = parse_output("float[b*h, t]")
    assert (spec.axis_of("t"), spec.axis_of("b")) == (1, None)


def test_dims_that_depend_on_each_other_are_refused() -> None:
    with pytest.raises(CourseError, match=r"here: the dims \['a', 'b'\] have no value"):
        resolve_dims({"a": parse_dim("b + 1"), "b": parse_dim("a + 1")}, {}, "here")
