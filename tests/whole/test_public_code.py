"""Ways in which public code deviates: it keeps its points, and nothing false is said of it."""

import pytest
from support import GradeText, all_told, edited, find_check, solution

from grader.course.models import Exercise
from grader.grading.engine import Engine
from grader.grading.exercise import Run
from grader.grading.trace import trace_target
from grader.handin.read import Source, Submission
from grader.records.results import Status
from grader.report.words import distinct_failures
from grader.student.hints import next_hint

_DROPPED = "output = self.dropout(projected)"
_FEED_FORWARD = """
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, hidden_dim, dropout):
        super().__init__()
        self.linear_1 = nn.Linear(d_model, hidden_dim)
        self.linear_2 = nn.Linear(hidden_dim, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.linear_2(self.dropout(self.linear_1(x).relu()))
"""
_FUSED = """
import torch
from torch import nn


class MaskedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("num_heads does not divide embed_dim")
        self.c_attn = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.c_proj = nn.Linear(embed_dim, embed_dim)
        self.h = num_heads

    def forward(self, x, mask=None):
        b, t, k = x.shape
        q, key, v = (
            part.view(b, t, self.h, -1).transpose(1, 2) for part in self.c_attn(x).split(k, dim=2)
        )
        seen = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        scores = q @ key.transpose(-2, -1) / (k // self.h) ** 0.5
        weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)
        return self.c_proj((weights @ v).transpose(1, 2).reshape(b, t, k))
"""
# with pre-norm norm2 is left out, and else the norms change places
_LAYER = """
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm1, self.norm2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.dropout, self.norm_first = nn.Dropout(dropout), norm_first

    def forward(self, x):
        if self.norm_first:
            x = x + self.dropout(self.attention(self.norm1(x)))
            return x + self.dropout(self.feed_forward(x))
        x = self.norm2(x + self.dropout(self.attention(x)))
        return self.norm1(x + self.dropout(self.feed_forward(x)))
"""

_SCHEDULE = """
def learning_rate(step, warmup, total, peak, floor=0.0):
    step, warmup = step + 1, max(warmup, 1)
    return peak * warmup**0.5 * min(step**-0.5, step * warmup**-1.5)
"""

_INVERTED = """
import torch

def causal_mask(seq_len, *, device=None):
    ones = torch.ones(1, seq_len, seq_len, dtype=torch.bool, device=device)
    return ones.triu(1)
"""

_HALVES = """
import torch
from torch import nn


def sinusoidal_encoding(seq_len, embed_dim):
    half = embed_dim // 2
    rates = 1 / 10000 ** (torch.arange(half)[None, :] / half)
    angles = torch.arange(seq_len)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class LearnedPositionEmbedding(nn.Module):
    def __init__(self, embed_dim, max_len):
        super().__init__()
        self.pos = nn.Parameter(torch.randn(max_len, embed_dim))

    def forward(self, x):
        if x.size(1) > len(self.pos):
            raise ValueError("too long")
        return x + self.pos[-x.size(1) :]
"""
_ONE_MAXIMUM = """
def self_attention(x):
    scores = x @ x.mT
    weights = (scores - scores.max()).exp()
    return weights / weights.sum(-1, keepdim=True) @ x
"""
_SMALL_EPSILON = """
def attention_weights(query, key, *, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    weights = (query @ key.mT * scale).exp()
    return weights / (weights.sum(-1, keepdim=True) + 1e-9)
"""


def _run(engine: Engine, exercise: Exercise, text: str) -> Run:
    """Grade a text with no other exercise beside it."""
    sources = {e.id: Source(e.file, problem="") for e in engine.folder.course.exercises}
    sources[exercise.id] = Source(exercise.file, units=((exercise.file, text),))
    return engine.run(exercise, Submission(sources), quick=True)


def test_arguments_without_a_default_cost_a_line_each(grade_text: GradeText) -> None:
    result = grade_text({"exercise4": _FEED_FORWARD})
    told = all_told(result, "FeedForward")
    assert "`dropout` has no default; 0.0 is asked for" in told
    assert "dropout falls on the hidden layer" in told
    assert result.score >= 0.7 * result.max_score


def test_argument_that_is_none_by_default_is_noted(grade_text: GradeText) -> None:
    given = "*, temperature: float = 1.0, top_k: int | None = None\n"
    text = edited(solution("exercise11"), (given, "temperature: float, top_k: int | None\n"))
    result = grade_text({"exercise11": text})
    said = "`top_k` has no default in your code: None is asked for, and was given"
    assert any(said in note for note in result.notes)
    assert find_check(result, "next_token_probabilities/numeric").status is Status.PASSED


