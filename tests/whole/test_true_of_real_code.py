"""What a report says of code as people write it is so, and leads to what is wrong first."""

from collections.abc import Sequence
from itertools import permutations

import pytest
from support import (
    GradeText,
    all_told,
    assert_full,
    assert_target_full,
    edited,
    find_check,
    solution,
    target_checks,
)

from grader.records.results import Kind, Status
from grader.report.words import distinct_failures

ATTENTION = solution("exercise1")
HEADS = solution("exercise3")
NETWORK = solution("exercise4")
LAYER = solution("exercise5")
POSITIONS = solution("exercise6")
CACHED = solution("exercise11")


def test_default_that_raises_is_told_with_its_line(grade_text: GradeText) -> None:
    """4.0 equals 4, so nothing is said of the default but that no layer can be made with it."""
    text = edited(HEADS, ("size = embed_dim // num_heads if", "size = embed_dim / num_heads if"))
    result = grade_text({"exercise3": text})
    assert "where it is not given" not in all_told(result, "MultiHeadSelfAttention")
    check = find_check(result, "MultiHeadSelfAttention/property/defaults")
    assert "where nothing is given by name, `MultiHeadSelfAttention` raised" in check.message
    assert check.next_step == "a size is a whole number: divide with //, not with /"


def test_pieces_are_contiguous_as_all_inputs_are(grade_text: GradeText) -> None:
    first = "queries = self.to_queries(x)"
    whole = "x.view(-1, x.size(2)).view(x.shape)"  # which needs one run of memory
    text = edited(CACHED, (first, first.replace("(x)", f"({whole})")))
    result = grade_text({"exercise11": text})
    checks = target_checks(result, "CachedSelfAttention")
    lost = [c.id.name for c in checks if c.status is not Status.PASSED and c.kind is not Kind.BUG]
    assert lost == ["strided-input"]  # where the input as a whole is not


def test_dropout_that_keeps_nothing_by_default_fails(grade_text: GradeText) -> None:
    """With a rate of one nothing is drawn, and nothing comes through."""
    text = edited(NETWORK, ("nn.Dropout(dropout)", "nn.Dropout(1 - dropout)"))
    check = find_check(
        grade_text({"exercise4": text}), "FeedForward/property/no-dropout-by-default"
    )
    assert check.status is Status.FAILED
    assert "the output has wrong values, though nothing is drawn at random" in check.message


def test_surplus_input_of_a_given_part_is_told_as_that(grade_text: GradeText) -> None:
    text = edited(
        LAYER, ("self.attention(attention_input)", "self.attention(*[attention_input] * 3)")
    )
    check = find_check(grade_text({"exercise5": text}), "EncoderLayer/shape")
    assert check.next_step == "what is called there takes one tensor: give it just that"


def test_product_within_a_given_part_is_not_told_as_the_students(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise9"),
        (
            "self.self_attention(self_attention_input, mask)",
            "self.self_attention(self_attention_input, mask[:1, :1].expand(2 * [memory.size(1)]))",
        ),
    )
    result = grade_text({"exercise9": text})
    steps = {c.next_step for c in result.checks if c.target == "DecoderLayer"}
    assert not any("exchange of its last two axes" in step for step in steps)


def test_one_draw_for_all_rows_is_not_told_as_dropout(grade_text: GradeText) -> None:
    one = (
        "drawn = torch.multinomial(chances.mean(0), 1, generator=generator).expand(len(tokens), 1)"
    )
    text = edited(CACHED, ("drawn = torch.multinomial(chances, 1, generator=generator)", one))
    assert "drawn at random" not in all_told(grade_text({"exercise11": text}), "generate")


def test_shape_that_all_cases_raise_names_no_bug_by_its_count(grade_text: GradeText) -> None:
    """All checks fail for the exception: they do not tell bugs of one count apart."""
    text = """
import torch
from torch import nn


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.to_queries = nn.Linear(embed_dim, head_dim, bias=False)
        self.to_keys = nn.Linear(embed_dim, head_dim, bias=False)
        self.to_values = nn.Linear(embed_dim, head_dim, bias=False)

    def forward(self, x):
        scores = self.to_queries(x) @ self.to_keys(x).permute(2, 1, 0)
        return torch.softmax(scores / 2, dim=-1) @ self.to_values(x)
"""
    told = all_told(grade_text({"exercise2": text}), "AttentionHead")
    assert "has as many numbers in its parameters" not in told


