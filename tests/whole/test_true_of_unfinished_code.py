"""What a report says of code that is half done, or that raises before it computes anything."""

import pytest
from support import GradeText, all_told, edited, find_check, solution

from grader.records.results import Status

ATTENTION = solution("exercise1")
PROJECTIONS = solution("exercise2")
HEADS = solution("exercise3")
NETWORK = solution("exercise4")
MASKS = solution("exercise8")


def _only_body(text: str, target: str, body: str) -> str:
    """Return a file whose function of a name has no other body."""
    head, _, rest = text.partition(f"def {target}(")
    signature, _, rest = rest.partition('    """')
    _, _, after = rest.partition("\n\n\n")
    return f"{head}def {target}({signature}    {body}\n\n\n{after}"


@pytest.mark.parametrize("body", ["pass", "..."])
def test_a_function_without_a_body_is_not_written_yet(grade_text: GradeText, body: str) -> None:
    result = grade_text({"exercise1": _only_body(ATTENTION, "self_attention", body)})
    check = find_check(result, "self_attention/shape")
    assert check.unwritten
    assert check.next_step == f"replace `{body}` by your code"
    assert not all_told(result, "self_attention")


def test_a_class_of_empty_methods_is_not_written_yet(grade_text: GradeText) -> None:
    empty = (
        "class MultiHeadSelfAttention(nn.Module):\n"
        "    def __init__(self, embed_dim, num_heads, *, head_dim=None, bias=False):\n"
        "        super().__init__()\n"
        "        pass\n\n"
        "    def forward(self, x):\n"
        "        pass\n"
    )
    head = HEADS.partition("class MultiHeadSelfAttention(")[0]
    result = grade_text({"exercise3": head + empty})
    failed = [c for c in result.checks if c.target == "MultiHeadSelfAttention" and c.failed]
    assert {c.message for c in failed if c.kind != "bug"} == {
        "`MultiHeadSelfAttention` is not written yet (exercise3_multi_head.py, line "
        f"{head.count(chr(10)) + 4})"
    }
    assert not all_told(result, "MultiHeadSelfAttention")


def test_a_stub_behind_the_code_hides_it(grade_text: GradeText) -> None:
    stub = "\n\ndef self_attention(x):\n    raise NotImplementedError\n"
    check = find_check(grade_text({"exercise1": ATTENTION + stub}), "self_attention/shape")
    line = ATTENTION.count("\n") + 3
    assert check.next_step == (
        f"exercise1_attention.py, line {line} defines `self_attention` again, and the last one "
        "counts: take that one out"
    )


def test_a_return_of_none_is_shown(grade_text: GradeText) -> None:
    text = edited(ATTENTION, ("    return weights\n", "    return None\n"))
    check = find_check(grade_text({"exercise1": text}), "attention_weights/shape")
    assert check.next_step.startswith("look at `return None` (exercise1_attention.py, line ")


@pytest.mark.parametrize(
    "made", ['nn.ReLU if activation == "relu" else nn.GELU', '{"relu": nn.ReLU}["relu"]']
)
def test_a_class_among_several_is_named(grade_text: GradeText, made: str) -> None:
    text = (
        "from torch import nn\n\n\n"
        "class FeedForward(nn.Module):\n"
        "    def __init__(self, embed_dim, *, hidden_dim=None, dropout=0.0, activation='relu'):\n"
        "        super().__init__()\n"
        "        size = hidden_dim or 4 * embed_dim\n"
        "        self.one = nn.Linear(embed_dim, size)\n"
        f"        self.act = {made}\n"
        "        self.two = nn.Linear(size, embed_dim)\n\n"
        "    def forward(self, x):\n"
        "        return self.two(self.act(self.one(x)))\n"
    )
    check = find_check(grade_text({"exercise4": text}), "FeedForward/shape")
    assert check.next_step.startswith("`nn.ReLU` is the class itself: make a module, as in")


def test_a_module_made_in_each_call_is_named(grade_text: GradeText) -> None:
    made = "self.projection = QKVProjection(embed_dim, head_dim, bias=bias)"
    kept = "self.sizes = embed_dim, head_dim, bias"
    text = edited(
        PROJECTIONS,
        (made, kept),
        ("self.projection(x)", "QKVProjection(*self.sizes[:2], bias=self.sizes[2])(x)"),
    )
    check = find_check(grade_text({"exercise2": text}), "AttentionHead/shape")
    assert "makes new weights in each call, and they never learn" in check.next_step


