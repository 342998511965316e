"""Deviations: each costs its own checks, is told once, and hides no mistake beside it."""

import pytest
from support import GradeText, edited, find_check, solution

from grader.records.results import Diagnosis, ExerciseResult, Kind, Status

SOURCE = solution("exercise3_multi_head.py")
QKV = [
    f"self.to_{part} = nn.Linear(embed_dim, num_heads * size, bias=bias)"
    for part in ("queries", "keys", "values")
]
UNHEARD = "size = embed_dim // num_heads"
LAST = "nn.Linear(num_heads * size, embed_dim)"
KEYS = ("keys = self.to_keys(x)", "keys = self.to_queries(x)")
ALWAYS = [(line, line.replace("bias=bias", "bias=True")) for line in QKV]
MISSING = (LAST, LAST.replace("embed_dim)", "embed_dim, bias=False)"))


def graded(grade_text: GradeText, *edits: tuple[str, str]) -> tuple[ExerciseResult, Diagnosis]:
    result = grade_text({"exercise3": edited(SOURCE, *edits)})
    (found,) = (d for d in result.diagnoses if d.target == "MultiHeadSelfAttention")
    return result, found


def test_a_missing_bias_is_a_bias_of_zero(grade_text: GradeText) -> None:
    result, found = graded(grade_text, MISSING)
    assert found.sentence.startswith(
        "Right values where the missing bias is zero. One deviation: `unify_heads` has no bias."
    )
    assert find_check(result, "MultiHeadSelfAttention/numeric").status is Status.PASSED
    lost = [c.id.in_target for c in result.checks if c.score < c.max_score and c.kind != "bug"]
    assert lost == [
        "shape/own-biases",
        "numeric/own-biases",
        "gradient/own-biases",
        "property/registered",
    ]
    told = [c for c in result.checks if c.told]
    assert {c.next_step for c in told} == {
        "give `unify_heads` a bias: layers of torch's have one unless told otherwise"
    }


def test_biases_that_are_always_there_cost_one_property(grade_text: GradeText) -> None:
    result, found = graded(grade_text, *ALWAYS)
    assert "biases although bias=False (`to_queries.bias`, `to_keys.bias`, `to_values.bias`)" in (
        found.sentence
    )
    lost = [c.id.in_target for c in result.checks if c.score < c.max_score]
    assert lost == ["property/registered"]


@pytest.mark.parametrize("beside", [[MISSING], ALWAYS, [MISSING, *ALWAYS]])
def test_a_mistake_is_named_beside_deviations(
    grade_text: GradeText, beside: list[tuple[str, str]]
) -> None:
    _, found = graded(grade_text, KEYS, *beside)
    assert "keys-from-queries" in found.bugs
    assert "the keys are made from the queries" in found.evidence


def test_an_option_is_told_as_unheard_only_where_nothing_changes(grade_text: GradeText) -> None:
    """Biases of zero make no difference, and are heard all the same."""
    _, found = graded(grade_text, KEYS)
    assert not any("not used" in sentence for sentence in found.deviations)


def test_zeros_earn_less_than_a_sixth(grade_text: GradeText) -> None:
    result = grade_text(
        {
            "exercise3": edited(
                SOURCE,
                ("output = self.unify_heads(unfolded)", "output = 0 * self.unify_heads(unfolded)"),
            )
        }
    )
    checks = [c for c in result.checks if c.target == "MultiHeadSelfAttention"]
    assert sum(c.score for c in checks) <= 0.15 * sum(c.max_score for c in checks)


def test_an_option_that_is_refused_costs_its_group_and_hides_no_mistake(
    grade_text: GradeText,
) -> None:
    refusal = "        self.num_heads = num_heads\n"
    check = "        assert head_dim in (None, embed_dim // num_heads)\n"
    result, found = graded(grade_text, (refusal, check + refusal), KEYS)
    assert found.bugs == ("keys-from-queries",)
    (told,) = found.deviations
    assert told.startswith("with head_dim=")
    assert "raised AssertionError at exercise3_multi_head.py" in told
    assert {c.id.name for c in result.checks if c.told and c.kind != "bug"} == {"head_dim"}


def test_a_missing_bias_costs_no_case_that_needs_the_bias(grade_text: GradeText) -> None:
    """One of the cases with an activation is drawn with biases that are not zero."""
    line = "self.expand = nn.Linear(embed_dim, size)"
    text = edited(solution("exercise4_feed_forward.py"), (line, line[:-1] + ", bias=False)"))
    result = grade_text({"exercise4": text})
    lost = [c.id.in_target for c in result.checks if c.score < c.max_score and c.kind != "bug"]
    assert lost == [
        "shape/own-biases",
        "numeric/own-biases",
        "gradient/own-biases",
        "property/registered",
    ]


def test_another_epsilon_is_not_called_float32(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise5_encoder_layer.py"),
        *(
            (f"self.{n} = nn.LayerNorm(embed_dim)", f"self.{n} = nn.LayerNorm(embed_dim, eps=1e-8)")
            for n in ("norm1", "norm2")
        ),
        ("self.norm_first = norm_first", "self.norm_first = False"),
    )
    result = grade_text({"exercise5": text})
    (found,) = result.diagnoses
    assert found.deviations == (
        "`norm_first` is not used: the output is the same with norm_first=True and without it",
    )