FUSED = """
class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        self.lin = nn.Linear(embed_dim, 3 * head_dim, bias=bias)

    def forward(self, x):
        {first}, {second}, {third} = self.lin(x).chunk(3, dim=-1)
        return queries, keys, values


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        queries, keys, values = self.projection(x)
        return scaled_dot_product_attention({query}, {key}, values)
"""
IMPORTS = """from torch import nn
from exercise1_attention import scaled_dot_product_attention

"""


@pytest.mark.parametrize("order", [*permutations(("queries", "keys", "values"))], ids="-".join)
def test_part_that_is_right_keeps_the_order_of_its_rows_where_it_is_held(
    grade_text: GradeText, order: tuple[str, ...]
) -> None:
    """What changes places behind a right projection is no other order of its fused rows."""
    names = dict(zip(("first", "second", "third"), order, strict=True))
    right = FUSED.format(**names, query="queries", key="keys")
    assert_full(grade_text({"exercise2": IMPORTS + right}))
    wrong = FUSED.format(**names, query="keys", key="queries")
    result = grade_text({"exercise2": IMPORTS + wrong})
    assert_target_full(result, "QKVProjection")
    assert "keys and queries change places" in all_told(result, "AttentionHead")
    assert find_check(result, "AttentionHead/numeric").status is Status.FAILED


def test_heads_that_are_never_folded_are_named(grade_text: GradeText) -> None:
    edits = [
        (f"folded_{name} = fold_heads({name}, self.num_heads)", f"folded_{name} = {name}")
        for name in ("queries", "keys", "values")
    ]
    last = ("unfolded = unfold_heads(attended, self.num_heads)", "unfolded = attended")
    result = grade_text({"exercise3": edited(HEADS, *edits, last)})
    assert "the heads are not folded" in all_told(result, "MultiHeadSelfAttention")


@pytest.mark.parametrize("last", ["weights @ x", "output = weights @ x"])
def test_last_line_that_returns_nothing_is_told(grade_text: GradeText, last: str) -> None:
    text = "import torch\n\n\ndef self_attention(x):\n"
    text += f"    weights = torch.softmax(x @ x.mT, dim=-1)\n    {last}\n"
    check = find_check(grade_text({"exercise1": text}), "self_attention/shape")
    due = last.partition(" = ")[0]
    assert (
        f"end with `return {due}`, if that is the output: so far nothing is returned ("
        in check.next_step
    )
    assert check.next_step.endswith("line 6)")


MASKS = solution("exercise8")
CUT = solution("exercise11")
NORM = solution("exercise9")


def test_mask_that_its_caller_can_spoil_is_named(grade_text: GradeText) -> None:
    """A table of masks that is handed out itself is another one once its caller writes to it."""
    kept = ("def causal_mask(", "@functools.lru_cache\ndef causal_mask(")
    imported = ("import math\n", "import functools\nimport math\n")
    result = grade_text({"exercise8": edited(MASKS, kept, imported)})
    assert [d.bugs for d in result.diagnoses if d.target == "causal_mask"] == [("mask-kept",)]
    check = find_check(result, "causal_mask/property/reusable")
    assert "once its caller has changed a result, the next one is wrong" in check.message


def test_mask_that_nobody_can_write_into_is_right(grade_text: GradeText) -> None:
    shared = "torch.ones((), dtype=torch.bool, device=device).expand(seq_len, seq_len).tril()"
    text = edited(MASKS, ("def causal_mask(", "def _other_mask("))
    text += f"\n\ndef causal_mask(seq_len, *, device=None):\n    return {shared}\n"
    assert_target_full(grade_text({"exercise8": text}), "causal_mask")


def test_one_case_in_float32_is_told_as_that(grade_text: GradeText) -> None:
    text = edited(CUT, (".to(logits.dtype)", ".float()"))
    told = all_told(grade_text({"exercise11": text}), "next_token_probabilities")
    assert "is float32 where the input is float64" in told
    assert "last digits" not in told


