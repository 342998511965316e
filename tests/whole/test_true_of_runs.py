"""What is told of a run is so: its lines, its places, its steps, and what leads on from them."""

import click
import numpy as np
import pytest
from support import GradeText, all_told, edited, find_check, solution

from grader.compare.occurrence import factor_of
from grader.grading.engine import Engine
from grader.grading.exercise import Run
from grader.grading.exhibits import exhibits_of
from grader.grading.trace import trace_target
from grader.handin.read import Source, Submission
from grader.records.results import State
from grader.report.explained import render_run

ATTENTION = solution("exercise1")
PROJECTION = solution("exercise2")
HEADS = solution("exercise3")
NETWORK = solution("exercise4")
LAYER = solution("exercise5")
POSITIONS = solution("exercise6")
_SCALED_LATE = (  # `scores` are the products alone
    ("    scores = products * factor  # (b, q, s)\n", ""),
    ("torch.softmax(scores, dim=-1)  # (b, q, s)", "torch.softmax(scores * factor, dim=-1)"),
)


def _run(engine: Engine, exercise: str, text: str) -> Run:
    course = engine.folder.course
    chosen = course.exercise(exercise)
    sources = {e.id: Source(e.file, problem="not here") for e in course.exercises}
    sources[exercise] = Source(chosen.file, units=((chosen.file, text),))
    return engine.run(chosen, Submission(sources), quick=True)


def _explained(engine: Engine, exercise: str, target: str, text: str) -> str:
    run = _run(engine, exercise, text)
    trace = trace_target(engine.folder.course.exercise(exercise).target(target), run)
    return click.unstyle(render_run(trace, exercise, target, width=200))


def _line_of(shown: str, begins: str) -> str:
    (line,) = (one for one in shown.splitlines() if one.strip().startswith(begins))
    return " ".join(line.split())


def test_method_that_hides_a_layer_is_told_whatever_its_values_are_named(
    grade_text: GradeText,
) -> None:
    forward = "    def forward(self, x: Tensor) -> Tensor:"
    method = "    def unify_heads(self, x):\n        return unfold_heads(x, self.num_heads)\n\n"
    text = edited(
        HEADS,
        (forward, method + forward),
        (
            "        unfolded = unfold_heads(attended, self.num_heads)",
            "        unfolded = attended",
        ),
    )
    told = all_told(grade_text({"exercise3": text}), "MultiHeadSelfAttention")
    assert "has not passed through unify_heads" in told
    assert "The method `unify_heads` hides the layer that you keep as `self.unify_heads`" in told


def test_result_kept_in_the_place_of_its_layer_is_told(grade_text: GradeText) -> None:
    call = "queries, keys, values = self.projection(x)"
    own = "self.projection = self.projection(x)\n        queries, keys, values = self.projection"
    check = find_check(
        grade_text({"exercise2": edited(PROJECTION, (call, own))}), "AttentionHead/shape"
    )
    assert check.next_step == (
        "`self.projection` is a module: keep what you compute in a name without `self.`"
    )


def test_gradient_of_a_changed_input_is_not_called_cut(grade_text: GradeText) -> None:
    end = "    output = weights @ x  # (b, t, k)\n"
    text = edited(ATTENTION, (end, f"{end}    x.data.copy_(output.data)\n"))
    check = find_check(grade_text({"exercise1": text}), "self_attention/gradient")
    assert check.next_step == (
        "the call changes `x`, whose old numbers a gradient needs: mend that first"
    )


@pytest.mark.parametrize(
    "sizes", ["rows / num_heads, num_heads, t, d", "rows // num_heads, 4.0, t, d"]
)
def test_float_as_a_size_is_told_wherever_it_stands(grade_text: GradeText, sizes: str) -> None:
    text = edited(HEADS, ("x.reshape(b, num_heads, t, d)", f"x.view({sizes})"))
    check = find_check(grade_text({"exercise3": text}), "unfold_heads/shape")
    assert check.next_step == "a size is a whole number: divide with //, not with /"


