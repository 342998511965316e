"""course.yml: what is read, and one line for each mistake; the small language of its values."""

import keyword
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT

from grader.course.derive import derive_stub, solution_lines
from grader.course.expressions import (
    ProbeSpec,
    Range,
    Size,
    TensorSpec,
    literal,
    parse_argument,
    parse_dim,
    parse_size,
    parse_tensor,
)
from grader.course.load import find_course, load_course, parse_course
from grader.errors import CourseError, UsageError
from grader.plan.draw import resolve_dims

SMALL = """\
format_version: 1
title: Small
tolerances:
  float64: {rtol: 1.0e-9, atol: 1.0e-9}
  float32: {rtol: 1.0e-4, atol: 1.0e-4}
limits: {case_seconds: 5, target_seconds: 15, submission_seconds: 60, cpu_seconds: 60,
  data_mib: 512, answer_mib: 4, output_kib: 64, message_kib: 16, source_kib: 512,
  open_files: 64, restarts: 1}
exercises:
  - file: exercise1_twice.py
    title: Twice
    targets:
      - name: twice
        kind: function
        dims: {n: 2..4, m: 5..7}
        inputs: {x: "float[n, m]"}
        outputs: {doubled: "float[n, m]"}
        properties:
          - {kind: equivariant, dim: n}
        points: {shape: 1, numeric: 2}
"""

SECOND = """\
  - file: exercise1_thrice.py
    title: Thrice
    targets: []
"""

# id -> (what is replaced, by what, the line that is named, what is said)
MISTAKES = {
    "unknown key at top level": (
        "title: Small",
        "titel: Small",
        "2: unknown key 'titel'; did you mean 'title'?",
    ),
    "unknown key in a target": (
        "        inputs:",
        "        input:",
        "16: exercises[0].targets[0]: unknown key 'input'; did you mean 'inputs'?",
    ),
    "unknown key in a property": (
        "dim: n}",
        "dimm: n}",
        "19: exercises[0].targets[0].properties[0]: unknown key 'dimm'; did you mean 'dim'?",
    ),
    "unknown key in limits": (
        "case_seconds: 5",
        "case_second: 5",
        "6: limits: unknown key 'case_second'; did you mean 'case_seconds'?",
    ),
    "unknown key that may be left out": (
        "        properties:",
        "        propertys:",
        "18: exercises[0].targets[0]: unknown key 'propertys'; did you mean 'properties'?",
    ),
    "unknown kind of property": (
        "kind: equivariant",
        "kind: equivariance",
        "19: exercises[0].targets[0].properties[0]: unknown kind 'equivariance'; "
        "did you mean 'equivariant'?",
    ),
    "wrong type": (
        "shape: 1,",
        "shape: much,",
        "20: exercises[0].targets[0].points.shape: Input should be a valid number",
    ),
    "missing key": (
        "    title: Twice\n",
        "",
        "10: exercises[0]: the key 'title' is missing",
    ),
    "duplicate key": (
        "        kind: function\n",
        "        kind: function\n        kind: module\n",
        "15: the key 'kind' stands here twice",
    ),
    "bad shape expression": (
        'x: "float[n, m]"',
        'x: "float[n, ]"',
        "16: exercises[0].targets[0].inputs.x: ",
    ),
    "undeclared dim": (
        'x: "float[n, m]"',
        'x: "float[n, k]"',
        "13: exercises[0].targets[0]: inputs.x reads the dim 'k', not declared",
    ),
    "int tensor without a bound": (
        'x: "float[n, m]"',
        'x: "int[n, m]"',
        "16: exercises[0].targets[0].inputs.x: ",
    ),
    "empty range": ("n: 2..4", "n: 4..2", "15: exercises[0].targets[0].dims.n: "),
    "YAML syntax error": ("title: Small", "title: [Small", "3: "),
    "tab": ("title: Small", "\ttitle: Small", "2: "),
    "duplicate exercise": (
        "exercises:\n",
        "exercises:\n" + SMALL.partition("exercises:\n")[2],
        "9: exercises: the exercise 'exercise1' is declared twice",
    ),
    "duplicate target": (
        "    targets:\n",
        "    targets:\n" + SMALL.partition("    targets:\n")[2],
        "10: exercises[0]: the target 'twice' is declared twice",
    ),
    "duplicate property": (
        "          - {kind: equivariant, dim: n}\n",
        "          - {kind: equivariant, dim: n}\n          - {kind: equivariant, dim: m}\n",
        "13: exercises[0].targets[0]: the property 'equivariant' is declared twice: give one an id",
    ),
    "bad file name": (
        "exercise1_twice.py",
        "twice.py",
        "10: exercises[0]: 'twice.py' is no file name",
    ),
    "no targets": (
        "exercises:\n",
        "exercises:\n" + SECOND,
        "12: exercises[0].targets: ",
    ),
    "no exercises": (SMALL.partition("exercises:")[2], " []\n", "9: exercises: "),
    "other version": ("format_version: 1", "format_version: 2", "1: format_version: "),
    "not a mapping": (SMALL, "- 1\n- 2\n", "1: "),
    "empty file": (SMALL, "", "1: is empty"),
    "comments only": (SMALL, "# to be written\n", "1: is empty"),
    "Python object": ("title: Small", "title: !!python/name:os.system", "2: "),
    "endless alias": ("title: Small", "title: &a [*a]", "2: refers to itself"),
}


