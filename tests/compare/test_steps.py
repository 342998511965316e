"""Steps: what is claimed of them, and where nothing is."""

import numpy as np
import pytest
from support import GradeText, edited, solution

from grader.compare.occurrence import occurs
from grader.compare.steps import StepsFound
from grader.records.results import Diagnosis, ExerciseResult, State, Status

SOURCE = solution("exercise3_multi_head.py")
MIXED = "weights = torch.softmax(scores, dim=1).cumsum(dim=2) / 2"  # two mistakes more


def test_the_step_before_an_open_one_is_not_called_complete() -> None:
    right, wrong = State.RIGHT, State.WRONG
    assert StepsFound({"a": right, "b": wrong, "c": State.OPEN}).complete
    assert not StepsFound({"a": right, "b": State.OPEN, "c": wrong}).complete
    assert StepsFound({"a": right, "b": State.OPEN, "c": wrong}).sentence == "a ✓ c ✗"
    assert not StepsFound({"a": wrong}).complete  # nothing is before it


def test_steps_say_of_which_cases_they_are_known(grade_text: GradeText) -> None:
    """The scores are wrong where an option is given, and right elsewhere: no ✓ speaks of both."""
    text = edited(
        solution("exercise1_attention.py"),
        ("if scale is None else scale", "if scale is None else scale**3 + 0.1"),
        ("return weights\n    ### END", "return weights.cumsum(dim=1) / 2\n    ### END"),
    )
    result = grade_text({"exercise1": text})
    (found,) = (d for d in result.diagnoses if d.target == "attention_weights")
    assert "Step by step, in the usual cases: scores ✓" in found.evidence


def test_softmax_that_is_wrong_by_hand_is_not_called_right(grade_text: GradeText) -> None:
    """At one position every weight is one, whatever the softmax: that proves nothing."""
    by_hand = "(scores / 2).exp() / scores.exp().sum(-1, keepdim=True)"
    text = edited(
        solution("exercise1_attention.py"),
        ("weights = torch.softmax(scores, dim=-1)  # (b, t, t)", f"weights = {by_hand}"),
    )
    (found,) = (d for d in grade_text({"exercise1": text}).diagnoses if not d.bugs)
    assert found.evidence == "No known mistake explains all. Step by step: scores ✓ weights ✗."
    assert found.step == "weights"


@pytest.mark.parametrize("output", ["attended", "unfolded"])
def test_what_is_returned_is_the_last_step(grade_alone: GradeText, output: str) -> None:
    """Every step is made, and another tensor is returned."""
    text = edited(SOURCE, ("return output", f"return output + 0.01 * {output}.mean()"))
    result = grade_alone({"exercise3": text})
    (found,) = (d for d in result.diagnoses if d.target == "MultiHeadSelfAttention")
    assert found.evidence.endswith("unfolded ✓ output ✗.")


def test_a_variable_that_lost_a_steps_values_is_not_called_right(grade_text: GradeText) -> None:
    """The right scores are made on the way; what the variable holds in the end is not them."""
    text = edited(
        solution("exercise1_attention.py"),
        ("scores = x @ x.transpose(1, 2)  #", "scores = x @ x.transpose(1, 2) / 1.5  #"),
    )
    result = grade_text({"exercise1": text})
    told = [d.evidence for d in result.diagnoses if d.target == "self_attention"]
    assert not any("scores ✓" in one for one in told)


def test_columns_in_place_of_rows_are_not_the_steps_values() -> None:
    square = np.arange(18.0).reshape(2, 3, 3)
    assert not occurs(square, [square.transpose(0, 2, 1)])
    assert occurs(square, [square.transpose(0, 2, 1)], turned=True)
    assert occurs(square, [square.transpose(1, 0, 2)])  # the samples stand elsewhere


def test_the_first_of_three_mistakes_is_named_at_its_step(grade_text: GradeText) -> None:
    scores = "scores = x @ x.transpose(1, 2)"
    text = edited(
        solution("exercise1_attention.py"),
        (f"{scores}  #", f"{scores} / math.sqrt(x.size(2))  #"),
        ("weights = torch.softmax(scores, dim=-1)  # (b, t, t)", MIXED),
    )
    result = grade_text({"exercise1": text})
    (found,) = (d for d in result.diagnoses if d.target == "self_attention")
    assert (found.bugs, found.step) == (("self-attention-scaled",), "scores")
    assert found.evidence == (
        "No known mistake explains all. Step by step: scores ✗. "
        "Your `scores` is what comes out when bare self-attention divides its scores."
    )


SCORES = "scores = products * factor  #"


def _of(result: ExerciseResult, target: str) -> Diagnosis:
    (found,) = (d for d in result.diagnoses if d.target == target)
    return found