def test_a_classifier_without_its_last_bias_is_built_of_correct_parts(
    grade_alone: GradeText,
) -> None:
    line = "self.to_logits = nn.Linear(embed_dim, num_classes)"
    text = edited(solution("exercise7"), (line, line[:-1] + ", bias=False)"))
    own = {f"exercise{number}": solution(f"exercise{number}") for number in range(1, 7)}
    result = grade_alone({"exercise7": text, **own})
    lost = [c.id for c in result.checks if c.score < c.max_score and c.target == "build_classifier"]
    assert [check.in_target for check in lost] == ["property/registered"]
    assert not any("cannot be built" in note for note in result.notes)


def test_another_epsilon_costs_no_check_of_a_bug_but_its_own(grade_text: GradeText) -> None:
    """Gradients differ by a little, where those of a path that is cut differ by all."""
    source = solution("exercise5_encoder_layer.py")
    text = source.replace("nn.LayerNorm(embed_dim)", "nn.LayerNorm(embed_dim, eps=1e-6)")
    result = grade_text({"exercise5": text})
    lost = {c.id.name for c in result.checks if c.kind is Kind.BUG and c.score < c.max_score}
    assert text != source
    assert lost <= {"norm-eps", "norm-std-plus-eps"}


def test_an_option_that_is_not_heard_costs_no_check_of_biases(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise4_feed_forward.py"),
        ('nn.ReLU() if activation == "relu" else nn.GELU()', "nn.ReLU()"),
    )
    result = grade_text({"exercise4": text})
    lost = {c.id.name for c in result.checks if c.kind is Kind.BUG and c.score < c.max_score}
    assert "activation-ignored" in lost
    assert "bias-missing" not in lost


def test_an_alternative_that_changes_the_input_is_none(grade_text: GradeText) -> None:
    """What an activation in place would come to is not named where the input is left alone."""
    text = edited(
        solution("exercise4_feed_forward.py"),
        ('nn.ReLU() if activation == "relu" else nn.GELU()', "nn.ReLU()"),
        ("hidden = self.expand(x)", "hidden = self.expand(self.activation(x))"),
        ("activated = self.activation(hidden)", "activated = hidden"),
    )
    (found,) = grade_text({"exercise4": text}).diagnoses
    assert "activation-first" in found.bugs
    assert "inplace-activation" not in found.bugs


ENCODER = solution("exercise5_encoder_layer.py")
BY_DEFAULT = ("norm_first: bool = False", "norm_first: bool = True")
TOLD = "`norm_first` is True where it is not given; False is asked for"


def test_another_default_costs_its_check_and_no_arrangement(grade_text: GradeText) -> None:
    result = grade_text({"exercise5": edited(ENCODER, BY_DEFAULT)})
    (found,) = result.diagnoses
    assert found.sentence.startswith(
        f"Right values where every option is given. One deviation: {TOLD}."
    )
    lost = [c.id.in_target for c in result.checks if c.score < c.max_score]
    assert lost == ["property/defaults", "bug/pre-norm-by-default"]
    assert result.score >= 0.9 * result.max_score


def test_another_default_hides_no_mistake(grade_text: GradeText) -> None:
    wrong = ("feed_forward_sum = attention_output + ", "feed_forward_sum = x + ")
    (found,) = grade_text({"exercise5": edited(ENCODER, BY_DEFAULT, wrong)}).diagnoses
    (alone,) = grade_text({"exercise5": edited(ENCODER, wrong)}).diagnoses
    assert found.bugs == alone.bugs
    assert found.deviations == (TOLD,)


def test_what_none_stands_for_is_told(grade_text: GradeText) -> None:
    size = "size = 4 * embed_dim if hidden_dim is None"
    text = edited(solution("exercise4_feed_forward.py"), (size, size.replace("4", "3")))
    result = grade_text({"exercise4": text})
    (found,) = result.diagnoses
    assert found.deviations == ("`hidden_dim` is not `4*embed_dim` where it is not given",)
    lost = [c.id.in_target for c in result.checks if c.score < c.max_score and c.kind != "bug"]
    assert lost == ["property/defaults"]


def test_an_argument_that_has_to_be_given_is_told(grade_text: GradeText) -> None:
    edits = [("hidden_dim: int | None = None", "hidden_dim: int")]
    result = grade_text({"exercise4": edited(solution("exercise4_feed_forward.py"), *edits)})
    (found,) = result.diagnoses
    assert found.deviations == ("`hidden_dim` has no default; `4*embed_dim` is asked for",)
    assert result.score >= 0.9 * result.max_score


def test_an_option_that_is_not_used_is_no_default(grade_text: GradeText) -> None:
    """GELU whatever is asked fails where ReLU is asked for by name."""
    edits = [('nn.ReLU() if activation == "relu" else nn.GELU()', "nn.GELU()")]
    result = grade_text({"exercise4": edited(solution("exercise4_feed_forward.py"), *edits)})
    assert find_check(result, "FeedForward/numeric").status is Status.FAILED
    assert not result.diagnoses[0].deviations


def test_none_is_not_to_blame_where_another_property_fails(grade_text: GradeText) -> None:
    """Beside a mistake the check of defaults is skipped, and says nothing of them."""
    _, found = graded(grade_text, KEYS, *ALWAYS)
    assert not any("where it is not given" in said for said in found.deviations)