def test_place_of_a_last_item_is_that_among_the_others(grade_text: GradeText) -> None:
    """Later rows hold the sums of those before, so that the first item alone is right."""
    text = edited(
        ATTENTION,
        ("torch.softmax(scores, dim=-1)  # (b, q, s)", "torch.softmax(scores.cumsum(1), dim=-1)"),
    )
    check = find_check(
        grade_text({"exercise1": text}), "attention_weights/property/query-independent"
    )
    assert check.case is not None
    place = check.message.partition("at [")[2].partition("]")[0].split(", ")
    assert int(place[1]) == check.case.dims["q"] - 1 > 0


def test_step_of_right_code_is_there_whatever_has_its_name(shipped_engine: Engine) -> None:
    text = edited(
        ATTENTION,
        ("products = query", "scores = query"),
        *_SCALED_LATE,
    )
    shown = _explained(shipped_engine, "exercise1", "attention_weights", text)
    assert _line_of(shown, "scores").endswith("✓ the same values")


def test_step_of_another_shape_is_told_with_it(shipped_engine: Engine) -> None:
    text = edited(
        ATTENTION,
        ("products = query @ key.transpose(1, 2)", "scores = key @ query.transpose(1, 2)"),
        *_SCALED_LATE,
    )
    shown = _explained(shipped_engine, "exercise1", "attention_weights", text)
    assert "✗ yours has the shape (" in _line_of(shown, "scores")


def test_step_that_is_made_and_not_returned_is_told_as_that(shipped_engine: Engine) -> None:
    text = edited(HEADS, ("    return unfolded\n", ""))
    shown = _explained(shipped_engine, "exercise3", "unfold_heads", text)
    assert _line_of(shown, "unfolded").endswith("– made, but not returned")


def test_linear_with_a_bias_has_the_shape_that_it_returns(shipped_engine: Engine) -> None:
    """Its values come a second time, and torch joins axes on the way."""
    keys = "keys = self.to_keys(x)"
    own = "keys = nn.functional.linear(x, self.to_queries.weight, x.new_zeros(queries.size(2)))"
    text = edited(PROJECTION, (keys, own))
    shown = _explained(shipped_engine, "exercise2", "QKVProjection", text)
    assert _line_of(shown, "linear").startswith("linear (2, ")


def test_shapes_without_letters_say_which_sizes_agree(shipped_engine: Engine) -> None:
    shown = _explained(shipped_engine, "exercise3", "MultiHeadSelfAttention", HEADS)
    assert "could be two of them: k = h*d = 12." in shown


def test_page_and_explain_cross_the_same_steps(shipped_engine: Engine) -> None:
    text = edited(
        PROJECTION,
        ("keys = self.to_keys(x)", "keys = self.to_keys(2 * x)"),
        ("values = self.to_values(x)", "values = self.to_values(3 * x)"),
    )
    run = _run(shipped_engine, "exercise2", text)
    exercise = shipped_engine.folder.course.exercise("exercise2")
    target = exercise.target("QKVProjection")
    trace = trace_target(target, run)
    assert trace is not None
    crossed = tuple(step.name for step in trace.steps if step.state is State.WRONG)
    drawings = [one.drawing for one in exhibits_of(exercise, run) if one.target == target.name]
    assert crossed == ("keys", "values")
    assert [one and one.wrong for one in drawings] == [crossed]


def test_steps_of_an_option_are_told_of_its_case(grade_text: GradeText) -> None:
    own = 'nn.ReLU() if activation == "relu" else _Own()'
    made = "def forward(self, z):\n        return z * (1 + z.erf()) / 2"
    gelu = f"class _Own(nn.Module):\n    {made}\n\n\n"
    text = edited(
        NETWORK,
        ('nn.ReLU() if activation == "relu" else nn.GELU()', own),
        ("class FeedForward(nn.Module):", f"{gelu}class FeedForward(nn.Module):"),
    )
    told = all_told(grade_text({"exercise4": text}), "FeedForward")
    assert "Step by step, in the case 'GELU': hidden ✓ activated ✗." in told
    assert "look at how `activated` is made of `hidden`" in told


