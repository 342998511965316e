"""Exceptions of real submissions: the reason with the shapes, and the lesson's trap."""

from dataclasses import dataclass

import pytest
from support import GradeText, edited, solution

from grader.course.lesson import find_passage, read_lesson
from grader.records.results import Kind, Status


@dataclass(frozen=True)
class Raised:
    """A submission that raises: a reference with changes, and what is told of it."""

    exercise: str
    target: str
    edits: tuple[tuple[str, str], ...]
    step: str  # how the next step begins
    trap: str = ""  # how the lesson's passage begins


_QUERIES = "self.to_queries = nn.Linear(embed_dim, head_dim, bias=bias)"
_KEYS = "self.to_keys = nn.Linear(embed_dim, head_dim, bias=bias)"
_SOFT = "weights = torch.softmax(scores, dim=-1)  # (b, q, s)"
_SCORES = "products = query @ key.transpose(1, 2)  # (b, q, s)"
_UNFOLDED = "unfolded = unfold_heads(attended, self.num_heads)  # (b, t, h*d)"
_SIZE = "size = embed_dim // num_heads if head_dim is None else head_dim"
_RELU = 'self.activation = nn.ReLU() if activation == "relu" else nn.GELU()'
_DROP = "self.dropout = nn.Dropout(dropout)"
_ADD = "attention_sum = x + self.dropout(attended)"
_LOGITS = "self.to_logits = nn.Linear(embed_dim, num_classes)"
_ODD = "encoding[:, 1::2] = cosines[:, : embed_dim // 2]  # an odd k has one cosine fewer"
_FOLDED = "folded = heads_first.reshape(b * num_heads, t, d)  # (b*h, t, d)"
_SPLIT = "split = x.reshape(b, t, num_heads, d)  # (b, t, h, d)"
_LAYER = "layer = EncoderLayer(attention, feed_forward, embed_dim, dropout=dropout)"

