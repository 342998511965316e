"""What a report says of odd code is so: of loops, shared layers, and mistakes beside others."""

import re
from pathlib import Path

import numpy as np
import pytest
from support import Grade, GradeText, all_told, edited, solution

from grader.grading.exhibits import make_panel
from grader.records.results import CheckResult, Diagnosis, ExerciseResult, Status
from grader.report.words import distinct_failures, paragraphs

ATTENTION = solution("exercise1")
HEADS = solution("exercise3")
LAYER = solution("exercise5")


def _check(result: ExerciseResult, name: str) -> CheckResult:
    (found,) = (c for c in result.checks if str(c.id).endswith(f"/{name}"))
    return found


def test_steps_made_row_by_row_are_right(grade_text: GradeText) -> None:
    """A loop over queries has no tensor of all scores; its one mistake comes after them."""
    text = edited(
        ATTENTION,
        (
            """scores = x @ x.transpose(1, 2)  # (b, t, t)
    weights = torch.softmax(scores, dim=-1)  # (b, t, t)
    output = weights @ x  # (b, t, k)
    return output""",
            """rows = []
    for i in range(x.size(1)):
        row = torch.softmax(x[:, i : i + 1] @ x.transpose(1, 2), dim=-1)
        rows.append((row.transpose(1, 2) * x).mean(dim=1))
    return torch.stack(rows, dim=1)""",
        ),
    )
    told = all_told(grade_text({"exercise1": text}), "self_attention")
    assert "scores ✓ weights ✓ output ✗" in told, told


def test_what_is_never_made_is_not_called_wrong(grade_text: GradeText) -> None:
    """Nothing of the form of the scores is there, so nothing is said of them."""
    text = edited(
        ATTENTION,
        ("scores = x @ x.transpose(1, 2)  # (b, t, t)\n", ""),
        ("weights = torch.softmax(scores, dim=-1)  # (b, t, t)\n", ""),
        ("output = weights @ x  # (b, t, k)", "output = x * x.mean()"),
    )
    assert "scores ✗" not in all_told(grade_text({"exercise1": text}), "self_attention")


def test_a_layer_of_two_parts_accuses_no_step(grade_text: GradeText) -> None:
    shared = "self.to_keys = self.to_queries"
    line = "self.to_keys = nn.Linear(embed_dim, num_heads * size, bias=bias)"
    mixed = ("output = self.unify_heads(unfolded)", "output = self.unify_heads(unfolded * 1.01)")
    alone = grade_text({"exercise3": edited(HEADS, (line, shared))})
    told = all_told(alone, "MultiHeadSelfAttention")
    assert "one layer serves for queries and keys" in told
    beside = grade_text({"exercise3": edited(HEADS, (line, shared), mixed)})
    assert "✗" not in all_told(beside, "MultiHeadSelfAttention")


def test_a_name_is_forbidden_where_it_is_used(grade_text: GradeText) -> None:
    text = edited(
        ATTENTION,
        (
            "output = weights @ value",
            "output = torch.nn.functional.scaled_dot_product_attention"
            "(query, key, value, scale=scale)",
        ),
    )
    result = grade_text({"exercise1": text})
    wrong = {c.target for c in result.checks if c.id.name == "allowed" and not c.score}
    assert wrong == {"scaled_dot_product_attention"}


def test_an_option_of_what_is_used_explains_no_case_without_it(grade_text: GradeText) -> None:
    text = edited(
        ATTENTION,
        ("if scale is None else scale\n    products", "if True else scale\n    products"),
        ("output = weights @ value", "output = weights.sqrt() @ value"),
    )
    result = grade_text({"exercise1": text})
    assert not any("start there" in c.next_step for c in result.checks if not c.id.name)


def test_dropout_is_not_blamed_for_wrong_values(grade_text: GradeText) -> None:
    text = edited(LAYER, ("attention_sum = x + self", "attention_sum = attention_input + self"))
    result = grade_text({"exercise5": text})
    assert _check(result, "dropout-in-training-pre-norm").status is Status.SKIPPED
    assert _check(result, "dropout-in-training").status is Status.PASSED


