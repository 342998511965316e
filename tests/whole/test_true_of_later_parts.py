"""What a report says of odd code in exercises 8 to 12 is so: draws, clipping, forms and sizes."""

import click
import pytest
from support import GradeText, edited, find_check, solution

from grader.records.results import ExerciseResult, Status
from grader.report.terminal import render_result

_DRAW = "torch.multinomial(chances, 1, generator=generator)"
_CLIP = "    nn.utils.clip_grad_norm_(model.parameters(), max_norm)\n"


def _bugs(result: ExerciseResult, target: str) -> set[str]:
    return {bug for d in result.diagnoses if d.target == target for bug in d.bugs}


def test_draws_of_ones_own_generator_are_not_called_greedy(grade_text: GradeText) -> None:
    """The same number comes in each place; at temperature 0 another one would."""
    own = "torch.multinomial(chances, 1, generator=generator or torch.Generator().manual_seed(42))"
    text = edited(solution("exercise11"), (_DRAW, own))
    result = grade_text({"exercise11": text})
    assert find_check(result, "generate/property/samples").status is Status.FAILED
    assert "temperature-zero-by-default" not in _bugs(result, "generate")


def test_a_generator_whose_seed_alone_is_heard_is_not_called_unheard(
    grade_text: GradeText,
) -> None:
    again = "if generator is not None:\n        torch.manual_seed(generator.initial_seed())\n    "
    text = edited(
        solution("exercise11"),
        (_DRAW, "torch.multinomial(chances, 1)"),
        ("training = model.training", f"{again}training = model.training"),
    )
    result = grade_text({"exercise11": text})
    check = find_check(result, "generate/property/seeded-by-generator")
    assert check.message == "`generator` gives the same draws whatever it has drawn before"
    assert _bugs(result, "generate") == set()


def test_an_option_that_is_handed_on_is_followed_there(grade_alone: GradeText) -> None:
    far = ("scaled < largest[:, -1:]", "scaled < largest[:, -1:] - 1e3")
    text = edited(solution("exercise11"), far)
    result = grade_alone({"exercise11": text})
    told = " ".join(click.unstyle(render_result(result)).split())
    assert "`top_k=1` changes nothing: the output is the same with it and without it" in told
    assert "next follow `top_k` into `next_token_probabilities`: is it heard there?" in told


@pytest.mark.parametrize(
    ("clipped", "named"),
    [
        (  # in two cases it comes to the same as no clipping
            "    for p in model.parameters():\n"
            "        nn.utils.clip_grad_norm_([p], max_norm / len([*model.parameters()]) ** 0.5)\n",
            None,
        ),
        (
            "    some = [p for p in model.parameters() if p.dim() > 1]\n"
            "    nn.utils.clip_grad_norm_(some, max_norm)\n",
            {"biases-unclipped"},
        ),
        (
            "    total = sum(p.grad.norm() for p in model.parameters())\n"
            "    for p in model.parameters():\n"
            "        p.grad.mul_(min(1.0, max_norm / total))\n",
            {"norm-of-sums"},
        ),
        (f"{_CLIP}    for p in model.parameters():\n        p.grad /= 1.5\n", set()),
    ],
    ids=["each by its share", "no biases", "sum of norms", "another factor"],
)
def test_what_is_not_clipped_as_one_is_wrong(
    grade_text: GradeText, clipped: str, named: set[str] | None
) -> None:
    result = grade_text({"exercise12": edited(solution("exercise12"), (_CLIP, clipped))})
    assert find_check(result, "training_step/numeric").status is Status.FAILED
    assert named is None or _bugs(result, "training_step") == named
    told = " ".join(d.evidence for d in result.diagnoses)
    assert "places" not in told  # what training leaves alone is right by itself


def test_a_number_in_place_of_a_tensor_costs_its_form_and_gradient(grade_text: GradeText) -> None:
    text = edited(solution("exercise10"), ("    return loss\n", "    return loss.item()\n"))
    result = grade_text({"exercise10": text})
    assert find_check(result, "next_token_loss/numeric").status is Status.PASSED
    assert find_check(result, "next_token_loss/gradient").status is Status.FAILED
    told = " ".join(d.sentence for d in result.diagnoses)
    told += " ".join(f"{c.message} {c.next_step}" for c in result.checks)
    assert "should return a tensor, it returned a float" in told
    assert ".item()" in told


def test_an_axis_that_is_taken_in_every_case_is_not_called_squeezed(grade_text: GradeText) -> None:
    last = ("logits = hidden @ self", "logits = hidden[:, -1] @ self")
    result = grade_text({"exercise10": edited(solution("exercise10"), last)})
    check = find_check(result, "LanguageModel/shape")
    assert check.status is Status.FAILED
    assert "squeeze" not in check.next_step


def test_a_norm_of_another_size_is_not_called_without_a_bias(grade_text: GradeText) -> None:
    other = (
        "self.norm = nn.LayerNorm(embed_dim)",
        "self.norm = nn.LayerNorm(vocab_size)",
    )
    result = grade_text({"exercise10": edited(solution("exercise10"), other)})
    check = find_check(result, "LanguageModel/shape")
    assert check.status is Status.FAILED
    assert "another size" in check.next_step