RAISED = {
    "keys of queries": Raised(
        "exercise2", "QKVProjection",
        (("self.to_keys(x)", "self.to_keys(queries)"),),
        "`to_keys` takes vectors of length 5, as `x` has, and gets `queries`, whose vectors have "
        "length 3: should it read `x`?",
        "The second projection reads",
    ),
    "cut along the wrong axis": Raised(
        "exercise2", "AttentionHead",
        (("queries, keys, values = self.projection(x)",
          "queries, keys, values = torch.cat(self.projection(x), 2).split(3, dim=0)"),
         ("from torch import Tensor, nn", "import torch\nfrom torch import Tensor, nn")),
        "3 names stand on the left of the =, and `split` gives 1 part: it cuts along axis 0",
    ),
    "sizes of a layer exchanged": Raised(
        "exercise7", "build_classifier",
        ((_LOGITS, "self.to_logits = nn.Linear(num_classes, embed_dim)"),),
        "`to_logits` takes vectors of length 3 and gets vectors of length 8: it is made as "
        "`nn.Linear(num_classes, embed_dim)`: are its sizes exchanged, or should it read another "
        "tensor?",
    ),
    "view after transpose": Raised(
        "exercise3", "fold_heads",
        ((_FOLDED, "folded = heads_first.view(b * num_heads, t, d)"),),
        "`view` does not copy, and the numbers of this tensor do not lie in order",
        "An error that says `view size",
    ),
    "heads not unfolded": Raised(
        "exercise3", "MultiHeadSelfAttention",
        ((_UNFOLDED, "unfolded = attended"),),
        "`unify_heads` gets ",
        "Folding, for two samples",
    ),
    "sum without keepdim": Raised(
        "exercise1", "attention_weights",
        ((_SOFT, "weights = scores.exp() / scores.exp().sum(dim=-1)"),),
        "`sum` drops the axis that it runs over, so its result meets the wrong axis",
        "The softmax runs along the wrong axis",
    ),
    "sum without keepdim, by name": Raised(
        "exercise1", "attention_weights",
        ((_SOFT, "total = scores.exp().sum(-1)\n    weights = scores.exp() / total"),),
        "`sum` drops the axis that it runs over",
        "The softmax runs along the wrong axis",
    ),
    "all axes turned": Raised(
        "exercise1", "attention_weights",
        ((_SCORES, "products = query @ key.permute(2, 1, 0)"),),
        "along axis 0 one tensor has 2 and the other 8",
    ),
    "all axes turned by T": Raised(
        "exercise1", "attention_weights",
        ((_SCORES, "products = query @ key.T"),),
        "`.T` and `.t()` are for matrices: of three axes exchange the last two alone",
        "More than two axes turned",
    ),
    "transpose missing": Raised(
        "exercise1", "attention_weights",
        ((_SCORES, "products = query @ key"),),
        "the first factor has rows of",
    ),
    "a size that is no whole number": Raised(
        "exercise3", "MultiHeadSelfAttention",
        ((_SIZE, "size = (embed_dim // num_heads if head_dim is None else head_dim) / 1"),),
        "a size is a whole number: divide with //, not with /",
    ),
    "a float in a shape": Raised(
        "exercise3", "fold_heads",
        (("d = width // num_heads", "d = width / num_heads"),),
        "a size is a whole number: divide with //, not with /",
    ),
    "more tokens than a model takes": Raised(
        "exercise11", "generate",
        (("model(tokens[:, -model.max_len :])", "model(tokens[:, : model.max_len + 1])"),),
        "hand on (batch, tokens), and no more tokens than it takes",
    ),
    "a part handed to a sublayer": Raised(
        "exercise5", "EncoderLayer",
        (("self.attention(attention_input)", "self.attention(attention_input[0])"),),
        "print the shape and the dtype of what the line hands on to it",
    ),
    "a batch norm": Raised(
        "exercise5", "EncoderLayer",
        (("self.norm1 = nn.LayerNorm(embed_dim)", "self.norm1 = nn.BatchNorm1d(embed_dim)"),),
        "a batch norm takes the axis behind the batch for its numbers: is it the norm that is",
    ),
    "a class for a layer": Raised(
        "exercise4", "FeedForward",
        ((_RELU, "self.activation = nn.ReLU if activation == 'relu' else nn.GELU"),),
        "`nn.ReLU` is the class itself: make a module, as in `nn.ReLU(…)`",
    ),
    "a class in a stack": Raised(
        "exercise4", "FeedForward",
        ((_RELU, "self.activation = nn.Sequential(nn.ReLU, nn.Identity())"),),
        "write `ReLU()` where a layer is due: without brackets it is the class",
    ),
    "a number hides a layer": Raised(
        "exercise5", "EncoderLayer",
        ((_DROP, "self.dropout = nn.Dropout(dropout)\n        del self.dropout\n"
                 "        self.dropout = dropout"),),
        "`self.dropout` is `dropout`, of type float, and hides `nn.Dropout(dropout)`: give each",
    ),
    "a number called": Raised(
        "exercise5", "EncoderLayer",
        ((_DROP, "self.dropout = dropout"),),
        "`self.dropout` is `dropout`, of type float: make a layer of it in __init__",
    ),
    "text called": Raised(
        "exercise4", "FeedForward",
        ((_RELU, "self.activation = activation"),),
        "`self.activation` is `activation`, of type str: make a layer of it in __init__",
    ),
    "dropout made of a tensor": Raised(
        "exercise5", "EncoderLayer",
        ((_ADD, "attention_sum = x + nn.Dropout(attended)"),),
        "nn.Dropout(...) makes a layer: make it in __init__, and call it with the tensor",
    ),
    "softmax made of a tensor": Raised(
        "exercise1", "self_attention",
        (("weights = torch.softmax(scores, dim=-1)  # (b, t, t)",
          "weights = torch.nn.Softmax(scores)"),),
        "nn.Softmax(...) makes a layer: make it in __init__, and call it with the tensor",
    ),
    "sizes of a table exchanged": Raised(
        "exercise7", "build_classifier",
        (("self.position_embedding = nn.Embedding(max_len, embed_dim)",
          "self.position_embedding = nn.Embedding(embed_dim // 4, embed_dim)"),
         ("if t > max_len:", "if t > 99:")),
        "an index is below 0 or beyond the last row of `position_embedding`, which is made with "
        "`embed_dim // 4` rows of length `embed_dim`: are there too few",
    ),
    "an index beyond a table": Raised(
        "exercise6", "LearnedPositionEmbedding",
        (("position_vectors = self.embedding(positions)",
          "position_vectors = nn.functional.embedding(positions + 30, self.embedding.weight)"),),
        "an index is below 0 or beyond the last row of the table",
        "Too long",
    ),
    "as many cosines as sines": Raised(
        "exercise6", "sinusoidal_encoding",
        ((_ODD, "encoding[:, 1::2] = cosines[:, 1:]"),),
        "what stands on the left of the = has",
        "Odd k",
    ),
    "numbers that do not fit": Raised(
        "exercise3", "fold_heads",
        ((_SPLIT, "split = x.reshape(b, num_heads, num_heads, d)"),),
        "the new shape holds",
    ),
    "a norm of the wrong width": Raised(
        "exercise7", "build_classifier",
        (("    encoder = nn.Sequential(*layers)",
          "    layers.append(nn.LayerNorm(depth))\n    encoder = nn.Sequential(*layers)"),),
        "the layer norm is made for vectors of length 3 and gets the shape (5, 7, 8)",
    ),
    "an axis that is not there": Raised(
        "exercise1", "self_attention",
        (("scores = x @ x.transpose(1, 2)", "scores = x @ x.transpose(2, 3)"),),
        "the tensor has 3 axes, numbered from 0 to 2: there is no axis 3",
    ),
    "too many axes permuted": Raised(
        "exercise1", "self_attention",
        (("scores = x @ x.transpose(1, 2)", "scores = x @ x.permute(0, 1, 3, 2)"),),
        "the tensor has 3 axes, and permute names 4",
    ),
    "a shape unpacked into four": Raised(
        "exercise3", "fold_heads",
        (("b, t, width = x.shape", "b, t, h, width = x.shape"),),
        "4 names stand on the left of the =, and the shape has 3 sizes",
    ),
    "a shape unpacked into two": Raised(
        "exercise3", "fold_heads",
        (("b, t, width = x.shape", "b, width = x.shape"),),
        "2 names stand on the left of the =, and the shape has more sizes",
    ),
    "letters of einsum": Raised(
        "exercise1", "attention_weights",
        ((_SCORES, "products = torch.einsum('bhqd,bhsd->bhqs', query, key)"),),
        "einsum has 4 letters for a tensor of 3 axes",
    ),
    "sizes of einsum": Raised(
        "exercise1", "attention_weights",
        ((_SCORES, "products = torch.einsum('bqd,bsq->bqs', query, key)"),),
        "the letter q stands for two sizes",
    ),
    "joined along the wrong axis": Raised(
        "exercise6", "sinusoidal_encoding",
        (("    return encoding\n", "    return torch.cat([encoding, encoding[:, 1:]], dim=0)\n"),),
        "tensors joined along axis 0 have to agree in all others",
    ),
    "max of two": Raised(
        "exercise1", "attention_weights",
        ((_SOFT, "weights = (scores - scores.max(dim=-1, keepdim=True)).softmax(-1)"),),
        "with an axis, max and min give values and indices: take `.values`, or amax",
    ),
    "nothing returned": Raised(
        "exercise1", "scaled_dot_product_attention",
        (("    return weights\n    ### END", "    weights\n    ### END"),),
        "`attention_weights` returns nothing: end it with a return",
    ),
    "math of a tensor": Raised(
        "exercise1", "self_attention",
        (("scores = x @ x.transpose(1, 2)", "scores = math.sqrt(x) @ x.transpose(1, 2)"),),
        "float() and the functions of math take one number: use torch's for a tensor",
    ),
    "root of a number": Raised(
        "exercise1", "attention_weights",
        (("math.sqrt(query.size(2))", "torch.sqrt(query.size(2))"),),
        "torch.sqrt takes a tensor: for a plain number there is math.sqrt",
    ),
    "a class without a constructor": Raised(
        "exercise2", "QKVProjection",
        (("class QKVProjection(nn.Module):", "class QKVProjection(nn.Module):\n    pass\n\n\n"
          "class Unused(nn.Module):"),),
        "define `__init__` in the class",
    ),
    "a layer list called": Raised(
        "exercise7", "build_classifier",
        (("encoder = nn.Sequential(*layers)", "encoder = nn.ModuleList(layers)"),),
        "call the layers in it, one by one, each with what it is to work on",
    ),
    "a layer that reads another": Raised(
        "exercise3", "MultiHeadSelfAttention",
        (("keys = self.to_keys(x)", "keys = self.to_keys(queries[..., :1])"),),
        "`to_keys` takes vectors of length",
    ),
    "an argument not known": Raised(
        "exercise2", "QKVProjection",
        ((_QUERIES, "self.to_queries = nn.Linear(embed_dim, head_dim, biass=bias)"),),
        "`Linear.__init__` has no argument `biass`: look at its spelling",
    ),
    "an argument left out": Raised(
        "exercise1", "scaled_dot_product_attention",
        (("weights = attention_weights(query, key, scale=scale)",
          "weights = attention_weights(query, scale=scale)"),),
        "`attention_weights` is called without 'key'",
    ),
    "a function that takes self": Raised(
        "exercise1", "attention_weights",
        (("def attention_weights(query", "def attention_weights(self, query"),),
        "`attention_weights` is a function of its own: take `self` out of its arguments",
    ),
    "an attribute never set": Raised(
        "exercise5", "EncoderLayer",
        (("self.norm_first = norm_first", "pass"),),
        "nothing sets `self.norm_first`: write `self.norm_first = norm_first` in __init__",
    ),
    "an attribute misspelt where it is used": Raised(
        "exercise3", "MultiHeadSelfAttention",
        (("output = self.unify_heads(", "output = self.unify_head("),),
        "nothing sets `self.unify_head`, but `self.unify_heads` is set: write the same name in "
        "both places",
    ),
    "a size that is not called": Raised(
        "exercise1", "self_attention",
        (("scores = x @ x.transpose(1, 2)", "scores = x / x.size @ x.transpose(1, 2)"),),
        "a function stands there, not what it returns: call it, as in x.size(0)",
    ),
    "an item of a function": Raised(
        "exercise3", "fold_heads",
        (("b, t, width = x.shape", "b, t, width = x.size[0], x.size(1), x.size(2)"),),
        "a function stands there, not what it returns: call it, as in x.size(0)",
    ),
    "a function in a stack": Raised(
        "exercise4", "FeedForward",
        ((_RELU, "self.activation = nn.Sequential(nn.functional.relu)"),),
        "a stack holds layers, and `relu` is none",
    ),
    "a sum of later": Raised(
        "exercise7", "TransformerClassifier",
        (("embedded = token_vectors + position_vectors",
          "pooled = token_vectors.transpose(1, 2)\n"
          "        embedded = token_vectors + pooled[..., :3]"),),
        "along axis",
    ),
    "a layer beside an operator": Raised(
        "exercise2", "QKVProjection",
        (("keys = self.to_keys(x)", "keys = x @ self"),),
        "one of the two is a QKVProjection, not a tensor: print both",
    ),
    "a misspelt method": Raised(
        "exercise3", "fold_heads",
        (("heads_first = split.transpose(1, 2)", "heads_first = split.transposed(1, 2)"),),
        "a tensor has no `transposed`: look at its spelling",
    ),
    "a misspelt function": Raised(
        "exercise1", "self_attention",
        (("weights = torch.softmax(scores, dim=-1)  # (b, t, t)",
          "weights = torch.soft_max(scores, dim=-1)"),),
        "there is no `soft_max` in torch: look at its spelling",
    ),
    "real numbers looked up": Raised(
        "exercise7", "TransformerClassifier",
        (("self.token_embedding(tokens)", "self.token_embedding(tokens.double())"),),
        "`token_embedding` looks up whole numbers, and gets others",
    ),
    "two dtypes": Raised(
        "exercise4", "FeedForward",
        (("hidden = self.expand(x)", "hidden = self.expand(x.half())"),),
        "tensors of two dtypes meet",
    ),
    "arguments of a constructor exchanged": Raised(
        "exercise7", "build_classifier",
        ((_LAYER, "layer = EncoderLayer(embed_dim, attention, feed_forward, dropout=dropout)"),),
        "a FeedForward stands where a number is due: are two arguments exchanged?",
    ),
    "a list called": Raised(
        "exercise7", "build_classifier",
        (("encoder = nn.Sequential(*layers)", "encoder = nn.Identity()\n    layers(encoder)"),),
        "nn.Sequential(*layers) can be called, a list cannot",
    ),
    "numpy on the way": Raised(
        "exercise4", "FeedForward",
        (("activated = self.activation(hidden)", "activated = self.activation(hidden).numpy()"),),
        "numpy carries no gradient",
    ),
    "endless": Raised(
        "exercise3", "fold_heads",
        (("    return folded\n", "    return fold_heads(x, num_heads)\n"),),
        "the function calls itself endlessly: check which one you want to call",
    ),
    "not yet set": Raised(
        "exercise1", "self_attention",
        (("output = weights @ x  # (b, t, k)", "if False:\n        output = weights @ x"),),
        "no line that runs before it gives that name a value",
    ),
    "a layer without self": Raised(
        "exercise2", "QKVProjection",
        (("self.to_keys(x)", "to_keys(x)"),),
        "write `self.to_keys`: that is how your constructor keeps it",
    ),
    "an import that is missing": Raised(
        "exercise3", "fold_heads",
        ((_SPLIT, "split = torch.reshape(x, (b, t, num_heads, d))"),),
        "write `import torch` at the top of the file",
    ),
    "a star for an at": Raised(
        "exercise1", "scaled_dot_product_attention",
        (("output = weights @ value", "output = weights * value"),),
        "`*` multiplies number by number, so both sides need the same shape, and along axis",
    ),
    "a star beside the product that fails": Raised(
        "exercise1", "self_attention",
        (("output = weights @ x  # (b, t, k)",
          "output = weights[:, None] @ torch.cat([x, x])[:, None] * x.size(2) ** -0.5"),),
        "along axis 0 one tensor has ",
    ),
    "another line's tensor is thrown away": Raised(
        "exercise3", "MultiHeadSelfAttention",
        ((_UNFOLDED, "keys.transpose(1, 2)\n        unfolded = attended"),),
        "`unify_heads` gets ",
        "Folding, for two samples",
    ),
    "one head's product": Raised(
        "exercise2", "QKVProjection",
        ((_KEYS, "self.to_keys = nn.Parameter(torch.randn(head_dim, embed_dim))"),
         ("self.to_keys(x)", "x @ self.to_keys"),
         ("from torch import Tensor, nn", "import torch\nfrom torch import Tensor, nn")),
        "rows of",
        "A weight the wrong way round",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISED)
def test_exception_s_reason_is_told(grade_alone: GradeText, name: str) -> None:
    raised = RAISED[name]
    texts = {raised.exercise: edited(solution(raised.exercise), *raised.edits)}
    earlier = range(1, 7 if raised.exercise == "exercise7" else 1)
    beside = [f"exercise{number}" for number in earlier]
    result = grade_alone(texts | {other: solution(other) for other in beside})
    failed = [c for c in result.checks if c.target == raised.target and c.kind is not Kind.BUG]
    steps = [c.next_step for c in failed if c.status is not Status.PASSED]
    assert any(step.startswith(raised.step) for step in steps), [c.message for c in failed]
    told = next(c for c in failed if c.next_step.startswith(raised.step))
    assert bool(told.trap) == bool(raised.trap)
    assert raised.trap.startswith(told.trap)
    if told.trap:
        assert find_passage(read_lesson(solution(raised.exercise)), told.trap) is not None