def test_every_option_that_is_no_argument_is_told_once(grade_text: GradeText) -> None:
    """The exception that is due for an unknown activation is no second deviation."""
    text = edited(
        solution("exercise4"),
        ('        activation: str = "relu",\n', ""),
        (
            '        if activation not in ("relu", "gelu"):',
            '        if (activation := "relu") == "":',
        ),
    )
    result = grade_text({"exercise4": text})
    deviations = [s for d in result.diagnoses for s in d.deviations]
    assert deviations == ["`activation` is no argument of `FeedForward`"]


def test_an_input_that_gets_a_gradient_is_no_fault_of_the_childs(grade_text: GradeText) -> None:
    """A table added in place makes the caller's tensor part of the graph."""
    text = edited(
        solution("exercise6"),
        ("output = x + position_vectors  # (b, t, k)", "x += position_vectors\n        output = x"),
    )
    result = grade_text({"exercise6": text})
    assert result.output == ""
    failed = {c.target for c in result.checks if c.id.name == "inputs-unchanged" and c.message}
    assert failed == {"LearnedPositionEmbedding"}


def test_an_option_that_raises_is_told_beside_wrong_values(grade_text: GradeText) -> None:
    text = edited(
        HEADS,
        ("if head_dim is None and embed_dim", "if embed_dim"),
        (
            "unfolded = unfold_heads(attended, self.num_heads)",
            "unfolded = unfold_heads(attended, self.num_heads).sin()",
        ),
    )
    result = grade_text({"exercise3": text})
    own = [c for c in result.checks if c.target == "MultiHeadSelfAttention"]
    said = [d.deviations for d in result.diagnoses if d.target == "MultiHeadSelfAttention"]
    told = [c.message for c in distinct_failures(own)] + [s for some in said for s in some]
    assert any("ValueError" in one for one in told)


def test_a_picture_shows_where_two_tensors_differ() -> None:
    expected = np.zeros((3, 2, 4, 5))
    actual = expected.copy()
    actual[1, 1, 3, 2] = 1.0
    panel = make_panel("output", expected, actual)
    assert panel.slice == "[1, 1, :, :]"
    assert panel.actual is not None
    assert panel.actual[3, 2] == 1.0
    assert make_panel("output", expected, expected).slice == "[0, 0, :, :]"


def test_torchs_norm_is_not_taken_for_the_files_own(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise9"),
        ("variance = centred.square().mean(dim=-1, ", "variance = x.var(dim=-1, "),
        *((f"norm{i} = LayerNorm(", f"norm{i} = nn.LayerNorm(") for i in (1, 2, 3)),
        ("output = cross_attention_sum +", "output = 1.1 * cross_attention_sum +"),
    )
    result = grade_text({"exercise9": text})
    steps = [c.next_step for c in result.checks if c.target == "DecoderLayer" and c.failed]
    assert steps
    assert not any("uses `LayerNorm`" in step for step in steps)


# ---- one fact, one line ----------------------------------------------------------------------

_FROM_QUERIES = ("keys = self.to_keys(x)", "keys = self.to_queries(x)")
_UNIFY = "self.unify_heads = nn.Linear(num_heads * size, embed_dim)"
_HEADS = "MultiHeadSelfAttention"


def _heads(grade_text: GradeText, *edits: tuple[str, str]) -> tuple[Diagnosis, list[CheckResult]]:
    """What is told of many heads with some changes: the diagnosis, and the failures beside it."""
    result = grade_text({"exercise3": edited(HEADS, *edits)})
    (found,) = (d for d in result.diagnoses if d.target == _HEADS)
    return found, distinct_failures([c for c in result.checks if c.target == _HEADS])


def test_property_that_fails_with_a_named_mistake_leads_to_its_hint(grade_text: GradeText) -> None:
    _, failures = _heads(grade_text, _FROM_QUERIES)
    assert {c.id.name: c.next_step for c in failures} == {
        "": "follow the hint above",
        "trained": "follow the hint above",
    }


