"""What a report says of odd code is so: of loops, shared layers, and mistakes beside others."""

import numpy as np
from support import GradeText, edited, solution

from grader.grading.exhibits import make_panel
from grader.records.results import CheckResult, ExerciseResult, Status
from grader.report.words import distinct_failures

ATTENTION = solution("exercise1")
HEADS = solution("exercise3")
LAYER = solution("exercise5")


def _told(result: ExerciseResult, target: str) -> str:
    return " ".join(f"{d.evidence} {d.hint}" for d in result.diagnoses if d.target == target)


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
    told = _told(grade_text({"exercise1": text}), "self_attention")
    assert "scores ✓ weights ✓ output ✗" in told, told


def test_what_is_never_made_is_not_called_wrong(grade_text: GradeText) -> None:
    """Nothing of the form of the scores is there, so nothing is said of them."""
    text = edited(
        ATTENTION,
        ("scores = x @ x.transpose(1, 2)  # (b, t, t)\n", ""),
        ("weights = torch.softmax(scores, dim=-1)  # (b, t, t)\n", ""),
        ("output = weights @ x  # (b, t, k)", "output = x * x.mean()"),
    )
    assert "scores ✗" not in _told(grade_text({"exercise1": text}), "self_attention")


def test_a_layer_of_two_parts_accuses_no_step(grade_text: GradeText) -> None:
    shared = "self.to_keys = self.to_queries"
    line = "self.to_keys = nn.Linear(embed_dim, num_heads * size, bias=bias)"
    mixed = ("output = self.unify_heads(merged)", "output = self.unify_heads(merged * 1.01)")
    alone = grade_text({"exercise3": edited(HEADS, (line, shared))})
    told = _told(alone, "MultiHeadSelfAttention")
    assert "one layer serves for two or more" in told
    beside = grade_text({"exercise3": edited(HEADS, (line, shared), mixed)})
    assert "✗" not in _told(beside, "MultiHeadSelfAttention")


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
            "merged = unfold_heads(attended, self.num_heads)",
            "merged = unfold_heads(attended, self.num_heads).sin()",
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