def test_a_step_that_is_changed_later_is_named_by_what_it_was_first(grade_text: GradeText) -> None:
    """Where no scale is given three mistakes look the same; where one is, one of them fits."""
    source = solution("exercise1_attention.py")
    mask = "scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -1e30)"
    text = edited(
        source,
        ("1.0 / math.sqrt(query.size(2)) if scale is None", "1.0 if scale is None"),
        (SCORES, f"{SCORES}\n    {mask}  #"),
        ("weights = torch.softmax(scores, dim=-1)  # (b, q, s)", "weights = scores.softmax(1) / 2"),
    )
    found = _of(grade_text({"exercise1": text}), "attention_weights")
    assert (found.bugs, found.step) == (("missing-scale",), "scores")
    assert "At first your `scores` is what comes out when" in found.evidence


def test_a_step_that_is_right_is_not_named_for_its_transpose(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise1_attention.py"),
        ("weights = torch.softmax(scores, dim=-1)  # (b, q, s)", "weights = scores * 3"),
    )
    found = _of(grade_text({"exercise1": text}), "attention_weights")
    assert "keys-times-queries" not in found.bugs
    assert "scores ✓ weights ✗" in found.evidence


FUSED = """\
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("num_heads must divide embed_dim")
        self.h, self.d = num_heads, head_dim or embed_dim // num_heads
        self.all = nn.Linear(embed_dim, 3 * self.h * self.d, bias=bias)
        self.out = nn.Linear(self.h * self.d, embed_dim)

    def forward(self, x):
        b, t, _ = x.shape
        parts = self.all(x).reshape(b, t, self.h, 3 * self.d).chunk(3, dim=-1)
        queries, keys, values = (p.reshape(b, t, self.h * self.d) for p in parts)
        keys = queries
        q, k, v = (fold_heads(p, self.h) for p in (queries, keys, values))
        weights = (q @ k.transpose(1, 2) / self.d ** 0.5).softmax(dim=-1)
        return self.out(unfold_heads(weights @ v, self.h)) * 3
"""


def test_rows_are_taken_as_most_steps_come_up(grade_text: GradeText) -> None:
    """Two mistakes in a layer whose rows lie head by head."""
    before = SOURCE[: SOURCE.index("class MultiHeadSelfAttention")]
    found = _of(grade_text({"exercise3": before + FUSED}), "MultiHeadSelfAttention")
    assert found.bugs == ("keys-from-queries",)
    assert "queries ✓ keys ✗. Your `keys` is what comes out when" in found.evidence


NUMBERED = """\
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("num_heads must divide embed_dim")
        self.h, self.d = num_heads, head_dim or embed_dim // num_heads
        self.fc3, self.fc2, self.fc1 = (
            nn.Linear(embed_dim, self.h * self.d, bias=bias) for _ in range(3)
        )
        self.fc4 = nn.Linear(self.h * self.d, embed_dim)

    def forward(self, x):
        queries, keys, values = self.fc1(x), self.fc2(x), self.fc2(x)
        q, k, v = (fold_heads(p, self.h) for p in (queries, keys, values))
        weights = (q @ k.transpose(1, 2) / self.d ** 0.25).softmax(dim=-1)
        return self.fc4(unfold_heads(weights @ v, self.h))
"""


def test_of_ways_that_fit_as_well_the_one_with_more_right_before_is_taken(
    grade_text: GradeText,
) -> None:
    """Layers with numbers for names, of which one serves twice and another is never used."""
    before = SOURCE[: SOURCE.index("class MultiHeadSelfAttention")]
    found = _of(grade_text({"exercise3": before + NUMBERED}), "MultiHeadSelfAttention")
    assert "values-from-keys" in found.bugs
    assert "keys ✗" not in found.evidence


def test_a_mistake_is_named_by_what_the_module_registers(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise7_classifier.py"),
        ("for _ in range(depth)", "for _ in range(depth + 1)"),
        ("torch.log_softmax(logits, dim=1)", "torch.log_softmax(logits / 2, dim=1)"),
        ("FeedForward(embed_dim, dropout", 'FeedForward(embed_dim, activation="gelu", dropout'),
    )
    found = _of(grade_text({"exercise7": text}), "build_classifier")
    assert found.bugs == ("depth-wrong",)


def test_a_case_that_goes_around_the_steps_tells_nothing_of_them(grade_text: GradeText) -> None:
    """Temperature 0 takes another way, and is a group of its own: the steps are those of 0.5."""
    mistake = "scaled = logits / temperature * (1.3 if temperature == 0.5 else 1)"
    text = edited(solution("exercise11_generation.py"), ("scaled = logits / temperature", mistake))
    result = grade_text({"exercise11": text})
    assert [c.id.kind for c in result.checks if c.status is Status.ERROR] == []
    told = [d.evidence for d in result.diagnoses if "Step by step" in d.evidence]
    where = "Step by step, in the case 'half the temperature': probabilities ✗."
    assert told == [f"No known mistake explains all. {where}"]