def test_a_gradient_of_the_opposite_sign_is_told_so(grade_text: GradeText) -> None:
    minus = ("normed + self.bias", "normed - self.bias")
    result = grade_text({"exercise9": edited(solution("exercise9"), minus)})
    check = find_check(result, "LayerNorm/gradient")
    assert check.status is Status.FAILED
    assert check.next_step.startswith("the sign is wrong")


def test_a_default_is_not_blamed_for_what_is_wrong_where_it_is_given(grade_text: GradeText) -> None:
    twice = ("torch.sqrt(variance + self.eps)", "(torch.sqrt(variance + self.eps) + self.eps)")
    result = grade_text({"exercise9": edited(solution("exercise9"), twice)})
    check = find_check(result, "LayerNorm/property/defaults")
    assert check.status is Status.FAILED
    assert "defaults in your signature" not in check.next_step


def test_norms_that_are_there_without_parameters_are_not_called_missing(
    grade_text: GradeText,
) -> None:
    norm = "self.norm = nn.LayerNorm(embed_dim"
    bare = (f"{norm})", f"{norm}, elementwise_affine=False)")
    result = grade_text({"exercise10": edited(solution("exercise10"), bare)})
    told = " ".join(click.unstyle(render_result(result)).split())
    assert "or in which a norm has no weight and no bias." in told


def test_a_part_that_has_too_much_is_no_reason_for_too_little(grade_text: GradeText) -> None:
    """The output layer of the model is one too many, and the blocks of what is built are one."""
    text = edited(
        solution("exercise10"),
        ("self.norm = nn.LayerNorm(embed_dim)", "self.norm = nn.LayerNorm(embed_dim)\n"
         "        self.head = nn.Linear(embed_dim, vocab_size, bias=False)"),
        ("@ self.token_embedding.weight.T", "@ self.head.weight.T"),
        ("for _ in range(depth)", "for _ in range(1)"),
    )  # fmt: skip
    earlier = {f"exercise{n}": solution(f"exercise{n}") for n in (*range(1, 6), 8)}
    result = grade_text({"exercise10": text, **earlier})
    check = find_check(result, "build_language_model/property/registered")
    assert "fewer than" in check.message
    assert "start there" not in check.next_step


def test_wrong_zero_is_counted_among_what_a_mistake_explains(grade_text: GradeText) -> None:
    """A warm-up that counts step 0 as 1 is right there, and is not what this code does."""
    text = edited(
        solution("exercise12"),
        ("return peak * (step + 1) / warmup", "return peak * step / warmup"),
        ("return floor + (peak - floor) * wave", "return peak * wave + 2 * floor"),
        ("        return floor\n", "        return 1.0\n"),
    )
    result = grade_text({"exercise12": text})
    (found,) = (d for d in result.diagnoses if d.target == "learning_rate")
    wrong = [c for c in result.checks if c.target == "learning_rate" and c.status is Status.FAILED]
    assert found.bugs == ("first-rate-zero",), wrong
    assert "In 4 of them your output equals" in found.evidence
    assert "counts as 1" not in found.evidence


def test_layer_that_serves_each_head_is_told_to_take_the_whole(grade_text: GradeText) -> None:
    """One small layer for all heads: the split comes before it."""
    text = edited(
        solution("exercise3"),
        ("queries = self.to_queries(x)", "parts = x.unflatten(2, (self.num_heads, -1))\n"
         "        queries = self.to_queries(parts).flatten(2)"),
        ("keys = self.to_keys(x)", "keys = self.to_keys(parts).flatten(2)"),
        ("values = self.to_values(x)", "values = self.to_values(parts).flatten(2)"),
    )  # fmt: skip
    whole = "nn.Linear(embed_dim, num_heads * size, bias=bias)"
    result = grade_text({"exercise3": text.replace(whole, "nn.Linear(size, size, bias=bias)")})
    check = find_check(result, "MultiHeadSelfAttention/shape")
    assert "should return num_heads * head_dim" in check.message
    assert check.next_step.startswith("make the layer for the whole of its input")


def test_gradient_of_rounding_alone_is_none(grade_text: GradeText) -> None:
    """The mean over what a fresh norm has made even is its shift, whatever came in."""
    text = edited(
        solution("exercise12"),
        ("self.classes(encoded.mean(dim=1))", "self.classes(nn.functional.layer_norm("
         "encoded, (48,)).mean(dim=2, keepdim=True).mean(dim=1).expand(-1, 48))"),
    )  # fmt: skip
    earlier = {f"exercise{n}": solution(f"exercise{n}") for n in range(1, 11)}
    result = grade_text({"exercise12": text, **earlier})
    check = find_check(result, "build_digit_classifier/gradient")
    assert check.status is Status.FAILED
    assert check.message.startswith("no gradient reaches the parameter")
