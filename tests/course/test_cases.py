"""Inputs of a case's own, and rules that draw: what is handed out, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from small import course_of, judged

from grader.course.load import CourseFolder
from grader.errors import CourseError
from grader.key.build import build_answer_key
from grader.records.calls import PUBLIC, Array, Plan
from grader.records.ids import CallId
from grader.records.results import Status
from grader.worker.protocol import Action, TensorKey

# x is summed where the mask is true; a mask that is not given leaves nothing out
TARGET = """
name: masked_sum
kind: function
dims: {b: 2..4, t: 5..7}
inputs: {x: "float[b, t]", mask: "bool[b, t] by lengths"}
outputs: {total: "float[b]"}
cases:
  - {name: no mask, inputs: {mask: null}}
  - {name: a mask for all, inputs: {mask: "bool[1, t] by some_true"}}
  - {name: small, dims: {b: 2, t: 3}, inputs: {mask: [[true, false, true], [false, false, false]]}}
points: {shape: 1, numeric: 2, gradient: 1}
"""
RIGHT = """
import torch
def masked_sum(x, mask=None):
    return x.sum(-1) if mask is None else torch.where(mask, x, 0).sum(-1)
"""


def plan_of(course: CourseFolder) -> Plan:
    """Return the plan of the course's only exercise."""
    return build_answer_key(course, course.course.exercises[0], PUBLIC, b"public").plan


def given(plan: Plan, case: str, place: int = 1) -> Array:
    """Return an input as it is handed out on a case."""
    name = plan.cases[0].target
    argument = plan.call(CallId(name, f"{case}-1", Action.FORWARD)).inputs[place]
    assert isinstance(argument, TensorKey)
    return plan.tensors[argument.tensor]


def drawn(folder: Path, spec: str) -> list[Array]:
    """Return what is drawn for an input n of a target, in thirty draws."""
    target = f"""
name: same
kind: function
dims: {{b: 2..9, s: 3..12, t: 3..12}}
inputs: {{n: "{spec}"}}
outputs: {{n: "{spec.split(" by ")[0]}"}}
cases: [{{name: many, draws: 30}}]
points: {{shape: 1, numeric: 1}}
"""
    plan = plan_of(course_of(folder, target, "def same(n):\n    return n\n"))
    keys = [call.inputs[0] for call in plan.calls if call.case.startswith("many")]
    return [plan.tensors[key.tensor] for key in keys if isinstance(key, TensorKey)]


def test_case_without_an_optional_input_leaves_it_out(tmp_path: Path) -> None:
    plan = plan_of(course_of(tmp_path, TARGET, RIGHT))
    assert len(plan.call(CallId("masked_sum", "no-mask-1", Action.FORWARD)).inputs) == 1


def test_case_gives_values_and_other_shapes(tmp_path: Path) -> None:
    plan = plan_of(course_of(tmp_path, TARGET, RIGHT))
    assert given(plan, "small").tolist() == [[True, False, True], [False, False, False]]
    assert given(plan, "a-mask-for-all").shape == (1, plan.first_case("masked_sum").dims["t"]) or (
        given(plan, "a-mask-for-all").shape[0] == 1
    )


