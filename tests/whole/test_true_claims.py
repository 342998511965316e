"""What a report claims of code is so: of what draws, what is made, and what was taken for what."""

import pytest
from support import GradeText, all_told, edited, find_check, solution, target_checks

from grader.records.results import ExerciseResult, Status

HEADS = solution("exercise3")
PROJECTIONS = solution("exercise2")
NETWORK = solution("exercise4")
POSITIONS = solution("exercise6")
CLASSIFIER = solution("exercise7")
LAYER = solution("exercise5")
MASKS = solution("exercise8")
DECODER = solution("exercise9")
MODEL = solution("exercise10")
WRITING = solution("exercise11")

_RATED = "self.dropout = nn.Dropout(dropout)"


def _points(result: ExerciseResult, target: str) -> float:
    return sum(check.score for check in target_checks(result, target))


def _earlier(*names: str) -> dict[str, str]:
    return {name: solution(name) for name in names}


def test_layer_that_is_called_and_never_made_is_told(grade_text: GradeText) -> None:
    """The same sizes as of one layer for several parts, and another mistake."""
    made = "self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)"
    text = edited(PROJECTIONS, (made, made.replace("to_values", "to_keys")))
    result = grade_text({"exercise2": text})
    check = find_check(result, "QKVProjection/shape")
    assert "`self.to_values` is called, and nothing of that name is made" in check.next_step
    assert "serves" not in all_told(result, "QKVProjection")


def test_layer_that_may_be_made_by_other_means_is_not_called_unmade(
    grade_text: GradeText,
) -> None:
    made = "self.to_values = nn.Linear(embed_dim, head_dim, bias=bias)"
    text = edited(PROJECTIONS, (made, 'setattr(self, "to_" + "keys", self.to_queries)'))
    check = find_check(grade_text({"exercise2": text}), "QKVProjection/shape")
    assert check.failed
    assert "nothing of that name is made" not in check.next_step


def test_layer_whose_name_tells_one_part_is_not_taken_for_two_others(
    grade_text: GradeText,
) -> None:
    """Layers of twice the width have room for two roles where there are two heads."""
    text = edited(
        HEADS,
        ("size = embed_dim // num_heads if head_dim is None else head_dim", "size = embed_dim"),
    )
    result = grade_text({"exercise3": text})
    assert not [note for note in result.notes if "taken so" in note]


def test_range_is_an_index_as_a_list_is(grade_text: GradeText) -> None:
    text = edited(
        POSITIONS,
        ("self.embedding(positions)", "self.embedding.weight[range(t)]"),
    )
    result = grade_text({"exercise6": text})
    assert find_check(result, "LearnedPositionEmbedding/property/device").status is Status.PASSED


def test_one_mask_for_all_samples_is_no_missing_dropout(grade_text: GradeText) -> None:
    text = edited(
        NETWORK,
        (_RATED, "self.rate = dropout"),
        (
            "    def forward(self",
            "    def dropout(self, y):\n"
            "        if not self.training or not self.rate:\n"
            "            return y\n"
            "        kept = torch.rand(y.shape[1:]) >= self.rate\n"
            "        return y * kept / (1 - self.rate)\n\n"
            "    def forward(self",
        ),
        ("from torch import Tensor, nn", "import torch\nfrom torch import Tensor, nn"),
    )
    told = all_told(grade_text({"exercise4": text}), "FeedForward")
    assert "equal samples come out equal" in told
    assert "does not act" not in told
    assert "changes nothing" not in told


_ONE_FOR_ALL = """\
            one = torch.rand(1, 1, generator=generator)
            drawn = (chances.cumsum(-1) < one).sum(-1, keepdim=True)
            drawn = drawn.clamp(max=chances.size(-1) - 1)
"""


def test_one_draw_for_all_rows_is_neither_seeded_nor_cold(grade_text: GradeText) -> None:
    drawn = "            drawn = torch.multinomial(chances, 1, generator=generator)"
    begun = WRITING.index(drawn)
    ended = WRITING.index("\n", begun) + 1
    text = WRITING[:begun] + _ONE_FOR_ALL + WRITING[ended:]
    result = grade_text({"exercise11": text})
    told = all_told(result, "generate")
    assert "temperature is 0 by default" not in told
    assert "seed" not in told
    assert find_check(result, "generate/property/samples").message.startswith("equal rows")


@pytest.mark.parametrize("number", ["9.2103", "9.21034"])
def test_rounded_constant_is_told_as_a_constant(grade_text: GradeText, number: str) -> None:
    """Nothing is forced to float32."""
    text = edited(
        POSITIONS,
        ("frequencies = 10000.0**-exponents", f"frequencies = torch.exp(-{number} * exponents)"),
    )
    told = all_told(grade_text({"exercise6": text}), "sinusoidal_encoding")
    assert "a rounded constant" in told


def test_another_epsilon_of_a_model_is_named(grade_text: GradeText) -> None:
    text = edited(
        MODEL,
        ("self.norm = nn.LayerNorm(embed_dim)", "self.norm = nn.LayerNorm(embed_dim, eps=1e-6)"),
    )
    told = all_told(grade_text({"exercise10": text}), "LanguageModel")
    assert "the last norm has another eps than 1e-5" in told
    assert "float32" not in told