def test_another_exception_is_a_deviation_beside_a_named_mistake(grade_text: GradeText) -> None:
    refusal = (
        "if head_dim is None and embed_dim % num_heads != 0:\n"
        '            raise ValueError(f"{num_heads} heads cannot share embed_dim {embed_dim}: '
        'give head_dim")',
        "assert head_dim or embed_dim % num_heads == 0",
    )
    found, failures = _heads(grade_text, _FROM_QUERIES, refusal)
    assert found.deviations == (
        "an AssertionError in place of a ValueError for embed_dim that num_heads does not divide",
    )
    assert "too." not in found.evidence
    assert "indivisible" not in {c.id.name for c in failures}


def test_missing_bias_is_a_deviation_beside_a_named_mistake(grade_text: GradeText) -> None:
    bare = (_UNIFY, _UNIFY.replace("embed_dim)", "embed_dim, bias=False)"))
    found, failures = _heads(grade_text, _FROM_QUERIES, bare)
    assert found.deviations == ("`unify_heads` has no bias",)
    assert "bias" not in found.evidence
    assert {c.id.name for c in failures} == {"", "trained"}


def test_parameter_without_a_layer_has_its_own_name(grade_text: GradeText) -> None:
    raw = (_UNIFY, "self.W_O = nn.Parameter(torch.randn(embed_dim, num_heads * size))")
    used = ("self.unify_heads(unfolded)", "unfolded @ self.W_O.T")
    imported = ("from torch import Tensor, nn", "import torch\nfrom torch import Tensor, nn")
    found, _ = _heads(grade_text, raw, used, imported)
    assert found.deviations == ("`W_O`, used as `unify_heads`, has no bias",)


def test_names_that_no_lesson_tells_are_not_told(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise4"),
        (
            "self.contract = nn.Linear(size, embed_dim)",
            "self.b = nn.Linear(size, embed_dim, False)",
        ),
        ("self.contract(activated)", "self.b(activated)"),
    )
    (found,) = grade_text({"exercise4": text}).diagnoses
    assert found.deviations == ("`b` has no bias",)


def test_layer_that_nothing_uses_is_told_once(grade_text: GradeText) -> None:
    text = edited(HEADS, (_UNIFY, f"{_UNIFY}\n        self.norm = nn.LayerNorm(embed_dim)"))
    result = grade_text({"exercise3": text})
    (told,) = distinct_failures([c for c in result.checks if c.target == _HEADS])
    assert told.message == "no gradient reaches `norm`, which nobody asked for"
    assert told.next_step == "remove it where no output needs it; else register it as a buffer"


def test_what_is_drawn_at_random_mixes_nothing(grade_text: GradeText) -> None:
    """Two calls that differ by chance show nothing that mixes items."""
    text = edited(
        solution("exercise4"), ("self.dropout(projected)", "nn.functional.dropout(projected, 0.5)")
    )
    result = grade_text({"exercise4": text})
    told = distinct_failures(result.checks)
    assert "batch-independent" not in {c.id.name for c in told if "mixes" in c.next_step}


def test_size_of_a_layer_is_told_by_its_name(grade_text: GradeText) -> None:
    narrow = "self.to_queries = nn.Linear(embed_dim, num_heads * size, bias=bias)"
    text = edited(HEADS, (narrow, narrow.replace("num_heads * size", "size")))
    check = _check(grade_text({"exercise3": text}), f"{_HEADS}/shape")
    assert check.message == (
        "`to_queries` returns 3 numbers, and should return num_heads * head_dim = 6"
    )
    square = edited(HEADS, (_UNIFY, "self.unify_heads = nn.Linear(size, embed_dim)"))
    check = _check(grade_text({"exercise3": square}), f"{_HEADS}/shape")
    assert "exchange" not in check.next_step


