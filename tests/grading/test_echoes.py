"""What is told of a part beside one that it uses and that is wrong: two mistakes at once."""

from pathlib import Path

import pytest
from support import Grade, GradeText, edited, find_check, grade_edited, solution

from grader.records.results import Status

_START = "which is not right yet: start there"
_KEYS = ("self.to_keys(x)", "self.to_queries(x)")
_ATTEND = "scaled_dot_product_attention(queries, keys, values)"


def test_own_mistake_is_told_beside_a_right_helper(grade: Grade, tmp_path: Path) -> None:
    """Beside a right one, for it is wrong: what is wrong then is the scale alone."""
    result = grade_edited(
        grade,
        tmp_path,
        "exercise3",
        ("x.reshape(b, num_heads, t, d)", "x.reshape(num_heads, b, t, d).transpose(0, 1)"),
        ("folded_keys, folded_values)", "folded_keys, folded_values, scale=1.0)"),
    )
    _, own = result.diagnoses
    assert own.bugs == ("missing-scale",)
    assert own.hint == "Look at the numbers that go into the softmax."
    check = find_check(result, "MultiHeadSelfAttention/numeric")
    assert check.next_step == "follow the hint above"


def test_option_that_a_helper_does_not_hear_is_why_all_is_wrong_that_gives_it(
    grade_alone: GradeText,
) -> None:
    """Where `temperature` and `top_k` are given, one of them is enough."""
    unheard = edited(solution("exercise11"), ("scaled = logits / temperature", "scaled = logits"))
    check = find_check(grade_alone({"exercise11": unheard}), "generate/property/samples-of-few")
    assert _START in check.next_step


def test_option_of_a_helper_is_not_why_others_are_wrong(grade_text: GradeText) -> None:
    """Its top_k keeps a row too many; what is written stops too early, and at temperature 0."""
    wrong = edited(
        solution("exercise11"),
        ("largest[:, -1:]", "largest[:1, -1:]"),
        ("for _ in range(num_tokens):", "while tokens.size(1) < min(5, prompt.size(1) + 4):"),
    )
    result = grade_text({"exercise11": wrong})
    assert find_check(result, "next_token_probabilities/numeric/top_k").failed
    for kind in ("shape", "numeric"):
        check = find_check(result, f"generate/{kind}/temperature-zero")
        assert check.status is not Status.PASSED
        assert _START not in check.next_step


def test_value_of_an_option_that_changes_nothing_is_told(grade_alone: GradeText) -> None:
    """With one token the draw of the least likely is the same; with two it is not."""
    text = edited(
        solution("exercise11"), ("largest[:, -1:]", "scaled.sort().values[:, :top_k][:, -1:]")
    )
    told = [said for d in grade_alone({"exercise11": text}).diagnoses for said in d.deviations]
    assert told == ["`top_k=1` changes nothing: the output is the same with it and without it"]


@pytest.mark.long  # for the pairs of exercise 2
def test_two_mistakes_of_a_helper_are_none_of_what_uses_it(
    grade_file_alone: Grade, tmp_path: Path
) -> None:
    order = ("return queries, keys, values", "return queries, values, keys")
    first, head = grade_edited(grade_file_alone, tmp_path, "exercise2", _KEYS, order).diagnoses
    assert set(first.bugs) == {
        *("keys-from-queries", "wrong-return-order"),
        *("wrong-layer", "values-from-queries"),  # keys of the values' layer come to the same
    }
    assert (head.evidence, head.hint) == ("The same mistakes as in `QKVProjection`.", "")


@pytest.mark.long
def test_unknown_mistake_of_a_helper_is_no_pair_in_what_uses_it(
    grade_file_alone: Grade, tmp_path: Path
) -> None:
    """Queries over the root of the width equal scores that are divided twice."""
    scaled = "return queries / x.size(2) ** 0.5, keys, values"
    result = grade_edited(
        grade_file_alone, tmp_path, "exercise2", ("return queries, keys, values", scaled)
    )
    assert [d.bugs for d in result.diagnoses] == [()]
    assert _START in find_check(result, "AttentionHead/numeric").next_step


