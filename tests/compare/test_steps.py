"""Steps: what is claimed of them, and where nothing is."""

import pytest
from support import GradeText, edited, solution

from grader.compare.steps import StepsFound
from grader.records.results import State

SOURCE = solution("exercise3_multi_head.py")


def test_the_step_before_an_open_one_is_not_called_complete() -> None:
    right, wrong = State.RIGHT, State.WRONG
    assert StepsFound({"a": right, "b": wrong, "c": State.OPEN}).complete
    assert not StepsFound({"a": right, "b": State.OPEN, "c": wrong}).complete
    assert StepsFound({"a": right, "b": State.OPEN, "c": wrong}).sentence == "a ✓ c ✗"


def test_softmax_that_is_wrong_by_hand_is_not_called_right(grade_text: GradeText) -> None:
    """At one position every weight is one, whatever the softmax: that proves nothing."""
    by_hand = "(scores / 2).exp() / scores.exp().sum(-1, keepdim=True)"
    text = edited(
        solution("exercise1_attention.py"),
        ("weights = torch.softmax(scores, dim=-1)  # (b, t, t)", f"weights = {by_hand}"),
    )
    (found,) = (d for d in grade_text({"exercise1": text}).diagnoses if not d.bugs)
    assert found.evidence == "No known mistake fits. Step by step: scores ✓ weights ✗."
    assert found.step == "weights"


@pytest.mark.parametrize("output", ["attended", "merged"])
def test_what_is_returned_is_the_last_step(grade_text: GradeText, output: str) -> None:
    """Every step is made, and another tensor is returned."""
    text = edited(SOURCE, ("return output", f"return output + 0.01 * {output}.mean()"))
    result = grade_text({"exercise3": text})
    (found,) = (d for d in result.diagnoses if d.target == "MultiHeadSelfAttention")
    assert found.evidence.endswith("merged ✓ output ✗.")