def test_exchanged_arguments_are_sought_where_the_module_is_made(grade_text: GradeText) -> None:
    text = edited(
        PROJECTIONS, ("QKVProjection(embed_dim, head_dim,", "QKVProjection(head_dim, embed_dim,")
    )
    check = find_check(grade_text({"exercise2": text}), "AttentionHead/shape")
    assert check.next_step.startswith("look at `QKVProjection(head_dim, embed_dim, bias=bias)`")


def test_a_constructor_of_another_name_takes_no_blame_for_options(grade_text: GradeText) -> None:
    text = edited(NETWORK, ("def __init__(", "def __int__("))
    result = grade_text({"exercise4": text})
    assert "is no argument of" not in all_told(result, "FeedForward")
    assert find_check(result, "FeedForward/shape").next_step == "rename `__int__` to `__init__`"


def test_what_fails_in_all_cases_is_not_the_refusal_that_is_due(grade_text: GradeText) -> None:
    """In one case the layers fit, and the exception is the one of the case to be refused."""
    wide = HEADS.replace("num_heads * size", "num_heads * embed_dim")
    text = edited(wide, ("self.to_queries(x)", "x @ self.to_queries"))
    result = grade_text({"exercise3": text})
    assert "in place of a ValueError" not in all_told(result, "MultiHeadSelfAttention")
    check = find_check(result, "MultiHeadSelfAttention/shape")
    assert check.next_step == (
        "`nn.Linear` stands there, a layer and not what it returns: call the layer with the "
        "tensor, as in `layer(x)`"
    )


def test_an_option_is_told_with_the_case_that_raised(grade_text: GradeText) -> None:
    """Both cases of the group raise, with other sizes."""
    kept = "output = self.unify_heads(unfolded)"
    result = grade_text(
        {"exercise3": edited(HEADS, (kept, f"unfolded.reshape(x.shape)\n        {kept}"))}
    )
    check = find_check(result, "MultiHeadSelfAttention/shape/head_dim")
    assert check.case is not None
    told = all_told(result, "MultiHeadSelfAttention")
    assert f"with head_dim={check.case.options['head_dim']} `MultiHeadSelfAttention` raised" in told


def test_a_default_that_raises_is_told_beside_wrong_values(grade_text: GradeText) -> None:
    text = edited(
        HEADS,
        ("size = embed_dim // num_heads if", "size = embed_dim / num_heads if"),
        ("queries = self.to_queries(x)", "queries = 2 * self.to_queries(x)"),
    )
    check = find_check(grade_text({"exercise3": text}), "MultiHeadSelfAttention/property/defaults")
    assert check.status is Status.FAILED
    assert check.next_step == "a size is a whole number: divide with //, not with /"


def test_an_axis_and_another_dtype_are_both_told(grade_text: GradeText) -> None:
    due = "positions <= positions.unsqueeze(1)"
    text = edited(MASKS, (due, f"({due})[None].int()"))
    told = all_told(grade_text({"exercise8": text}), "causal_mask")
    assert "an axis of one in front that nobody asked for" in told
    assert "where true and false are asked for" in told


def test_an_unknown_device_is_named(grade_text: GradeText) -> None:
    text = edited(ATTENTION, ("    return weights\n", "    return weights.to('gpu')\n"))
    check = find_check(grade_text({"exercise1": text}), "attention_weights/shape")
    assert check.next_step.startswith("torch knows no device of that name")


def test_it_is_said_how_many_parameters_have_no_gradient(grade_text: GradeText) -> None:
    edits = [
        (f"self.to_{name}(x)", f"self.to_{name}(x).detach()")
        for name in ("queries", "keys", "values")
    ]
    result = grade_text({"exercise3": edited(HEADS, *edits)})
    check = find_check(result, "MultiHeadSelfAttention/property/trained")
    assert check.message == "no gradient reaches the parameter `to_queries.weight`, nor 2 others"


def test_a_function_of_another_name_is_told_in_one_way(grade_alone: GradeText) -> None:
    """Python would have the call follow the wrong name."""
    text = edited(HEADS, ("def fold_heads(", "def fold_head("))
    result = grade_alone({"exercise3": text})
    missing = find_check(result, "fold_heads/shape")
    raised = find_check(result, "MultiHeadSelfAttention/shape")
    assert missing.next_step == "rename `fold_head` to `fold_heads`"
    assert raised.next_step == f"that is a name of the exercise: {missing.next_step}"
    assert "did you mean" not in raised.message
