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


def test_as_many_parameters_are_told_only_of_modules_that_were_counted(
    grade_text: GradeText,
) -> None:
    """Each call raises before anything is counted, and shared attention has fewer."""
    shared = "attention = MultiHeadSelfAttention(embed_dim, num_heads)"
    result = classifier(
        grade_text,
        (f"        {shared}\n", ""),
        ("    layers = []", f"    {shared}\n    layers = []"),
        ("return TransformerClassifier(encoder, vocab_size, embed_dim, max_len, num_classes)",
         "return TransformerClassifier(encoder, vocab_size, embed_dim, num_classes, max_len)"),
    )  # fmt: skip
    (found,) = [d for d in result.diagnoses if d.target == "build_classifier"]
    assert found.evidence.startswith("Your code behaves like code in which")


def test_dropout_that_reaches_no_output_is_not_called_missing(grade_text: GradeText) -> None:
    """The classifier that is built gives the same numbers, whatever is dropped before."""
    wrong = ("torch.log_softmax(logits, dim=1)", "torch.log_softmax(logits * 0, dim=1)")
    told = [said for d in classifier(grade_text, wrong).diagnoses for said in d.deviations]
    assert told == []


def whole_model() -> str:
    """Return an exercise 7 that has the classes of the earlier ones in itself."""
    names = ("exercise1", "exercise3", "exercise4", "exercise5", "exercise7")
    return re.sub(r"^from exercise.*\n", "", "\n".join(map(solution, names)), flags=re.M)


OTHER_NAMES = {
    "EncoderLayer": "Block", "MultiHeadSelfAttention": "Heads", "FeedForward": "Mlp",
    "to_queries": "q_proj", "to_keys": "k_proj", "to_values": "v_proj", "unify_heads": "out_proj",
}  # fmt: skip


# attention of one's own inside of a block, by what is peculiar about its layers
OWN_ATTENTION = {
    "a list of heads, keys before queries": """
class Head(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.key, self.query, self.value = (
            nn.Linear(width, size, bias=False) for _ in range(3)
        )

    def forward(self, x):
        keys, queries = self.key(x), self.query(x)
        return attended(queries, keys, self.value(x))


class Heads(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.heads = nn.ModuleList(Head(width, width // count) for _ in range(count))
        self.proj = nn.Linear(width, width)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))
""",
    "keys and values fused": """
class Heads(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.count = count
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_kv = nn.Linear(width, 2 * width, bias=False)
        self.to_out = nn.Linear(width, width)

    def forward(self, x):
        made = self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)
        q, k, v = (z.unflatten(-1, (self.count, -1)).transpose(1, 2) for z in made)
        return self.to_out(attended(q, k, v).transpose(1, 2).flatten(2))
""",
    "rows by head": """
class Heads(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.count = count
        self.c_attn = nn.Linear(width, 3 * width, bias=False)
        self.c_proj = nn.Linear(width, width)

    def forward(self, x):
        made = self.c_attn(x).unflatten(-1, (self.count, -1)).transpose(1, 2)
        return self.c_proj(attended(*made.chunk(3, dim=-1)).transpose(1, 2).flatten(2))
""",
    "layers that no name tells": """
class Heads(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.count = count
        self.d = nn.Linear(width, width)
        self.a, self.b, self.c = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x):
        made = (layer(x) for layer in (self.c, self.a, self.b))
        v, k, q = (z.unflatten(-1, (self.count, -1)).transpose(1, 2) for z in made)
        return self.d(attended(q, k, v).transpose(1, 2).flatten(2))
""",
}
OWN_BLOCK = """
class Block(nn.Module):
    def __init__(self, width, count, dropout):
        super().__init__()
        if width % count:
            raise ValueError("not divisible")
        self.ln_b = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )
        self.ln_a = nn.LayerNorm(width)
        self.attn = Heads(width, count)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        x = FIRST
        return SECOND
"""
CAUSAL = """

def attended(query, key, value):
    scores = query @ key.transpose(-2, -1) * key.shape[-1] ** -0.5
    ahead = torch.ones(query.shape[-2], query.shape[-2], dtype=torch.bool, device=query.device)
    scores = scores.masked_fill(ahead.triu(1), float("-inf"))
    return scores.softmax(-1) @ value

"""
EVERYWHERE = """

def attended(query, key, value):
    return (query @ key.transpose(-2, -1) * key.shape[-1] ** -0.5).softmax(-1) @ value

"""
PRE_NORM = ("x + self.drop(self.attn(self.ln_a(x)))", "x + self.drop(self.mlp(self.ln_b(x)))")
POST_NORM = ("self.ln_a(x + self.drop(self.attn(x)))", "self.ln_b(x + self.drop(self.mlp(x)))")


