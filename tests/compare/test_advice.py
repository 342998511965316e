"""What a student is told where code fails: the cause by name, once, and a step that helps."""

from collections.abc import Callable
from typing import Any

import pytest
from support import find_check, solution

from grader.records.results import CheckResult, ExerciseResult
from grader.report.terminal import render_result

_QKV = (
    "        self.to_queries = nn.Linear(embed_dim, head_dim, bias=bias)\n"
    "        self.to_keys = nn.Linear(embed_dim, head_dim, bias=bias)\n"
    "        self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)\n"
)
_LISTED = "        self.layers = [nn.Linear(embed_dim, head_dim, bias=bias) for _ in range(3)]\n"


@pytest.fixture
def changed(grade_alone: Callable[..., ExerciseResult]) -> Callable[..., ExerciseResult]:
    """Return a function that grades a reference with some text replaced, once each."""

    def graded(exercise: str, *changes: tuple[str, str]) -> ExerciseResult:
        text = solution(exercise)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        return grade_alone({exercise: text})

    return graded


def _first(result: ExerciseResult, target: str) -> CheckResult:
    return next(c for c in result.checks if c.target == target and c.message)


def test_layers_in_a_plain_list_that_do_not_fit_are_named(changed: Any) -> None:
    result = changed(
        "exercise2",
        (_QKV, _LISTED.replace("head_dim", "head_dim + 1")),
        ("self.to_queries(x)", "self.layers[0](x)"),
        ("self.to_keys(x)", "self.layers[1](x)"),
        ("self.to_values(x)", "self.layers[2](x)"),
    )
    check = _first(result, "QKVProjection")
    assert check.message.startswith("`layers` holds layers in a plain list or dict")
    assert check.next_step == "keep them in nn.ModuleList or nn.ModuleDict"
    assert _first(result, "AttentionHead").message.startswith("`projection.layers` holds")


@pytest.mark.parametrize(
    ("exercise", "target", "old", "layer"),
    [
        ("exercise3", "MultiHeadSelfAttention", "num_heads * size, embed_dim)", "unify_heads"),
        ("exercise4", "FeedForward", "nn.Linear(size, embed_dim)", "contract"),
        ("exercise4", "FeedForward", "nn.Linear(embed_dim, size)", "expand"),
    ],
)
def test_layer_without_its_bias_is_named(
    changed: Any, exercise: str, target: str, old: str, layer: str
) -> None:
    check = _first(changed(exercise, (old, f"{old[:-1]}, bias=False)")), target)
    assert check.message.startswith(f"`{layer}` has no bias")
    due = f"give `{layer}` a bias: layers of torch's have one unless told otherwise"
    assert check.next_step == due


_NORMS = "self.norm{} = nn.LayerNorm(embed_dim"


@pytest.mark.parametrize(
    ("norm", "step"),
    [
        (
            "nn.RMSNorm(embed_dim, eps=1e-5",
            "give `norm1` and `norm2` a bias: bias=False takes it away, and not every norm has one",
        ),
        (
            "nn.LayerNorm(embed_dim, elementwise_affine=False",
            "a norm needs a weight and a bias: is one missing, or elementwise_affine=False?",
        ),
    ],
    ids=["root mean square", "not affine"],
)
def test_norm_without_parameters_is_told_what_a_norm_has(
    changed: Any, norm: str, step: str
) -> None:
    swaps = [(_NORMS.format(i), f"self.norm{i} = {norm}") for i in (1, 2)]
    result = changed("exercise5", *swaps)
    said = [found.sentence for found in result.diagnoses]
    steps = [check.next_step for check in result.checks if check.failed]
    assert any(step in one for one in (*said, *steps)), (said, steps)


def test_layer_without_its_bias_is_named_by_the_students_name(changed: Any) -> None:
    old = "self.contract = nn.Linear(size, embed_dim)"
    new = "self.second_one = nn.Linear(size, embed_dim, bias=False)"
    result = changed("exercise4", (old, new), ("self.contract(", "self.second_one("))
    assert _first(result, "FeedForward").message == "`second_one` has no bias"


