"""A reason is told only where it is the reason: another mistake may look the same at first."""

import pytest
from support import GradeText, all_told, edited, find_check, solution

from grader.records.results import Kind, Status

MASKS = solution("exercise8")
HEADS = solution("exercise3")
PROJECTIONS = solution("exercise2")
LAYER = solution("exercise5")
DECODER = solution("exercise9")
MODEL = solution("exercise10")

_DIVIDED_LATER = """\
    scores = query @ key.transpose(1, 2)
    scores = scores / math.sqrt(query.size(2))
    scores = scores.masked_fill(hidden, -math.inf)
    weights = torch.nan_to_num(torch.sigmoid(scores), 0.0)
"""


@pytest.mark.parametrize("named", ["scores", "dots"])
def test_scores_that_are_divided_on_a_line_of_their_own_are_divided(
    grade_text: GradeText, named: str
) -> None:
    """The name is given three times: to a product, to what is due, and to what is masked."""
    begun = MASKS.index("    scores = query @ key.transpose(-2")
    ended = MASKS.index("    output = weights @ value  # (b, q, w)")
    text = MASKS[:begun] + _DIVIDED_LATER.replace("scores", named) + MASKS[ended:]
    told = all_told(grade_text({"exercise8": text}), "masked_attention")
    assert "divided" not in told
    assert "scores ✗" not in told


def test_last_layer_that_is_too_narrow_is_told_by_its_size_alone(grade_text: GradeText) -> None:
    """Heads that are averaged make a layer of that size too, and so does a slip."""
    text = edited(
        HEADS,
        ("nn.Linear(num_heads * size, embed_dim)", "nn.Linear(size, embed_dim)"),
        ("raise ValueError(", "print("),
    )
    result = grade_text({"exercise3": text})
    told = all_told(result, "MultiHeadSelfAttention")
    assert "averaged" not in told
    assert "in place of a ValueError" not in told
    check = find_check(result, "MultiHeadSelfAttention/shape")
    assert "and should take num_heads * head_dim" in check.message


def test_losses_in_a_table_of_their_own_are_not_wrong_for_their_shape(
    grade_text: GradeText,
) -> None:
    """What is wrong is the divisor."""
    begun = MODEL.index("    losses = -log_probabilities")
    ended = MODEL.index("    return loss\n")
    text = f"""{MODEL[:begun]}\
    losses = torch.nn.functional.cross_entropy(
        logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none"
    )
    losses = losses.masked_fill(~real, 0.0)
    loss = losses.sum() / (real.sum() - 1)
{MODEL[ended:]}"""
    told = all_told(grade_text({"exercise10": text}), "next_token_loss")
    assert "losses ✗" not in told


def test_wrappers_of_registered_layers_may_stand_in_a_list(grade_text: GradeText) -> None:
    text = edited(
        DECODER,
        (
            "class DecoderLayer(nn.Module):",
            "class Kept(nn.Module):\n"
            "    def __init__(self, norm):\n"
            "        super().__init__()\n"
            "        self.norm = norm\n\n\n"
            "class DecoderLayer(nn.Module):",
        ),
        (
            "        self.norm3 = LayerNorm(embed_dim)\n",
            "        self.norm3 = LayerNorm(embed_dim)\n"
            "        self.kept = [Kept(one) for one in (self.norm1, self.norm2, self.norm3)]\n",
        ),
    )
    result = grade_text({"exercise9": text})
    for name in ("registered", "device"):
        assert find_check(result, f"DecoderLayer/property/{name}").status is Status.PASSED


def test_dropout_that_is_missing_in_one_case_is_told_of_that_case(grade_text: GradeText) -> None:
    """Beside another mistake, too."""
    text = LAYER.replace("+ self.dropout(", "+ self.kept(")
    assert text != LAYER
    text = text.replace(
        "    def forward(self",
        "    def kept(self, x):\n"
        "        return self.dropout(x) if self.norm_first else x\n\n"
        "    def forward(self",
        1,
    )
    text = text.replace("nn.LayerNorm(embed_dim)", "nn.LayerNorm(embed_dim, eps=0.1)")
    told = all_told(grade_text({"exercise5": text}), "EncoderLayer")
    assert "no dropout acts where one is asked for, in the case" in told


def test_one_parameter_of_two_layers_is_told_as_that(grade_text: GradeText) -> None:
    """The line that makes the queries uses its own layer, so no hint may say another thing."""
    made = "        self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)\n"
    tied = "        self.to_keys.weight = self.to_queries.weight\n"
    text = PROJECTIONS.replace(made, made + tied, 1)
    assert text != PROJECTIONS
    result = grade_text({"exercise2": text})
    found = next(one for one in result.diagnoses if one.target == "QKVProjection")
    assert len(found.either) == len(found.bugs) == 2  # each has its own condition in the hints


def test_attribute_that_a_given_part_asks_for_is_not_looked_for_on_the_line(
    grade_text: GradeText,
) -> None:
    """Two arguments are exchanged: there is no dot to look at."""
    text = DECODER.replace(", memory, memory_mask)", ", memory_mask, memory)")
    assert text != DECODER
    result = grade_text({"exercise9": text})
    told = [c for c in result.checks if c.target == "DecoderLayer" and c.kind is Kind.SHAPE]
    assert all("before the dot" not in check.next_step for check in told)