def test_debugger_that_is_left_in_is_told(grade_text: GradeText) -> None:
    text = edited(
        HEADS, _FROM_QUERIES, ("queries = self.to_queries(x)", "breakpoint(); queries = x")
    )
    result = grade_text({"exercise3": text})
    check = _check(result, f"{_HEADS}/shape")
    assert check.message.startswith(f"a debugger stops `{_HEADS}` (exercise3_multi_head.py, line ")
    assert check.next_step == "take out `breakpoint()` or `set_trace()`"
    assert "/grade-" not in result.output


def test_module_without_layers_is_not_said_to_hide_some(grade_text: GradeText) -> None:
    text = edited(
        LAYER,
        ("self.norm1 = nn.LayerNorm(embed_dim)", "pass"),
        ("self.norm2 = nn.LayerNorm(embed_dim)", "pass"),
    )
    told = all_told(grade_text({"exercise5": text}), "EncoderLayer")
    assert "registers as many" not in told


def test_exception_of_most_calls_is_told(grade_text: GradeText) -> None:
    """With one key the sums happen to meet an axis of one."""
    spread = "scores.exp() / scores.exp().sum(dim=-1).unsqueeze(1)  # (b, q, s)"
    text = edited(
        ATTENTION,
        ("weights = torch.softmax(scores, dim=-1)  # (b, q, s)", f"weights = {spread}"),
    )
    check = _check(grade_text({"exercise1": text}), "attention_weights/shape")
    assert check.message.startswith("`attention_weights` raised RuntimeError: The size of tensor")


def test_line_of_a_part_that_is_right_is_not_blamed(grade_text: GradeText) -> None:
    """What is folded twice fails in `fold_heads`, and the line that calls it is wrong."""
    text = edited(HEADS, ("fold_heads(values, self", "fold_heads(folded_keys, self"))
    check = _check(grade_text({"exercise3": text}), "MultiHeadSelfAttention/shape")
    assert re.search(r", called in line (\d+) of ", check.message)
    assert check.next_step.startswith("`fold_heads` is right: look at what it is given in line ")


@pytest.mark.long
def test_what_chance_leaves_alone_names_no_mistake(grade: Grade, tmp_path: Path) -> None:
    """Dropout on the values drops nothing in some calls: there they are as with any dropout."""
    written = """scores = queries @ keys.transpose(1, 2)
        output = scores.softmax(dim=-1) @ nn.functional.dropout(values, 0.1)"""
    call = "output = scaled_dot_product_attention(queries, keys, values)"
    text = edited(solution("exercise2"), (call, written))
    (tmp_path / "exercise2_qkv_projection.py").write_text(text, "utf-8")
    (tmp_path / "exercise1_attention.py").write_text(ATTENTION, "utf-8")
    told = all_told(grade(tmp_path, "exercise2"), "AttentionHead")
    assert "attention weights" not in told
    assert "the scores are not scaled" in told


@pytest.mark.long
def test_tokens_that_are_equal_by_chance_name_no_second_mistake(
    grade: Grade, tmp_path: Path
) -> None:
    """Of a prompt of one token the first place is the last, and much else is the same."""
    text = edited(
        solution("exercise11"),
        ("model(tokens[:, -model.max_len :])[:, -1]", "model(prompt[:, -model.max_len :])[:, 0]"),
        ("torch.cat([tokens, drawn], dim=1)", "torch.cat([drawn, tokens], dim=1)"),
    )
    (tmp_path / "exercise11_generation.py").write_text(text, "utf-8")
    assert "last token alone" not in all_told(grade(tmp_path, "exercise11"), "generate")


def test_a_mask_that_is_not_handed_on_hides_no_missing_dropout(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise9"),
        ("self_attention_sum = x + self.dropout(attended)", "self_attention_sum = x + attended"),
        (
            "self.cross_attention(cross_attention_input, memory, memory_mask)",
            "self.cross_attention(cross_attention_input, memory)",
        ),
    )
    told = all_told(grade_text({"exercise9": text}), "DecoderLayer")
    assert "the memory's mask is not handed on" in told
    assert "dropout does not fall on every sublayer" in told