@pytest.mark.parametrize(
    ("old", "new", "failing"),
    [
        (
            "encoder = nn.Sequential(*layers)",
            "encoder = nn.Sequential(nn.Dropout(dropout), *layers)",
            "nowhere-else",
        ),
        ("    dropout: float = 0.0,", "    dropout: float = 0.1,", "no-dropout-by-default"),
        (
            "attention = MultiHeadSelfAttention(embed_dim, num_heads)",
            "attention = MultiHeadSelfAttention(embed_dim, 2)",
            "assembly-of-one",
        ),
    ],
)
def test_builder_that_is_wrong_in_unusual_cases_alone_is_caught(
    grade_text: GradeText, old: str, new: str, failing: str
) -> None:
    parts = _earlier("exercise1", "exercise2", "exercise3", "exercise4", "exercise5", "exercise6")
    result = grade_text({"exercise7": edited(CLASSIFIER, (old, new)), **parts})
    failed = [c.id.name for c in target_checks(result, "build_classifier") if c.failed]
    assert any(failing in name for name in failed)


def test_projection_that_drops_what_comes_in_is_caught(grade_text: GradeText) -> None:
    """It is told where it stands, and not of what uses it alone."""
    text = edited(
        PROJECTIONS,
        (
            "        queries = self.to_queries(x)",
            "        x = nn.functional.dropout(x, 0.1, self.training)\n"
            "        queries = self.to_queries(x)",
        ),
    )
    told = all_told(grade_text({"exercise2": text}), "QKVProjection")
    assert "dropout acts" in told


def test_assert_is_no_missing_check(grade_text: GradeText) -> None:
    """A hint says no more than the report, beside another mistake."""
    begun = MASKS.index("        if embed_dim % num_heads")
    ended = MASKS.index("        self.num_heads = num_heads", begun)
    text = MASKS[:begun] + "        assert embed_dim % num_heads == 0\n" + MASKS[ended:]
    text = edited(text, ("mask.expand(b, t, t)", "mask.expand(b, t, t)[:1].expand(b, t, t)"))
    result = grade_text({"exercise8": text})
    found = next(d for d in result.diagnoses if d.target == "MaskedMultiHeadAttention")
    assert "an AssertionError in place of a ValueError" in found.sentence
    assert not [way for way in found.ways if "indivisible" in way]


def test_output_with_a_table_of_its_own_keeps_what_is_right(grade_text: GradeText) -> None:
    """Its values are compared as if it were tied; the gradients tell that it is not."""
    text = edited(
        MODEL,
        (
            "self.norm = nn.LayerNorm(embed_dim)",
            "self.norm = nn.LayerNorm(embed_dim)\n"
            "        self.head = nn.Linear(embed_dim, vocab_size)",
        ),
        ("hidden @ self.token_embedding.weight.T", "self.head(hidden)"),
    )
    result = grade_text({"exercise10": text})
    assert find_check(result, "LanguageModel/numeric").status is Status.PASSED
    assert find_check(result, "LanguageModel/gradient").failed
    assert 4 < _points(result, "LanguageModel") < 7
    told = all_told(result, "LanguageModel")
    assert "the output has weights of its own" in told
    assert "detached" not in told


@pytest.mark.parametrize(
    ("helper", "told"),
    [
        ("        x + self.dropout(y)\n", "`add` returns nothing"),
        (
            "        if self.training:\n            return x + self.dropout(y)\n        x + y\n",
            "`add` does not return on every way",
        ),
    ],
    ids=["nothing", "sometimes"],
)
def test_helper_that_returns_nothing_is_told(grade_text: GradeText, helper: str, told: str) -> None:
    """It comes before where the None that it gives fails."""
    text = edited(
        DECODER,
        (
            "self_attention_sum = x + self.dropout(attended)",
            "self_attention_sum = self.add(x, attended)",
        ),
        (
            '        """Pass x through the three sublayers',
            f'        """Add."""\n{helper}\n    def forward(self, x, memory, memory_mask=None):\n'
            '        """Pass x through the three sublayers',
        ),
    )
    head = text.rindex("    def forward(self, x: Tensor, memory", 0, text.index('"""Add."""'))
    text = text[:head] + "    def add(self, x, y):\n" + text[text.index('        """Add."""') :]
    result = grade_text({"exercise9": text, **_earlier("exercise8")})
    assert told in find_check(result, "DecoderLayer/shape").next_step


def test_encoder_whose_result_is_dropped_is_not_called_uncalled(grade_text: GradeText) -> None:
    text = edited(
        CLASSIFIER,
        (
            "        encoded = self.encoder(embedded)",
            "        self.encoder(embedded)\n        encoded = embedded",
        ),
    )
    result = grade_text({"exercise7": text})
    told = all_told(result, "TransformerClassifier")
    assert "what goes into the encoder is taken for what comes out of it" in told
    assert "never called" not in told
    (found,) = (d for d in result.diagnoses if d.target == "TransformerClassifier")
    assert found.hint.startswith(
        "`self.encoder(embedded)` makes a new tensor, and nothing keeps it"
    )