def told(text: str) -> str:
    """Return what reading `text` as a course says, without the file's name."""
    with pytest.raises(CourseError) as raised:
        parse_course(text, "course.yml")
    message = str(raised.value)
    assert message.startswith("course.yml:")
    return message.removeprefix("course.yml:")


def test_course_small_example_is_right() -> None:
    assert parse_course(SMALL, "course.yml").exercises[0].targets[0].points.total == 3


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_course_mistake_is_one_line_with_its_place(mistake: tuple[str, str, str]) -> None:
    old, new, said = mistake
    message = told(SMALL.replace(old, new, 1))
    assert message.startswith(said)
    assert "\n" not in message
    assert "pydantic" not in message.lower()


def test_course_mistake_ends_the_command_with_status_2(tmp_path: Path, run_grade: object) -> None:
    path = tmp_path / "course.yml"
    path.write_text(SMALL.replace("title: Small", "titel: Small"), encoding="utf-8")
    shown = run_grade("list", "--course", tmp_path)  # type: ignore[operator]
    assert shown == (2, "", f"grade: {path}:2: unknown key 'titel'; did you mean 'title'?\n")


def test_course_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "course.yml").write_bytes(b"title: caf\xe9\n")
    with pytest.raises(CourseError, match=r"course\.yml: is not UTF-8 \(byte 10\)"):
        load_course(tmp_path)


def test_course_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "course.yml").mkdir()
    with pytest.raises(CourseError, match=r"course\.yml: cannot be read"):
        load_course(tmp_path)


def test_course_is_frozen() -> None:
    course = parse_course(SMALL, "course.yml")
    with pytest.raises(ValueError, match="frozen"):
        course.title = "Other"


def test_find_course_looks_upwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "course.yml").write_text(SMALL, encoding="utf-8")
    below = tmp_path / "exercises" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_course(None) == tmp_path.resolve()


def test_find_course_does_not_look_above_a_named_folder(tmp_path: Path) -> None:
    (tmp_path / "course.yml").write_text(SMALL, encoding="utf-8")
    below = tmp_path / "exercises"
    below.mkdir()
    with pytest.raises(UsageError, match="is not a course"):
        find_course(below)


def test_find_course_outside_of_any_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="--course"):
        find_course(None)


def test_course_points_sum_to_100() -> None:
    assert sum(e.points for e in load_course(ROOT).course.exercises) == 100


def test_course_lists_the_files_that_are_there() -> None:
    folder = load_course(ROOT)
    listed = {e.file for e in folder.course.exercises}
    assert {p.name for p in folder.solutions.glob("*.py")} == listed
    assert {p.name for p in folder.exercises.glob("*.py")} == listed


@pytest.mark.parametrize("exercise", load_course(ROOT).course.exercises, ids=lambda e: e.id)
def test_stub_is_derived_from_its_solution(exercise: object) -> None:
    file = exercise.file  # type: ignore[attr-defined]
    solution = (ROOT / "solutions" / file).read_text(encoding="utf-8")
    assert (ROOT / "exercises" / file).read_text(encoding="utf-8") == derive_stub(solution)


# ---- deriving stubs ---------------------------------------------------------------------------

MARKED = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"


def test_derive_stub_puts_not_implemented_in_place() -> None:
    assert derive_stub(MARKED) == "def f():\n    raise NotImplementedError\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MARKED.replace("### END SOLUTION", ""), "do not pair"),
        (MARKED.replace("### BEGIN SOLUTION", ""), "do not pair"),
        ("def f():\n    return 1\n", "nothing is left"),
    ],
    ids=["no end", "no begin", "no markers"],
)
def test_derive_stub_refuses_markers_that_do_not_pair(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        derive_stub(text)


def test_solution_lines_are_those_between_the_markers() -> None:
    assert solution_lines(MARKED) == ["return 1"]


# ---- expressions ------------------------------------------------------------------------------

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
    spec = parse_tensor(f"float[{', '.join(axes)}]")
    assert spec.names() == set(axes)
    assert spec.shape(dict.fromkeys(axes, 2)) == (2,) * len(axes)


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("float[b, h*d]", TensorSpec("float", (Size("b"), Size("h*d")), None)),
        ("int[b, t] < v + 1", TensorSpec("int", (Size("b"), Size("t")), Size("v + 1"))),
        ("mixing[2*k]", ProbeSpec("mixing", Size("2*k"))),
        ("h*d", Size("h*d")),
    ],
)
def test_argument_reads_every_form(text: str, due: object) -> None:
    assert parse_argument(text) == due


@pytest.mark.parametrize(
    "text",
    [
        "float[]",
        "float[b, t",
        "float[b] < 3",
        "int[b]",
        "bool[b]",
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
    spec = parse_tensor("float[b*h, t]")
    assert (spec.axis_of("t"), spec.axis_of("b")) == (1, None)


def test_dims_that_depend_on_each_other_are_refused() -> None:
    with pytest.raises(CourseError, match=r"here: the dims \['a', 'b'\] have no value"):
        resolve_dims({"a": parse_dim("b + 1"), "b": parse_dim("a + 1")}, {}, "here")
