"""Every check three ways: reference passes, stub fails, a wrong answer fails for its reason."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from support import ROOT, GradeText, edited, find_check, solution

from grader.course.load import load_course
from grader.records.results import ExerciseResult, Kind, Status

COURSE = load_course(ROOT).course
CHECKS = [
    f"{exercise.id}/{target.name}/{check}"
    for exercise in COURSE.exercises
    for target in exercise.targets
    for check in (
        *(k for k in ("shape", "numeric", "gradient") if getattr(target.points, k)),
        *(f"property/{p.name}" for p in COURSE.properties(exercise, target)),
    )
]


@pytest.fixture(scope="session")
def graded(grade_alone: GradeText) -> Any:
    """Return a function that grades a text of an exercise, each once a session."""

    @cache
    def result_of(exercise: str, text: str) -> ExerciseResult:
        texts = {exercise: text}
        texts |= {e.id: solution(e.id) for e in COURSE.exercises if e.id != exercise}
        return grade_alone(texts)

    return result_of


def stub(exercise: str) -> str:
    """Return the text of a stub."""
    return (ROOT / "exercises" / COURSE.exercise(exercise).file).read_text(encoding="utf-8")


@pytest.mark.parametrize("check", CHECKS)
def test_check_passes_the_reference(check: str, graded: Any) -> None:
    exercise, name = check.split("/", 1)
    found = find_check(graded(exercise, solution(exercise)), name)
    if found.waits:  # the audit trains it
        assert (found.status, found.score) == (Status.SKIPPED, 0)
        return
    assert (found.status, found.message) == (Status.PASSED, "")
    assert found.score == found.max_score


@pytest.mark.parametrize("check", CHECKS)
def test_check_fails_the_stub(check: str, graded: Any) -> None:
    exercise, name = check.split("/", 1)
    found = find_check(graded(exercise, stub(exercise)), name)
    assert found.score == 0
    assert found.status in (Status.FAILED, Status.SKIPPED)
    assert found.message


@pytest.mark.parametrize("exercise", COURSE.exercises, ids=lambda e: e.id)
def test_checks_of_the_reference_all_pass(exercise: Any, graded: Any) -> None:
    result = graded(exercise.id, solution(exercise.id))
    missed = {check.id.in_exercise for check in result.checks if check.status is not Status.PASSED}
    waiting = {check.id.in_exercise for check in result.checks if check.waits}
    assert missed == waiting
    assert bool(waiting) == exercise.trains


@dataclass(frozen=True)
class Wrong:
    """A wrong answer: substitutions on the reference, and what each check should say."""

    exercise: int
    edits: tuple[tuple[str, str], ...]
    fails: dict[str, str]  # check -> a part of its message


VALUES = "right shape but wrong values"
CHANGED = "the caller's tensor, is changed by the call"
FIXED = "a tensor is not made on the input's device, so the code can fail on a GPU"
OTHERWISE = "on a GPU, the code gives another output than on the CPU"
AS_FLOAT32 = "the output is float32 where the input is float64"
STRIDED = "on an input that is not contiguous: "

_SELF = "    scores = x @ x.transpose(1, 2)  # (b, t, t)\n"
_OUT1 = "    output = weights @ x  # (b, t, k)\n"
_FACTOR = "    factor = 1.0 / math.sqrt(query.size(2)) if scale is None else scale\n"
_SOFT = "    weights = torch.softmax(scores, dim=-1)  # (b, q, s)\n"
_MIX = "    output = weights @ value  # (b, q, w)\n"
_QKV = "        return queries, keys, values\n"
_PROJECTION = "        self.projection = QKVProjection(embed_dim, head_dim, bias=bias)\n"
_HEAD = "        output = scaled_dot_product_attention(queries, keys, values)  # (b, t, d)\n"
_UNIFY = "        output = self.unify_heads(unfolded)  # (b, t, k)\n"
_FOLDED = "    folded = heads_first.reshape(b * num_heads, t, d)  # (b*h, t, d)\n"
_UNFOLDED = "    unfolded = time_first.reshape(b, t, num_heads * d)  # (b, t, h*d)\n"
_DROP4 = "        output = self.dropout(projected)  # (b, t, k)\n"
_END5 = "        output = feed_forward_sum if self.norm_first else self.norm2(feed_forward_sum)\n"
_FILL = "    encoding[:, 0::2] = sines\n"
_ADD6 = "        output = x + encoding  # (b, t, k)\n"
_LEARNED = "        output = x + position_vectors  # (b, t, k)\n"
_POOL = "        pooled = encoded.mean(dim=1)  # (b, k)\n"
_LOG = "        log_probabilities = torch.log_softmax(logits, dim=1)  # (b, c)\n"
_SCALED = "        output = self.weight * normed + self.bias\n"
_BY_TORCH = "        output = torch.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)\n"
_DECODED = "        output = cross_attention_sum + self.dropout(transformed)\n"
_BUILD = "    return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)\n"
_CHOSEN = "    log_probabilities = torch.log_softmax(predictions[real], dim=1)  # (n, v)\n"
_LOSSES = "    losses = -log_probabilities.gather(1, targets[real][:, None])  # (n, 1)\n"
_LOGITS = "        logits = hidden @ self.token_embedding.weight.T  # (b, t, v)\n"
_NEXT = "    probabilities = kept.softmax(dim=-1)  # (b, v)\n"
_CHANCES = "            drawn = torch.multinomial(chances, 1, generator=generator)  # (b, 1)\n"

WRONG = {
    # ---- exercise 1
    "first row only": Wrong(
        1,
        ((_OUT1, "    output = (weights @ x)[:, :1]\n"),),
        {"self_attention/shape": "the output has the wrong shape"},
    ),
    "scale too many": Wrong(
        1,
        ((_SELF, "    scores = x @ x.transpose(1, 2) / math.sqrt(x.size(2))\n"),),
        {"self_attention/numeric": VALUES},
    ),
    "no_grad": Wrong(
        1,
        ((_SELF, "    with torch.no_grad():\n        scores = x @ x.transpose(1, 2)\n"),),
        {"self_attention/gradient": "the gradient of `x` has the right shape but wrong values"},
    ),
    "a power of e": Wrong(
        1,
        (("    weights = torch.softmax(scores, dim=-1)  # (b, t, t)\n",
          "    weights = math.e**scores / (math.e**scores).sum(dim=-1, keepdim=True)\n"),),
        {"self_attention/property/large-scores":
         "with scores in the thousands: the output holds numbers that are not finite"},
    ),
    "a power of e for three": Wrong(
        1,
        (("    weights = attention_weights(query, key, scale=scale)  # (b, q, s)\n",
          "    factor = query.size(2) ** -0.5 if scale is None else scale\n"
          "    powers = math.e ** (query @ key.transpose(1, 2) * factor)\n"
          "    weights = powers / powers.sum(dim=-1, keepdim=True)\n"),),
        {"scaled_dot_product_attention/property/large-scores":
         "with scores in the thousands: the output holds numbers that are not finite"},
    ),
    "positions count": Wrong(
        1,
        ((_OUT1, "    steps = torch.arange(x.size(1), device=x.device)\n"
                 "    output = weights @ x + steps[:, None]\n"),),
        {"self_attention/property/equivariant": "reordering the input along t"},
    ),
    "softmax over the batch": Wrong(
        1,
        (("    weights = torch.softmax(scores, dim=-1)  # (b, t, t)\n",
          "    weights = torch.softmax(scores, dim=0)\n"),),
        {"self_attention/property/batch-independent": "for one item along b should be the same"},
    ),
    "in place": Wrong(
        1,
        ((_SELF, _SELF + "    x += 0\n    x *= 2\n"),),
        {"self_attention/property/inputs-unchanged": f"`x`, {CHANGED}"},
    ),
    "view of a strided input": Wrong(
        1,
        ((_SELF, "    x = x.view(-1).view(x.shape)\n" + _SELF),),
        {"self_attention/property/strided-input": f"{STRIDED}`self_attention` raised RuntimeError"},
    ),
    "float32 within": Wrong(
        1,
        ((_SELF, "    scores = (x.float() @ x.float().transpose(1, 2)).to(x.dtype)\n"),),
        {"self_attention/property/dtype": "its last digits are wrong, as float32, a rounded"},
    ),
    "float32 output": Wrong(
        1,
        ((_OUT1, "    output = (weights @ x).float()\n"),),
        {"self_attention/property/dtype": AS_FLOAT32},
    ),
    "fixed device": Wrong(
        1,
        ((_OUT1, "    output = weights @ x + torch.zeros(x.size(2), device='cpu')\n"),),
        {"self_attention/property/device": FIXED},
    ),
    "delegated function": Wrong(
        1,
        ((_MIX, "    output = torch.nn.functional.scaled_dot_product_attention(\n"
                "        query, key, value, scale=scale\n    )\n"),),
        {"scaled_dot_product_attention/property/allowed":
            "`torch.nn.functional.scaled_dot_product_attention` does what this exercise asks"},
    ),
    "delegated in a thread": Wrong(
        1,
        ((_MIX, "    import threading\n"
                "    found = []\n"
                "    def compute():\n"
                "        name = 'scaled_dot_' + 'product_attention'\n"
                "        attend = getattr(torch.nn.functional, name)\n"
                "        found.append(attend(query, key, value, scale=scale))\n"
                "    thread = threading.Thread(target=compute)\n"
                "    thread.start(), thread.join()\n"
                "    output = found[0]\n"),),
        {"scaled_dot_product_attention/property/allowed": "the code starts a thread"},
    ),
    "input made bool": Wrong(
        1,
        ((_MIX, _MIX + "    if not query.requires_grad and not query.is_meta:\n"
                       "        query.data = query.data != 0\n"),),
        {"scaled_dot_product_attention/property/inputs-unchanged": f"`query`, {CHANGED}"},
    ),
    "raises on a GPU": Wrong(
        1,
        ((_MIX, "    if query.is_meta:\n        raise KeyError(query.device)\n" + _MIX),),
        {"scaled_dot_product_attention/property/device": "on a GPU, `scaled_dot_product_"},
    ),
    "returns its input on a GPU": Wrong(
        1,
        ((_SELF, "    if x.is_meta:\n        return x\n" + _SELF),),
        {"self_attention/property/device": OTHERWISE},
    ),
    "returns another shape on a GPU": Wrong(
        1,
        ((_SELF, "    if str(x.device) != 'cpu':\n        return x[:, :1]\n" + _SELF),),
        {"self_attention/property/device": OTHERWISE},
    ),
    "returns no tensor on a GPU": Wrong(
        1,
        ((_SELF, "    if x.is_meta:\n        return None\n" + _SELF),),
        {"self_attention/property/device": OTHERWISE},
    ),
    "delegated by another name": Wrong(
        1,
        ((_MIX, "    hidden = getattr(torch.nn.functional, 'scaled_dot_' + 'product_attention')\n"
                "    output = hidden(query, key, value, scale=scale)\n"),),
        {"scaled_dot_product_attention/property/allowed": "is called when the code runs"},
    ),
    "scale ignored": Wrong(
        1,
        ((_FACTOR, "    factor = 1.0 / math.sqrt(query.size(2))\n"),),
        {
            "attention_weights/numeric/scale": "`scale` is not used",
            "scaled_dot_product_attention/numeric/scale": "`scale=0.9` changes nothing",
        },
    ),
    "rows halved": Wrong(
        1,
        ((_SOFT, "    weights = torch.softmax(scores, dim=-1) / 2\n"),),
        {"attention_weights/property/rows-sum-to-one": "a row sums to 0.5"},
    ),
    "softmax over queries": Wrong(
        1,
        ((_SOFT, "    weights = torch.softmax(scores, dim=1)\n"),),
        {
            "attention_weights/property/query-independent": "for one item along q",
            "scaled_dot_product_attention/property/query-independent": "for one item along q",
        },
    ),
    "weights over the batch": Wrong(
        1,
        ((_SOFT, "    weights = torch.softmax(scores, dim=0)\n"),),
        {
            "attention_weights/property/batch-independent": "for one item along b",
            "scaled_dot_product_attention/property/batch-independent": "for one item along b",
        },
    ),
    "overflow": Wrong(
        1,
        ((_SOFT, "    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)\n"),),
        {"attention_weights/property/large-scores":
            "with scores in the thousands: the output holds numbers that are not finite"},
    ),
    # ---- exercise 2
    "overflow in a head": Wrong(
        2,
        (("        output = scaled_dot_product_attention(queries, keys, values)",
          "        powers = (queries @ keys.mT / queries.shape[-1] ** 0.5).exp()\n"
          "        output = powers / powers.sum(-1, keepdim=True) @ values"),),
        {"AttentionHead/property/large-scores":
            "with scores in the thousands: the output holds numbers that are not finite"},
    ),
    "wrong order": Wrong(
        2,
        ((_QKV, "        return keys, queries, values\n"),),
        {"QKVProjection/numeric": VALUES},
    ),
    "two of three": Wrong(
        2,
        ((_QKV, "        return queries, keys\n"),),
        {"QKVProjection/shape": "should return 3 tensors (queries, keys, values)"},
    ),
    "detached keys": Wrong(
        2,
        ((_QKV, "        return queries, keys.detach(), values\n"),),
        {
            "QKVProjection/gradient": "the gradient of",
            "QKVProjection/property/trained": "no gradient reaches the parameter `to_keys.weight`",
        },
    ),
    "batch mixed": Wrong(
        2,
        ((_QKV, "        return queries, keys, values + x.mean() * 0.1\n"),),
        {
            "QKVProjection/property/batch-independent": "for one item along b",
            "QKVProjection/property/position-wise": "for one item along t",
        },
    ),
    "size remembered": Wrong(
        2,
        ((_QKV, "        self.size = getattr(self, 'size', x.shape[:2])\n"
                "        return queries.reshape(*self.size, -1), keys, values\n"),),
        {"QKVProjection/property/reusable": "a later input of another shape fails"},
    ),
    "plain list": Wrong(
        2,
        (("        self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)\n",
          "        self.hidden = [nn.Linear(embed_dim, head_dim, bias=bias)]\n"),
         ("self.to_values(x)", "self.hidden[0](x)")),
        {"QKVProjection/property/registered": "`hidden` holds a module that is not registered"},
    ),
    "bias in a closure": Wrong(
        2,
        ((_QKV, "        queries = queries + HIDDEN.setdefault(\n"
                "            'bias', queries.detach().new_zeros(1).requires_grad_())\n" + _QKV),
         ("class QKVProjection", "HIDDEN = {}\n\n\nclass QKVProjection")),
        {"QKVProjection/property/registered": "depends on 1 trained numbers that the module does"},
    ),
    "spare layer": Wrong(
        2,
        (("        self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)\n",
          "        self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)\n"
          "        self.spare = nn.Linear(1, 1)\n"),),
        {"QKVProjection/property/registered":
            "no gradient reaches `spare`, which nobody asked for"},
    ),
    "head of means": Wrong(
        2,
        ((_HEAD, "        output = values.mean(1, keepdim=True).expand_as(values)\n"),),
        {
            "AttentionHead/numeric": VALUES,
            "AttentionHead/property/trained": "no gradient reaches the parameter",
        },
    ),
    "head that counts positions": Wrong(
        2,
        ((_HEAD, _HEAD + "        output = output.cumsum(1)\n"),),
        {"AttentionHead/property/equivariant": "reordering the input along t"},
    ),
    "head that mixes samples": Wrong(
        2,
        ((_HEAD, _HEAD + "        output = output.cumsum(0)\n"),),
        {"AttentionHead/property/batch-independent": "for one item along b"},
    ),
    "head of one size": Wrong(
        2,
        ((_HEAD, _HEAD + "        self.seen = getattr(self, 'seen', x.shape)\n"
                         "        output = output[: self.seen[0], : self.seen[1]]\n"),),
        {"AttentionHead/property/reusable": "a later input of another shape fails"},
    ),
    # ---- exercise 3
    "overflow in heads": Wrong(
        3,
        (("attended = scaled_dot_product_attention(folded_queries, folded_keys, folded_values)",
          "scores = folded_queries @ folded_keys.mT / folded_keys.shape[-1] ** 0.5\n"
          "        powers = scores.exp()\n"
          "        attended = powers / powers.sum(-1, keepdim=True) @ folded_values"),),
        {"MultiHeadSelfAttention/property/large-scores":
            "with scores in the thousands: the output holds numbers that are not finite"},
    ),
    "fold without transpose": Wrong(
        3,
        ((_FOLDED, "    folded = split.reshape(b * num_heads, t, d)\n"),),
        {"fold_heads/numeric": VALUES, "MultiHeadSelfAttention/numeric": VALUES},
    ),
    "fold that views": Wrong(
        3,
        ((_FOLDED, "    x.view(-1)\n" + _FOLDED),),
        {"fold_heads/property/strided-input": f"{STRIDED}`fold_heads` raised RuntimeError"},
    ),
    "unfold that loses the gradient": Wrong(
        3,
        ((_UNFOLDED, _UNFOLDED + "    unfolded = unfolded * 0.5 + unfolded.detach() * 0.5\n"),),
        {"unfold_heads/gradient": "the gradient of `x`"},
    ),
    "no unify": Wrong(
        3,
        ((_UNIFY, "        output = unfolded\n"),),
        {"MultiHeadSelfAttention/property/trained": "no gradient reaches the parameter `unify"},
    ),
    "heads by position": Wrong(
        3,
        ((_UNIFY, _UNIFY + "        output = output.flip(1)\n"),),
        {"MultiHeadSelfAttention/property/equivariant": "reordering the input along t"},
    ),
    "heads by sample": Wrong(
        3,
        ((_UNIFY, _UNIFY + "        output = output - output.mean(0)\n"),),
        {"MultiHeadSelfAttention/property/batch-independent": "for one item along b"},
    ),
    "indivisible accepted": Wrong(
        3,
        (("        if head_dim is None and embed_dim % num_heads != 0:\n", "        if False:\n"),),
        {"MultiHeadSelfAttention/property/indivisible":
            "embed_dim that num_heads does not divide goes unnoticed: it should raise ValueError"},
    ),
    "another error": Wrong(
        3,
        (("            raise ValueError(", "            raise TypeError("),),
        {"MultiHeadSelfAttention/property/indivisible":
            "num_heads does not divide should raise ValueError, it raised TypeError"},
    ),
    "heads of one size": Wrong(
        3,
        ((_UNIFY, _UNIFY + "        self.seen = getattr(self, 'seen', x.shape)\n"
                           "        output = output.view(self.seen)\n"),),
        {"MultiHeadSelfAttention/property/reusable": "a later input of another shape fails"},
    ),
    # ---- exercise 4
    "a layer that is frozen": Wrong(
        4,
        (("        self.dropout = nn.Dropout(dropout)\n",
          "        self.dropout = nn.Dropout(dropout)\n"
          "        self.expand.weight.requires_grad_(False)\n"),),
        {"FeedForward/gradient": "`expand.weight` did not come, or is zero everywhere"},
    ),
    "dropout in evaluation": Wrong(
        4,
        ((_DROP4, "        output = nn.functional.dropout(projected, self.dropout.p, True)\n"),),
        {"FeedForward/property/dropout-off-in-eval": "evaluation mode with dropout 0.9"},
    ),
    "no dropout": Wrong(
        4,
        ((_DROP4, "        output = projected\n"),),
        {"FeedForward/property/dropout-in-training": "in training mode dropout changes nothing"},
    ),
    "dropout without its rescaling": Wrong(
        4,
        ((_DROP4, "        output = self.dropout(projected)\n        if self.training:\n"
                  "            output = output * (1 - self.dropout.p)\n"),),
        {"FeedForward/property/dropout-in-training": "in training mode dropout"},
    ),
    "any activation": Wrong(
        4,
        (('        if activation not in ("relu", "gelu"):\n', "        if False:\n"),),
        {"FeedForward/property/unknown-activation":
            "an activation that does not exist goes unnoticed"},
    ),
    "unknown activation refused late": Wrong(
        4,
        (("            raise ValueError(f'activation must be", "            self.late = (f'it is"),
         ("        hidden = self.expand(x)",
          "        if hasattr(self, 'late'):\n            raise ValueError(self.late)\n"
          "        hidden = self.expand(x)")),
        {"FeedForward/property/unknown-activation":
            "an activation that does not exist goes unnoticed until the module is called"},
    ),
    "positions mixed": Wrong(
        4,
        ((_DROP4, _DROP4 + "        output = output + x.mean(1, keepdim=True)\n"),),
        {"FeedForward/property/position-wise": "for one item along t"},
    ),
    "samples mixed": Wrong(
        4,
        ((_DROP4, _DROP4 + "        output = output + x.mean(0)\n"),),
        {"FeedForward/property/batch-independent": "for one item along b"},
    ),
    "first layer idle": Wrong(
        4,
        (("hidden = self.expand(x)", "hidden = self.expand(x).detach()"),),
        {"FeedForward/property/trained": "no gradient reaches the parameter `expand.weight`"},
    ),
    "one length only": Wrong(
        4,
        ((_DROP4, _DROP4 + "        self.t = getattr(self, 't', x.size(1))\n"
                           "        output = output[:, : self.t]\n"),),
        {"FeedForward/property/reusable": "a later input of another shape fails"},
    ),
    "network that keeps its last output": Wrong(
        4,
        ((_DROP4, _DROP4 + "        last = getattr(self, 'last', None)\n"
                           "        self.last = output.detach()\n"
                           "        if last is not None and last.shape == output.shape:\n"
                           "            output = output + 0.1 * last\n"),),
        {"FeedForward/property/reusable": "a later input of another shape fails"},
    ),
    # ---- exercise 5
    "layer that counts positions": Wrong(
        5,
        ((_END5, _END5 + "        output = output.cumsum(1)\n"),),
        {"EncoderLayer/property/equivariant": "reordering the input along t"},
    ),
    "layer that mixes samples": Wrong(
        5,
        ((_END5, _END5 + "        output = output.cumsum(0)\n"),),
        {"EncoderLayer/property/batch-independent": "for one item along b"},
    ),
    "layer without a norm": Wrong(
        5,
        (("else self.norm1(attention_sum)", "else attention_sum"),
         ("        attention_input = self.norm1(x) if self.norm_first else x\n",
          "        attention_input = x\n")),
        {"EncoderLayer/property/trained": "no gradient reaches the parameter `norm1.weight`"},
    ),
    "layer with its own dropout": Wrong(
        5,
        ((_END5, _END5 + "        output = nn.functional.dropout(output, self.dropout.p)\n"),),
        {"EncoderLayer/property/dropout-off-in-eval": "evaluation mode with dropout 0.9"},
    ),
    "layer without dropout": Wrong(
        5,
        (("self.dropout(attended)", "attended"), ("self.dropout(transformed)", "transformed")),
        {
            "EncoderLayer/property/dropout-in-training": "dropout changes nothing",
            "EncoderLayer/property/dropout-in-training-pre-norm": "dropout changes nothing",
        },
    ),
    "layer of one size": Wrong(
        5,
        ((_END5, _END5 + "        self.t = getattr(self, 't', x.size(1))\n"
                         "        output = output[:, : self.t]\n"),),
        {"EncoderLayer/property/reusable": "a later input of another shape fails"},
    ),
    "given sublayer hidden": Wrong(
        5,
        (("        self.attention = attention\n", "        self.hidden = [attention]\n"),
         ("self.attention(attention_input)", "self.hidden[0](attention_input)")),
        {"EncoderLayer/property/registered": "that is not registered"},
    ),
    # ---- exercise 6
    "even width only": Wrong(
        6,
        (("cosines[:, : embed_dim // 2]", "cosines"),),
        {"sinusoidal_encoding/shape/odd-width": "in the case 'with an odd embed_dim' "},
    ),
    "sine and cosine exchanged": Wrong(
        6,
        (("    sines = torch.sin(angles)\n", "    sines = torch.cos(angles)\n"),),
        {"sinusoidal_encoding/numeric": VALUES},
    ),
    "table always float32": Wrong(
        6,
        (("dtype=torch.get_default_dtype())", "dtype=torch.float32)"),
         ("torch.zeros(seq_len, embed_dim)",
          "torch.zeros(seq_len, embed_dim, dtype=torch.float32)")),
        {"sinusoidal_encoding/property/dtype": "float32 where torch's default dtype is float64"},
    ),
    "encoding in place": Wrong(
        6,
        ((_ADD6, "        x += encoding\n        output = x\n"),),
        {"SinusoidalPositionEncoding/property/inputs-unchanged": f"`x`, {CHANGED}"},
    ),
    "encoding unbuffered": Wrong(
        6,
        (('        self.encoding: Tensor\n        self.register_buffer("encoding", '
          "sinusoidal_encoding(max_len, embed_dim))\n",
          "        self.encoding = sinusoidal_encoding(max_len, embed_dim)\n"),),
        {
            "SinusoidalPositionEncoding/property/registered":
                "`encoding` holds a tensor that is not registered",
            "SinusoidalPositionEncoding/property/device": FIXED,
        },
    ),
    "encoding unchecked": Wrong(
        6,
        (("        if t > self.encoding.size(0):\n", "        if False:\n"),),
        {"SinusoidalPositionEncoding/property/too-long": "one position more than max_len"},
    ),
    "encoding of samples": Wrong(
        6,
        ((_ADD6, _ADD6 + "        output = output.cumsum(0)\n"),),
        {"SinusoidalPositionEncoding/property/batch-independent": "for one item along b"},
    ),
    "encoding of one length": Wrong(
        6,
        ((_ADD6, _ADD6 + "        self.t = getattr(self, 't', t)\n"
                         "        output = output[:, : self.t]\n"),),
        {"SinusoidalPositionEncoding/property/reusable": "a later input of another shape fails"},
    ),
    "embedding unchecked": Wrong(
        6,
        (("        if t > self.embedding.num_embeddings:\n", "        if False:\n"),),
        {"LearnedPositionEmbedding/property/too-long": "should raise ValueError, it raised"},
    ),
    "embedding on the CPU": Wrong(
        6,
        (("torch.arange(t, device=x.device)", "torch.arange(t)"),
         (_LEARNED, _LEARNED + "        output = output + positions[:, None] * 0\n")),
        {"LearnedPositionEmbedding/property/device": FIXED},
    ),
    "embedding of samples": Wrong(
        6,
        ((_LEARNED, _LEARNED + "        output = output.cumsum(0)\n"),),
        {"LearnedPositionEmbedding/property/batch-independent": "for one item along b"},
    ),
    "embedding detached": Wrong(
        6,
        ((_LEARNED, "        output = x + position_vectors.detach()\n"),),
        {"LearnedPositionEmbedding/property/trained": "no gradient reaches the parameter"},
    ),
    "embedding of one length": Wrong(
        6,
        ((_LEARNED, _LEARNED + "        self.t = getattr(self, 't', t)\n"
                               "        output = output[:, : self.t]\n"),),
        {"LearnedPositionEmbedding/property/reusable": "a later input of another shape fails"},
    ),
    # ---- exercise 7
    "probabilities": Wrong(
        7,
        ((_LOG, "        log_probabilities = torch.softmax(logits, dim=1)\n"),),
        {
            "TransformerClassifier/property/rows-sum-to-one": "exp of each row",
            "build_classifier/property/rows-sum-to-one": "exp of each row",
        },
    ),
    "normalized over the batch": Wrong(
        7,
        ((_LOG, "        log_probabilities = torch.log_softmax(logits, dim=0)\n"),),
        {
            "TransformerClassifier/property/batch-independent": "for one item along b",
            "build_classifier/property/batch-independent": "for one item along b",
        },
    ),
    "sum for mean": Wrong(
        7,
        ((_POOL, "        pooled = encoded.sum(dim=1)\n"),),
        {"TransformerClassifier/numeric": VALUES},
    ),
    "positions on the CPU": Wrong(
        7,
        (("torch.arange(t, device=tokens.device)", "torch.arange(t)"),),
        {"TransformerClassifier/property/device": FIXED},
    ),
    "length unchecked": Wrong(
        7,
        (("        if t > max_len:\n", "        if False:\n"),),
        {"TransformerClassifier/property/too-long": "one token more than max_len"},
    ),
    "positions unused": Wrong(
        7,
        (("embedded = token_vectors + position_vectors", "embedded = token_vectors"),),
        {"TransformerClassifier/property/trained":
            "no gradient reaches the parameter `position_embedding.weight`"},
    ),
    "tokens of one length": Wrong(
        7,
        ((_POOL, "        self.t = getattr(self, 't', t)\n"
                 "        pooled = encoded.view(-1, self.t, encoded.size(2)).mean(dim=1)\n"),),
        {"TransformerClassifier/property/reusable": "a later input of another shape fails"},
    ),
    "layers shared": Wrong(
        7,
        (("    encoder = nn.Sequential(*layers)\n",
          "    encoder = nn.Sequential(*[layers[0]] * depth)\n"),),
        {"build_classifier/property/registered": "fewer than the"},
    ),
    "layers in a list": Wrong(
        7,
        (("    encoder = nn.Sequential(*layers)\n",
          "    class Stack(nn.Module):\n"
          "        def __init__(self):\n"
          "            super().__init__()\n"
          "            self.layers = list(layers)\n\n"
          "        def forward(self, x):\n"
          "            for layer in self.layers:\n"
          "                x = layer(x)\n"
          "            return x\n\n"
          "    encoder = Stack()\n"),),
        {"build_classifier/property/registered": "holds a module that is not registered"},
    ),
    "model that cannot learn": Wrong(
        7,
        ((_BUILD, "    model = TransformerClassifier(\n"
                  "        encoder, vocab_size, embed_dim, max_len, num_classes\n    )\n"
                  "    return model.requires_grad_(False)\n"),),
        {
            "build_classifier/gradient": "",
            "build_classifier/property/trained": "",
            "build_classifier/property/overfits-a-batch": "",
        },
    ),
    "logits detached from the stack": Wrong(
        7,
        ((_POOL, "        pooled = encoded.detach().mean(dim=1)\n"),),
        {
            "build_classifier/gradient": "no gradient reaches the parameter",
            "build_classifier/property/overfits-a-batch": "bring the loss down too little",
        },
    ),
    "raw logits": Wrong(
        7,
        ((_LOG, "        log_probabilities = logits\n"),),
        {"build_classifier/property/overfits-a-batch": "the outputs are no log-probabilities"},
    ),
    "dropout of 0.1 by default": Wrong(
        4,
        (("        dropout: float = 0.0,", "        dropout: float = 0.1,"),),
        {"FeedForward/property/no-dropout-by-default": "in training mode dropout"},
    ),
    "sublayer dropout of 0.1 by default": Wrong(
        5,
        (("        dropout: float = 0.0,", "        dropout: float = 0.1,"),),
        {"EncoderLayer/property/no-dropout-by-default": "in training mode dropout"},
    ),
    "heads dropped where nobody asks for it": Wrong(
        3,
        (("output = self.unify_heads(unfolded)",
          "output = nn.functional.dropout(self.unify_heads(unfolded), 0.1, self.training)"),),
        {"MultiHeadSelfAttention/property/no-dropout-by-default": "in training mode dropout"},
    ),
    "tensor kept from the first call": Wrong(
        3,
        (("output = self.unify_heads(unfolded)",
          "self.kept = getattr(self, 'kept', unfolded.new_ones(3))\n"
          "        output = self.unify_heads(unfolded)"),),
        {"MultiHeadSelfAttention/property/registered": "holds a tensor that is not registered"},
    ),
    "dropout passed on to nobody": Wrong(
        7,
        (("FeedForward(embed_dim, dropout=dropout)", "FeedForward(embed_dim)"),
         ("feed_forward, embed_dim, dropout=dropout)", "feed_forward, embed_dim)")),
        {"build_classifier/property/dropout-in-training": "dropout changes nothing"},
    ),
    "dropout for the sublayers only": Wrong(
        7,
        (("FeedForward(embed_dim, dropout=dropout)", "FeedForward(embed_dim)"),),
        {"build_classifier/property/dropout-in-each-part": "changes the output too little"},
    ),
    "dropout on what the layers get": Wrong(
        7,
        (("encoder = nn.Sequential(*layers)",
          "encoder = nn.Sequential(nn.Dropout(dropout), *layers)"),),
        {"build_classifier/property/dropout-nowhere-else": "changes the output too much"},
    ),
    "layers that are pre-norm": Wrong(
        7,
        (("feed_forward, embed_dim, dropout=dropout)",
          "feed_forward, embed_dim, norm_first=True, dropout=dropout)"),),
        {"build_classifier/property/assembly": "earlier exercises: the output"},
    ),
    "two layers at least": Wrong(
        7,
        (("for _ in range(depth)", "for _ in range(max(depth, 2))"),),
        {"build_classifier/property/assembly-of-one": "earlier exercises: the output"},
    ),
    "one head, whatever is asked": Wrong(
        7,
        (("MultiHeadSelfAttention(embed_dim, num_heads)",
          "MultiHeadSelfAttention(embed_dim, 1)"),),
        {"build_classifier/property/indivisible": "it should raise ValueError"},
    ),
    "model of one class too many": Wrong(
        7,
        ((_BUILD, _BUILD.replace("num_classes", "num_classes + 1")),),
        {"build_classifier/shape": "the output has the wrong shape"},
    ),
    # ---- exercise 8
    "mask that is kept and handed out again": Wrong(
        8,
        (("def causal_mask(", "@functools.lru_cache\ndef causal_mask("),
         ("import math\n", "import functools\nimport math\n")),
        {"causal_mask/property/reusable": "once its caller has changed a result, the next"},
    ),
    "as long as the longest": Wrong(
        8,
        (("    mask = positions < lengths.unsqueeze(1)  # (b, max_len)\n",
          "    mask = (positions < lengths.max()).expand(len(lengths), -1)\n"),),
        {"padding_mask/property/batch-independent": "for one item along b"},
    ),
    "too long accepted": Wrong(
        8,
        (("    if (lengths > max_len).any():\n", "    if False:\n"),),
        {"padding_mask/property/too-long": "goes unnoticed: it should raise ValueError"},
    ),
    "samples mixed under a mask": Wrong(
        8,
        ((_MIX, _MIX + "    output = output - output.mean((0, 1))\n"),),
        {
            "masked_attention/property/batch-independent": "for one item along b",
            "masked_attention/property/query-independent": "for one item along q",
        },
    ),
    "hidden keys that weigh a little": Wrong(
        8,
        (("    weights = weights.masked_fill(hidden, 0.0)  # (b, q, s)\n",
          "    weights = weights.masked_fill(hidden, 1e-3)\n"),),
        {"masked_attention/property/hidden-keys": "what stands in padded places"},
    ),
    "masked softmax by hand": Wrong(
        8,
        (("    weights = torch.softmax(masked_scores, dim=-1)\n",
          "    powers = masked_scores.exp()\n"
          "    weights = powers / powers.sum(-1, keepdim=True)\n"),),
        {"masked_attention/property/large-scores": "with scores in the thousands"},
    ),
    "a large negative number": Wrong(
        8,
        (("    masked_scores = scores.masked_fill(hidden, -math.inf)\n",
          "    masked_scores = scores.masked_fill(hidden, -1e9)\n"),),
        {"masked_attention/property/scores-far-below": "with scores of minus and plus 10^12"},
    ),
    "mask unheard": Wrong(
        8,
        (("        if mask is None:\n", "        if True:\n"),),
        {
            "MaskedMultiHeadAttention/property/causal": "what comes later along t",
            "MaskedMultiHeadAttention/property/hidden-positions": "what stands in padded places",
        },
    ),
    "masked heads by sample": Wrong(
        8,
        ((_UNIFY, _UNIFY + "        output = output - output.mean(0)\n"),),
        {"MaskedMultiHeadAttention/property/batch-independent": "for one item along b"},
    ),
    "masked values detached": Wrong(
        8,
        (("        values = self.to_values(x)  # (b, t, k)\n",
          "        values = self.to_values(x).detach()\n"),),
        {"MaskedMultiHeadAttention/property/trained": "no gradient reaches the parameter"},
    ),
    "masked heads of one size": Wrong(
        8,
        ((_UNIFY, _UNIFY + "        self.seen = getattr(self, 'seen', x.shape)\n"
                           "        output = output[: self.seen[0], : self.seen[1]]\n"),),
        {"MaskedMultiHeadAttention/property/reusable": "a later input of another shape fails"},
    ),
    "indivisible accepted by masked heads": Wrong(
        8,
        (("        if embed_dim % num_heads != 0:\n", "        if False:\n"),),
        {"MaskedMultiHeadAttention/property/indivisible": "should raise ValueError"},
    ),
    # ---- exercise 9
    "norm by the batch": Wrong(
        9,
        (("        normed = centred / torch.sqrt(variance + self.eps)  # (b, t, k)\n",
          "        normed = centred / torch.sqrt(variance.mean(0) + self.eps)\n"),),
        {"LayerNorm/property/batch-independent": "for one item along b"},
    ),
    "norm by the sequence": Wrong(
        9,
        (("        normed = centred / torch.sqrt(variance + self.eps)  # (b, t, k)\n",
          "        normed = centred / torch.sqrt(variance.mean() + self.eps)\n"),),
        {"LayerNorm/property/position-wise": "for one item along t"},
    ),
    "norm without training": Wrong(
        9,
        (("        self.bias = nn.Parameter(torch.zeros(embed_dim))\n",
          "        self.bias = nn.Parameter(torch.zeros(embed_dim), requires_grad=False)\n"),),
        {"LayerNorm/property/trained": "no gradient reaches the parameter"},
    ),
    "norm of one size": Wrong(
        9,
        ((_SCALED, "        self.seen = getattr(self, 'seen', x.shape)\n" + _SCALED
                   + "        output = output.reshape(self.seen)\n"),),
        {"LayerNorm/property/reusable": "a later input of another shape fails"},
    ),
    "norm that begins as zeros": Wrong(
        9,
        (("        self.weight = nn.Parameter(torch.ones(embed_dim))\n",
          "        self.weight = nn.Parameter(torch.zeros(embed_dim))\n"),),
        {"LayerNorm/property/as-made": "with the weight and bias that it begins with: the output"},
    ),
    "memories mixed": Wrong(
        9,
        (("        keys = self.to_keys(memory)  # (b, s, k)\n",
          "        keys = self.to_keys(memory.roll(1, 0))\n"),),
        {"CrossAttention/property/batch-independent": "for one item along b"},
    ),
    "queries mixed": Wrong(
        9,
        ((_UNIFY, _UNIFY + "        output = output - output.mean(1, keepdim=True)\n"),),
        {"CrossAttention/property/query-independent": "for one item along t"},
    ),
    "hidden memory that weighs": Wrong(
        9,
        (("        if memory_mask is None:\n", "        if True:\n"),),
        {"CrossAttention/property/hidden-memory": "what stands in padded places"},
    ),
    "keys of the memory detached": Wrong(
        9,
        (("        keys = self.to_keys(memory)  # (b, s, k)\n",
          "        keys = self.to_keys(memory).detach()\n"),),
        {"CrossAttention/property/trained": "no gradient reaches the parameter"},
    ),
    "memory of one size": Wrong(
        9,
        ((_UNIFY, _UNIFY + "        self.seen = getattr(self, 'seen', x.shape)\n"
                           "        output = output.reshape(self.seen)\n"),),
        {"CrossAttention/property/reusable": "a later input of another shape fails"},
    ),
    "indivisible accepted by crossing heads": Wrong(
        9,
        (("        if embed_dim % num_heads != 0:\n", "        if False:\n"),),
        {"CrossAttention/property/indivisible": "should raise ValueError"},
    ),
    "decoder that looks ahead": Wrong(
        9,
        (("self.self_attention(self_attention_input, mask)",
          "self.self_attention(self_attention_input)"),),
        {"DecoderLayer/property/causal": "what comes later along t"},
    ),
    "decoder that mixes samples": Wrong(
        9,
        ((_DECODED, _DECODED + "        output = output - output.mean(0)\n"),),
        {"DecoderLayer/property/batch-independent": "for one item along b"},
    ),
    "decoder that sees padding": Wrong(
        9,
        (("self.cross_attention(cross_attention_input, memory, memory_mask)",
          "self.cross_attention(cross_attention_input, memory)"),),
        {"DecoderLayer/property/hidden-memory": "what stands in padded places"},
    ),
    "decoder's norm without training": Wrong(
        9,
        (("        self.norm3 = LayerNorm(embed_dim)\n",
          "        self.norm3 = LayerNorm(embed_dim).requires_grad_(False)\n"),),
        {"DecoderLayer/property/trained": "no gradient reaches the parameter"},
    ),
    "decoder of one size": Wrong(
        9,
        ((_DECODED, _DECODED + "        self.seen = getattr(self, 'seen', x.shape)\n"
                               "        output = output.reshape(self.seen)\n"),),
        {"DecoderLayer/property/reusable": "a later input of another shape fails"},
    ),
    "decoder's dropout in evaluation": Wrong(
        9,
        (("self.dropout(transformed)", "nn.functional.dropout(transformed, self.dropout.p)"),),
        {"DecoderLayer/property/dropout-off-in-eval": "in evaluation mode with dropout 0.9"},
    ),
    "decoder's dropout on the sum": Wrong(
        9,
        (("cross_attention_sum + self.dropout(transformed)",
          "self.dropout(cross_attention_sum + transformed)"),),
        {"DecoderLayer/property/dropout-in-training": "training mode"},
    ),
    # ---- exercise 10
    "padding times zero": Wrong(
        10,
        ((_CHOSEN, "    log_probabilities = torch.log_softmax(predictions, dim=2)\n"),
         (_LOSSES, "    losses = -log_probabilities.gather(2, targets[:, :, None])[:, :, 0]\n"
                   "    losses = losses * real\n"),
         ("    loss = losses.mean()  # ()\n", "    loss = losses.sum() / real.sum()\n")),
        {"next_token_loss/property/infinite-padding": "what stands in padded places"},
    ),
    "padding is text": Wrong(
        10,
        (("    real = places < lengths[:, None]  # (b, t - 1)\n",
          "    real = places < lengths[:, None] + 1\n"),),
        {"next_token_loss/numeric/lengths": "right shape but wrong values"},
    ),
    "shifted by the largest of all logits": Wrong(
        10,
        (("    log_probabilities = torch.log_softmax(predictions[real], dim=1)",
          "    shifted = (predictions - logits.max()).exp()[real]\n"
          "    log_probabilities = (shifted / shifted.sum(1, keepdim=True)).log()"),),
        {"next_token_loss/property/padding": "what stands in padded places"},
    ),
    "pre-norm where nothing is said": Wrong(
        5,
        (("norm_first: bool = False", "norm_first: bool = True"),),
        {"EncoderLayer/property/defaults": "where nothing is given by name"},
    ),
    "the mean of nothing": Wrong(
        10,
        (("    if not real.any():\n", "    if False:\n"),),
        {
            "next_token_loss/property/no-target": "goes unnoticed: it should raise ValueError",
            "next_token_loss/property/one-token": "goes unnoticed: it should raise ValueError",
        },
    ),
    "texts mixed": Wrong(
        10,
        ((_LOGITS, _LOGITS + "        logits = logits - logits.mean(0)\n"),),
        {
            "LanguageModel/property/batch-independent": "for one item along b",
            "build_language_model/property/batch-independent": "for one item along b",
        },
    ),
    "positions that are not trained": Wrong(
        10,
        (("    embedded = token_vectors + position_vectors",
          "    embedded = token_vectors + position_vectors.detach()"),),
        {
            "LanguageModel/property/trained": "no gradient reaches the parameter",
            "build_language_model/property/trained": "no gradient reaches the parameter",
        },
    ),
    "logits of one size": Wrong(
        10,
        ((_LOGITS, _LOGITS + "        self.seen = getattr(self, 'seen', tokens.shape)\n"
                             "        logits = logits[: self.seen[0], : self.seen[1]]\n"),),
        {"LanguageModel/property/reusable": "a later input of another shape fails"},
    ),
    "a text too long": Wrong(
        10,
        (("        if t > self.max_len:\n", "        if False:\n"),),
        {"LanguageModel/property/too-long": "one token more than max_len"},
    ),
    "blocks that look ahead": Wrong(
        10,
        (("self.attention(self.norm1(x), mask)", "self.attention(self.norm1(x))"),),
        {"build_language_model/property/causal": "what comes later along t"},
    ),
    "blocks that are post-norm": Wrong(
        10,
        (("x = x + self.drop(self.attention(self.norm1(x), mask))",
          "x = self.norm1(x + self.drop(self.attention(x, mask)))"),),
        {"build_language_model/property/assembly": "earlier exercises: the output"},
    ),
    "dropout for the blocks' sublayers only": Wrong(
        10,
        (("FeedForward(embed_dim, dropout=dropout)", "FeedForward(embed_dim)"),),
        {"build_language_model/property/dropout-in-each-part": "changes the output too little"},
    ),
    "dropout on what the blocks get": Wrong(
        10,
        (("LanguageModel(nn.Sequential(*blocks), vocab_size",
          "LanguageModel(nn.Sequential(nn.Dropout(dropout), *blocks), vocab_size"),),
        {"build_language_model/property/dropout-nowhere-else": "changes the output too much"},
    ),
    "two blocks at least": Wrong(
        10,
        (("for _ in range(depth)", "for _ in range(max(depth, 2))"),),
        {"build_language_model/property/assembly-of-one": "earlier exercises: the output"},
    ),
    "blocks without dropout": Wrong(
        10,
        (("Block(embed_dim, num_heads, dropout)", "Block(embed_dim, num_heads, 0.0)"),),
        {"build_language_model/property/dropout-in-training": "dropout changes nothing"},
    ),
    "one head in each block": Wrong(
        10,
        (("MaskedMultiHeadAttention(embed_dim, num_heads)",
          "MaskedMultiHeadAttention(embed_dim, 1)"),),
        {"build_language_model/property/indivisible": "it should raise ValueError"},
    ),
    # ---- exercise 11
    "softmax over the batch of logits": Wrong(
        11,
        ((_NEXT, "    probabilities = kept.softmax(dim=0)\n"),),
        {
            "next_token_probabilities/property/rows-sum-to-one": "not negative, and sum to one",
            "next_token_probabilities/property/batch-independent": "for one item along b",
        },
    ),
    "a temperature below zero": Wrong(
        11,
        (("    if temperature < 0:\n", "    if False:\n"),),
        {"next_token_probabilities/property/negative-temperature": "it should raise ValueError"},
    ),
    "no token takes part": Wrong(
        11,
        (("    if top_k is not None and top_k < 1:\n", "    if False:\n"),),
        {"next_token_probabilities/property/no-token-left": "should raise ValueError, it raised"},
    ),
    "a cache that forgets": Wrong(
        11,
        (("        return output, (keys, values)\n",
          "        return output, (keys[:, :, -t:], values[:, :, -t:])\n"),),
        {"CachedSelfAttention/property/incremental": "it gives something else than at once"},
    ),
    "a cache that is used up": Wrong(
        11,
        (("values = torch.cat([cache[1], values], dim=2)  # (b, h, p + t, d)\n",
          "values = torch.cat([cache[1], values], dim=2)\n            cache[0].zero_()\n"),),
        {"CachedSelfAttention/property/cache-unchanged": "`cache` that was given is changed"},
    ),
    "weights dropped where nobody asks for it": Wrong(
        11,
        (("        weights = masked.softmax(dim=-1)",
          "        weights = nn.functional.dropout(masked.softmax(dim=-1), 0.1, self.training)"),),
        {"CachedSelfAttention/property/no-dropout-by-default": "in training mode dropout"},
    ),
    "writing that looks ahead": Wrong(
        11,
        (("scores.masked_fill(~visible, -torch.inf)", "scores"),),
        {"CachedSelfAttention/property/causal": "what comes later along t"},
    ),
    "writers that listen to each other": Wrong(
        11,
        (("attended = weights @ values  #", "attended = weights @ values.mean(0, True)  #"),),
        {"CachedSelfAttention/property/batch-independent": "for one item along b"},
    ),
    "queries that are not trained": Wrong(
        11,
        (("queries = self.to_queries(x)", "queries = self.to_queries(x).detach()"),),
        {"CachedSelfAttention/property/trained": "no gradient reaches the parameter"},
    ),
    "a piece of one length": Wrong(
        11,
        (("        b, t, k = x.shape\n",
          "        b, t, k = self.seen = getattr(self, 'seen', x.shape)\n"),),
        {"CachedSelfAttention/property/reusable": "a later input of another shape fails"},
    ),
    "heads that do not fit": Wrong(
        11,
        (("        if embed_dim % num_heads != 0:\n", "        if False:\n"),),
        {"CachedSelfAttention/property/indivisible": "should raise ValueError, it raised"},
    ),
    "the largest always": Wrong(
        11,
        ((_CHANCES, "            drawn = chances.argmax(dim=-1, keepdim=True)\n"),),
        {
            "generate/property/samples": "equal rows of a batch all get the same",
            "generate/property/samples-of-few": "equal rows of a batch all get the same",
        },
    ),
    "a seed in each call": Wrong(
        11,
        ((_CHANCES, "            torch.manual_seed(0)\n"
                    "            if generator is not None:\n"
                    "                generator.manual_seed(0)\n" + _CHANCES),),
        {
            "generate/property/seeded": "the draws are always the same",
            "generate/property/seeded-by-generator": "whatever it has drawn before",
        },
    ),
    "one prompt for all": Wrong(
        11,
        (("    tokens = prompt  # (b, t), grows\n",
          "    tokens = prompt[:1].expand_as(prompt)\n"),),
        {"generate/property/batch-independent": "for one item along b"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_wrong_answer_fails_for_its_stated_reason(wrong: Wrong, graded: Any) -> None:
    exercise = f"exercise{wrong.exercise}"
    result = graded(exercise, edited(solution(exercise), *wrong.edits))
    found = {name: find_check(result, name) for name in wrong.fails}
    assert {name: c.status for name, c in found.items()} == dict.fromkeys(found, Status.FAILED)
    assert [(n, c.message) for n, c in found.items() if wrong.fails[n] not in c.message] == []
    assert all(c.next_step for c in found.values())


def test_wrong_answers_cover_every_kind_and_property() -> None:
    """Each declared property of each target; those of all targets at least once.

    `tests/solutions/test_capstones.py` has the wrong answers of what is trained.
    """
    seen = {f"exercise{w.exercise}/{name}" for w in WRONG.values() for name in w.fails}
    inherited = {p.kind for p in (*COURSE.every_target, *COURSE.every_module)}
    general = {"strided-input", "no-dropout-by-default", *inherited}
    trained = {f"{e.id}/{t.name}" for e in COURSE.exercises for t in e.targets if t.trains}
    checks = {c for c in CHECKS if "/".join(c.split("/")[:2]) not in trained}
    own = {c for c in checks if "/property/" in c and c.rsplit("/", 1)[1] not in general}
    assert own - seen == set()
    assert {c.rsplit("/", 1)[1] for c in checks} <= {c.rsplit("/", 1)[1] for c in seen}


def test_property_counts_only_beside_right_values(graded: Any) -> None:
    text = edited(solution("exercise1"), (_OUT1, "    output = (weights @ x) * 0\n"))
    result = graded("exercise1", text)
    kept = [c for c in result.checks if c.target == "self_attention" and c.score]
    assert [c.kind for c in kept] == [Kind.SHAPE]
    equivariant = find_check(result, "self_attention/property/equivariant")
    assert (equivariant.status, equivariant.message) == (
        Status.SKIPPED,
        "counts once the values are right",
    )


def test_mistake_is_told_once_where_one_target_uses_another(graded: Any) -> None:
    text = edited(solution("exercise1"), (_FACTOR, "    factor = 1.0\n"))
    step = find_check(graded("exercise1", text), "scaled_dot_product_attention/numeric").next_step
    assert "uses `attention_weights`, which is not right yet" in step


def test_what_one_property_shows_of_two_targets_is_told_once(graded: Any) -> None:
    """A softmax that overflows has right values where no score is large."""
    text = edited(
        solution("exercise1"),
        (
            "weights = torch.softmax(scores, dim=-1)  # (b, q, s)",
            "scores = torch.exp(scores - scores.mean())\n"
            "    weights = scores / scores.sum(dim=-1, keepdim=True)",
        ),
    )
    result = graded("exercise1", text)
    first = find_check(result, "attention_weights/property/large-scores")
    assert first.next_step.startswith("find the first line that makes one: a division by zero")
    step = find_check(result, "scaled_dot_product_attention/property/large-scores").next_step
    assert step == (
        "`scaled_dot_product_attention` uses `attention_weights`, which is not right yet: "
        "start there"
    )


def test_helper_that_is_right_with_one_head_is_not_blamed_there(graded: Any) -> None:
    """A mistake of the target's own is seen by itself, and the mixed samples are the helper's."""
    text = edited(
        solution("exercise3"),
        ("split.transpose(1, 2)  # (b, h, t, d)", "split.reshape(b, num_heads, t, d)"),
        ("self.to_keys(x)", "self.to_keys(queries)"),
    )
    result = graded("exercise3", text)
    (own,) = (d for d in result.diagnoses if d.target == "MultiHeadSelfAttention")
    assert own.bugs[0] == "keys-from-queries"
    assert own.hint == "Follow the keys back to x."
    check = find_check(result, "MultiHeadSelfAttention/numeric")
    assert check.case is not None
    assert (check.case.name, check.next_step) == ("one head", "follow the hint above")


def test_what_a_wrong_part_explains_is_told_there_alone(graded: Any) -> None:
    """The order of a helper's results is no wrong line that takes them."""
    text = edited(
        solution("exercise2"), ("return queries, keys, values", "return keys, queries, values")
    )
    first, head = graded("exercise2", text).diagnoses
    assert (first.target, head.target) == ("QKVProjection", "AttentionHead")
    assert first.hint == "Each of the three tensors may be right. Look at where it stands."
    assert (head.evidence, head.hint) == ("The same mistake as in `QKVProjection`.", "")
    assert head.bugs == first.bugs