@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        ("mask=None", "mask", "no mask"),
        ("torch.where(mask, x, 0)", "(x * mask[0])", "small"),
        ("torch.where(mask, x, 0)", "(x * (mask | ~mask.any(-1, keepdim=True)))", "small"),
        ("torch.where(mask, x, 0)", "(x * mask.expand(len(x), -1).contiguous().T.T)", ""),
    ],
    ids=["required", "first mask for all", "nothing true", "right"],
)
def test_own_inputs_tell_mistakes(tmp_path: Path, old: str, new: str, failing: str) -> None:
    found = judged(course_of(tmp_path, TARGET, RIGHT), RIGHT.replace(old, new))
    numeric = found["masked_sum/numeric"]
    assert (numeric.case.name if numeric.case and numeric.status is Status.FAILED else "") == (
        failing
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("mask: null", "mas: null", 19, "cases[0].inputs.mas: is no input of the target; did you"),
        ("mask: null", "mask: {}", 19, "cases[0].inputs.mask"),
        ('mask: "bool[1, t]', 'mask: "bool[1, q]', 20, "reads the dim 'q', not declared"),
        ("[false, false, false]", "[false]", 21, "inside a list should all have the same length"),
        ("[false, false, false]", "[false, 0, 1]", 21, "numbers, or true and false, and nothing"),
        (
            "[[true, false, true], [false, false, false]]",
            "[[1, 0, 1], [0, 0, 0]]",
            21,
            "the values should be those of a tensor of bools",
        ),
        ("inputs: {mask: null}", "values: {mask: {scale: 2}}", 19, "is neither scaled nor shifted"),
        (
            "mask: null}",
            "mask: null}, outputs: {totl: 'float[b]'}",
            19,
            "is no output of the target",
        ),
        ("mask: null}", "mask: null}, outputs: {total: 'bool[b]'}", 19, "should be of floats, as"),
        ("mask: null}", "mask: null}, outputs: {total: 'float[q]'}", 19, "reads the dim 'q', not"),
        ("by lengths", "by sorted", 16, "'sorted' draws float and int tensors only"),
        ('total: "float[b]"', 'total: "float[b] by sorted"', 17, "is not drawn, so it has no rule"),
    ],
)
def test_bad_declaration_is_one_line(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    assert old in TARGET
    with pytest.raises(CourseError) as caught:
        course_of(tmp_path, TARGET.replace(old, new), RIGHT)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'course.yml'}:{line}: exercises[0].targets[0].")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("by lengths", "by lenghts", "no rule 'lenghts', neither of grader's nor in solutions"),
        (
            "{name: no mask",
            "{name: no mask, outputs: {total: 'float[1]'}",
            "`total` has the shape (2,); course.yml declares (1,)",
        ),
        ("dims: {b: 2, t: 3}, ", "", "a case gives values of the shape (2, 3)"),
        ("bool[1, t] by some_true", "bool[t] by causal", "the rule 'causal' needs two axes"),
    ],
)
def test_bad_drawing_is_refused_as_the_key_is_built(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(CourseError, match=r"exercise1\.masked_sum: |on masked_sum/") as caught:
        plan_of(course_of(tmp_path, TARGET.replace(old, new), RIGHT))
    assert said in str(caught.value)


def test_causal_mask_is_true_up_to_each_place(tmp_path: Path) -> None:
    for mask in drawn(tmp_path, "bool[b, t, t] by causal"):
        assert (mask == np.tri(mask.shape[-1], dtype=bool)).all()


def test_lengths_begin_each_row_with_what_is_true(tmp_path: Path) -> None:
    for mask in drawn(tmp_path, "bool[b, 1, t] by lengths"):
        lengths = mask.sum(-1).ravel()
        assert (np.sort(mask, -1)[..., ::-1] == mask).all()
        assert 1 <= lengths.min() < lengths.max() == mask.shape[-1]


def test_some_true_has_true_and_false_in_each_row(tmp_path: Path) -> None:
    for mask in drawn(tmp_path, "bool[b, s, t] by some_true"):
        assert mask.any(-1).all()
        assert not mask.all(-1).any()


def test_some_rows_false_has_rows_of_either_sort(tmp_path: Path) -> None:
    for mask in drawn(tmp_path, "bool[b, s, t] by some_rows_false"):
        assert {True, False} == set(mask.any(-1).ravel().tolist())


def test_sorted_and_distinct_numbers_are(tmp_path: Path) -> None:
    for numbers in drawn(tmp_path, "int16[b, t] < 2*t by distinct"):
        assert all(len(set(row)) == len(row) for row in numbers.tolist())
        assert numbers.dtype.name == "int16"
        assert 0 <= numbers.min() <= numbers.max() < 2 * numbers.shape[1]
    for numbers in drawn(tmp_path, "float[b, t] by sorted"):
        assert (np.diff(numbers, axis=-1) > 0).all()


def test_plain_mask_has_true_and_false(tmp_path: Path) -> None:
    share = np.mean([mask.mean() for mask in drawn(tmp_path, "bool[b, t]")])
    assert 0.4 < share < 0.6


OWN = """
import numpy

def ends(shape, dims, generator):
    mask = numpy.zeros(shape, dtype=bool)
    mask[:, [0, dims["t"] - 1]] = True
    return mask
"""


def with_rules(folder: Path, text: str) -> CourseFolder:
    """Make the course with its masks drawn by a rule of its own."""
    course = course_of(folder, TARGET.replace("by lengths", "by ends"), RIGHT)
    (course.solutions / "drawing.py").write_text(text, encoding="utf-8")
    return course


def test_rule_of_the_course_draws(tmp_path: Path) -> None:
    mask = given(plan_of(with_rules(tmp_path, OWN)), "main")
    assert mask[:, [0, -1]].all()
    assert not mask[:, 1:-1].any()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return mask", "return mask[0]", "draws the shape"),
        ("return mask", "return mask * 1.0", "draws float64, bool is declared"),
        ("return mask", "return None", "draws the shape ()"),
        ("return mask", "raise KeyError('q')", "the rule 'ends' of the course raises KeyError"),
        ("def ends", "def end", "there is no rule 'ends'"),
        ("def ends", "def _ends", "there is no rule 'ends'"),
        ("def ends", "def ends(", "drawing.py: SyntaxError"),
        ("def ends", "1 / 0\ndef ends", "drawing.py: ZeroDivisionError: division by zero (line 4)"),
        ("import numpy\n", "import numpy\ndef causal(): ...\n", "'causal' is a rule of grader's"),
    ],
)
def test_bad_rule_of_the_course_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(CourseError) as caught:
        plan_of(with_rules(tmp_path, OWN.replace(old, new)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