def own_block(attended: str, heads: str, lines: tuple[str, str]) -> str:
    """Return a block that needs no earlier exercise."""
    block = OWN_BLOCK.replace("FIRST", lines[0]).replace("SECOND", lines[1])
    return attended + heads.replace("\n\n    def", "\n    def") + block


def language_model(heads: str, lines: tuple[str, str] = PRE_NORM) -> str:
    """Return an exercise 10 whose blocks are made of layers of its own."""
    text = re.sub(r"^from exercise.*\n", "", solution("exercise10"), flags=re.M)
    before, _, behind = text.partition("class Block(nn.Module):")
    kept = behind[behind.index("def build_language_model(") :]
    return before + own_block(CAUSAL, heads, lines) + "\n\n" + kept


def own_classifier(heads: str, lines: tuple[str, str] = POST_NORM) -> str:
    """Return an exercise 7 whose layers are made of layers of its own."""
    text = re.sub(r"^from exercise.*\n", "", solution("exercise7"), flags=re.M)
    before, _, behind = text.partition("def build_classifier(")
    signature, _, body = behind.partition("### BEGIN SOLUTION")
    end = body[body.index("    encoder = ") :]
    layers = "    layers = [Block(embed_dim, num_heads, dropout) for _ in range(depth)]\n"
    whole = f"def build_classifier({signature}### BEGIN SOLUTION\n{layers}{end}"
    return before + own_block(EVERYWHERE, heads, lines) + "\n\n" + whole


@pytest.mark.parametrize("heads", OWN_ATTENTION.values(), ids=OWN_ATTENTION.keys())
def test_blocks_of_ones_own_are_compared(heads: str, grade_text: GradeText) -> None:
    """Layers are found block by block, by names that tell, and in any order where they do not."""
    told = "self.a, self.b" not in heads
    result = grade_text({"exercise10": language_model(heads)})
    assert_target_full(result, "build_language_model")
    assert bool(result.notes) is not told
    result = grade_text({"exercise7": own_classifier(heads)})
    assert_target_full(result, "build_classifier")


@pytest.mark.parametrize("heads", OWN_ATTENTION.values(), ids=OWN_ATTENTION.keys())
def test_a_mistake_in_blocks_of_ones_own_is_named(heads: str, grade_text: GradeText) -> None:
    wrong = edited(language_model(heads), ("nn.ReLU()", "nn.GELU()"))
    found = {d.target: d.bugs for d in grade_text({"exercise10": wrong}).diagnoses}
    assert found == {"build_language_model": ("activation-wrong",)}


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


def test_of_what_is_registered_too_much_that_comes_first(grade_alone: GradeText) -> None:
    """Of more parameters than fit a line, those that nobody asked for are the ones to read."""
    head = "self.head = nn.Linear(embed_dim, vocab_size, bias=False)\n        "
    text = edited(
        solution("exercise10"),
        ("nn.init.normal_(self.token_embedding.weight, std=0.02)",
         f"{head}nn.init.normal_(self.token_embedding.weight, std=0.02)"),
        ("hidden @ self.token_embedding.weight.T", "self.head(hidden)"),
    )  # fmt: skip
    texts = {f"exercise{i}": solution(f"exercise{i}") for i in (*range(1, 6), 8)}
    result = grade_alone({"exercise10": text, **texts})
    told = find_check(result, "build_language_model/property/registered").message
    assert re.search(r"than the \d+ it needs: it has `head.weight` ", told)
