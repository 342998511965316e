"""Groups of cases: code that is right in usual cases loses the points of its edges alone."""

import re

import pytest
from support import GradeText, edited, find_check, solution, target_checks

from grader.checks.shares import shares_of
from grader.course.load import CourseFolder
from grader.key.cache import Keys
from grader.records.results import ExerciseResult, Kind, Status

# masks as the best-known tutorial writes them, and as most others do
LARGE_NEGATIVE = """
    scores = torch.einsum("bqd,bsd->bqs", query, key) * query.shape[-1] ** -0.5
    return torch.where(mask, scores, torch.tensor(-1e9)).softmax(-1) @ value
"""
INFINITE = """
    scores = query.matmul(key.mT) / query.size(2) ** 0.5
    return torch.softmax(scores.masked_fill(mask.logical_not(), float("-inf")), 2).matmul(value)
"""
# a loop that divides by whatever temperature comes, and hands no generator on
LOOP = """
    with torch.no_grad():
        for _ in range(num_tokens):
            logits = model(prompt[:, -model.max_len:])[:, -1] / temperature
            if top_k is not None:
                least = logits.topk(min(top_k, logits.size(1))).values[:, -1:]
                logits = logits.masked_fill(logits < least, -torch.inf)
            prompt = torch.cat((prompt, torch.multinomial(logits.softmax(-1), 1)), 1)
    return prompt
"""
SHIFTED = """
    if tokens.size(1) < 2:
        raise ValueError("nothing to predict")
    return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
"""
HALF_COSINE = """
    if step < warmup:
        return peak * (step + 1) / max(warmup, 1)
    return peak * (1 + math.cos(math.pi * (step - warmup) / max(total - warmup, 1))) / 2
"""
NO_ODD = ("cosines[:, : embed_dim // 2]", "cosines")
UNHEARD_MASK = ("if memory_mask is None:", "if True:")


def with_body(exercise: str, target: str, body: str) -> dict[str, str]:
    """Return the reference with another body of one function."""
    made, count = re.subn(
        rf"(def {target}\(.*?### BEGIN SOLUTION\n).*?(    ### END SOLUTION)",
        lambda found: f"{found[1]}{body.strip(chr(10))}\n{found[2]}",
        solution(exercise),
        count=1,
        flags=re.DOTALL,
    )
    assert count == 1
    return {exercise: made}


def share(result: ExerciseResult, target: str) -> float:
    checks = target_checks(result, target)
    return sum(c.score for c in checks) / sum(c.max_score for c in checks)


def lost(result: ExerciseResult, target: str, kind: Kind) -> list[str]:
    own = target_checks(result, target)
    return [c.id.name for c in own if c.kind is kind and c.score < c.max_score]


def said(result: ExerciseResult, target: str) -> str:
    (found,) = (d for d in result.diagnoses if d.target == target)
    return found.sentence


@pytest.mark.parametrize("body", [LARGE_NEGATIVE, INFINITE], ids=["large", "infinite"])
def test_rows_with_nothing_to_see_cost_their_group(grade_text: GradeText, body: str) -> None:
    result = grade_text(with_body("exercise8", "masked_attention", body))
    assert lost(result, "masked_attention", Kind.NUMERIC) == ["empty-rows"]
    assert lost(result, "masked_attention", Kind.GRADIENT) == ["empty-rows"]
    assert share(result, "masked_attention") >= 0.8
    assert find_check(result, "masked_attention/property/hidden-keys").status is Status.PASSED


def test_an_axis_that_suits_one_mask_alone_costs_the_others(grade_text: GradeText) -> None:
    edit = ("seen = mask.expand(b, t, t)", "seen = mask[None].expand(b, t, t)")
    result = grade_text({"exercise8": edited(solution("exercise8"), edit)})
    groups = lost(result, "MaskedMultiHeadAttention", Kind.NUMERIC)
    assert groups == ["mask-per-sample", "empty-rows"]
    assert share(result, "MaskedMultiHeadAttention") >= 0.7


def test_generate_is_judged_by_its_draws_where_temperature_zero_fails(
    grade_text: GradeText,
) -> None:
    result = grade_text(with_body("exercise11", "generate", LOOP))
    assert lost(result, "generate", Kind.NUMERIC) == ["training-mode", "temperature-zero"]
    drawn = [c.id.name for c in target_checks(result, "generate") if c.kind is Kind.PROPERTY]
    assert {"samples", "samples-of-few", "seeded"} <= set(drawn)
    assert lost(result, "generate", Kind.PROPERTY) == ["seeded-by-generator"]
    assert 0.7 <= share(result, "generate") < 0.97


def test_a_generate_that_takes_the_largest_is_told_so(grade_text: GradeText) -> None:
    edit = ("temperature=temperature, top_k=top_k", "temperature=0, top_k=top_k")
    result = grade_text({"exercise11": edited(solution("exercise11"), edit)})
    assert lost(result, "generate", Kind.NUMERIC) == []
    assert {"samples", "samples-of-few"} <= set(lost(result, "generate", Kind.PROPERTY))