def test_axes_that_come_with_some_inputs_alone_are_not_indexed_away(
    grade_text: GradeText,
) -> None:
    ones, zeros = "torch.ones(embed_dim)", "torch.zeros(embed_dim)"
    text = edited(
        NORM, (ones, ones.replace("(e", "(1, 1, e")), (zeros, zeros.replace("(e", "(1, 1, e"))
    )
    result = grade_text({"exercise9": text})
    steps = [c.next_step for c in target_checks(result, "LayerNorm")]
    assert not any("[0]" in step for step in steps)
    assert any("does a parameter have more axes" in step for step in steps)


def test_parameter_of_no_layer_is_to_be_taken_out(grade_text: GradeText) -> None:
    made = "self.norm = nn.LayerNorm(embed_dim)"
    text = edited(
        solution("exercise10"),
        (made, f"{made}\n        self.out_bias = nn.Parameter(torch.zeros(vocab_size))"),
    )
    result = grade_text({"exercise10": text})
    assert any("take `out_bias` out" in c.next_step for c in target_checks(result, "LanguageModel"))


def test_second_layer_is_not_taken_for_the_first_one_turned(grade_text: GradeText) -> None:
    made = "self.expand = nn.Linear(embed_dim, size)"
    text = edited(NETWORK, (made, made.replace("size)", "2 * size)")))
    result = grade_text({"exercise4": text})
    steps = [c.next_step for c in target_checks(result, "FeedForward")]
    assert not any("exchange the two lengths" in step for step in steps)


def test_stacked_biases_beside_stacked_weights_are_found_in_a_part(grade_text: GradeText) -> None:
    text = """import torch
from torch import nn
from exercise1_attention import scaled_dot_product_attention


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.qkv = nn.Parameter(torch.randn(3, head_dim, embed_dim) / embed_dim**0.5)
        self.bias = nn.Parameter(torch.zeros(3, head_dim)) if bias else None

    def forward(self, x):
        out = torch.einsum("btk,ndk->nbtd", x, self.qkv)
        if self.bias is not None:
            out = out + self.bias[:, None, None]
        return out.unbind(0)


class AttentionHead(nn.Module):
    def __init__(self, embed_dim, head_dim, bias=False):
        super().__init__()
        self.projection = QKVProjection(embed_dim, head_dim, bias)

    def forward(self, x):
        return scaled_dot_product_attention(*self.projection(x))
"""
    assert_full(grade_text({"exercise2": text}))


def test_norm_over_time_and_embedding_is_named_as_that(grade_text: GradeText) -> None:
    text = LAYER
    for norm in ("norm1", "norm2"):
        text = text.replace(f"self.{norm}(", f"self._norm(self.{norm}, ")
    text += """
    def _norm(self, norm, x):
        return nn.functional.layer_norm(x, x.shape[1:]) * norm.weight + norm.bias
"""
    told = all_told(grade_text({"exercise5": text}), "EncoderLayer")
    assert "one mean over time and the embedding together" in told


def test_a_parameter_that_has_two_names_is_listed_as_one(grade_text: GradeText) -> None:
    """What is listed adds up to what is counted."""
    keys = "self.to_keys = nn.Linear(embed_dim, head_dim, bias=bias)"
    text = edited(solution("exercise2"), (keys, "self.to_keys = self.to_queries"))
    check = find_check(grade_text({"exercise2": text}), "QKVProjection/property/registered")
    assert "`to_queries.weight` (3, 5), `to_keys.weight` (one of them again), " in check.message


def test_numpy_on_a_gpu_is_told_as_a_gpu_tells_it(grade_text: GradeText) -> None:
    text = edited(ATTENTION, ("scores = x @ x", "scores = torch.as_tensor(x.detach().numpy()) @ x"))
    check = find_check(grade_text({"exercise1": text}), "self_attention/property/device")
    assert "on a GPU, `self_attention` raised TypeError: can't convert cuda:0" in check.message
    assert check.next_step.startswith("numpy knows what is on the CPU alone")


