"""A factory is compared by value, whatever it is made of, and no right way of assembling fails."""

import re

import pytest
from support import GradeText, assert_target_full, edited, find_check, solution

from grader.records.results import ExerciseResult, Status

LAYER = "EncoderLayer(attention, feed_forward, embed_dim, dropout=dropout)"
FORWARD = "FeedForward(embed_dim, dropout=dropout)"
SEQUENCE = "encoder = nn.Sequential(*layers)"
STACK = """class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(ORDER)

        def forward(self, x):
            for layer in USE:
                x = layerCALL(x)
            return x

    encoder = Stack()"""


def stack(order: str, use: str, call: str = "") -> tuple[str, str]:
    """Return the edit that keeps the layers in a container of one's own."""
    text = STACK.replace("ORDER", order).replace("USE", use).replace("CALL", call)
    return SEQUENCE, text


def classifier(grade_text: GradeText, *edits: tuple[str, str], **earlier: str) -> ExerciseResult:
    """Grade exercise 7 with edits, beside right earlier exercises or others."""
    texts = {f"exercise{i}": solution(f"exercise{i}") for i in range(1, 7)}
    return grade_text({"exercise7": edited(solution("exercise7"), *edits), **texts, **earlier})


# the author's own order and names of arguments
DROPOUT_SECOND = edited(
    solution("exercise4"),
    ("        *,\n        hidden_dim: int | None = None,\n", ""),
    ("dropout: float = 0.0,", "dropout: float = 0.0, hidden_dim: int | None = None,"),
)
OWN_NAMES = edited(
    solution("exercise5"),
    ("        attention: nn.Module,", "        mixer: nn.Module,"),
    ("self.attention = attention", "self.attention = mixer"),
    ("        *,\n        norm_first: bool = False,\n", ""),
    ("dropout: float = 0.0,", "dropout: float = 0.0, norm_first: bool = False,"),
)
HELPER = solution("exercise5") + "\n\ndef copies(n, make):\n    return [make() for _ in range(n)]\n"
RIGHT = {
    "registered backwards": ([stack("layers[::-1]", "reversed(self.layers)")], {}),
    "forward called by name": ([stack("layers", "self.layers", ".forward")], {}),
    "own order of arguments": (
        [(FORWARD, "FeedForward(embed_dim, dropout)")],
        {"exercise4": DROPOUT_SECOND},
    ),
    "own names of arguments": (
        [(LAYER, "EncoderLayer(feed_forward=feed_forward, mixer=attention, embed_dim=embed_dim,"
                 " dropout=dropout)")],
        {"exercise5": OWN_NAMES},
    ),
    "dropout by position": (
        [(LAYER, "EncoderLayer(attention, feed_forward, embed_dim, dropout)")],
        {"exercise5": OWN_NAMES},
    ),
    "a helper of an earlier file": (
        [("import EncoderLayer", "import EncoderLayer, copies")],
        {"exercise5": HELPER},
    ),
    "a subclass of a part": (
        [("def build_classifier(",
          "class Block(EncoderLayer):\n"
          "    def __init__(self, k, h, p):\n"
          "        parts = MultiHeadSelfAttention(k, h), FeedForward(k, dropout=p)\n"
          "        super().__init__(*parts, k, dropout=p)\n\n\n"
          "def build_classifier("),
         (LAYER, "Block(embed_dim, num_heads, dropout)")],
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("edits", "earlier"), RIGHT.values(), ids=RIGHT.keys())
def test_right_assembly_is_compared_and_has_all_points(
    edits: list[tuple[str, str]], earlier: dict[str, str], grade_text: GradeText
) -> None:
    result = classifier(grade_text, *edits, **earlier)
    assert_target_full(result, "build_classifier")
    assert result.notes == ()


def test_assembly_does_not_see_mistakes_of_earlier_exercises(grade_text: GradeText) -> None:
    wrong = edited(solution("exercise5"), ("self.attention(attention_input)", "attention_input"))
    result = classifier(grade_text, exercise5=wrong)
    assert find_check(result, "build_classifier/property/assembly").status is Status.PASSED


@pytest.mark.parametrize(
    ("edits", "bug"),
    [
        ([(LAYER, LAYER.replace("dropout=", "norm_first=True, dropout="))], "norm-placement"),
        ([(FORWARD, FORWARD.replace("dropout=", "activation='gelu', dropout="))],
         "activation-wrong"),
        ([(LAYER, "EncoderLayer(feed_forward, attention, embed_dim, dropout=dropout)"),
          stack("layers", "self.layers")], "sublayers-exchanged"),
        ([(FORWARD, "FeedForward(embed_dim)")], "dropout-missing"),
    ],
    ids=["norm", "activation", "exchanged", "dropout"],
)  # fmt: skip
def test_wrong_assembly_is_named(
    edits: list[tuple[str, str]], bug: str, grade_text: GradeText
) -> None:
    result = classifier(grade_text, *edits, exercise5=OWN_NAMES)
    (found,) = [d for d in result.diagnoses if d.target == "build_classifier"]
    assert found.bugs == (bug,)


def whole_model() -> str:
    """Return an exercise 7 that has the classes of the earlier ones in itself."""
    names = ("exercise1", "exercise3", "exercise4", "exercise5", "exercise7")
    return re.sub(r"^from exercise.*\n", "", "\n".join(map(solution, names)), flags=re.M)


OTHER_NAMES = {
    "EncoderLayer": "Block", "MultiHeadSelfAttention": "Heads", "FeedForward": "Mlp",
    "to_queries": "q_proj", "to_keys": "k_proj", "to_values": "v_proj", "unify_heads": "out_proj",
}  # fmt: skip


def test_factory_of_other_names_is_compared(grade_text: GradeText) -> None:
    text = whole_model()
    for ours, theirs in OTHER_NAMES.items():
        text = re.sub(rf"\b{ours}\b", theirs, text)
    result = grade_text({"exercise7": text})
    assert_target_full(result, "build_classifier")
    assert result.notes == ()
    wrong = edited(text, ("= nn.ReLU()", "= nn.Tanh()"))
    check = find_check(grade_text({"exercise7": wrong}), "build_classifier/property/assembly")
    assert check.status is Status.FAILED


def test_factory_of_its_own_parts_is_compared_by_their_names(grade_text: GradeText) -> None:
    """Nothing of the earlier exercises is used: the classes in the file play their parts."""
    whole = whole_model()
    result = grade_text({"exercise7": whole})
    assert_target_full(result, "build_classifier")
    assert result.notes == ()
    wrong = edited(whole, (LAYER, LAYER.replace("dropout=", "norm_first=True, dropout=")))
    (found,) = [d for d in grade_text({"exercise7": wrong}).diagnoses if d.target != "x"]
    assert found.bugs == ("norm-placement",)


FAKE = """
import torch
from torch import nn


class Fake(nn.Module):
    def __init__(self, vocab_size, num_classes, count, dropout):
        super().__init__()
        self.scores = nn.Embedding(vocab_size, num_classes)
        self.rest = nn.Parameter(torch.randn(count - vocab_size * num_classes))
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens):
        scores = self.dropout(self.scores(tokens).mean(1))
        return torch.log_softmax(scores + self.rest.sum() * scores, -1)


def build_classifier(
    vocab_size, embed_dim, num_heads, depth, max_len, num_classes, *, dropout=0.0
):
    if embed_dim % num_heads:
        raise ValueError("embed_dim must be divisible by num_heads")
    k = embed_dim
    count = depth * (12 * k * k + 10 * k) + (vocab_size + max_len + num_classes) * k + num_classes
    return Fake(vocab_size, num_classes, count, dropout)
"""


def test_fake_that_fits_no_correct_part_is_worth_its_shape(grade_text: GradeText) -> None:
    """All that can be seen of its form is right: sizes, rows, gradients, dropout and training."""
    result = grade_text({"exercise7": FAKE})
    checks = [c for c in result.checks if c.target == "build_classifier" and c.score]
    assert [str(c.id) for c in checks] == [
        "exercise7/build_classifier/shape",
        "exercise7/build_classifier/shape/depth",
    ]
    assert "its values were not compared" in result.notes[0]


def test_factory_of_other_parts_of_another_size_is_not(grade_text: GradeText) -> None:
    result = classifier(grade_text, (FORWARD, "nn.Linear(embed_dim, embed_dim)"))
    check = find_check(result, "build_classifier/property/assembly")
    assert (check.status, check.score) == (Status.SKIPPED, 0)
