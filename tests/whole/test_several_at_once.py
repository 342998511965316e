"""Several mistakes and deviations at once, as people write them: each is told, and nothing else."""

from pathlib import Path

import pytest
from support import Grade, GradeText, all_told, edited, find_check, grade_edited, solution

from grader.records.results import Status
from grader.report.words import paragraphs

_HEADS = "MultiHeadSelfAttention"
_DECODER = solution("exercise9")
# as in much code: own names, biases whether or not they are asked for, and no option
_MODULE = """
import math
import torch
from torch import nn


def fold_heads(x, num_heads):
    b, t, width = x.shape
    split = x.view(b, t, num_heads, width // num_heads)
    return split.transpose(1, 2).reshape(b * num_heads, t, -1)


def unfold_heads(x, num_heads):
    rows, t, d = x.shape
    split = x.view(rows // num_heads, num_heads, t, d)
    return split.transpose(1, 2).reshape(-1, t, num_heads * d)


class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.query = nn.Linear(embed_dim, embed_dim)
        self.key = nn.Linear(embed_dim, embed_dim)
        self.value = nn.Linear(embed_dim, embed_dim)
        self.proj = nn.Linear(embed_dim, embed_dim)
        self.heads = num_heads

    def forward(self, x):
        q, k, v = (
            fold_heads(layer(x), self.heads) for layer in (self.query, self.key, self.value)
        )
        att = (q @ k.transpose(-2, -1)) / math.sqrt(q.size(-1))
        att = torch.softmax(att, dim=-1)
        return self.proj(unfold_heads(att @ v, self.heads))
"""


def test_mistake_is_named_beside_biases_and_options_that_are_no_argument(
    grade_text: GradeText,
) -> None:
    """Cases that cannot be built for an option are left aside, biases or none."""
    text = edited(_MODULE, ("(q @ k.transpose(-2, -1))", "(k @ q.transpose(-2, -1))"))
    (found,) = grade_text({"exercise3": text}).diagnoses
    assert found.evidence.startswith("But for the deviations, your output equals")
    assert "keys and queries change places" in found.evidence
    told = " ".join(found.deviations)
    assert all(f"`{name}` is no argument" in told for name in ("bias", "head_dim"))
    assert "biases although bias=False" in told


def test_samples_that_are_mixed_are_no_dropout(grade_text: GradeText) -> None:
    text = edited(
        _MODULE,
        (
            "split = x.view(rows // num_heads, num_heads, t, d)",
            "split = x.view(num_heads, -1, t, d)",
        ),
        ("split.transpose(1, 2).reshape(-1, t,", "split.permute(1, 2, 0, 3).reshape(-1, t,"),
    )
    assert "dropout" not in all_told(grade_text({"exercise3": text}), _HEADS)


def test_scale_of_one_value_is_named_once(grade_text: GradeText) -> None:
    """Where head_dim is not heard, the width of all heads is embed_dim."""
    text = edited(_MODULE, ("math.sqrt(q.size(-1))", "math.sqrt(x.size(-1))"))
    said = all_told(grade_text({"exercise3": text}), _HEADS)
    assert "the scale comes from embed_dim" in said
    assert "; or " not in said


def test_hints_of_a_step_are_not_those_of_deviations(grade_text: GradeText) -> None:
    text = edited(_MODULE, ("att @ v", "(att + 0.1 * att * att.cos()) @ v"))
    result = grade_text({"exercise3": text})
    told = next(one for one in paragraphs(result) if one.diagnoses)
    steps = [told.step_of(remark) for one in told.diagnoses for remark in one.remarks]
    assert any(one.deviations for one in told.diagnoses)
    assert not any("grade hint" in step for step in steps)


def test_layer_made_in_forward_is_told_by_its_line(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise3"),
        ("        self.unify_heads = nn.Linear(num_heads * size, embed_dim)\n", ""),
        (
            "self.unify_heads(unfolded)",
            "nn.Linear(unfolded.size(2), x.size(2), dtype=x.dtype)(unfolded)",
        ),
    )
    result = grade_text({"exercise3": text})
    assert not all_told(result, _HEADS)
    shape = next(c for c in result.checks if c.target == _HEADS and c.failed)
    assert "makes new weights in each call" in shape.next_step, shape
    assert "make it in `__init__`" in shape.next_step