APART = """
class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, *, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.size, self.pre, self.drop = (embed_dim,), norm_first, nn.Dropout(dropout)
        {made}

    def forward(self, x):
        g, b = {read}
        first, second = (
            lambda z, i=i: nn.functional.layer_norm(z, self.size, g[i], b[i]) for i in range(2)
        )
        if self.pre:
            x = x + self.drop(self.attention(first(x)))
            return x + self.drop(self.feed_forward(second(x)))
        x = first(x + self.drop(self.attention(x)))
        return second(x + self.drop(self.feed_forward(x)))
"""
ONES, ZEROS = "nn.Parameter(torch.ones(embed_dim))", "nn.Parameter(torch.zeros(embed_dim))"


@pytest.mark.parametrize(
    ("made", "read"),
    [
        (
            f"self.g1, self.g2, self.b1, self.b2 = {ONES}, {ONES}, {ZEROS}, {ZEROS}",
            "(self.g1, self.g2), (self.b1, self.b2)",
        ),
        (
            f"self.s, self.z = (nn.ParameterList([{ONES}, {ONES}]), "
            f"nn.ParameterList([{ZEROS}, {ZEROS}]))",
            "self.s, self.z",
        ),
    ],
    ids=["letters", "lists"],
)
def test_vectors_of_norms_that_stand_apart_are_told_by_what_they_begin_as(
    made: str, read: str, grade_text: GradeText
) -> None:
    text = "import torch\nfrom torch import nn\n" + APART.format(made=made, read=read)
    assert_full(grade_text({"exercise5": text}))


FREE_FORMS = """
class MultiHeadSelfAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):
        super().__init__()
        if head_dim is None and embed_dim % num_heads:
            raise ValueError("not divisible")
        d = self.d = head_dim or embed_dim // num_heads
        h = self.h = num_heads
        {made}

    def forward(self, x):
        {computed}
"""
RAW_OUTPUT = (
    "self.w_o, self.b_o = nn.Parameter(torch.randn(h, d, embed_dim)), "
    "nn.Parameter(torch.zeros(embed_dim))"
)
FORMS = {
    "one fused layer a head": (
        "self.heads = nn.ModuleList(nn.Linear(embed_dim, 3 * d, bias=bias) for _ in range(h))\n"
        "        self.proj = nn.Linear(h * d, embed_dim)",
        "parts = (head(x).chunk(3, dim=-1) for head in self.heads)\n"
        "        outs = [(q @ k.mT / self.d**0.5).softmax(-1) @ v for q, k, v in parts]\n"
        "        return self.proj(torch.cat(outs, dim=-1))",
    ),
    "rows by head and weights of its own": (
        f"self.qkv = nn.Linear(embed_dim, 3 * h * d, bias=bias)\n        {RAW_OUTPUT}",
        "q, k, v = self.qkv(x).unflatten(-1, (self.h, 3, self.d)).unbind(3)\n"
        "        a = torch.einsum('bqhd,bkhd->bhqk', q, k).div(self.d**0.5).softmax(-1)\n"
        "        return torch.einsum('bhqk,bkhd,hde->bqe', a, v, self.w_o) + self.b_o",
    ),
}


@pytest.mark.parametrize(("made", "computed"), FORMS.values(), ids=FORMS.keys())
def test_two_free_forms_at_once_are_right(made: str, computed: str, grade_text: GradeText) -> None:
    """What three heads make look like one role's layer, and what one size leaves open."""
    before = HEADS[: HEADS.index("class MultiHeadSelfAttention")]
    text = "import torch\n" + before + FREE_FORMS.format(made=made, computed=computed)
    result = grade_text({"exercise3": text})
    assert_target_full(result, "MultiHeadSelfAttention")
    assert result.notes == ()


def test_a_norm_without_a_bias_is_judged_beside_that(grade_text: GradeText) -> None:
    text = """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, embed_dim, eps=1e-5):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(embed_dim))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
"""
    result = grade_text({"exercise9": text})
    told = all_told(result, "LayerNorm")
    assert "the norm divides by the root mean square" in told
    assert "A deviation: it has no bias." in told
    assert find_check(result, "LayerNorm/shape").status is Status.PASSED


