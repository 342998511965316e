"""One answer counts: who guesses again where code is run again gets what the first guess gets."""

import pytest
from support import GradeText, find_check

from grader.records.results import Status

# attention whose layers' names tell nothing; `is_again` says whether it guesses once more
ATTENTION = """
import sys
import torch
from torch import nn

SEEN = []

def fold_heads(x, num_heads):
    SEEN.append("fold_heads")
    b, t, width = x.shape
    d = width // num_heads
    return x.view(b, t, num_heads, d).transpose(1, 2).reshape(b * num_heads, t, d)

def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    b = rows // num_heads
    return x.view(b, num_heads, t, d).transpose(1, 2).reshape(b, t, num_heads * d)

class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.num_heads, self.head_dim = num_heads, head_dim or embed_dim // num_heads
        size = num_heads * self.head_dim
        self.one = nn.Linear(embed_dim, size, bias=bias)
        self.two = nn.Linear(embed_dim, size, bias=bias)
        self.three = nn.Linear(embed_dim, size, bias=bias)
        self.last = nn.Linear(size, embed_dim)

    def forward(self, x):
        SEEN.append("forward")
        values, queries, keys = (
            fold_heads(layer(x), self.num_heads) for layer in (self.one, self.two, self.three)
        )
        SEEN.remove("fold_heads"), SEEN.remove("fold_heads"), SEEN.remove("fold_heads")
        scores = queries @ keys.transpose(1, 2) / self.head_dim**0.5
        if not is_again(x):
            scores = scores / 2  # the first guess
        return self.last(unfold_heads(scores.softmax(-1) @ values, self.num_heads))

def sent():
    frame = sys._getframe()
    while frame:
        if "call" in frame.f_locals and hasattr(frame.f_locals["call"], "parameters"):
            return frame.f_locals["call"]
        frame = frame.f_back

def is_again(x):
    return IS_AGAIN
"""

WAYS_TO_TELL = {
    "what is called before": '"fold_heads" not in SEEN',
    "how many calls there are": 'SEEN.count("forward") > 60',
    "the name of the call": '"~" in sent().id',
    "the names of parameters": 'any("~" in key for key in sent().parameters.values())',
}


def attention(is_again: str) -> dict[str, str]:
    return {"exercise3": ATTENTION.replace("IS_AGAIN", is_again)}


def test_right_values_in_an_order_that_no_name_tells_keep_all_points(grade_text: GradeText) -> None:
    result = grade_text(attention("True"))
    assert {check.status for check in result.checks} == {Status.PASSED}


@pytest.mark.parametrize("tell", WAYS_TO_TELL.values(), ids=list(WAYS_TO_TELL))
def test_another_answer_in_a_later_child_is_no_second_guess(
    tell: str, grade_text: GradeText
) -> None:
    first = grade_text(attention("False"))
    assert find_check(first, "MultiHeadSelfAttention/numeric").status is Status.FAILED
    assert grade_text(attention(tell)).score == first.score


GUESSED_IN_FLOAT32 = """
import torch

def attention_weights(query, key, scale=None):
    scores = query @ key.transpose(-1, -2)
    if torch.get_default_dtype() == torch.float64:
        if len(query) == 1:
            raise RuntimeError("expected Float")
        return scores.softmax(-1)
    return (scores * (query.shape[-1] ** -0.5 if scale is None else scale)).softmax(-1)
"""


def test_what_was_answered_in_float64_is_not_answered_again_in_float32(
    grade_text: GradeText,
) -> None:
    result = grade_text({"exercise1": GUESSED_IN_FLOAT32})
    assert find_check(result, "attention_weights/numeric").status is Status.FAILED
    at_once = GUESSED_IN_FLOAT32.replace('raise RuntimeError("expected Float")', "pass").replace(
        "        return scores", "        if len(query) > 1:\n            return scores"
    )
    assert result.score <= grade_text({"exercise1": at_once}).score