def test_gradient_that_a_helper_cuts_sends_to_the_helper(graded: Any) -> None:
    text = edited(solution("exercise2"), ("self.to_keys(x)", "self.to_keys(x).detach()"))
    result = graded("exercise2", text)
    for check in ("AttentionHead/gradient", "AttentionHead/property/trained"):
        assert find_check(result, check).next_step == (
            "`AttentionHead` uses `QKVProjection`, which is not right yet: start there"
        )


def test_case_to_refuse_that_fails_as_all_do_is_not_blamed_for_it(graded: Any) -> None:
    text = edited(
        solution("exercise3"),
        ("self.to_keys(x)", "self.to_keys(x) @ x"),
        ("raise ValueError(", "print("),
    )
    check = find_check(graded("exercise3", text), "property/indivisible")
    assert check.message.endswith("should raise ValueError; it fails as the other cases do")


def test_target_that_waits_for_another_is_skipped_with_the_reason(graded: Any) -> None:
    text = edited(solution("exercise1"), (_FACTOR, "    raise NotImplementedError\n"))
    check = find_check(graded("exercise1", text), "scaled_dot_product_attention/numeric")
    assert check.status is Status.SKIPPED
    assert check.message.startswith("`scaled_dot_product_attention` needs `attention_weights`")
    assert check.message.endswith("not written yet")


def test_a_name_may_be_forbidden_for_one_target_alone(graded: Any) -> None:
    """Torch's own norm is forbidden where it is the exercise, and is as good as any elsewhere."""
    norm = "        self.norm1 = LayerNorm(embed_dim)\n"
    text = edited(solution("exercise9"), (norm, norm.replace("LayerNorm", "nn.LayerNorm")))
    assert {c.status for c in graded("exercise9", text).checks} == {Status.PASSED}
    text = edited(solution("exercise9"), (_SCALED, _BY_TORCH))
    failed = [str(c.id) for c in graded("exercise9", text).checks if c.failed]
    assert failed == ["exercise9/LayerNorm/property/allowed"]