def test_step_of_which_a_multiple_is_made_is_told_with_its_factor(grade_text: GradeText) -> None:
    """No bug divides by the square of d: 5 to the power of -1.5 is 0.0894."""
    made = "scores = products * factor  # (b, q, s)\n    weights = torch.softmax(scores, dim=-1)"
    own = "weights = torch.softmax(query @ key.mT / query.size(-1) ** 2, dim=-1)"
    result = grade_text({"exercise1": edited(ATTENTION, (f"    {made}", f"    {own}"))})
    told = all_told(result, "attention_weights")
    factor = "In the case 'main' your run has `scores` times 0.0894, and never as it is due"
    assert f"scores ✗. {factor}" in told
    assert "Look for a factor or a divisor of `scores`" in told


@pytest.mark.parametrize(
    ("came", "factor"),
    [
        ([[2.0, 4.0], [6.0, 10.0]], 2.0),
        ([[2.0, 6.0], [4.0, 10.0]], 0.0),
        ([[2.0, 4.0, 6.0, 10.0]], 2.0),  # axes may be joined
        ([[2.0, 4.0, 6.0]], 0.0),
        ([[2.0, 4.0], [6.0, np.inf]], 0.0),
    ],
)
def test_multiple_has_the_order_and_every_number(came: list[list[float]], factor: float) -> None:
    assert factor_of(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array(came)) == factor


def test_few_different_numbers_are_no_step_of_which_something_is_a_multiple() -> None:
    assert factor_of(np.array([1.0, 2.0, 2.0, 1.0]), np.array([2.0, 4.0, 4.0, 2.0])) == 0


def test_row_that_counts_evenly_is_no_step_of_which_something_is_a_multiple() -> None:
    """Other rows count so, too: positions are a multiple of exponents."""
    assert factor_of(np.array([0.0, 0.25, 0.5, 0.75]), np.array([0.0, 1.0, 2.0, 3.0])) == 0


def test_parameters_are_counted_with_the_argument_that_was_given(grade_text: GradeText) -> None:
    """Without it the layers are narrower, and the sentence would be false."""
    text = edited(
        NETWORK,
        ("4 * embed_dim if hidden_dim is None", "2 * embed_dim if hidden_dim is None"),
        ("self.dropout = ", "self.gate = nn.Linear(embed_dim, size)\n        self.dropout = "),
        ("self.contract(activated)", "self.contract(activated * self.gate(x))"),
    )  # fmt: skip
    check = find_check(grade_text({"exercise4": text}), "FeedForward/property/registered")
    assert "more than the 225 it needs, where `hidden_dim` is given" in check.message


def test_cases_of_one_item_alone_name_no_mistake(grade_text: GradeText) -> None:
    """With one query, a second softmax over the queries gives what the first one would."""
    text = edited(
        ATTENTION,
        (
            "    output = weights @ value",
            "    output = torch.softmax(weights, dim=1) @ value",
        ),
    )
    told = all_told(grade_text({"exercise1": text}), "scaled_dot_product_attention")
    assert "scores ✓ weights ✓ output ✗" in told
    assert "the softmax runs over the queries" not in told


def test_right_values_are_not_said_to_be_so_where_two_things_change_them(
    grade_text: GradeText,
) -> None:
    text = edited(
        NETWORK,
        ("nn.Linear(size, embed_dim)", "nn.Linear(size, embed_dim, bias=False)"),
        ('nn.ReLU() if activation == "relu" else nn.GELU()', "nn.ReLU()"),
    )
    told = all_told(grade_text({"exercise4": text}), "FeedForward")
    assert "Right values but for the deviations. Two deviations" in told