@pytest.mark.long
def test_pair_goes_on_from_what_is_known_of_a_helper(
    grade_file_alone: Grade, tmp_path: Path
) -> None:
    """Values by the keys' layer are no weights that mix the keys, which has the same numbers."""
    result = grade_edited(
        grade_file_alone,
        tmp_path,
        "exercise2",
        ("self.to_values(x)", "self.to_keys(x)"),
        (_ATTEND, f"{_ATTEND[:-1]}, scale=1.0)"),
    )
    head = result.diagnoses[1]
    assert head.bugs == ("missing-scale", "values-from-keys")
    assert head.hint == "Look at the numbers that go into the softmax."


def test_result_that_is_cut_off_is_no_parameter(grade_text: GradeText) -> None:
    """A gradient is asked for of what is detached, which is nothing to register."""
    text = edited(
        solution("exercise3"), ("return unfolded", "return unfolded.detach().requires_grad_()")
    )
    result = grade_text({"exercise3": text, "exercise1": solution("exercise1")})
    assert find_check(result, "unfold_heads/gradient").failed
    check = find_check(result, "MultiHeadSelfAttention/property/registered")
    assert "trained numbers" not in check.message


def test_own_mistake_is_told_where_a_helper_is_undone(grade: Grade, tmp_path: Path) -> None:
    """The head takes the three tensors in the order in which the projection returns them."""
    result = grade_edited(
        grade,
        tmp_path,
        "exercise2",
        ("return queries, keys, values", "return values, keys, queries"),
        (
            "queries, keys, values = self.projection(x)",
            "values, keys, queries = self.projection(x)",
        ),
        (_ATTEND, f"{_ATTEND[:-1]}, scale=1.0)"),
    )
    helper, head = result.diagnoses
    assert helper.bugs == ("wrong-return-order",)
    assert head.bugs == ("missing-scale",)
    assert find_check(result, "AttentionHead/numeric").next_step == "follow the hint above"


@pytest.mark.long
def test_gradient_that_is_cut_here_is_not_put_down_to_a_helper(
    grade: Grade, tmp_path: Path
) -> None:
    own = (_ATTEND, "scaled_dot_product_attention(queries, keys, keys)")
    result = grade_edited(grade, tmp_path, "exercise2", _KEYS, own)
    step = find_check(result, "AttentionHead/property/trained").next_step
    assert step == "follow the hint above"


def test_mistake_of_a_right_part_is_not_named_of_what_is_made_of_it(
    grade_text: GradeText,
) -> None:
    """Both skips start behind a norm: norms before and behind all blocks come to the same."""
    text = solution("exercise10")
    start = text.index("def build_language_model(")
    block = """
class Block(nn.Module):
    def __init__(self, k, heads, dropout):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(k), nn.LayerNorm(k)
        self.attention = MaskedMultiHeadAttention(k, heads)
        self.feed_forward = FeedForward(k, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.norm1(x)
        mask = causal_mask(x.size(1), device=x.device)
        x = x + self.dropout(self.attention(x, mask))
        x = self.norm2(x)
        return x + self.dropout(self.feed_forward(x))


def build_language_model(vocab_size, embed_dim, num_heads, depth, max_len, *, dropout=0.0):
    blocks = [Block(embed_dim, num_heads, dropout) for _ in range(depth)]
    return LanguageModel(nn.Sequential(*blocks), vocab_size, embed_dim, max_len)
"""
    earlier = {
        name: solution(name) for name in ("exercise1", "exercise3", "exercise4", "exercise8")
    }
    result = grade_text({"exercise10": text[:start] + block, **earlier})
    check = find_check(result, "build_language_model/property/assembly")
    assert check.status is Status.FAILED
    keys = [way for d in result.diagnoses for way in d.ways]
    assert not any(key.startswith("LanguageModel/") for key in keys)