def test_mask_that_has_to_be_given_is_noted(grade_text: GradeText) -> None:
    text = solution("exercise9").replace("memory_mask: Tensor | None = None", "memory_mask")
    result = grade_text({"exercise9": text})
    assert result.score == result.max_score
    for target in ("CrossAttention", "DecoderLayer"):
        assert any(f"`{target}`: `memory_mask` has no default" in note for note in result.notes)


def test_generate_without_a_generator_draws_as_well(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise11"),
        ("    generator: torch.Generator | None = None,\n", ""),
        ("torch.multinomial(chances, 1, generator=generator)", "torch.multinomial(chances, 1)"),
    )
    result = grade_text({"exercise11": text})
    told = all_told(result, "generate")
    assert "`generator` is no argument of `generate`" in told
    assert "behaves like" not in told
    assert find_check(result, "generate/property/samples").status is Status.PASSED


def test_right_values_in_an_ordinary_case_settle_the_order_of_fused_rows(
    grade_text: GradeText,
) -> None:
    """Under another order a mask that is not heard would look like exchanged keys and values."""
    result = grade_text({"exercise8": _FUSED})
    assert "change places" not in all_told(result, "MaskedMultiHeadAttention")
    assert any("`to_queries`, `to_keys` and `to_values`" in note for note in result.notes)


def test_dropout_in_evaluation_is_told_beside_wrong_values(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise4"),
        (_DROPPED, "output = x + nn.functional.dropout(projected, self.dropout.p)"),
    )
    (found,) = grade_text({"exercise4": text}).diagnoses
    assert found.bugs == ("residual-inside",)
    assert found.deviations == ("numbers are drawn at random in evaluation mode with dropout 0.9",)


def test_misplaced_dropout_is_named_beside_an_approximated_activation(
    grade_text: GradeText,
) -> None:
    text = edited(
        solution("exercise4"),
        ("else nn.GELU()", 'else nn.GELU(approximate="tanh")'),
        (_DROPPED, "output = projected"),
        (
            "projected = self.contract(activated)",
            "projected = self.contract(self.dropout(activated))",
        ),
    )
    told = all_told(grade_text({"exercise4": text}), "FeedForward")
    assert "GELU is approximated" in told
    assert "Beside that it behaves like code in which dropout falls on the hidden layer" in told


def test_what_a_bug_would_write_to_is_looked_at(grade_text: GradeText) -> None:
    """The input is added to the output, and it is not written to."""
    text = edited(
        solution("exercise4"), (_DROPPED, f"{_DROPPED} + x"), ("size = 4 *", "size = 2 *")
    )
    assert "written to" not in all_told(grade_text({"exercise4": text}), "FeedForward")


def test_each_branch_has_its_mistake(grade_text: GradeText) -> None:
    told = all_told(grade_text({"exercise5": _LAYER}), "EncoderLayer")
    assert "norm1 and norm2 change places" in told
    assert (
        "In the other 3, of `numeric/norm_first`, it equals what comes out when norm2 is left out"
        in told
    )


@pytest.mark.parametrize("dtype", ["double()", "int()"])
def test_mask_of_ones_and_zeros_costs_its_form(grade_text: GradeText, dtype: str) -> None:
    text = edited(
        solution("exercise8"),
        (
            "mask = positions <= positions.unsqueeze(1)",
            f"mask = (positions <= positions[:, None]).{dtype}",
        ),
    )
    result = grade_text({"exercise8": text})
    assert find_check(result, "causal_mask/numeric").status is Status.PASSED
    assert find_check(result, "causal_mask/shape").status is Status.FAILED
    assert "where true and false are asked for" in all_told(result, "causal_mask")


def test_given_part_that_is_not_called_is_not_to_be_removed(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise9"),
        ("self.cross_attention(cross_attention_input, memory, memory_mask)",
         "self.self_attention(cross_attention_input, None)"),
    )  # fmt: skip
    check = find_check(grade_text({"exercise9": text}), "DecoderLayer/property/trained")
    assert check.message == "no gradient reaches `cross_attention`, which is given"