def test_dropout_in_every_call_leads_to_dropout(grade_text: GradeText) -> None:
    """What compares two calls fails by chance: its own advice would be about something else."""
    text = edited(
        HEADS, ("unfold_heads(attended,", "unfold_heads(nn.functional.dropout(attended),")
    )
    (part,) = (
        one for one in paragraphs(grade_text({"exercise3": text})) if one.group.name == _HEADS
    )
    steps = [part.step_of(remark) for one in part.diagnoses for remark in one.remarks]
    assert any("dropout" in step for step in steps)
    assert not any("order along" in step for step in steps)


def test_an_output_that_is_scaled_once_more_says_so(grade_text: GradeText) -> None:
    text = edited(
        ATTENTION, ("output = weights @ value", "output = weights @ value / query.size(2) ** 0.5")
    )
    told = all_told(grade_text({"exercise1": text}), "scaled_dot_product_attention")
    assert "the scores are scaled, and the output once more" in told


def test_a_layer_of_another_width_does_not_tell_what_it_reads(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise2"),
        (
            "self.to_values = nn.Linear(embed_dim, head_dim",
            "self.to_values = nn.Linear(head_dim, head_dim",
        ),
        ("values = self.to_values(x)", "values = self.to_values(keys)"),
    )
    told = all_told(grade_text({"exercise2": text}), "QKVProjection")
    assert "made from the queries; or the values are made from the keys" in told


@pytest.mark.parametrize(
    "edit",
    [
        ("predictions = logits[:, :-1]", "predictions = logits[:, 1:]"),
        ("targets = tokens[:, 1:]", "targets = tokens[:, :-1]"),
    ],
)
def test_logits_beside_their_own_tokens_are_not_shifted(
    grade_text: GradeText, edit: tuple[str, str]
) -> None:
    told = all_told(
        grade_text({"exercise10": edited(solution("exercise10"), edit)}), "next_token_loss"
    )
    assert told.startswith("Your output equals, to 1e-12, what comes out when nothing is shifted.")


def test_what_a_part_leaves_out_is_no_deviation_of_the_whole(grade_alone: GradeText) -> None:
    text = edited(solution("exercise7"), ("encoded = self.encoder(embedded)", "encoded = embedded"))
    earlier = {f"exercise{number}": solution(f"exercise{number}") for number in range(1, 7)}
    result = grade_alone({"exercise7": text, **earlier})
    (whole,) = (d for d in result.diagnoses if d.target == "build_classifier")
    assert "The same mistake" in whole.evidence
    assert not whole.deviations


def test_a_factor_that_another_size_has_by_chance_names_nothing(grade_text: GradeText) -> None:
    """Of four samples the root is 2, which is what half of a width of five comes to as well."""
    half = "1.0 / (query.size(2) ** 1 // 2) if"
    text = edited(ATTENTION, ("1.0 / math.sqrt(query.size(2)) if", half))
    assert "number of samples" not in all_told(grade_text({"exercise1": text}), "attention_weights")


def test_an_input_that_is_turned_in_place_fails_on_no_device(grade_text: GradeText) -> None:
    text = edited(
        ATTENTION, ("scores = x @ x.transpose(1, 2)", "x.transpose_(1, 2)\n    scores = x.mT @ x")
    )
    text = edited(text, ("output = weights @ x  # (b, t, k)", "output = weights @ x.mT"))
    result = grade_text({"exercise1": text})
    assert _check(result, "self_attention/property/device").status is Status.PASSED
    unchanged = _check(result, "self_attention/property/inputs-unchanged")
    assert unchanged.status is Status.FAILED