def test_one_layer_beside_a_fused_one_is_no_guess_where_values_are_right(
    grade_text: GradeText,
) -> None:
    text = edited(
        _MODULE,
        (
            """        self.query = nn.Linear(embed_dim, embed_dim)
        self.key = nn.Linear(embed_dim, embed_dim)
        self.value = nn.Linear(embed_dim, embed_dim)
""",
            "        self.c_attn = nn.Linear(embed_dim, 3 * embed_dim, bias=False)\n",
        ),
        ("self.proj = ", "self.c_proj = "),
        ("self.proj(", "self.c_proj("),
        (
            "layer(x), self.heads) for layer in (self.query, self.key, self.value)",
            "part, self.heads) for part in self.c_attn(x).chunk(3, dim=-1)",
        ),
    )
    result = grade_text({"exercise3": text})
    assert not any("do not tell which layer" in note for note in result.notes)


def test_given_scale_that_divides_is_named(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise1"),
        ("factor = 1.0 / math.sqrt(query.size(2)) if", "factor = math.sqrt(query.size(2)) if"),
        ("scores = products * factor", "scores = products / factor"),
    )
    said = all_told(grade_text({"exercise1": text}), "attention_weights")
    assert "the scores are divided by a given scale" in said


def test_epsilon_of_the_own_norm_is_not_that_of_a_layer_too(grade_alone: GradeText) -> None:
    """The norm that the layer uses has it already, so no other is meant."""
    text = edited(
        _DECODER,
        ("eps: float = 1e-5", "eps: float = 1e-12"),
        (
            "cross_attention_input = self.norm2(self_attention_sum)",
            "memory = self.norm2(memory)\n"
            "        cross_attention_input = self.norm2(self_attention_sum)",
        ),
    )
    said = all_told(grade_alone({"exercise9": text}), "DecoderLayer")
    assert "epsilon is another number than 1e-5" in said
    assert "; or " not in said


def test_part_of_what_fails_is_put_down_to_what_is_used(grade_alone: GradeText) -> None:
    text = edited(
        _DECODER,
        ("output = self.weight * normed + self.bias", "output = self.weight * normed"),
        (
            "normed = centred / torch.sqrt(variance + self.eps)",
            "normed = centred / (x.std(dim=-1, keepdim=True) + self.eps)",
        ),
    )
    result = grade_alone({"exercise9": text})
    said = all_told(result, "DecoderLayer")
    assert "he same mistake as in `LayerNorm`." in said, said


def test_dropout_that_is_not_there_is_told_beside_wrong_values(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise4"),
        ("output = self.dropout(projected)", "output = projected + x"),
    )
    (found,) = grade_text({"exercise4": text}).diagnoses
    assert "the input is added" in found.evidence or "skip" in found.evidence, found
    assert found.deviations == ("no dropout acts where one is asked for",)


def test_masks_of_another_number_are_named(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise8"),
        ("scores.masked_fill(hidden, -math.inf)", "scores.masked_fill(hidden, -1e4)"),
        ("weights = weights.masked_fill(hidden, 0.0)", "weights = weights * 1.0"),
    )
    said = all_told(grade_text({"exercise8": text}), "masked_attention")
    assert "a finite number stands for minus infinity" in said
    assert "it does not" not in said


@pytest.mark.long  # for the pairs of exercise 11
def test_places_without_a_number_hide_no_second_mistake(grade: Grade, tmp_path: Path) -> None:
    """A first position that sees nothing is NaN, which is at no distance from anything."""
    result = grade_edited(
        grade,
        tmp_path,
        "exercise11",
        ("visible = places <= places[-t:, None]", "visible = places < places[-t:, None]"),
        (" / d**0.5", ""),
    )
    (found,) = result.diagnoses
    assert set(found.bugs) == {"diagonal-hidden", "missing-scale"}