def test_gradient_of_a_module_that_remembers_is_of_a_fresh_one(grade_text: GradeText) -> None:
    """What it keeps in a buffer is no reason to look for a detach."""
    text = edited(
        solution("exercise11"),
        ("        if cache is not None:\n            keys = torch.cat([cache[0], keys], dim=2)",
         '        if not hasattr(self, "kept"):\n'
         '            self.register_buffer("kept", None)\n'
         "        past = self.kept\n        self.kept = keys\n"
         "        if past is not None and cache is None:\n"
         "            keys = keys + 0.1 * past[:, :, :1]\n"
         "        if cache is not None:\n            keys = torch.cat([cache[0], keys], dim=2)"),
    )  # fmt: skip
    result = grade_text({"exercise11": text})
    assert find_check(result, "CachedSelfAttention/gradient").status is Status.PASSED
    assert find_check(result, "CachedSelfAttention/property/reusable").status is Status.FAILED


def test_question_whether_there_is_a_mask_gets_advice_that_fits(grade_text: GradeText) -> None:
    text = edited(solution("exercise8"), ("if mask is None:", "if not mask:"))
    result = grade_text({"exercise8": text})
    steps = {c.next_step for c in result.checks if c.target == "MaskedMultiHeadAttention"}
    assert any("write `mask is None` to ask whether there is one" in step for step in steps)


def test_error_of_one_line_is_told_in_full_once(grade_text: GradeText) -> None:
    line = "seen = memory_mask.unsqueeze(1).repeat_interleave(self.num_heads, dim=0)"
    wrong = line.replace("memory_mask", "(memory_mask if memory_mask.all() else memory_mask & x)")
    result = grade_text({"exercise9": edited(solution("exercise9"), (line, wrong))})
    told = [one for found in result.diagnoses for one in found.deviations]
    assert sum("raised RuntimeError: " in one for one in told) == 1
    shown = [c.message for c in distinct_failures(result.checks) if c.target == "CrossAttention"]
    assert shown == []


def test_line_that_ends_a_part_of_a_group_is_told_by_its_check(grade_text: GradeText) -> None:
    line = "seen = memory_mask.unsqueeze(1).repeat_interleave(self.num_heads, dim=0)"
    wrong = line.replace("memory_mask", "(memory_mask if memory_mask.all() or b == 1 else x[s])")
    text = edited(solution("exercise9"), (line, wrong))
    result = grade_text({"exercise9": text})
    own = [c for c in result.checks if c.target == "CrossAttention"]
    shown = [c.message for c in distinct_failures(own)]
    assert sum("raised IndexError: " in message for message in shown) == 1
    place = text[: text.index(wrong)].count("\n") + 1
    assert f"it ends at line {place}, too" in shown


def test_numbers_of_numpy_cost_their_form(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise12"), ("return loss.item()", "return loss.detach().cpu().numpy()")
    )
    result = grade_text({"exercise12": text})
    step = next(t for t in result.targets if t.name == "training_step")
    assert "it returned an ndarray" in all_told(result, "training_step")
    assert step.score >= 0.7 * step.max_score


def test_schedule_of_the_first_paper_is_named(grade_text: GradeText) -> None:
    result = grade_text({"exercise12": _SCHEDULE})
    assert "falls with the root of the step" in all_told(result, "learning_rate")


def test_sequence_first_is_named(grade_text: GradeText) -> None:
    old = "queries = self.to_queries(x)  # (b, t, h*d)"
    text = edited(
        solution("exercise3"),
        (old, "x = x.permute(1, 0, 2)\n        queries = self.to_queries(x)"),
        (
            "output = self.unify_heads(unfolded)",
            "output = self.unify_heads(unfolded).permute(1, 0, 2)",
        ),
    )
    told = all_told(grade_text({"exercise3": text}), "MultiHeadSelfAttention")
    assert "x is read as (t, b, k)" in told


def test_mistake_is_not_offered_again_beside_one_that_explains_nothing(
    grade_text: GradeText,
) -> None:
    told = all_told(grade_text({"exercise8": _INVERTED}), "causal_mask")
    assert "true and false are exchanged" in told
    assert "; or" not in told


def test_explain_says_what_was_given_where_the_default_may_be_another(
    shipped_engine: Engine,
) -> None:
    text = edited(solution("exercise4"), ("size = 4 * embed_dim", "size = 2 * embed_dim"))
    exercise = shipped_engine.folder.course.exercise("exercise4")
    run = _run(shipped_engine, exercise, text)
    trace = trace_target(exercise.target("FeedForward"), run)
    assert trace is not None
    assert trace.shown_case == "main (b=2, t=3, k=5; `hidden_dim` is given)"