def test_axis_of_one_that_nothing_keeps_is_not_why_values_are_wrong(grade_text: GradeText) -> None:
    text = edited(
        POSITIONS,
        ("frequencies = 10000.0**-exponents", "frequencies = 777.0**-exponents"),
        ("    return encoding\n", "    encoding.unsqueeze(0)\n    return encoding\n"),
    )
    result = grade_text({"exercise6": text})
    assert "nothing keeps it" not in find_check(result, "sinusoidal_encoding/numeric").next_step


def test_gradient_is_told_by_the_name_that_the_code_gives(grade_text: GradeText) -> None:
    norm = """class Norm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(size))
        self.beta = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        y = nn.functional.layer_norm(x, x.shape[-1:], eps=1e-5)
        return y * self.gamma.detach() + self.gamma - self.gamma.detach() + self.beta


class EncoderLayer"""
    text = edited(
        LAYER,
        ("class EncoderLayer", norm),
        ("self.norm1 = nn.LayerNorm(embed_dim)", "self.norm1 = Norm(embed_dim)"),
        ("self.norm2 = nn.LayerNorm(embed_dim)", "self.norm2 = Norm(embed_dim)"),
        ("from torch import", "import torch\nfrom torch import"),
    )
    check = find_check(grade_text({"exercise5": text}), "EncoderLayer/gradient")
    assert "parameter `norm1.gamma`" in check.message


def test_heads_that_are_cut_off_one_by_one_are_no_wrong_step(shipped_engine: Engine) -> None:
    made = """split = x.reshape(b, t, num_heads, d)  # (b, t, h, d)
    heads_first = split.transpose(1, 2)  # (b, h, t, d)
    folded = heads_first.reshape(b * num_heads, t, d)  # (b*h, t, d)"""
    text = edited(HEADS, (made, "folded = torch.cat(x.chunk(num_heads, -1), 0)"))
    text = text.replace("from torch import", "import torch\nfrom torch import", 1)
    shown = _explained(shipped_engine, "exercise3", "fold_heads", text)
    assert "✗" not in _line_of(shown, "heads_first")


def test_bug_whose_other_cases_another_one_keeps_from_raising_is_named(
    grade_text: GradeText,
) -> None:
    """Shifted by two alone, the code refuses a text whose padding is counted here."""
    text = edited(
        solution("exercise10"),
        ("predictions = logits[:, :-1]", "predictions = logits[:, :-2]"),
        ("targets = tokens[:, 1:]", "targets = tokens[:, 2:]"),
        ("places = torch.arange(1, t,", "places = torch.arange(2, t,"),
        ("real = places < lengths[:, None]", "real = places <= lengths[:, None]"),
        ("loss = losses.mean()", "loss = losses.sum()"),
    )
    told = all_told(grade_text({"exercise10": text}), "next_token_loss")
    assert "Your `predictions` is what comes out when the tokens are shifted by two" in told


def test_step_is_named_by_no_bug_that_breaks_one_that_is_right_beside_it(
    grade_text: GradeText,
) -> None:
    """Values that are the keys come of a wrong order of the three as well: then the keys differ."""
    text = edited(
        PROJECTION,
        (
            "        output = scaled_dot_product_attention(queries, keys, values)  # (b, t, d)",
            "        values = keys\n"
            "        scores = queries @ keys.mT * x.size(2) ** -0.5\n"
            "        output = (torch.softmax(scores, dim=-1) @ values).detach()",
        ),
    )
    text = text.replace("from torch import", "import torch\nfrom torch import", 1)
    told = all_told(grade_text({"exercise2": text}), "AttentionHead")
    assert "keys ✓ values ✗" in told
    assert "are taken as" not in told


def test_norm_in_front_is_the_first_wrong_step_where_none_is_due(grade_text: GradeText) -> None:
    """There the input is that step, which proves nothing; what its variable holds does."""
    text = edited(
        LAYER,
        ("attention_input = self.norm1(x) if self.norm_first else x", "attention_input = 3 * x"),
        ("attention_sum = x + ", "attention_sum = 2 * x + "),
    )
    assert "attention_input ✗" in all_told(grade_text({"exercise5": text}), "EncoderLayer")