@pytest.mark.long  # for the pairs of exercise 11
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            (("places <= places[-t:, None]", "places <= places[:t, None]"), ("d**0.5", "k**0.5")),
            {"places-start-anew", "scale-by-embed-dim"},
        ),
        (
            (
                ("torch.cat([cache[1], values], dim=2)", "torch.cat([values, cache[1]], dim=2)"),
                (
                    "visible = places <= places[-t:, None]",
                    "visible = (places <= places[-t:, None]) | (cache is not None)",
                ),
            ),
            {"newest-first", "mask-only-at-first"},
        ),
    ],
    ids=["a scale and a mask", "an order and a mask"],
)
def test_pieces_show_two_mistakes_beside_biases(
    grade: Grade,
    tmp_path: Path,
    changes: tuple[tuple[str, str], ...],
    named: set[str],
    *,
    biased: bool,
) -> None:
    """What only later pieces show is told though all at once is wrong, or right."""
    biases = [
        (
            f"self.to_{part} = nn.Linear(embed_dim, embed_dim, bias=False)",
            f"self.to_{part} = nn.Linear(embed_dim, embed_dim)",
        )
        for part in ("queries", "keys", "values")
    ]
    result = grade_edited(grade, tmp_path, "exercise11", *changes, *(biases if biased else ()))
    (found,) = result.diagnoses
    assert set(found.bugs) == named
    assert bool(found.deviations) == biased


@pytest.mark.long  # for the pairs of exercise 3
def test_mistakes_of_the_count_are_not_called_unknown_where_the_values_that_came_are_right(
    grade: Grade, tmp_path: Path
) -> None:
    """With one head the mean of the heads is that head; in other cases a layer does not fit."""
    result = grade_edited(
        grade,
        tmp_path,
        "exercise3",
        ("head_dim is None and embed_dim % num_heads != 0", "embed_dim % num_heads != 0"),
        (
            "size = embed_dim // num_heads if head_dim is None else head_dim",
            "size = embed_dim // num_heads",
        ),
        ("nn.Linear(num_heads * size, embed_dim)", "nn.Linear(size, embed_dim)"),
        (
            "unfolded = unfold_heads(attended, self.num_heads)",
            "unfolded = attended.unflatten(0, (len(x), self.num_heads)).mean(1)",
        ),
    )
    told = all_told(result, _HEADS)
    assert told.startswith("In every case that can be compared your module has as many numbers")
    assert "the heads are averaged and not concatenated, and head_dim is ignored" in told


@pytest.mark.long  # for the pairs of exercise 3
def test_two_mistakes_are_named_beside_biases_that_nobody_asked_for(
    grade: Grade, tmp_path: Path
) -> None:
    result = grade_edited(
        grade,
        tmp_path,
        "exercise3",
        *(
            (
                f"self.to_{part} = nn.Linear(embed_dim, num_heads * size, bias=bias)",
                f"self.to_{part} = nn.Linear(embed_dim, num_heads * size)",
            )
            for part in ("queries", "keys", "values")
        ),
        ("keys = self.to_keys(x)", "keys = self.to_queries(x)"),
        (
            "unfolded = unfold_heads(attended, self.num_heads)",
            "unfolded = attended.reshape(x.size(0), x.size(1), -1)",
        ),
    )
    (found,) = result.diagnoses
    assert set(found.bugs) == {"keys-from-queries", "unfold-without-transpose"}
    assert len(found.deviations) == 1


@pytest.mark.long  # for the pairs of exercise 10
def test_of_pairs_with_the_same_values_the_count_of_parameters_tells(
    grade: Grade, tmp_path: Path
) -> None:
    """A table that is detached is no second table, which would be counted."""
    result = grade_edited(
        grade,
        tmp_path,
        "exercise10",
        ("hidden = self.norm(decoded)", "hidden = decoded"),
        ("self.token_embedding.weight.T", "self.token_embedding.weight.data.T"),
    )
    said = all_told(result, "LanguageModel")
    assert "the last norm is missing, and the table is detached" in said
    assert "another parameter" not in said


_ONE = ("for _ in range(depth)]", "for _ in range(1)]")
_REVERSED = (
    "mask = causal_mask(x.size(1), device=x.device)",
    "mask = causal_mask(x.size(1), device=x.device).T",
)
_NO_DROPOUT = ("Block(embed_dim, num_heads, dropout)", "Block(embed_dim, num_heads, 0.0)")
_POST = (
    (
        "x = x + self.drop(self.attention(self.norm1(x), mask))",
        "x = self.norm1(x + self.drop(self.attention(x, mask)))",
    ),
    (
        "return x + self.drop(self.feed_forward(self.norm2(x)))",
        "return self.norm2(x + self.drop(self.feed_forward(x)))",
    ),
)
_SCALED = ("token_vectors + position", "token_vectors * token_vectors.size(2) ** 0.5 + position")