def test_an_input_that_is_not_heard_costs_its_groups(grade_text: GradeText) -> None:
    result = grade_text(with_body("exercise10", "next_token_loss", SHIFTED))
    assert lost(result, "next_token_loss", Kind.NUMERIC) == ["lengths", "nothing-to-predict"]
    assert re.match(
        "Right values where no option is given. .* `lengths` is not used: the output is the same",
        said(result, "next_token_loss"),
    )
    assert share(result, "next_token_loss") >= 0.7


def test_cross_attention_without_a_mask_keeps_what_is_right(grade_text: GradeText) -> None:
    result = grade_text({"exercise9": edited(solution("exercise9"), UNHEARD_MASK)})
    assert lost(result, "CrossAttention", Kind.NUMERIC) == ["memory_mask", "empty-rows"]
    assert "`memory_mask` changes nothing: the output is the same with it and without it" in (
        said(result, "CrossAttention")
    )
    assert share(result, "CrossAttention") >= 0.7


def test_an_option_is_unheard_beside_others_that_are_always_given(grade_text: GradeText) -> None:
    result = grade_text(with_body("exercise12", "learning_rate", HALF_COSINE))
    assert lost(result, "learning_rate", Kind.NUMERIC) == ["after-the-end", "floor"]
    assert "`floor` is not used: the output is the same with floor=0.07 and without it" in (
        said(result, "learning_rate")
    )
    assert share(result, "learning_rate") >= 0.7


def test_an_edge_that_raises_is_a_deviation(grade_text: GradeText) -> None:
    result = grade_text({"exercise6": edited(solution("exercise6"), NO_ODD)})
    assert lost(result, "sinusoidal_encoding", Kind.NUMERIC) == ["odd-width"]
    assert re.search(
        "Right values in the usual cases. One deviation: in the case 'with an odd embed_dim' "
        ".*RuntimeError",
        said(result, "sinusoidal_encoding"),
    )


IDLE = {
    "masked_attention": ("exercise8", "return 0 * query[:, :, :1] * value[:, :1]"),
    "next_token_loss": ("exercise10", "return logits.sum() * 0"),
    "next_token_probabilities": ("exercise11", "return logits"),
    "generate": ("exercise11", "return nn.functional.pad(prompt, (0, num_tokens))"),
    "learning_rate": ("exercise12", "return floor"),
    "sinusoidal_encoding": ("exercise6", "return torch.zeros(seq_len, embed_dim)"),
}  # fmt: skip


@pytest.mark.parametrize("target", IDLE)
def test_constants_and_copies_earn_next_to_nothing(grade_text: GradeText, target: str) -> None:
    exercise, body = IDLE[target]
    result = grade_text(with_body(exercise, target, f"    {body}"))
    assert share(result, target) <= 0.15


def test_a_declared_group_shares_points_as_an_option_does(folder: CourseFolder, keys: Keys) -> None:
    exercise = folder.course.exercise("exercise8")
    target = exercise.target("masked_attention")
    shares = shares_of(folder.course, exercise, target, keys.keys["exercise8"])
    numeric = {one.name: one.points for one in shares if one.kind is Kind.NUMERIC}
    assert numeric == {
        "": pytest.approx(1.4),
        "empty-rows": pytest.approx(0.3),
        "other-masks": pytest.approx(0.3),
    }


def test_weights_that_are_all_alike_are_not_right_for_a_scale_of_zero(
    grade_text: GradeText,
) -> None:
    """A constant has the values of that edge, which counts beside other right values alone."""
    edit = ("    return weights\n", "    return torch.ones_like(weights) / key.size(1)\n")
    result = grade_text({"exercise1": edited(solution("exercise1"), edit)})
    edge = find_check(result, "attention_weights/numeric/scale-zero")
    assert (edge.status, edge.message) == (Status.SKIPPED, "counts once other values are right")
    assert share(result, "attention_weights") < 0.15
    scaled = "products if scale is None else products * factor"
    unscaled = ("scores = products * factor", f"scores = {scaled}")
    result = grade_text({"exercise1": edited(solution("exercise1"), unscaled)})
    edge = find_check(result, "attention_weights/numeric/scale-zero")
    assert edge.status is Status.PASSED


def test_what_is_certain_proves_no_option_of_drawing(grade_text: GradeText) -> None:
    """Code that takes the largest is right wherever one token is certain, with no temperature."""
    text = edited(
        solution("exercise11"),
        (
            "drawn = torch.multinomial(chances, 1, generator=generator)",
            "drawn = logits.argmax(-1, keepdim=True)",
        ),
    )
    result = grade_text({"exercise11": text})
    checks = [c for c in result.checks if c.target == "generate"]
    told = {c.id.name: c.status for c in checks if c.id.kind is Kind.BUG}
    assert told["temperature-kept-back"] is told["top-k-kept-back"] is Status.SKIPPED
    assert sum(c.score for c in checks) < 3.5
    (found,) = result.diagnoses
    assert found.bugs == ("always-greedy",)