def test_sines_before_cosines_are_named_where_an_odd_width_is_short(grade_text: GradeText) -> None:
    result = grade_text({"exercise6": _HALVES})
    told = all_told(result, "sinusoidal_encoding")
    assert "4 cases are wrong. In 3 of them your output equals" in told
    assert "all sines come first, then all cosines" in told
    assert "the last rows of the table are used" in all_told(result, "LearnedPositionEmbedding")


def test_one_maximum_for_all_rows_is_named(grade_text: GradeText) -> None:
    result = grade_text({"exercise1": _ONE_MAXIMUM})
    told = all_told(result, "self_attention")
    assert "one maximum of all scores is subtracted" in told
    assert "transposed" not in told


def test_epsilon_is_not_called_float32(grade_text: GradeText) -> None:
    told = all_told(grade_text({"exercise1": _SMALL_EPSILON}), "attention_weights")
    assert "the softmax overflows for large scores" in told
    assert "a rounded constant or an epsilon" in told
    assert "forced to float32" not in told


def test_last_norm_behind_its_sum_is_one_mistake(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise9"),
        ("self.norm3(cross_attention_sum)", "cross_attention_sum"),
        (
            "output = cross_attention_sum + self.dropout(transformed)",
            "output = self.norm3(cross_attention_sum + self.dropout(transformed))",
        ),
    )
    told = all_told(grade_text({"exercise9": text}), "DecoderLayer")
    assert "norm3 stands behind the feed-forward network's sum" in told
    assert "left out" not in told


def test_exchange_that_raises_is_named_whole(grade_text: GradeText) -> None:
    right = "self.cross_attention(cross_attention_input, memory, memory_mask)"
    wrong = "self.cross_attention(memory, cross_attention_input, memory_mask)"
    result = grade_text({"exercise9": edited(solution("exercise9"), (right, wrong))})
    told = all_told(result, "DecoderLayer")
    assert told.startswith("Where your output can be compared, it equals, to 1e-12, what comes out")
    assert "cross-attention gets the memory first" in told


def test_hint_on_an_option_says_where_it_holds(shipped_engine: Engine) -> None:
    exercise = shipped_engine.folder.course.exercise("exercise4")
    text = edited(solution("exercise4"), ("else nn.GELU()", "else nn.Identity()"))
    result = _run(shipped_engine, exercise, text).result
    advice = next_hint(exercise, shipped_engine.keys.keys["exercise4"], result, [])
    assert advice is not None
    assert all(hint.startswith("Where your output is wrong (GELU") for hint in advice.hints[:2])


def test_stacked_outputs_cost_their_form(grade_text: GradeText) -> None:
    old = "return queries, keys, values"
    text = edited(solution("exercise2"), (old, "return torch.stack([queries, keys, values])"))
    result = grade_text({"exercise2": f"import torch\n{text}"})
    projection = next(t for t in result.targets if t.name == "QKVProjection")
    assert projection.score == pytest.approx(projection.max_score - 0.5)
    assert "it returned one Tensor" in all_told(result, "QKVProjection")


def test_layer_that_nobody_asked_for_is_not_called_random(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise4"),
        ("self.dropout = ", "self.gate = nn.Linear(embed_dim, size)\n        self.dropout = "),
        ("activated = ", "activated = self.gate(x) * "),
    )
    told = all_told(grade_text({"exercise4": text}), "FeedForward")
    assert "hidden ✓ " in told
    assert "drawn at random" not in told


def test_gradient_that_one_position_alone_lacks_is_there(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise2"),
        ("self.projection = ", "self.norm = nn.LayerNorm(head_dim)\n        self.projection = "),
        (
            "output = scaled_dot_product_attention(queries,",
            "output = scaled_dot_product_attention(self.norm(queries),",
        ),
    )
    result = grade_text({"exercise2": text})
    assert not any("nobody asked for, " in c.message for c in result.checks)
    trained = [c for c in result.checks if c.target == "AttentionHead" and c.id.name == "trained"]
    assert [c for c in trained if c.failed] == []


def test_none_that_stands_for_another_size_is_told_beside_another_default(
    grade_text: GradeText,
) -> None:
    text = edited(
        solution("exercise3"),
        ("bias: bool = False", "bias: bool = True"),
        (
            "size = embed_dim // num_heads if head_dim is None",
            "size = embed_dim if head_dim is None",
        ),
    )
    told = all_told(grade_text({"exercise3": text}), "MultiHeadSelfAttention")
    assert "`head_dim` is not `embed_dim // num_heads` where it is not given" in told
    assert "`bias` is True where it is not given" in told
