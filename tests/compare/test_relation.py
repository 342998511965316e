"""What no known mistake explains is told by its relation to what is due, where it has one."""

import re

import pytest
from support import GradeText, solution

RELATIONS = [
    ("output.mean(-1, keepdim=True).expand_as(output)", "the same at each place along `w`"),
    ("output[:1].expand_as(output)", "the same at each place along `b`"),
    ("output.round(decimals=3)", "what is due, rounded to 3 decimal places"),
    ("output.clamp(min=-0.3)", "what is due with no number below -0.3"),
    (
        "output.clamp(-0.3, 0.4)",
        "what is due with no number below -0.3 and none above 0.4",
    ),
    ("output / key.shape[1]", "what is due, divided by `s`"),
    ("output * value.shape[-1] ** 0.5", "what is due, times the square root of `w`"),
    ("-output", "what is due with the opposite sign"),
    ("output * 1.25", "what is due, times 1.25"),
    ("output / output.abs().max()", "what is due times a number, another one in each case"),
    ("output + 0.75", "what is due plus 0.75 at each place"),
    ("output.flip(-1)", "what is due, in reverse along `w`"),
    ("output.roll(1, 1)", "what is due, moved by one place along `q`"),
    (
        "output * (torch.arange(output.shape[1]) > 0)[:, None]",
        "right but for the first place along `q`",
    ),
    (
        "output * (torch.arange(output.shape[2]) % 2 == 0)",
        "right at even places, counted from 0, and wrong at odd ones along `w`",
    ),
    (
        "output / (1 + output.abs().sum(-1, keepdim=True))",
        "what is due, but for a number that all along `w` are multiplied with",
    ),
    (
        "output.flatten(1)[:, torch.randperm(output[0].numel(), "
        "generator=torch.Generator().manual_seed(1))].view(output.shape)",
        "made of the right numbers, but they stand at other places",
    ),
]


@pytest.mark.parametrize(("returned", "told"), RELATIONS, ids=[one for one, _ in RELATIONS])
def test_relation_to_what_is_due_is_told(grade_text: GradeText, returned: str, told: str) -> None:
    said = _said(grade_text, returned)
    assert said.endswith(f"case where it is wrong, the output is {told}.")


def test_a_constant_is_told_beside_options_that_it_does_not_hear(grade_text: GradeText) -> None:
    said = _said(grade_text, "torch.zeros_like(output)")
    assert "case where it is wrong, the output is 0 at each place. A deviation: `scale" in said


@pytest.mark.parametrize("returned", ["output ** 2", "output + 0.3 * query.mean()", "output.exp()"])
def test_what_has_no_relation_is_told_none(grade_text: GradeText, returned: str) -> None:
    assert "where it is wrong" not in _said(grade_text, returned)


@pytest.mark.parametrize(
    ("exercise", "returned", "told"),
    [
        ("exercise1", "x.clone()", "`x` as it came in"),
        ("exercise1", "output - x", "what is due minus `x`"),
        ("exercise6", "output + x", "what is due plus `x`"),
    ],
)
def test_relation_to_an_input_is_told(
    grade_text: GradeText, exercise: str, returned: str, told: str
) -> None:
    text = re.sub(r"( +)return output\n", rf"\1return {returned}\n", solution(exercise), count=1)
    (found,) = grade_text({exercise: text}).diagnoses
    assert f"where it is wrong, the output is {told}." in found.sentence


def _said(grade_text: GradeText, returned: str) -> str:
    """What is said of attention that returns something else."""
    right = solution("exercise1")
    head, _, tail = right.rpartition("    return output\n")
    found = grade_text({"exercise1": f"{head}    return {returned}\n{tail}"}).diagnoses
    (own,) = [one for one in found if one.target == "scaled_dot_product_attention"]
    return own.sentence