def test_what_one_edge_counts_is_not_told_of_every_case(grade_text: GradeText) -> None:
    blocks = "[Block(embed_dim, num_heads, dropout) for _ in range(depth)]"
    exchanged = "[Block(embed_dim, depth, dropout) for _ in range(num_heads)]"
    text = edited(solution("exercise10"), (blocks, exchanged))
    assert "every case" not in all_told(grade_text({"exercise10": text}), "build_language_model")


def test_a_shape_is_told_as_it_came(grade_text: GradeText) -> None:
    """An axis of one is no axis less, though values are compared without it."""
    text = edited(MASKS, ("hidden = ~mask", "hidden = ~mask.unsqueeze(1)"))
    check = find_check(grade_text({"exercise8": text}), "masked_attention/shape")
    assert "the shape should be (2, 1, 3), it is (2, 2, 1, 3)" in check.message


def test_an_option_is_told_where_gradients_alone_fail_without_it(grade_text: GradeText) -> None:
    skipless = "x = self.dropout(self.feed_forward(self.norm2(x)))"
    text = f"""
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, attention, feed_forward, embed_dim, *, norm_first=False, dropout=0.0):
        super().__init__()
        self.attention, self.feed_forward, self.pre = attention, feed_forward, norm_first
        self.norm1, self.norm2 = (nn.LayerNorm(embed_dim, eps=1e-6) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        if self.pre:
            x = x + self.dropout(self.attention(self.norm1(x)))
            {skipless}
        else:
            x = self.norm1(x + self.dropout(self.attention(x)))
            x = self.norm2(x + self.dropout(self.feed_forward(x)))
        return x
"""
    result = grade_text({"exercise5": text})
    shown = distinct_failures(target_checks(result, "EncoderLayer"))
    assert [check.id.shown for check in shown][:2] == [
        "numeric/norm_first",
        "gradient/small-numbers",
    ]
    assert shown[1].next_step.startswith("nothing is cut: compare each constant")


def test_an_exception_that_is_returned_is_told_as_that(grade_text: GradeText) -> None:
    text = solution("exercise6").replace("raise ValueError(", "return ValueError(")
    check = find_check(
        grade_text({"exercise6": text}), "LearnedPositionEmbedding/property/too-long"
    )
    assert check.message.endswith("should raise ValueError, which is returned")
    assert check.next_step == "write `raise` in place of `return`"


@pytest.mark.parametrize("mistaken", [False, True], ids=["alone", "where it cannot be told"])
def test_an_exception_that_is_made_and_not_raised_is_told_with_its_line(
    grade_text: GradeText, mistaken: bool
) -> None:
    """Beside keys made from the queries the case raises, as others of these sizes do."""
    keys = "keys = self.to_keys(x)"
    text = edited(
        HEADS,
        ("raise ValueError(", "ValueError("),
        *([(keys, "keys = self.to_keys(queries)")] if mistaken else []),
    )
    result = grade_text({"exercise3": text})
    made = "for embed_dim that num_heads does not divide a ValueError is made, and not raised"
    assert made in all_told(result, "MultiHeadSelfAttention")
    check = find_check(result, "MultiHeadSelfAttention/property/indivisible")
    place = text[: text.index("    ValueError(")].count("\n") + 1
    said = "`ValueError(…)` is made, and not raised: write `raise` before it"
    assert f"{said} (exercise3_multi_head.py, line {place})" in check.next_step


def test_a_mistake_of_some_cases_is_named_in_float32_too(grade_text: GradeText) -> None:
    text = """
import torch

def sinusoidal_encoding(seq_len, embed_dim):
    rates = 1.0 / (10000 ** (torch.arange(0, embed_dim, 2).float() / embed_dim))
    angles = torch.einsum("i,j->ij", torch.arange(seq_len).float(), rates)
    return torch.cat([angles.sin(), angles.cos()], dim=-1)
"""
    told = all_told(grade_text({"exercise6": text}), "sinusoidal_encoding")
    assert "all sines come first, then all cosines" in told


