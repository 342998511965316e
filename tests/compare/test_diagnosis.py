"""The mistake is named from what the code returns, or not at all."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from support import ROOT, edited, find_check, plain_call, solution

from grader.compare import signature
from grader.compare.occurrence import occurs
from grader.course.load import CourseFolder
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.handin.read import Source, Submission
from grader.key.cache import Keys
from grader.records.answers import Answer, AnswerStatus
from grader.records.results import Diagnosis, ExerciseResult, Kind, Status

_SOLUTIONS = ROOT / "solutions"


def _changed(file: str, *changes: tuple[str, str]) -> dict[str, str]:
    text = (_SOLUTIONS / file).read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return {file.split("_")[0]: text}


def _named(result: ExerciseResult) -> dict[str, tuple[str, ...]]:
    return {d.target: d.bugs for d in result.diagnoses}


def _of(result: ExerciseResult, target: str) -> Diagnosis:
    return next(d for d in result.diagnoses if d.target == target)


def test_diagnosis_names_a_bug_written_in_other_words(grade_text: Callable[..., Any]) -> None:
    scores = ("scores = products * factor", "scores = torch.einsum('bqk->bqk', products)")
    result = grade_text(_changed("exercise1_attention.py", scores))
    assert _named(result)["attention_weights"] == ("missing-scale",)
    found = {d.target: d for d in result.diagnoses}["attention_weights"]
    assert found.evidence == (
        "Your output equals, to 1e-12, what comes out when the scores are not scaled."
    )
    assert found.step == "scores"
    assert found.hint


def test_diagnosis_names_a_bug_in_one_branch(grade_text: Callable[..., Any]) -> None:
    right = "feed_forward_sum = attention_output + self.dropout(transformed)"
    wrong = f"{right}\n        if self.norm_first:\n            feed_forward_sum = transformed"
    result = grade_text(_changed("exercise5_encoder_layer.py", (right, wrong)))
    assert _named(result)["EncoderLayer"] == ("residual-missing-feed-forward",)
    start = "Where your output is wrong (pre-norm, pre-norm of small numbers), it equals"
    assert result.diagnoses[0].evidence.startswith(start)


def test_a_scale_of_zero_is_no_missing_scale(grade_text: Callable[..., Any]) -> None:
    chosen = ("if scale is None else scale", "if not scale else scale")
    (found,) = grade_text(_changed("exercise1_attention.py", chosen)).diagnoses[:1]
    assert found.bugs == ("scale-zero-unheard",)


def test_a_variant_is_told_by_its_own_sentence(grade_text: Callable[..., Any]) -> None:
    base = ("frequencies = 10000.0**-exponents", "frequencies = 100000.0**-exponents")
    (found,) = grade_text(_changed("exercise6_position_encoding.py", base)).diagnoses[:1]
    assert found.bugs == ("base-1000",)
    assert found.ways == ("sinusoidal_encoding/base-1000#1",)
    assert found.evidence.endswith("what comes out when the base is 100000.")


def test_of_bugs_alike_one_whose_words_are_not_in_the_text_is_left_out(
    grade_text: Callable[..., Any],
) -> None:
    change = ("time_first = separated.transpose(1, 2)", "time_first = separated")
    result = grade_text(_changed("exercise3_multi_head.py", change))
    assert _named(result)["unfold_heads"] == ("unfold-without-transpose",)


def test_a_bug_of_structure_is_told_from_another_that_registers_as_many_numbers(
    grade_text: Callable[..., Any],
) -> None:
    depth = ("for _ in range(depth):", "for _ in range(1):")
    values = ("log_probabilities = torch.log_softmax(", "log_probabilities = torch.softmax(")
    earlier = {f"exercise{i}": solution(f"exercise{i}") for i in range(1, 7)}
    result = grade_text(_changed("exercise7_classifier.py", depth, values) | earlier)
    assert _named(result)["build_classifier"] == ("depth-ignored",)


def test_a_mistake_is_named_by_the_types_of_what_comes_back(
    grade_text: Callable[..., Any],
) -> None:
    """Two more mistakes make every value another one, and its shape in many cases."""
    keys = ("keys = self.to_keys(x)", "keys = self.to_keys(x.cumsum(1))")
    joined = ("return queries, keys, values", "return torch.cat([values, keys, queries], dim=-1)")
    torch = ("from torch import Tensor", "import torch\nfrom torch import Tensor")
    result = grade_text(_changed("exercise2_qkv_projection.py", torch, keys, joined))
    found = result.diagnoses[0]
    assert (found.target, found.bugs) == ("QKVProjection", ("stacked-return",))
    assert found.evidence == (
        "No known mistake explains your values. But in every case you return the same "
        "types as when the three tensors come back joined in one."
    )


def test_a_mistake_is_named_where_the_shape_is_right(grade_text: Callable[..., Any]) -> None:
    """Where torch spreads an axis of one, a wrong shape comes out and no exception."""
    mix = "output = weights @ value"
    spread = "output = torch.einsum('bqk,bkd->bqd', weights.transpose(1, 2), value)"
    result = grade_text(_changed("exercise1_attention.py", (mix, spread)))
    found = _of(result, "scaled_dot_product_attention")
    assert found.bugs == ("weights-transposed",)
    assert found.evidence == (
        "Where your output can be compared, it equals, to 1e-12, what comes out when the weights "
        "that meet the values are transposed."
    )


def test_what_is_not_registered_is_told_although_most_calls_raise(
    grade_text: Callable[..., Any],
) -> None:
    """A call that raises says nothing of what hangs on the module."""
    table = 'self.register_buffer("encoding", sinusoidal_encoding(max_len, embed_dim))'
    result = grade_text(
        _changed(
            "exercise6_position_encoding.py",
            (table, "self.encoding = sinusoidal_encoding(max_len, embed_dim)"),
            ("encoding = self.encoding[:t]", "encoding = self.encoding"),
        )
    )
    named = _named(result)["SinusoidalPositionEncoding"]
    assert named == ("positions-not-sliced", "not-a-buffer")


def test_a_number_that_comes_as_a_tensor_costs_its_own_check(
    grade_text: Callable[..., Any],
) -> None:
    back = ("return loss.item()", "return loss")
    result = grade_text(_changed("exercise12_training.py", back))
    failed = [c for c in result.checks if c.target == "training_step" and c.failed]
    assert {c.id.kind for c in failed} == {Kind.SHAPE}
    found = _of(result, "training_step")
    assert found.bugs == ("tensor-returned",)
    told = "`training_step` should return a number as `loss`, it returned a Tensor of shape ()"
    assert told in found.sentence
    in_a_dict = ("return loss.item()", 'return {"loss": loss.item()}')
    result = grade_text(_changed("exercise12_training.py", in_a_dict))
    failed = [c for c in result.checks if c.target == "training_step" and c.failed]
    assert {c.id.kind for c in failed} == {Kind.SHAPE}
    forgotten = ("    optimizer.zero_grad()\n", "")
    result = grade_text(_changed("exercise12_training.py", back, forgotten))
    found = _of(result, "training_step")
    assert found.bugs == ("gradients-add-up",)
    assert [told in one for one in found.deviations] == [True]


@pytest.mark.parametrize(
    ("back", "came"),
    [
        ("output, weights", "returns a tuple of 2 tensors, where `output` alone is asked for"),
        ("[output]", "should return a tensor, it returned a list"),
        (
            '{"output": output, "weights": weights}',
            "should return a tensor, it returned a dict",
        ),
    ],
    ids=["first of several", "the only one", "by its name"],
)
def test_a_tensor_that_comes_in_another_form_costs_its_own_check(
    grade_text: Callable[..., Any], back: str, came: str
) -> None:
    function = "scaled_dot_product_attention"
    end = "output = weights @ value  # (b, q, w)\n    return "
    result = grade_text(_changed("exercise1_attention.py", (f"{end}output", f"{end}{back}")))
    failed = [c for c in result.checks if c.target == function and c.failed]
    assert {c.id.kind for c in failed} == {Kind.SHAPE}
    told = f"`{function}` {came}"
    assert _of(result, function).deviations == (told,)


@pytest.mark.parametrize(
    ("back", "what", "step"),
    [
        ("encoding[None]", "an axis of one in front", "`[0]`"),
        ("encoding[None, None]", "2 axes of one in front", "`[0, 0]`"),
        ("encoding[:, None]", "an axis of one in between", "`[:, 0]`"),
        ("encoding[..., None]", "an axis of one at the end", "`[..., 0]`"),
        ("encoding[None, ..., None]", "2 axes of one", "`[0, :, :, 0]`"),
    ],
)
def test_axes_of_one_cost_the_check_of_shapes(
    grade_text: Callable[..., Any], back: str, what: str, step: str
) -> None:
    function = "sinusoidal_encoding"
    text = _changed("exercise6_position_encoding.py", ("return encoding\n", f"return {back}\n"))
    result = grade_text(text)
    failed = [c for c in result.checks if c.target == function and c.failed]
    assert {c.id.kind for c in failed} <= {Kind.SHAPE, Kind.BUG}
    shapes = [c for c in failed if c.id.kind is Kind.SHAPE]
    told = f"the output has {what} that nobody asked for"
    assert told in {c.message for c in shapes}
    assert any(step in c.next_step for c in shapes)
    assert _of(result, function).deviations == (told,)


@pytest.mark.parametrize(
    ("file", "target", "old", "new"),
    [
        (
            *("exercise8_masks.py", "padding_mask", "mask = positions < lengths.unsqueeze(1)"),
            "mask = (positions < lengths.unsqueeze(1))[..., None]",
        ),
        (
            *("exercise8_masks.py", "MaskedMultiHeadAttention"),
            *(
                "output = self.unify_heads(unfolded)",
                "output = self.unify_heads(unfolded)[:, None]",
            ),
        ),
        (
            *("exercise2_qkv_projection.py", "QKVProjection", "return queries, keys, values"),
            "return queries[..., None], keys[..., None], values[..., None]",
        ),
    ],
    ids=["of truths", "of a module", "of several outputs"],
)
def test_an_axis_of_one_costs_the_check_of_shapes_for_one_sample_too(
    grade_text: Callable[..., Any], file: str, target: str, old: str, new: str
) -> None:
    result = grade_text(_changed(file, (old, new)))
    failed = {c.id.kind for c in result.checks if c.target == target and c.failed}
    assert failed == {Kind.SHAPE}
    (told,) = _of(result, target).deviations
    assert " has an axis of one " in told


def test_layers_without_telling_names_are_tried_in_float32_too(
    grade_text: Callable[..., Any],
) -> None:
    """Code that raises in float64, and makes the keys by the layer that is made first."""
    text = """