def test_mask_of_numbers_has_no_axis_more(grade_text: GradeText) -> None:
    text = edited(
        MASKS,
        (
            "    mask = positions <= positions.unsqueeze(1)  # (t, t)",
            "    mask = torch.ones(seq_len, seq_len, device=device).triu(1)",
        ),
    )
    told = all_told(grade_text({"exercise8": text}), "causal_mask")
    assert "true and false are exchanged" in told
    assert "an axis more" not in told


def test_mode_of_the_whole_model_has_to_come_back(grade_text: GradeText) -> None:
    """The flag of the model alone leaves its parts in evaluation mode."""
    text = edited(WRITING, ("model.train(training)", "model.training = training"))
    check = find_check(grade_text({"exercise11": text}), "generate/property/inputs-unchanged")
    assert check.failed
    assert "all of it or a part" in check.message


def test_empty_samples_that_are_left_out_cost_their_group(grade_text: GradeText) -> None:
    text = edited(
        MASKS,
        ("positions < lengths.unsqueeze(1)", "positions < lengths[lengths > 0].unsqueeze(1)"),
    )
    assert _points(grade_text({"exercise8": text}), "padding_mask") > 2


def test_parameters_that_are_plain_tensors_are_compared(grade_text: GradeText) -> None:
    text = edited(
        DECODER,
        ("nn.Parameter(torch.ones(embed_dim))", "torch.ones(embed_dim, requires_grad=True)"),
        ("nn.Parameter(torch.zeros(embed_dim))", "torch.zeros(embed_dim, requires_grad=True)"),
    )
    result = grade_text({"exercise9": text, **_earlier("exercise8")})
    assert find_check(result, "LayerNorm/numeric").status is Status.PASSED
    assert find_check(result, "LayerNorm/property/registered").failed


def test_hidden_scores_that_no_number_stands_for_are_not_filled(grade_text: GradeText) -> None:
    """A softmax by hand, without a number for infinity."""
    begun = MASKS.index("    hidden = ~mask")
    ended = MASKS.index("    return output", begun)
    own = (
        "    powers = torch.exp(query @ key.transpose(-2, -1) / math.sqrt(key.size(-1)))\n"
        "    powers = powers.masked_fill(~mask, 0)\n"
        "    output = powers / powers.sum(-1, keepdim=True) @ value\n"
    )
    told = all_told(
        grade_text({"exercise8": MASKS[:begun] + own + MASKS[ended:]}), "masked_attention"
    )
    assert "gets NaN" in told
    assert "a finite number" not in told


def test_one_mask_of_a_dropout_layer_for_all_samples_is_no_missing_dropout(
    grade_text: GradeText,
) -> None:
    text = edited(
        NETWORK,
        ("self.dropout(projected)", "projected * self.dropout(torch.ones_like(projected[:1]))"),
        ("from torch import Tensor, nn", "import torch\nfrom torch import Tensor, nn"),
    )
    told = all_told(grade_text({"exercise4": text}), "FeedForward")
    assert "equal samples come out equal" in told
    assert "changes nothing" not in told


def test_number_in_place_of_a_tensor_is_on_no_other_device(grade_text: GradeText) -> None:
    text = edited(MODEL, ("    return loss\n", "    return loss.item()\n"))
    check = find_check(grade_text({"exercise10": text}), "next_token_loss/property/device")
    assert check.status is Status.PASSED


def test_exchanged_sequences_without_a_mask_hide_nothing(grade_text: GradeText) -> None:
    text = edited(
        DECODER,
        ("queries = self.to_queries(x)", "queries = self.to_queries(memory)"),
        ("keys = self.to_keys(memory)", "keys = self.to_keys(x)"),
        ("values = self.to_values(memory)", "values = self.to_values(x)"),
        (
            "seen = memory_mask.unsqueeze(1).repeat_interleave(self.num_heads, dim=0)",
            "seen = torch.ones(1, 1, dtype=torch.bool, device=x.device)",
        ),
    )
    told = all_told(grade_text({"exercise9": text, **_earlier("exercise8")}), "CrossAttention")
    assert "keys and values from x, and the memory's mask is not used" in told
    assert "hides queries" not in told


@pytest.mark.parametrize("given", ["inplace=True", "True"])
def test_layer_that_works_in_place_keeps_what_it_makes(grade_text: GradeText, given: str) -> None:
    """A layer that writes into its input needs no name for its result."""
    text = edited(
        NETWORK,
        ("        activated = self.activation(hidden)", "        activated = self._act(hidden)"),
        (
            "    def forward(self",
            f"    def _act(self, y):\n        self.relu = nn.ReLU({given})\n        self.relu(y)\n"
            "        return y * 2\n\n    def forward(self",
        ),
    )
    assert "nothing keeps it" not in all_told(grade_text({"exercise4": text}), "FeedForward")