def test_a_bias_that_an_option_asks_for_is_to_be_passed_on(grade_text: GradeText) -> None:
    keys = "self.to_keys = nn.Linear(embed_dim, head_dim, bias=bias)"
    text = edited(solution("exercise2"), (keys, keys.replace("bias=bias", "bias=False")))
    check = find_check(grade_text({"exercise2": text}), "QKVProjection/shape/bias")
    assert check.message == "`to_keys` has no bias, though bias=True is given"
    assert check.next_step == "pass `bias=bias` to `to_keys`"


def test_squeeze_is_told_where_axes_of_one_are_lost(grade_text: GradeText) -> None:
    """Nothing mixes the samples: one of them alone loses its axis."""
    text = edited(ATTENTION, ("scores = x @ x", "x = x.squeeze()\n    scores = x @ x"))
    text = edited(text, ("@ x.transpose(1, 2)", "@ x.mT"))
    result = grade_text({"exercise1": text})
    for name in ("shape", "property/batch-independent"):
        step = find_check(result, f"self_attention/{name}").next_step
        assert step.startswith("an axis of length one is lost: `squeeze()`")


def test_a_class_that_inherits_from_what_is_replaced_is_told_so(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise9"),
        ("class CrossAttention(nn.Module):", "class CrossAttention(MaskedMultiHeadAttention):"),
    )
    text = "from exercise8_masks import MaskedMultiHeadAttention\n" + text
    start = text.index("    def __init__", text.index("class CrossAttention"))
    text = text[:start] + text[text.index("    def forward", start) :]
    check = find_check(grade_text({"exercise9": text}), "CrossAttention/shape")
    assert "object has no attribute 'num_heads'" in check.message
    assert check.next_step.endswith("set `self.num_heads` in `CrossAttention` itself")


def _lettered(letters: str) -> str:
    """Multi-head attention whose first three layers have letters for names."""
    text = HEADS
    for part, letter in zip(("queries", "keys", "values"), letters, strict=True):
        text = text.replace(f"self.to_{part}", f"self.{letter}")
    return text


@pytest.mark.parametrize("letters", ["uvw", "pqr"])
def test_a_letter_among_others_tells_no_part(grade_text: GradeText, letters: str) -> None:
    """That one of u, v, w could stand for the values says nothing."""
    assert_full(grade_text({"exercise3": _lettered(letters)}))


def test_letters_of_parts_tell_them(grade_text: GradeText) -> None:
    exchanged = (("= self.q(x)", "= self.new(x)"), ("= self.k(x)", "= self.q(x)"))
    text = edited(_lettered("qkv"), *exchanged, ("= self.new(x)", "= self.k(x)"))
    told = all_told(grade_text({"exercise3": text}), "MultiHeadSelfAttention")
    assert "keys and queries change places" in told


def test_table_that_is_frozen_is_not_trained(grade_text: GradeText) -> None:
    kept = 'self.register_buffer("encoding", sinusoidal_encoding(max_len, embed_dim))'
    table = "sinusoidal_encoding(max_len, embed_dim)"
    frozen = f"self.encoding = nn.Parameter({table}, requires_grad=False)"
    text = edited(POSITIONS, ("        self.encoding: Tensor\n", ""), (kept, frozen))
    assert_full(grade_text({"exercise6": text}))


def test_an_edge_of_its_own_hides_no_mistake(grade_text: GradeText) -> None:
    """The table of many public programs, with a column of zeros where the width is odd."""
    pairs = "half = embed_dim // 2\n    rates = 10000.0 ** (-torch.arange(half) / (half - 1))"
    table = "angles = positions[:, None] * rates\n    encoding = torch.cat([angles.sin(), "
    rest = "angles.cos(), torch.zeros(seq_len, embed_dim % 2)], dim=1)\n    return encoding\n"
    begin = "positions = torch.arange(seq_len, dtype=torch.get_default_dtype())  # (t,)\n"
    text = edited(POSITIONS, (begin, f"{begin}    {pairs}\n    {table}{rest}"))
    told = all_told(grade_text({"exercise6": text}), "sinusoidal_encoding")
    assert "In 3 of them your output equals" in told
    assert "all sines come first, then all cosines" in told