@pytest.mark.parametrize(
    ("exercise", "old", "new", "step"),
    [
        ("exercise2", "forward(self, x", "forward(x", "is `self` its first argument?"),
        ("exercise5", "forward(self, x: Tensor)", "forward(self)", "an argument is not there"),
        ("exercise1", "key, scale=scale)", "key, scale)", "by name, as in scale=…"),
        ("exercise1", "dim=-1)", "dim=-1", "fix that line"),
        ("exercise3", "from exercise1_attention", "from exercise1_atention", "exercise1_attention"),
    ],
    ids=["no-self", "no-argument", "by-position", "half-written", "misspelt-import"],
)
def test_next_step_fits_the_error(
    changed: Any, exercise: str, old: str, new: str, step: str
) -> None:
    result = changed(exercise, (old, new))
    assert step in next(c.next_step for c in result.checks if c.message)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", ""),
        ("super.__init__()", "`super.__init__()` does not run the parent's constructor: "),
        ("super(QKVProjection).__init__()", "`super(QKVProjection).__init__()` does not run"),
        ("super().__init__", "`super().__init__` does not run"),
        ("super().__init__(embed_dim)", "`super().__init__(embed_dim)` does not run"),
        ("nn.Module.__init__()", "`nn.Module.__init__()` does not run"),
        ("super().init()", "`super().init()` does not run"),
    ],
)
def test_call_of_the_parent_is_told_as_it_is_written(changed: Any, line: str, said: str) -> None:
    result = changed("exercise2", ("        super().__init__()\n", f"        {line}\n"))
    step = _first(result, "QKVProjection").next_step
    assert step.startswith(said)
    assert "write `super().__init__()`" in step


@pytest.mark.parametrize(
    ("returned", "said", "step"),
    [
        ("weights, weights @ key", "returns a tuple of 2 tensors, where `weights` alone is",
         "return the first of them alone, which has the right values in the usual cases"),
        ("weights @ key, weights", "returns a tuple of 2 tensors, and the first of them has the "
         "wrong shape", "return the second of them alone: it has the shape that is due"),
    ],
    ids=["first", "second"],
)  # fmt: skip
def test_of_several_tensors_the_one_that_is_due_is_named(
    changed: Any, returned: str, said: str, step: str
) -> None:
    old = "(b, q, s)\n    return weights\n"
    result = changed("exercise1", (old, f"(b, q, s)\n    return {returned}\n"))
    check = find_check(result, "attention_weights/shape")
    assert said in check.message
    assert check.next_step == step


def test_attribute_is_sought_in_the_class_that_lacks_it(changed: Any) -> None:
    result = changed(
        "exercise10",
        ("self.norm = nn.LayerNorm(embed_dim)\n", "self.last = nn.LayerNorm(embed_dim)\n"),
    )
    step = _first(result, "LanguageModel").next_step
    assert step == "nothing in `LanguageModel` sets `self.norm`: set it in __init__"


def test_failure_at_one_line_is_told_once(changed: Any) -> None:
    result = changed("exercise1", ("math.sqrt", "math.sqr"))
    step = _first(result, "scaled_dot_product_attention").next_step
    assert step == "it is the line that fails in `attention_weights` too: start there"


def test_file_that_does_not_load_is_told_once(changed: Any) -> None:
    shown = render_result(changed("exercise1", ("dim=-1)", "dim=-1")))
    assert shown.count("could not be loaded") == 1


def test_mistake_seen_in_two_targets_is_told_once(changed: Any) -> None:
    shown = render_result(changed("exercise6", ("10000.0**", "1000.0**")))
    assert shown.count("the base is 1000") == 1
    assert "The same mistake as in `sinusoidal_encoding`." in shown