import torch
from torch import nn


class QKVProjection(nn.Module):
    def __init__(self, embed_dim, head_dim, *, bias=False):
        super().__init__()
        self.lin_a = nn.Linear(embed_dim, head_dim, bias=bias)
        self.lin_b = nn.Linear(embed_dim, head_dim, bias=bias)
        self.lin_c = nn.Linear(embed_dim, head_dim, bias=bias)

    def forward(self, x):
        ones = torch.ones(x.size(1), x.size(1), dtype=torch.float32, device=x.device)
        return self.lin_b(x), self.lin_a(x), torch.diag(torch.diag(ones)) @ self.lin_c(x)
"""
    result = grade_text({"exercise2": text})
    failed = [c for c in result.checks if c.target == "QKVProjection" and c.failed]
    assert {c.id.kind for c in failed if c.id.name != "dtype-hard-coded"} == {Kind.PROPERTY}
    assert [c.id.name for c in failed if c.id.kind is Kind.PROPERTY] == ["dtype"]


def test_two_sizes_that_are_wrong_at_once_are_named(shipped_engine: Engine) -> None:
    (text,) = _changed(
        "exercise4_feed_forward.py",
        ("size = 4 * embed_dim if hidden_dim is None else hidden_dim", "size = 2 * embed_dim"),
    ).values()
    exercise = shipped_engine.folder.course.exercise("exercise4")
    source = Source(exercise.file, units=((exercise.file, text),))
    found = shipped_engine.run(exercise, Submission({"exercise4": source})).result.diagnoses[0]
    assert found.bugs == ("hidden-dim-ignored", "hidden-default-wrong")
    assert found.evidence == (
        "In every case your module does not fit at the same parameters as when hidden_dim is "
        "ignored, and the hidden width is twice embed_dim by default."
    )


def test_right_values_are_never_put_down_to_two_bugs(
    folder: CourseFolder, keys: Keys, warm: WarmProcess
) -> None:
    def refuse(_: Any) -> Any:
        raise AssertionError("two bugs were looked for")

    table = 'self.register_buffer("encoding", sinusoidal_encoding(max_len, embed_dim))'
    spare = f"{table}\n        self.spare = nn.Parameter(torch.zeros(3))"
    text = _changed("exercise6_position_encoding.py", (table, spare))["exercise6"]
    exercise = folder.course.exercise("exercise6")
    sources = {e.id: Source(e.file, problem="not handed in") for e in folder.course.exercises}
    sources[exercise.id] = Source(exercise.file, units=((exercise.file, text),))
    engine = Engine(folder, replace(keys, pairs=refuse), Standins.of(folder), warm)
    result = engine.run(exercise, Submission(sources)).result
    assert result.score < result.max_score
    assert "SinusoidalPositionEncoding" not in _named(result)


def test_the_first_hint_is_on_what_breaks_the_case_that_is_shown(shipped_engine: Engine) -> None:
    """With one position it does not matter that the positions are summed."""
    (text,) = _changed(
        "exercise4_feed_forward.py",
        ('nn.ReLU() if activation == "relu"', 'nn.ReLU() if activation == "gelu"'),
        ("projected = self.contract(activated)", "projected = self.contract(activated.cumsum(1))"),
    ).values()
    exercise = shipped_engine.folder.course.exercise("exercise4")
    source = Source("a.py", units=(("a.py", text),))
    result = shipped_engine.run(exercise, Submission({"exercise4": source}), quick=True).result
    (found,) = result.diagnoses
    assert found.bugs == ("activations-exchanged", "mixes-positions")
    assert "negative number" in found.hint


def test_another_epsilon_is_told_as_another_constant(grade_text: Callable[..., Any]) -> None:
    own = {"exercise5": solution("exercise5").replace(
        "nn.LayerNorm(embed_dim)", "nn.LayerNorm(embed_dim, eps=1e-12)"
    )}  # fmt: skip
    told = find_check(grade_text(own), "EncoderLayer/property/dtype")
    assert told.message.startswith("the output is near the right one, and off by up to ")
    assert "float64" not in told.message
    assert told.next_step == "follow the hint above"


def test_a_cache_of_another_type_is_no_change_of_the_cache(grade_text: Callable[..., Any]) -> None:
    heads = "self.num_heads = num_heads\n"
    text = edited(
        solution("exercise11"),
        ("return output, (keys, values)", 'return output, {"keys": keys, "values": values}'),
        (heads, f"{heads}        self.idle = nn.Linear(3, 3)\n"),
    )
    before = re.search(r"( *)if cache is not None:\n", text)
    assert before is not None
    unpacked = f'{before[1]}cache = cache and (cache["keys"], cache["values"])\n'
    found = grade_text({"exercise11": text.replace(before[0], unpacked + before[0], 1)})
    failed = {c.id.in_target for c in found.checks if c.status is Status.FAILED}
    assert failed == {"property/trained", "property/registered"}
    assert not [d for d in found.diagnoses if "cache-appended" in d.bugs]


def test_an_epsilon_is_not_said_to_be_float32(grade_text: Callable[..., Any]) -> None:
    before = "weights = torch.softmax(scores, dim=-1)  # (b, q, s)"
    exponentials = "powers = (scores - scores.amax(-1, keepdim=True)).exp()"
    sums = "weights = powers / (powers.sum(-1, keepdim=True) + 3e-7)"
    own = _changed("exercise1_attention.py", (before, f"{exponentials}\n    {sums}"))
    told = [d for one in grade_text(own).diagnoses for d in one.deviations]
    assert (
        "its last digits are wrong, as float32, a rounded constant or an epsilon makes them" in told
    )
    assert not any("numbers are float32" in one for one in told)


def test_diagnosis_sees_through_fused_layers(grade_text: Callable[..., Any]) -> None:
    layers = [
        f"self.to_{part} = nn.Linear(embed_dim, num_heads * size, bias=bias)"
        for part in ("queries", "keys", "values")
    ]
    uses = [f"{part} = self.to_{part}(x)" for part in ("queries", "keys", "values")]
    result = grade_text(
        _changed(
            "exercise3_multi_head.py",
            (layers[0], "self.fused = nn.Linear(embed_dim, 3 * num_heads * size, bias=bias)"),
            (layers[1], ""),
            (layers[2], "bias = False"),
            (uses[0], "queries, keys, values = self.fused(x).chunk(3, dim=-1)"),
            (uses[1], ""),
            (uses[2], ""),
            (
                "nn.Linear(num_heads * size, embed_dim)",
                "nn.Linear(num_heads * size, embed_dim, bias)",
            ),
        )
    )
    assert _named(result)["MultiHeadSelfAttention"] == ("output-bias-missing",)


def test_diagnosis_names_two_bugs_at_once(grade: Callable[..., Any], tmp_path: Any) -> None:
    texts = _changed(
        "exercise4_feed_forward.py",
        ("size = 4 * embed_dim if hidden_dim is None else hidden_dim", "size = 4 * embed_dim"),
        ("activated = self.activation(hidden)", "activated = hidden"),
    )
    (tmp_path / "exercise4_feed_forward.py").write_text(texts["exercise4"])
    result = grade(tmp_path, "exercise4")
    assert set(_named(result)["FeedForward"]) == {"hidden-dim-ignored", "activation-missing"}


def test_a_bug_that_changes_nothing_by_itself_is_not_half_of_two(keys: Keys) -> None:
    """Zeros in place of a bias are what is due where the bias is zero, as it is in these cases."""
    key = keys.keys["exercise8"]
    name = "MaskedMultiHeadAttention"
    calls = key.plan.of_target(name)
    right = signature.sign(calls, key.answers, key.plan.tensors, [])
    rows = signature.pair_rows(calls)
    acts = partial(key.suspects[name].acts, right=right, rows=rows, tolerance=1e-9)
    assert not acts(f"{name}/zeros-after-the-last-layer")
    assert acts(f"{name}/no-output-projection")
    assert acts("masked_attention/mask-added")


def test_a_mask_that_is_added_is_named_beside_rows_with_nothing_to_see(
    grade_alone: Callable[..., Any],
) -> None:
    """Who thinks of such rows may still add the mask."""
    text = edited(
        solution("exercise8"),
        ("masked_scores = scores.masked_fill(hidden, -math.inf)", "masked_scores = scores + mask"),
        ("weights = weights.masked_fill(hidden, 0.0)", "output = weights @ value"),
        ("output = weights @ value  # (b, q, w)\n    return output",
         "return output.masked_fill(hidden.all(dim=-1, keepdim=True), 0.0)"),
    )  # fmt: skip
    named = _named(grade_alone({"exercise8": text}))
    assert named == dict.fromkeys(("masked_attention", "MaskedMultiHeadAttention"), ("mask-added",))


def test_diagnosis_reports_bugs_that_cannot_be_told_apart_as_one(
    grade_text: Callable[..., Any],
) -> None:
    discarded = "split.transpose(1, 2)\n    heads_first = split"
    change = ("heads_first = split.transpose(1, 2)", discarded)
    result = grade_text(_changed("exercise3_multi_head.py", change))
    assert set(_named(result)["fold_heads"]) == {"fold-without-transpose", "transpose-discarded"}
    assert "; or " in result.diagnoses[0].evidence


@pytest.mark.parametrize(
    ("file", "change", "target", "step"),
    [
        (
            "exercise3_multi_head.py",
            ("unfolded = unfold_heads(attended", "unfolded = 1.01 * unfold_heads(attended"),
            "MultiHeadSelfAttention",
            "output",
        ),
        (
            "exercise5_encoder_layer.py",
            (
                "self.feed_forward(feed_forward_input)",
                "self.feed_forward(0.9 * feed_forward_input)",
            ),
            "EncoderLayer",
            "transformed",
        ),
        (
            "exercise7_classifier.py",
            ("encoded.mean(dim=1)", "encoded.median(dim=1).values"),
            "TransformerClassifier",
            "pooled",
        ),
    ],
    ids=["exercise3", "exercise5", "exercise7"],
)
def test_unknown_mistake_is_located_at_its_first_wrong_step(
    grade_text: Callable[..., Any], file: str, change: tuple[str, str], target: str, step: str
) -> None:
    result = grade_text(_changed(file, change))
    (found,) = [d for d in result.diagnoses if d.target == target]
    assert found.bugs == ()
    assert found.step == step
    assert f"{step} ✗" in found.evidence
    assert "✓" in found.evidence


def test_right_code_gets_no_diagnosis(grade_text: Callable[..., Any]) -> None:
    assert grade_text(_changed("exercise4_feed_forward.py")).diagnoses == ()


def test_constant_is_no_known_mistake(grade_text: Callable[..., Any]) -> None:
    change = ("output = weights @ x", "output = 0 * x")
    (found,) = grade_text(_changed("exercise1_attention.py", change)).diagnoses
    assert found.bugs == ()
    assert found.evidence == (
        "No known mistake explains all. Step by step: scores ✓ weights ✓ output ✗. In each case "
        "where it is wrong, the output is 0 at each place."
    )
    assert "which tensor is returned" in found.hint


def test_failed_property_alone_is_not_another_bug(grade_text: Callable[..., Any]) -> None:
    change = (
        "time_first = separated.transpose(1, 2)",
        "x.mul_(1.5).div_(1.5); time_first = separated.transpose(1, 2)",
    )
    result = grade_text(_changed("exercise3_multi_head.py", change))
    assert "device-hard-coded" not in _named(result).get("unfold_heads", ())


def test_occurs_finds_values_in_any_order_of_axes() -> None:
    step = np.random.default_rng(0).standard_normal((2, 3, 4))
    assert occurs(step, [step.transpose(0, 2, 1).copy()])
    assert occurs(step, [step.reshape(2, 12)])
    assert not occurs(step, [np.sort(step.ravel()).reshape(2, 3, 4)])
    assert not occurs(step, [step + 1e-3])


def test_suspects_of_every_exercise_are_kept_in_the_key(keys: Keys) -> None:
    for key in keys.keys.values():
        assert key.suspects
        assert all(len(some.names) == len(some.codes) for some in key.suspects.values())


def test_signature_keeps_nothing_for_sizes_that_no_reference_has() -> None:
    before = signature.directions.cache_info().currsize
    call = plain_call("f/a/forward", "f")
    answer = Answer(AnswerStatus.OK, {"output/output": np.zeros(1 << 20, dtype=np.int8)})
    made = signature.sign([call], {call.id: answer}, {}, [])
    assert made.values.any()
    assert signature.directions.cache_info().currsize == before


def test_a_mistake_is_named_beside_another_form(grade_text: Callable[..., Any]) -> None:
    """What is in a tuple is compared, and the tuple costs the check of shapes."""
    wrong = ("return output", "return output, weights.transpose(1, 2)")
    text = _changed(
        "exercise1_attention.py", ("output = weights @ value", "output = weights @ key")
    )
    source = text["exercise1"]
    start = source.rindex(wrong[0])
    text = {"exercise1": source[:start] + wrong[1] + source[start + len(wrong[0]) :]}
    found = _of(grade_text(text), "scaled_dot_product_attention")
    assert found.bugs == ("keys-as-values",)


def test_values_that_are_right_in_float32_name_no_bug_that_spares_them(
    grade_text: Callable[..., Any],
) -> None:
    attend = "output = scaled_dot_product_attention(queries, keys, values)"
    single = "queries, keys, values = (y.float() for y in (queries, keys, values))"
    lines = f"{single}\n        {attend}.to(x)"
    result = grade_text(_changed("exercise2_qkv_projection.py", (attend, lines)))
    (found,) = (d for d in result.diagnoses if d.target == "AttentionHead")
    assert set(found.bugs) <= {"dtype-hard-coded"}
    assert found.evidence == "Right values."


def test_a_parameter_that_some_case_trains_is_not_called_untrained(
    grade_text: Callable[..., Any],
) -> None:
    """At one position a difference from the mean is zero, and so is its gradient."""
    queries = (
        "queries = self.to_queries(x)",
        "x = x - x.mean(dim=1, keepdim=True)\n        queries = self.to_queries(x)",
    )
    result = grade_text(_changed("exercise2_qkv_projection.py", queries))
    assert not any("no gradient reaches" in check.message for check in result.checks)


def test_a_module_of_other_sizes_does_not_register_what_no_module_does(
    grade_text: Callable[..., Any],
) -> None:
    """Its layers fit nowhere, as where nothing is registered: that says nothing of their number."""
    changes = (
        ("size = 4 * embed_dim if hidden_dim is None else hidden_dim", "size = 2 * embed_dim"),
        ('if activation not in ("relu", "gelu"):', "if False:"),
    )
    result = grade_text(_changed("exercise4_feed_forward.py", *changes))
    assert _named(result) == {"FeedForward": ()}
    assert "registers as many" not in result.diagnoses[0].sentence


def test_of_two_ways_the_one_that_explains_an_unheard_option_is_named(
    grade_text: Callable[..., Any],
) -> None:
    """With norm_first=True all is as without it: then it does not mean the opposite."""
    changes = (
        ("self.norm_first = norm_first", "self.norm_first = True"),
        ("return output\n", "return output, attended\n"),
    )
    found = _of(grade_text(_changed("exercise5_encoder_layer.py", *changes)), "EncoderLayer")
    assert found.bugs == ("pre-norm-always",)


def test_norm_first_means_nothing_where_it_is_no_argument(grade_text: Callable[..., Any]) -> None:
    changes = (
        ("        norm_first: bool = False,\n", ""),
        ("self.norm_first = norm_first", "self.pre = True"),
    )
    text = _changed("exercise5_encoder_layer.py", *changes)
    text = {"exercise5": text["exercise5"].replace("self.norm_first", "self.pre")}
    found = _of(grade_text(text), "EncoderLayer")
    assert found.bugs == ("pre-norm-always",)
    assert "`norm_first` is no argument of `EncoderLayer`" in found.deviations


def test_dropout_on_what_the_norm_returns_is_named_so(grade_text: Callable[..., Any]) -> None:
    changes = (
        ("x + self.dropout(attended)", "x + attended"),
        ("attention_output + self.dropout(transformed)", "attention_output + transformed"),
        ("else self.norm1(attention_sum)", "else self.dropout(self.norm1(attention_sum))"),
        ("else self.norm2(feed_forward_sum)", "else self.dropout(self.norm2(feed_forward_sum))"),
        ("attended = self.attention", "attended = self.in_pre_norm(self.attention"),
        ("transformed = self.feed_forward", "transformed = self.in_pre_norm(self.feed_forward"),
        ("(attention_input)\n", "(attention_input))\n"),
        ("(feed_forward_input)\n", "(feed_forward_input))\n"),
        (
            "    def forward(self, x",
            "    def in_pre_norm(self, came):\n"
            "        return self.dropout(came) if self.norm_first else came\n\n"
            "    def forward(self, x",
        ),
    )
    found = _of(grade_text(_changed("exercise5_encoder_layer.py", *changes)), "EncoderLayer")
    assert "dropout falls on what the norm returns" in found.evidence


def test_one_layer_of_three_that_are_made_is_one_mistake(grade_text: Callable[..., Any]) -> None:
    """That the others are not trained is no other one."""
    changes = (
        ("queries = self.to_queries(x)  #", "queries = keys = values = self.to_values(x)  #"),
        ("        keys = self.to_keys(x)  # (b, t, h*d)\n", ""),
        ("        values = self.to_values(x)  # (b, t, h*d)\n", ""),
    )
    found = _of(grade_text(_changed("exercise3_multi_head.py", *changes)), "MultiHeadSelfAttention")
    assert found.bugs == ("projection-shared",)


def test_a_head_that_keeps_the_width_has_no_weight_the_wrong_way_round(
    shipped_engine: Engine,
) -> None:
    """Two mistakes register as many numbers as these: but one of them alone, as many as are due."""
    text = edited(
        solution("exercise2_qkv_projection.py"),
        (
            "to_queries = nn.Linear(embed_dim, head_dim,",
            "qkv = nn.Linear(embed_dim, 3 * embed_dim,",
        ),
        ("        self.to_keys = nn.Linear(embed_dim, head_dim, bias=bias)\n", ""),
        ("        self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)\n", ""),
        ("queries = self.to_queries(x)", "queries, keys, values = self.qkv(x).chunk(3, dim=-1)"),
        ("keys = self.to_keys(x)", ""),
        ("values = self.to_values(x)", "values = keys"),
    )
    file = "exercise2_qkv_projection.py"
    exercise = shipped_engine.folder.course.exercise("exercise2")
    submission = Submission({"exercise2": Source(file, units=((file, text),))})
    diagnoses = shipped_engine.run(exercise, submission).result.diagnoses
    assert not [d for d in diagnoses if "weight-transposed" in d.bugs]


def test_zeros_get_no_two_names(grade_text: Callable[..., Any]) -> None:
    zero = ("output = self.unify_heads(unfolded)", "output = self.unify_heads(unfolded) * 0")
    result = grade_text({"exercise9": edited(solution("exercise9"), zero)})
    found = [one for one in result.diagnoses if one.target == "CrossAttention"]
    assert all(len(one.bugs) < 2 for one in found), found


def test_another_epsilon_is_no_dropout(grade_text: Callable[..., Any]) -> None:
    swaps = [
        (
            f"self.norm{i} = nn.LayerNorm(embed_dim)",
            f"self.norm{i} = nn.LayerNorm(embed_dim, eps=1e-6)",
        )
        for i in (1, 2)
    ]
    unheard = ("self.norm_first = norm_first", "self.norm_first = False")
    result = grade_text({"exercise5": edited(solution("exercise5"), *swaps, unheard)})
    check = find_check(result, "EncoderLayer/property/no-dropout-by-default")
    assert not check.failed, check.message