@pytest.mark.parametrize("named", ["queries, keys, values", "k, q, v", "one, two, three"])
def test_a_dict_of_what_is_due_costs_its_form(grade_text: GradeText, named: str) -> None:
    """Its keys tell what is what, or else the order does."""
    values = {"k": "keys", "q": "queries", "v": "values"}
    order = dict(zip(("one", "two", "three"), ("queries", "keys", "values"), strict=True))
    held = ", ".join(f"'{key}': {(values | order).get(key, key)}" for key in named.split(", "))
    text = edited(solution("exercise2"), ("return queries, keys, values", f"return {{{held}}}"))
    result = grade_text({"exercise2": text})
    checks = target_checks(result, "QKVProjection")
    lost = [c.id.in_target for c in checks if c.status is not Status.PASSED]
    assert lost == ["shape", "shape/bias"]


def test_nothing_is_said_of_values_that_are_not_compared(grade_alone: GradeText) -> None:
    """What is built has parameters of its own: whether its values are right nobody knows."""
    text = edited(
        solution("exercise10"),
        ("        return logits\n", "        return 2 * logits, None\n"),
    )
    others = {f"exercise{n}": solution(f"exercise{n}") for n in range(1, 10)}
    result = grade_alone({"exercise10": text} | others)
    check = find_check(result, "build_language_model/shape")
    assert check.message.startswith("what `build_language_model` builds returns a tuple")
    assert check.next_step == "return the first of them alone"


PROJECTIONS = """        self.to_queries = nn.Linear(embed_dim, head_dim, bias=bias)
        self.to_keys = nn.Linear(embed_dim, head_dim, bias=bias)
        self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)
"""


@pytest.mark.parametrize(
    ("kept", "used"),
    [
        ("[nn.Linear(embed_dim, head_dim, bias=bias) for _ in range(3)]", "012"),
        ("{n: nn.Linear(embed_dim, head_dim, bias=bias) for n in 'vkq'}", ("'q'", "'k'", "'v'")),
    ],
)
def test_layers_out_of_sight_compute_right_all_the_same(
    grade_alone: GradeText, kept: str, used: Sequence[str]
) -> None:
    names = ("queries", "keys", "values")
    text = edited(
        solution("exercise2"),
        (PROJECTIONS, f"        self.kept = {kept}\n"),
        *((f"self.to_{n}(x)", f"self.kept[{at}](x)") for n, at in zip(names, used, strict=True)),
    )
    result = grade_alone({"exercise2": text})
    failed = {check.id.in_target for check in result.checks if check.failed}
    assert failed == {"property/registered", "property/device"}
    assert [one.bugs for one in result.diagnoses] == [("projection-unregistered",)] * 2


def test_one_position_too_many_is_counted_and_its_values_are_right(grade_text: GradeText) -> None:
    longer = ("nn.Embedding(max_len, embed_dim)", "nn.Embedding(max_len + 1, embed_dim)")
    result = grade_text({"exercise6": edited(POSITIONS, longer)})
    failed = [check for check in result.checks if check.failed]
    assert {check.kind for check in failed} == {Kind.PROPERTY}  # it takes one position more, too
    assert "property/registered" in [check.id.in_target for check in failed]


def test_dropout_by_default_is_told_by_its_default_beside_a_mistake(grade_text: GradeText) -> None:
    text = edited(
        LAYER,
        ("dropout: float = 0.0", "dropout: float = 0.1"),
        ("attention_sum = x + self.dropout(attended)", "attention_sum = self.dropout(attended)"),
    )
    (found,) = grade_text({"exercise5": text}).diagnoses
    assert found.bugs == ("residual-missing-attention",)
    assert found.deviations == ("`dropout` is 0.1 where it is not given; 0.0 is asked for",)


def test_what_an_earlier_file_refuses_leads_to_what_is_handed_on(grade_text: GradeText) -> None:
    swapped = ("MultiHeadSelfAttention(embed_dim, num_heads)",
               "MultiHeadSelfAttention(num_heads, embed_dim)")  # fmt: skip
    texts = {f"exercise{n}": solution(f"exercise{n}") for n in range(1, 6)}
    texts = {"exercise7": edited(solution("exercise7"), swapped), **texts}
    check = find_check(grade_text(texts), "build_classifier/shape")
    assert "exercise3_multi_head.py" in check.message
    assert check.next_step.endswith("hands on, and in which order")