def test_a_whole_model_may_be_wrong_for_an_earlier_exercise(grade_text: GradeText) -> None:
    text = edited(solution("exercise8"), ("positions <= pos", "positions >= pos"))
    others = {f"exercise{number}": solution(f"exercise{number}") for number in (1, 3, 4)}
    result = grade_text({"exercise10": solution("exercise10"), "exercise8": text, **others})
    steps = {c.target: c.next_step for c in result.checks if c.failed}
    assert set(steps) == {"build_language_model"}
    assert "it may also be in an earlier exercise" in steps["build_language_model"]


def test_what_is_built_of_correct_parts_is_put_down_to_no_earlier_exercise(
    grade_text: GradeText,
) -> None:
    text = edited(solution("exercise7"), ("layers.append(layer)", "layers += [layer, nn.Tanh()]"))
    others = {f"exercise{number}": solution(f"exercise{number}") for number in range(1, 7)}
    result = grade_text({"exercise7": text, **others})
    assembly = _check(result, "build_classifier/property/assembly")
    assert assembly.status is Status.FAILED
    assert "earlier exercise" not in assembly.next_step


def test_a_mask_that_has_an_axis_more_in_some_cases_is_graded(grade_text: GradeText) -> None:
    """It is turned where it has three axes, which is so of some cases alone."""
    turned = "mask = mask.mT if mask.dim() == 3 else mask\n        seen = mask.expand("
    text = edited(solution("exercise8"), ("seen = mask.expand(", turned))
    told = all_told(grade_text({"exercise8": text}), "MaskedMultiHeadAttention")
    assert "hides rows and not columns" in told


def test_an_exception_of_many_draws_says_that_they_are_many(grade_text: GradeText) -> None:
    """The case has one row: with it alone nothing is raised."""
    refusing = 'assert len(prompt) < 9, "too many"\n    training = model.training'
    text = edited(solution("exercise11"), ("training = model.training", refusing))
    found = _check(grade_text({"exercise11": text}), "generate/property/samples")
    assert found.message.startswith("with its inputs several times in one batch, `generate` raised")


def test_a_step_that_is_made_and_not_used_has_no_tick(grade_text: GradeText) -> None:
    """The values are made and never folded; with `head_dim` something more is wrong."""
    text = edited(
        HEADS,
        ("fold_heads(values, self.num_heads)", "fold_heads(keys, self.num_heads)"),
        (
            "        self.num_heads = num",
            "        self.more = head_dim is not None\n        self.num_heads = num",
        ),
        ("output = self.unify_heads(unfolded)", "output = self.unify_heads(unfolded) + self.more"),
    )
    told = all_told(grade_text({"exercise3": text}), "MultiHeadSelfAttention")
    assert "when the values are made from the keys" in told
    assert "keys ✓ scores ✓" in told


def test_cases_of_one_option_that_are_not_explained_are_called_so(grade_text: GradeText) -> None:
    """One norm serves in both places, and with pre-norm the output is too large as well."""
    body = LAYER[LAYER.index("        # Both arrangements") :]
    text = edited(
        LAYER,
        (
            body[: body.index("        ### END SOLUTION")],
            """        if self.norm_first:
            x = x + self.dropout(self.attention(self.norm1(x)))
            x = 1.01 * (x + self.dropout(self.feed_forward(self.norm2(x))))
        else:
            x = self.norm1(x + self.dropout(self.attention(x)))
            x = self.norm1(x + self.dropout(self.feed_forward(x)))
        return x
""",
        ),
    )
    told = all_told(grade_text({"exercise5": text}), "EncoderLayer")
    assert "what comes out when one layer norm serves in both places" in told
    assert re.search(r"In the other \d, of `numeric/norm_first`, it does not\.", told)


def test_what_is_raised_since_it_is_not_ready_is_no_known_mistake(grade_text: GradeText) -> None:
    first = "self_attention_input = self.norm1(x)"
    begun = edited(solution("exercise9"), (first, f'raise RuntimeError("todo")\n        {first}'))
    result = grade_text({"exercise9": begun})
    assert [d for d in result.diagnoses if d.target == "DecoderLayer"] == []
    assert "a line of your own refuses it" in _check(result, "DecoderLayer/shape").next_step