@pytest.mark.long  # for the pairs of exercise 10
@pytest.mark.parametrize(
    ("changes", "named", "beside"),
    [
        ((_ONE, _REVERSED), {"depth-ignored", "mask-reversed"}, ()),
        ((_SCALED, *_POST), {"post-norm"}, ()),  # beside a right model: the other is told there
        (
            (_REVERSED, _NO_DROPOUT),
            {"mask-reversed"},
            ("no dropout acts where one is asked for, in the case 'dropout 0.5'",),
        ),
    ],
)
def test_of_what_a_factory_builds_two_mistakes_are_told(
    grade: Grade,
    tmp_path: Path,
    changes: tuple[tuple[str, str], ...],
    named: set[str],
    beside: tuple[str, ...],
) -> None:
    """Its values can be compared where it is made of correct parts, in some cases alone."""
    result = grade_edited(grade, tmp_path, "exercise10", *changes)
    (found,) = (one for one in result.diagnoses if one.target == "build_language_model")
    assert set(found.bugs) == named
    assert found.deviations == beside


@pytest.mark.long  # for the pairs of exercise 7
def test_what_fits_one_of_two_pairs_is_told_as_either(grade: Grade, tmp_path: Path) -> None:
    """One layer has as many parameters as one that is used again and again, of any width."""
    result = grade_edited(
        grade,
        tmp_path,
        "exercise7",
        (
            "FeedForward(embed_dim, dropout=dropout)",
            "FeedForward(embed_dim, hidden_dim=embed_dim, dropout=dropout)",
        ),
        ("for _ in range(depth)", "for _ in range(1)"),
    )
    said = all_told(result, "build_classifier")
    assert "; or when the hidden width is embed_dim" in said


@pytest.mark.long  # for the pairs of exercise 1
def test_two_mistakes_of_what_is_used_are_all_there_is(
    grade_file_alone: Grade, tmp_path: Path
) -> None:
    result = grade_edited(
        grade_file_alone,
        tmp_path,
        "exercise1",
        ("scores = products * factor", "scores = products"),
        ("torch.softmax(scores, dim=-1)  # (b, q, s)", "torch.softmax(scores, dim=1)"),
    )
    said = all_told(result, "scaled_dot_product_attention")
    assert said == "The same mistakes as in `attention_weights`."


def test_keys_of_queries_that_are_divided_already_are_one_mistake(grade_text: GradeText) -> None:
    """As in public code, whose second line divides what the first one has divided."""
    text = edited(
        solution("exercise3"),
        (
            "folded_keys = fold_heads(keys, self.num_heads)",
            "folded_queries = folded_queries / folded_queries.size(-1) ** 0.25\n"
            "        folded_keys = folded_queries / folded_queries.size(-1) ** 0.25",
        ),
        (
            "scaled_dot_product_attention(folded_queries, folded_keys, folded_values)",
            "scaled_dot_product_attention(folded_queries, folded_keys, folded_values, scale=1.0)",
        ),
    )
    found = [d for d in grade_text({"exercise3": text}).diagnoses if d.target == _HEADS]
    assert [one.bugs for one in found] == [("keys-from-queries",)]


def test_a_name_that_was_given_another_value_is_told(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise3"),
        (
            "folded_keys = fold_heads(keys, self.num_heads)",
            "x = folded_keys = fold_heads(keys, self.num_heads)\n"
            "        values = self.to_values(x)",
        ),
    )
    result = grade_text({"exercise3": text})
    steps = [check.next_step for check in result.checks if check.target == _HEADS]
    assert any("gives `x` another value" in step for step in steps)


def test_another_epsilon_keeps_the_gradients_that_are_near(grade_text: GradeText) -> None:
    text = solution("exercise5").replace("nn.LayerNorm(embed_dim)", "nn.LayerNorm(embed_dim, 1e-6)")
    result = grade_text({"exercise5": text})
    assert result.diagnoses
    assert find_check(result, "EncoderLayer/gradient").status is Status.PASSED