def test_values_of_a_tuple_are_right_in_the_usual_cases(grade_text: GradeText) -> None:
    """A limit for scores shows where these are large."""
    head, tail = ATTENTION.split("    return output\n", 1)
    limited = ("softmax(scores, dim=-1)  # (b, t, t)", "softmax(scores.clamp(-30, 30), dim=-1)")
    text = edited(f"{head}    return output, weights\n{tail}", limited)
    result = grade_text({"exercise1": text})
    assert find_check(result, "self_attention/property/large-scores").failed
    check = find_check(result, "self_attention/shape")
    assert check.next_step.endswith("which has the right values in the usual cases")


def test_mistake_in_what_is_used_is_not_all_there_is(grade_alone: GradeText) -> None:
    text = edited(
        solution("exercise2"),
        (
            "self.to_keys = nn.Linear(embed_dim, head_dim, bias=bias)",
            "self.to_keys = self.to_queries",
        ),
        (
            "output = scaled_dot_product_attention(queries, keys, values)",
            "output = (queries @ keys.mT).softmax(-2) @ values",
        ),
    )
    result = grade_alone({"exercise2": text, "exercise1": ATTENTION})
    assert all_told(result, "AttentionHead").startswith("At least in part: the same mistake as in")


def test_part_of_what_is_known_of_a_used_function_is_told_as_a_part(grade_text: GradeText) -> None:
    """What `generate` draws at another temperature shows in no value of its numeric cases."""
    text = edited(
        CACHED,
        ("scaled = logits / temperature", "scaled = logits * temperature"),
        ("scaled.topk(min(top_k, scaled.size(-1))", "scaled.topk(min(top_k + 1, scaled.size(-1))"),
    )
    result = grade_text({"exercise11": text})
    told = {d.target: d.sentence for d in result.diagnoses}
    assert "your output equals" not in told.get("generate", "").lower(), told


def test_comparisons_lead_to_what_is_used_and_wrong(grade_alone: GradeText) -> None:
    text = edited(
        solution("exercise8"),
        ("scores.masked_fill(hidden, -math.inf)", "scores.masked_fill(mask, -math.inf)"),
        ("masked_scores.masked_fill(hidden.all(dim=-1, keepdim=True), 0.0)", "masked_scores"),
        ("torch.softmax(masked_scores, dim=-1)", "masked_scores.softmax(1).nan_to_num(0.0)"),
        ("    weights = weights.masked_fill(hidden, 0.0)  # (b, q, s)\n", ""),
    )
    result = grade_alone({"exercise8": text, "exercise3": HEADS})
    check = find_check(result, "MaskedMultiHeadAttention/property/causal")
    assert check.next_step.endswith("which is not right yet: start there")


def test_mistakes_of_two_used_functions_lead_there(grade_alone: GradeText) -> None:
    """Each of them is named, and the module's own checks fail by both: no hint stands above."""
    turn, back = "heads_first = split.transpose(1, 2)", "time_first = separated.transpose(1, 2)"
    folded = (turn, "heads_first = split.reshape(b, num_heads, t, d)")
    text = edited(HEADS, folded, (back, "time_first = separated.reshape(b, t, num_heads, d)"))
    result = grade_alone({"exercise3": text})
    check = find_check(result, "MultiHeadSelfAttention/numeric")
    assert check.next_step.endswith("which is not right yet: start there")


def test_mistake_of_a_used_function_is_told_with_its_place(grade_alone: GradeText) -> None:
    text = edited(
        CACHED,
        ("scaled = logits / temperature", "scaled = logits * temperature"),
        ("scaled < largest[:, -1:]", "scaled <= largest[:, -1:]"),
    )
    result = grade_alone({"exercise11": text})
    told = next((d for d in result.diagnoses if d.target == "generate"), None)
    assert told is not None
    assert "next_token_probabilities" in told.sentence, told