def test_failure_by_exceptions_alone_is_not_taken_for_a_known_mistake(changed: Any) -> None:
    result = changed("exercise3", ("heads_first.reshape(", "heads_first.view("))
    assert [d.bugs for d in result.diagnoses] == []


LOST = {
    "a result": (
        "exercise1",
        (
            (
                "weights = torch.softmax(scores, dim=-1)  # (b, q, s)",
                "weights = scores\n    weights.softmax(-1)",
            ),
        ),
        "attention_weights/numeric",
        "`weights.softmax(-1)` makes a new tensor, and nothing keeps it (",
    ),
    "the result of a product": (
        "exercise1",
        (("scores = products * factor  # (b, q, s)", "scores = products\n    scores * factor"),),
        "attention_weights/numeric",
        "`scores * factor` makes a new tensor, and nothing keeps it (",
    ),
    "the graph": (
        "exercise1",
        (
            (
                "products = query @ key.transpose(1, 2)  # (b, q, s)",
                "products = query.detach() @ key.mT.detach()",
            ),
        ),
        "attention_weights/gradient",
        "`query.detach` cuts the gradient off: do without it (exercise1_attention.py, line ",
    ),
    "a layer": (
        "exercise4",
        (("self.expand = nn.Linear(", "expand = nn.Linear("), ("self.expand(x)", "x")),
        "FeedForward/shape",
        "`expand` is forgotten when __init__ ends: write `self.expand` (",
    ),
    "weights of each call": (
        "exercise4",
        (
            ("self.contract = nn.Linear(size, embed_dim)", "self.sizes = (size, embed_dim)"),
            ("self.contract(activated)", "nn.Linear(*self.sizes)(activated)"),
        ),
        "FeedForward/shape",
        "`nn.Linear(*self.sizes)` makes new weights in each call, and they never learn: make it in",
    ),
    "a row of a table": (
        "exercise6",
        (("nn.Embedding(max_len, embed_dim)", "nn.Embedding(max_len, embed_dim, padding_idx=0)"),),
        "LearnedPositionEmbedding/gradient",
        "`padding_idx=0` cuts the gradient off: do without it (",
    ),
    "a module": (
        "exercise2",
        (("QKVProjection(embed_dim, head_dim, bias=bias)", "QKVProjection"),),
        "AttentionHead/shape",
        "`QKVProjection` is the class itself: make a module, as in `QKVProjection(…)` (",
    ),
    "the output": (
        "exercise1",
        (("(b, q, s)\n    return weights\n", "(b, q, s)\n"),),
        "attention_weights/shape",
        "end with `return weights`, if that is the output: so far nothing is returned (",
    ),
    "the order of sizes": (
        "exercise2",
        ((_QKV, _QKV.replace("embed_dim, head_dim", "head_dim, embed_dim")),),
        "QKVProjection/shape",
        "exchange the two lengths where the layer is made: the one that comes in stands first",
    ),
    "a call": (
        "exercise2",
        (
            (
                "queries, keys, values = self.projection(x)",
                "queries, keys, values = self.projection",
            ),
        ),
        "AttentionHead/shape",
        "`self.projection` is a QKVProjection, not what comes out of it: call it, ",
    ),
}


@pytest.mark.parametrize("what", LOST)
def test_line_that_loses_something_is_told(changed: Any, what: str) -> None:
    exercise, changes, check, step = LOST[what]
    result = changed(exercise, *changes)
    assert find_check(result, check).next_step.startswith(step)


def test_option_that_a_named_mistake_stops_is_not_told_again(changed: Any) -> None:
    old = "(b, q, s)\n    return weights\n"
    tuple_of_two = (old, old.replace("return weights", "return weights, scores"))
    result = changed("exercise1", ("products * factor", "products"), tuple_of_two)
    (found,) = (d for d in result.diagnoses if d.target == "attention_weights")
    assert found.bugs == ("missing-scale",)
    assert not any("`scale`" in one for one in found.deviations)