def test_line_that_ends_a_case_is_told_beside_a_named_mistake(grade_text: GradeText) -> None:
    """A warm-up that lasts a step too long divides by zero where there is none."""
    text = edited(solution("exercise12"), ("if step < warmup:", "if step <= warmup:"))
    result = grade_text({"exercise12": text})
    assert result.diagnoses[0].bugs
    (part,) = (one for one in paragraphs(result) if one.group.name == "learning_rate")
    assert any("ZeroDivisionError" in check.message for check in part.failures)


@pytest.mark.long  # for the pairs of exercise 5
def test_mistake_of_one_branch_is_told_beside_one_of_all(grade: Grade, tmp_path: Path) -> None:
    """The skip is missing in post-norm alone, and another epsilon acts in pre-norm, too."""
    result = grade_edited(
        grade,
        tmp_path,
        "exercise5",
        *(
            (
                f"self.norm{i} = nn.LayerNorm(embed_dim)",
                f"self.norm{i} = nn.LayerNorm(embed_dim, eps=1e-6)",
            )
            for i in (1, 2)
        ),
        (
            "feed_forward_sum = attention_output + self.dropout(transformed)",
            "feed_forward_sum = self.dropout(transformed)\n"
            "        if self.norm_first:\n"
            "            feed_forward_sum = attention_output + feed_forward_sum",
        ),
    )
    (found,) = result.diagnoses
    assert set(found.bugs) == {"residual-missing-feed-forward", "norm-eps"}
    assert "In the other one, of `numeric/norm_first`, it equals what comes out" in found.evidence


_WRITTEN = "tokens = torch.cat([tokens, drawn], dim=1)"


@pytest.mark.parametrize(
    ("exercise", "target", "change"),
    [
        ("exercise11", "generate", (_WRITTEN, _WRITTEN.replace("drawn", "0 * drawn"))),
        (
            "exercise12",
            "learning_rate",
            ("if step < warmup:", "return peak\n    if step < warmup:"),
        ),
    ],
)
def test_what_tells_nothing_is_given_no_name(
    grade_text: GradeText, exercise: str, target: str, change: tuple[str, str]
) -> None:
    """Zeros behind a prompt, and a number that was given, come of many mistakes."""
    result = grade_text({exercise: edited(solution(exercise), change)})
    assert find_check(result, f"{target}/numeric").status is Status.FAILED
    assert not [one.bugs for one in result.diagnoses if one.target == target and one.bugs]


def test_draws_tell_a_temperature_of_zero_from_one_that_is_not_heard(
    grade_text: GradeText,
) -> None:
    given = "temperature=temperature, top_k=top_k)"
    for heard in (True, False):
        new = "temperature=temperature or 1.0, top_k=top_k)" if heard else "top_k=top_k)"
        text = edited(
            solution("exercise11"), (f"{given}\n            drawn", f"{new}\n            drawn")
        )
        result = grade_text({"exercise11": text})
        draws = find_check(result, "generate/property/samples-of-few").status
        assert (draws is Status.PASSED) == heard
        assert ("is not handed on" in all_told(result, "generate")) != heard


@pytest.mark.long  # for the pairs of exercise 10
def test_own_parameter_without_a_gradient_is_not_put_down_to_a_part(
    grade: Grade, tmp_path: Path
) -> None:
    result = grade_edited(
        grade,
        tmp_path,
        "exercise10",
        ("hidden = self.norm(decoded)", "hidden = decoded"),
        ("self.attention(self.norm1(x), mask)", "self.attention(x, mask)"),
    )
    check = find_check(result, "build_language_model/property/trained")
    assert "norm1.weight" in check.message
    assert "LanguageModel" not in check.next_step


def test_deviation_beside_wrong_values_has_a_next_step(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise4"),
        ("output = self.dropout(projected)", "output = projected * 2"),
    )
    result = grade_text({"exercise4": text})
    (found,) = result.diagnoses
    (part,) = paragraphs(result)
    assert "no dropout acts where one is asked for" in found.deviations
    assert any("rate that is given" in part.step_of(remark) for remark in found.remarks)


def test_of_what_draws_show_alike_the_mistake_of_the_part_is_told(grade_alone: GradeText) -> None:
    text = edited(solution("exercise11"), ("logits / temperature", "logits * temperature"))
    found = [d for d in grade_alone({"exercise11": text}).diagnoses if d.target == "generate"]
    assert [one.bugs for one in found] == [("temperature-multiplied",)]
