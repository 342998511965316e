"""Dropout has to drop each number by itself."""

import pytest
from support import GradeText, edited, find_check, solution

from grader.records.results import Status

_LAYER = "self.dropout = nn.Dropout(dropout)"
_IMPORT = "from torch import Tensor, nn"
_DROPPED = "output = self.dropout(projected)"


@pytest.mark.parametrize("dropout", ["nn.Dropout1d(dropout)", "nn.FeatureAlphaDropout(dropout)"])
@pytest.mark.parametrize(
    ("exercise", "target"), [("exercise4", "FeedForward"), ("exercise5", "EncoderLayer")]
)
def test_dropout_of_whole_rows_fails(
    grade_text: GradeText, exercise: str, target: str, dropout: str
) -> None:
    text = edited(solution(exercise), (_LAYER, f"self.dropout = {dropout}"))
    check = find_check(grade_text({exercise: text}), f"{target}/property/dropout-in-training")
    assert check.status is Status.FAILED


def test_dropout_of_whole_rows_is_told_as_that(grade_text: GradeText) -> None:
    text = edited(solution("exercise4"), (_LAYER, "self.dropout = nn.Dropout1d(dropout)"))
    result = grade_text({"exercise4": text})
    check = find_check(result, "FeedForward/property/dropout-in-training")
    assert check.message == (
        "in training mode numbers that lie side by side along `k` are not dropped independently"
    )
    assert check.next_step == "follow the hint above"
    assert "dropout drops whole rows, columns or samples" in result.diagnoses[0].sentence


def test_mask_of_whole_columns_is_told_as_that(grade_text: GradeText) -> None:
    mask = "output = projected * self.dropout(projected.new_ones(len(projected), 1, x.size(2)))"
    text = edited(solution("exercise4"), ("output = self.dropout(projected)", mask))
    check = find_check(grade_text({"exercise4": text}), "FeedForward/property/dropout-in-training")
    assert check.message == (
        "in training mode numbers that lie side by side along `t` are not dropped independently"
    )


@pytest.mark.parametrize(
    "noise",
    [
        "torch.randn_like(projected)",
        "torch.tensor(numpy.random.randn(*x.shape)).to(x)",
    ],
    ids=["torch", "numpy"],
)
@pytest.mark.parametrize(
    ("kept", "how"),
    [
        ("self.dropout(projected)", "too much"),
        ("projected", "too much in places, and too little in others"),
    ],
    ids=["beside", "alone"],
)
def test_noise_is_not_called_dropout(
    grade_text: GradeText, noise: str, kept: str, how: str
) -> None:
    """Numbers that a module adds in training mode have moments that dropout might have, too."""
    text = edited(
        solution("exercise4"),
        (_IMPORT, f"import numpy\nimport torch\n{_IMPORT}"),
        (_DROPPED, f"noise = 0.1 * self.training * {noise}\n        output = {kept} + noise"),
    )
    result = grade_text({"exercise4": text})
    (found,) = result.diagnoses
    assert not found.bugs
    said = "in training mode numbers are drawn at random, though no dropout was asked for"
    assert found.deviations == (said,)
    check = find_check(result, "FeedForward/property/dropout-in-training")
    assert check.message == f"in training mode what is drawn at random changes the output {how}"


@pytest.mark.parametrize(
    ("rate", "how"), [("dropout / 2", "too little"), ("(1 + dropout) / 2", "too much")]
)
def test_which_way_another_rate_is_off_is_told(grade_text: GradeText, rate: str, how: str) -> None:
    text = edited(solution("exercise4"), ("nn.Dropout(dropout)", f"nn.Dropout({rate})"))
    check = find_check(grade_text({"exercise4": text}), "FeedForward/property/dropout-in-training")
    assert check.message == f"in training mode dropout changes the output {how}"


def test_masks_drawn_by_hand_are_right(grade_text: GradeText) -> None:
    mask = "(torch.rand_like(projected) >= self.dropout.p) / (1 - self.dropout.p)"
    text = edited(
        solution("exercise4"),
        (_IMPORT, f"import torch\n{_IMPORT}"),
        (_DROPPED, f"output = projected * {mask} if self.training else projected"),
    )
    assert grade_text({"exercise4": text}).status is Status.PASSED


def test_dropout_that_never_ends_is_told_where_no_other_value_is_wrong(
    grade_text: GradeText,
) -> None:
    """It stands where no known mistake has it."""
    always = "nn.functional.dropout(self.activation(hidden), self.dropout.p)"
    text = edited(solution("exercise4"), ("self.activation(hidden)", always))
    check = find_check(grade_text({"exercise4": text}), "FeedForward/property/dropout-off-in-eval")
    assert check.message.endswith("two calls with the same input give different outputs")
    assert "training=self.training" in check.next_step
