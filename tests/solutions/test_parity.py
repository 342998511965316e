"""The references agree with torch, with BERT, with the course's sources and with the stand-ins."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from solutions_loader import load_solution, load_standin
from torch import Tensor, nn

TOLERANCE = 1e-12  # float64 leaves about four digits of room at these sizes
STEMS = [
    "exercise1_attention",
    "exercise2_qkv_projection",
    "exercise3_multi_head",
    "exercise4_feed_forward",
    "exercise5_encoder_layer",
    "exercise6_position_encoding",
    "exercise7_classifier",
]
attention = load_solution("exercise1_attention")
projection = load_solution("exercise2_qkv_projection")
multi_head = load_solution("exercise3_multi_head")
feed_forward = load_solution("exercise4_feed_forward")
encoder_layer = load_solution("exercise5_encoder_layer")
position = load_solution("exercise6_position_encoding")
classifier = load_solution("exercise7_classifier")


@pytest.fixture(autouse=True)
def use_float64() -> Iterator[None]:
    """Build everything in float64, from a fixed seed."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(20)
    yield
    torch.set_default_dtype(before)


def randomize(module: Any, std: float = 0.3) -> Any:
    """Draw every parameter at random, biases and norm scales included."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=std)
    return module


def copy_linear(source: Any, target: nn.Linear) -> None:
    """Copy weight and bias; a bias that one of them lacks is an error."""
    target.load_state_dict(source.state_dict())


def copy_attention(ours: Any, theirs: nn.MultiheadAttention) -> None:
    """Copy a MultiHeadSelfAttention into torch's module, which stacks the three projections.

    Torch's `bias` is for projections and output alike: what one side lacks is zero on the other.
    """
    roles = (ours.to_queries, ours.to_keys, ours.to_values)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([role.weight for role in roles]))
        theirs.out_proj.weight.copy_(ours.unify_heads.weight)
        if theirs.in_proj_bias is None:
            ours.unify_heads.bias.zero_()
            return
        theirs.out_proj.bias.copy_(ours.unify_heads.bias)
        theirs.in_proj_bias.zero_()
        if ours.to_queries.bias is not None:
            theirs.in_proj_bias.copy_(torch.cat([role.bias for role in roles]))


def copy_encoder_layer(ours: Any, theirs: nn.TransformerEncoderLayer) -> None:
    """Copy an EncoderLayer and its sublayers into torch's module."""
    copy_attention(ours.attention, theirs.self_attn)
    copy_linear(ours.feed_forward.expand, theirs.linear1)
    copy_linear(ours.feed_forward.contract, theirs.linear2)
    theirs.norm1.load_state_dict(ours.norm1.state_dict())
    theirs.norm2.load_state_dict(ours.norm2.state_dict())


def make_encoder_layer(k: int, h: int, hidden: int, activation: str, **options: Any) -> Any:
    """Build an encoder layer of references, with projection biases as torch and BERT have them."""
    return encoder_layer.EncoderLayer(
        multi_head.MultiHeadSelfAttention(k, h, bias=True),
        feed_forward.FeedForward(k, hidden_dim=hidden, activation=activation),
        k,
        **options,
    )


def outputs_and_gradients(
    function: Callable[..., Any], inputs: Sequence[Tensor], parameters: Sequence[Tensor] = ()
) -> list[Tensor]:
    """Return the outputs, then the gradients of (output * random).sum() for floating inputs."""
    copies = [tensor.clone() for tensor in inputs]
    leaves = [copy.requires_grad_() for copy in copies if copy.is_floating_point()]
    result = function(*copies)
    outputs = [result] if isinstance(result, Tensor) else list(result)
    noise = torch.Generator().manual_seed(21)
    losses = [(output * torch.randn(output.shape, generator=noise)).sum() for output in outputs]
    gradients = torch.autograd.grad(torch.stack(losses).sum(), [*leaves, *parameters])
    return [*outputs, *gradients]


def assert_same(actual: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    """Compare tensor by tensor: as many of them, the same shapes and dtypes, values to 1e-12."""
    assert len(actual) == len(expected)
    for mine, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=TOLERANCE, atol=TOLERANCE)


def assert_same_function(
    ours: Callable[..., Any], theirs: Callable[..., Any], *inputs: Tensor
) -> None:
    """Compare outputs and the inputs' gradients of two functions or modules."""
    assert_same(outputs_and_gradients(ours, inputs), outputs_and_gradients(theirs, inputs))


# References against torch


@pytest.mark.parametrize("scale", [None, 0.3, -2.0], ids=["default", "given", "negative"])
def test_scaled_dot_product_attention_agrees_with_torch(scale: float | None) -> None:
    query, key, value = torch.randn(2, 3, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 6)
    assert_same_function(
        lambda q, k, v: attention.scaled_dot_product_attention(q, k, v, scale=scale),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=scale),
        query,
        key,
        value,
    )


def test_self_attention_agrees_with_unscaled_torch_attention() -> None:
    x = torch.randn(3, 5, 8)
    assert_same_function(
        attention.self_attention, lambda x: F.scaled_dot_product_attention(x, x, x, scale=1.0), x
    )


def test_attention_weights_stay_finite_for_scores_of_several_hundred() -> None:
    query, key = 30 * torch.randn(2, 3, 8), 30 * torch.randn(2, 5, 8)
    weights = attention.attention_weights(query, key)
    torch.testing.assert_close(weights.sum(dim=2), torch.ones(2, 3))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_attention_head_agrees_with_torch(bias: bool) -> None:
    head = randomize(projection.AttentionHead(8, 6, bias=bias))
    roles = head.projection
    assert_same_function(
        head,
        lambda x: F.scaled_dot_product_attention(
            F.linear(x, roles.to_queries.weight, roles.to_queries.bias),
            F.linear(x, roles.to_keys.weight, roles.to_keys.bias),
            F.linear(x, roles.to_values.weight, roles.to_values.bias),
        ),
        torch.randn(2, 5, 8),
    )


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no-bias"])
def test_multi_head_agrees_with_torch(bias: bool) -> None:
    ours = randomize(multi_head.MultiHeadSelfAttention(12, 3, bias=bias))
    theirs = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True)
    copy_attention(ours, theirs)
    assert_same_function(
        ours, lambda x: theirs(x, x, x, need_weights=False)[0], torch.randn(2, 5, 12)
    )


@pytest.mark.parametrize("head_dim", [4, 12, 7], ids=["narrow", "wide", "other"])
def test_multi_head_agrees_with_heads_run_one_by_one(head_dim: int) -> None:
    ours = randomize(multi_head.MultiHeadSelfAttention(12, 3, head_dim=head_dim))

    def one_by_one(x: Tensor) -> Tensor:
        outputs = []
        for i in range(3):
            head = projection.AttentionHead(12, head_dim)
            rows = slice(i * head_dim, (i + 1) * head_dim)
            for role in ("to_queries", "to_keys", "to_values"):
                weight = getattr(ours, role).weight.detach()[rows]
                getattr(head.projection, role).load_state_dict({"weight": weight})
            outputs.append(head(x))
        output: Tensor = ours.unify_heads(torch.cat(outputs, dim=2))
        return output

    assert_same_function(ours, one_by_one, torch.randn(2, 5, 12))


def test_unfold_heads_inverts_fold_heads() -> None:
    x = torch.randn(2, 5, 12)
    assert torch.equal(multi_head.unfold_heads(multi_head.fold_heads(x, 3), 3), x)


def test_fold_heads_keeps_batch_major_order() -> None:
    x = torch.randn(2, 5, 12)
    assert torch.equal(multi_head.fold_heads(x, 3)[1 * 3 + 2], x[1, :, 8:12])


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])
def test_encoder_layer_agrees_with_torch(norm_first: bool, activation: str) -> None:
    ours = randomize(make_encoder_layer(12, 3, 20, activation, norm_first=norm_first))
    theirs = nn.TransformerEncoderLayer(
        12, 3, 20, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first
    )
    copy_encoder_layer(ours, theirs)
    assert_same_function(ours, theirs, torch.randn(2, 5, 12))


def test_classifier_agrees_with_torch_encoder() -> None:
    ours = randomize(classifier.build_classifier(50, 12, 3, 2, 9, 4))
    layer = nn.TransformerEncoderLayer(12, 3, 48, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    for mine, other in zip(ours.encoder, encoder.layers, strict=True):
        copy_encoder_layer(mine, other)
    tokens = torch.randint(50, (3, 7))
    embedded = ours.token_embedding(tokens) + ours.position_embedding.weight[:7]
    expected = F.log_softmax(ours.to_logits(encoder(embedded).mean(dim=1)), dim=1)
    assert_same([ours(tokens)], [expected])


# References against BERT


def bert_state(ours: Any) -> dict[str, Tensor]:
    """Return an encoder layer's parameters under the names that a BertLayer gives them."""
    parts = {
        "attention.self.query": ours.attention.to_queries,
        "attention.self.key": ours.attention.to_keys,
        "attention.self.value": ours.attention.to_values,
        "attention.output.dense": ours.attention.unify_heads,
        "attention.output.LayerNorm": ours.norm1,
        "intermediate.dense": ours.feed_forward.expand,
        "output.dense": ours.feed_forward.contract,
        "output.LayerNorm": ours.norm2,
    }
    return {
        f"{prefix}.{name}": tensor
        for prefix, part in parts.items()
        for name, tensor in part.state_dict().items()
    }


@pytest.mark.long
def test_encoder_layer_agrees_with_bert_layer_at_base_size() -> None:
    from transformers.models.bert import modeling_bert

    bert: Any = modeling_bert  # its types know no options of the base class
    config = bert.BertConfig(
        hidden_size=768,
        num_attention_heads=12,
        intermediate_size=3072,
        hidden_act="gelu",
        layer_norm_eps=1e-5,  # ours; BERT's own is 1e-12
        attn_implementation="eager",
    )
    ours = randomize(make_encoder_layer(768, 12, 3072, "gelu"), std=0.05).eval()
    theirs = bert.BertLayer(config).eval()
    theirs.load_state_dict(bert_state(ours))
    assert_same_function(ours, theirs, torch.randn(2, 5, 768))


# References against the formulas and figures of the lessons


@pytest.mark.parametrize("k", [8, 9], ids=["even", "odd"])
def test_sinusoidal_encoding_agrees_with_the_formula(k: int) -> None:
    rows = []
    for p in range(12):
        angles = [p / 10000 ** ((column - column % 2) / k) for column in range(k)]
        rows.append([(math.sin, math.cos)[c % 2](angle) for c, angle in enumerate(angles)])
    assert_same([position.sinusoidal_encoding(12, k)], [torch.tensor(rows)])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_sinusoidal_encoding_follows_the_default_dtype(dtype: torch.dtype) -> None:
    torch.set_default_dtype(dtype)
    assert position.sinusoidal_encoding(10, 8).dtype == dtype


def test_sinusoidal_module_has_a_buffer_and_no_parameters() -> None:
    module = position.SinusoidalPositionEncoding(8, 20)
    assert [name for name, _ in module.named_buffers()] == ["encoding"]
    assert list(module.parameters()) == []


def test_bare_attention_gives_the_figures_of_the_lesson() -> None:
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    assert digits(attention.attention_weights(x, x, scale=1.0)[0, 0]) == "0.4223 0.1554 0.4223"
    assert digits(attention.self_attention(x)[0, 0]) == "0.8446 0.5777"
    assert digits(attention.attention_weights(x, x)[0, 0]) == "0.4011 0.1978 0.4011"


def test_sinusoids_give_the_figures_of_the_lesson() -> None:
    assert [digits(row) for row in position.sinusoidal_encoding(4, 4)] == [
        "0.0000 1.0000 0.0000 1.0000",
        "0.8415 0.5403 0.0100 1.0000",
        "0.9093 -0.4161 0.0200 0.9998",
        "0.1411 -0.9900 0.0300 0.9996",
    ]


def test_norm_gives_the_figures_of_the_lesson() -> None:
    layer = encoder_layer.EncoderLayer(nn.Identity(), nn.Identity(), 4)
    normed = layer.norm1(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert digits(normed) == "-1.3416 -0.4472 0.4472 1.3416"


def test_gelu_gives_the_figures_of_the_lesson() -> None:
    block = feed_forward.FeedForward(1, activation="gelu")
    activated = block.activation(torch.tensor([-2.0, -1.0, 1.0, 2.0]))
    assert digits(activated) == "-0.0455 -0.1587 0.8413 1.9545"


@pytest.mark.parametrize(
    ("module", "count"),
    [
        (lambda: feed_forward.FeedForward(768), 4_722_432),
        (lambda: multi_head.MultiHeadSelfAttention(768, 12, bias=True), 2_362_368),
        (lambda: classifier.build_classifier(1000, 64, 8, 2, 50, 4), 167_044),
    ],
    ids=["feed-forward", "attention", "classifier"],
)
def test_parameter_counts_are_those_of_the_lessons(
    module: Callable[[], nn.Module], count: int
) -> None:
    assert sum(parameter.numel() for parameter in module().parameters()) == count


# What the references refuse


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: multi_head.MultiHeadSelfAttention(10, 3), "3 heads cannot share embed_dim 10"),
        (lambda: feed_forward.FeedForward(8, activation="tanh"), "not 'tanh'"),
        (lambda: position.SinusoidalPositionEncoding(8, 4)(torch.zeros(2, 5, 8)), "5 positions"),
        (lambda: position.LearnedPositionEmbedding(8, 4)(torch.zeros(2, 5, 8)), "5 positions"),
        (
            lambda: classifier.build_classifier(9, 8, 2, 1, 4, 3)(
                torch.zeros(2, 5, dtype=torch.int64)
            ),
            "5 tokens",
        ),
        (lambda: classifier.build_classifier(9, 10, 3, 1, 4, 3), "3 heads"),
    ],
    ids=["heads", "activation", "sinusoids", "learned", "classifier", "classifier-heads"],
)
def test_reference_refuses_with_a_message(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# The course's sources


def digits(tensor: Tensor, style: str = ".4f") -> str:
    """Print a tensor's numbers as the sources print them."""
    return " ".join(format(number, style) for number in tensor.flatten().tolist())


INPUTS = [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1], [3, 1, 1, 1]]
WEIGHTS = {  # as printed: one row for each input component
    "to_queries": [[1, 0, 1, 0, 1], [1, 0, 0, 1, 1], [0, 0, 1, 0, 0], [0, 1, 1, 1, 0]],
    "to_keys": [[0, 0, 1, 1, 1], [1, 1, 0, 0, 1], [0, 1, 0, 1, 1], [1, 1, 0, 0, 0]],
    "to_values": [[0, 2, 0, 3, 1], [0, 3, 0, 1, 3], [1, 0, 3, 1, 1], [1, 1, 0, 2, 2]],
}
QUERIES = [[1, 0, 2, 0, 1], [2, 2, 2, 4, 2], [2, 1, 3, 2, 2], [4, 1, 5, 2, 4]]
KEYS = [[0, 1, 1, 2, 2], [4, 4, 0, 0, 2], [2, 3, 1, 2, 3], [2, 3, 3, 4, 5]]
VALUES = [[1, 2, 3, 4, 2], [2, 8, 0, 6, 10], [2, 6, 3, 7, 7], [2, 10, 3, 13, 9]]
SCORES = [[4, 6, 7, 13], [16, 20, 26, 42], [12, 16, 20, 34], [18, 28, 32, 54]]
SOFTMAX = [
    "1.2298e-04 9.0869e-04 2.4701e-03 9.9650e-01",
    "5.1091e-12 2.7895e-10 1.1254e-07 1.0000e+00",
    "2.7895e-10 1.5230e-08 8.3153e-07 1.0000e+00",
    "2.3195e-16 5.1091e-12 2.7895e-10 1.0000e+00",
]
OUTPUTS = [
    "1.9999 9.9873 2.9973 12.9777 8.9951",
    "2.0000 10.0000 3.0000 13.0000 9.0000",
    "2.0000 10.0000 3.0000 13.0000 9.0000",
    "2.0000 10.0000 3.0000 13.0000 9.0000",
]


def worked_example() -> tuple[Tensor, Tensor, Tensor]:
    """Project the four inputs of the worked example (seed 004) with its weights."""
    module = projection.QKVProjection(4, 5)
    for role, rows in WEIGHTS.items():
        getattr(module, role).load_state_dict({"weight": torch.tensor(rows).double().T})
    queries, keys, values = module(torch.tensor([INPUTS]).double())
    return queries, keys, values


def test_projection_reproduces_the_worked_example() -> None:
    queries, keys, values = worked_example()
    assert [queries.tolist(), keys.tolist(), values.tolist()] == [[QUERIES], [KEYS], [VALUES]]


def test_attention_weights_reproduce_the_worked_example() -> None:
    queries, keys, _ = worked_example()
    weights = attention.attention_weights(queries, keys, scale=1.0)[0]
    assert [digits(row, ".4e") for row in weights] == SOFTMAX


def test_unscaled_scores_reproduce_the_worked_example() -> None:
    queries, keys, _ = worked_example()
    captured = local_variables(attention.attention_weights, queries, keys, scale=1.0)
    assert captured["scores"].tolist() == [SCORES]


def test_scale_spreads_the_weights_as_the_lesson_says() -> None:
    queries, keys, _ = worked_example()
    weights = attention.attention_weights(queries, keys)
    assert digits(weights[0, 0]) == "0.0158 0.0387 0.0605 0.8850"


def test_attention_reproduces_the_outputs_of_the_worked_example() -> None:
    outputs = attention.scaled_dot_product_attention(*worked_example(), scale=1.0)[0]
    assert [digits(row) for row in outputs] == OUTPUTS


def test_wide_heads_keep_the_shape_of_the_fast_check() -> None:
    module = multi_head.MultiHeadSelfAttention(10, 20, head_dim=10)
    assert module(torch.rand(8, 5, 10)).shape == (8, 5, 10)


def test_time_flies_like_an_arrow_keeps_its_shape_through_every_layer() -> None:
    tokens = torch.tensor([[2051, 10029, 2066, 2019, 8612]])
    embedded = nn.Embedding(30522, 768)(tokens)
    weights = attention.attention_weights(embedded, embedded)
    torch.testing.assert_close(weights.sum(dim=2), torch.ones(1, 5))
    attend = multi_head.MultiHeadSelfAttention(768, 12, bias=True)
    digest = feed_forward.FeedForward(768, dropout=0.1, activation="gelu")
    layer = encoder_layer.EncoderLayer(attend, digest, 768, norm_first=True)
    mixed = attention.scaled_dot_product_attention(embedded, embedded, embedded)
    attended = attend(embedded)
    steps = [embedded, mixed, attended, digest(attended), layer(embedded)]
    assert [step.shape for step in steps] == [(1, 5, 768)] * 5
    assert weights.shape == (1, 5, 5)


# Steps: a reference's local variables, as the answer key captures them


def local_variables(
    function: Callable[..., Any], *inputs: Tensor, **options: Any
) -> dict[str, Any]:
    """Call a function and return its local variables as they were on return."""
    code = getattr(function, "__code__", None) or vars(type(function))["forward"].__code__
    captured: dict[str, Any] = {}

    def profile(frame: Any, event: str, _: object) -> None:
        if event == "return" and frame.f_code is code:
            captured.update(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function(*inputs, **options)
    finally:
        sys.setprofile(before)
    return captured


def test_multi_head_names_its_steps() -> None:
    steps = local_variables(multi_head.MultiHeadSelfAttention(12, 3), torch.randn(2, 5, 12))
    shapes = {name: tuple(step.shape) for name, step in steps.items() if isinstance(step, Tensor)}
    wide = dict.fromkeys(["x", "queries", "keys", "values", "unfolded", "output"], (2, 5, 12))
    folded = ["folded_queries", "folded_keys", "folded_values", "attended"]
    assert shapes == wide | dict.fromkeys(folded, (6, 5, 4))


# Stand-ins against references


@pytest.mark.parametrize(
    ("stem", "name", "inputs", "options"),
    [
        (STEMS[0], "self_attention", [(3, 5, 8)], {}),
        (STEMS[0], "attention_weights", [(2, 3, 8), (2, 5, 8)], {}),
        (STEMS[0], "attention_weights", [(2, 3, 8), (2, 5, 8)], {"scale": 0.7}),
        (STEMS[0], "scaled_dot_product_attention", [(2, 3, 8), (2, 5, 8), (2, 5, 6)], {}),
        (
            STEMS[0],
            "scaled_dot_product_attention",
            [(2, 3, 8), (2, 5, 8), (2, 5, 6)],
            {"scale": 0.7},
        ),
        (STEMS[2], "fold_heads", [(2, 5, 12)], {"num_heads": 3}),
        (STEMS[2], "unfold_heads", [(6, 5, 4)], {"num_heads": 3}),
    ],
    ids=["self", "weights", "weights-scale", "attention", "attention-scale", "fold", "unfold"],
)
def test_stand_in_function_agrees_with_reference(
    stem: str, name: str, inputs: list[tuple[int, ...]], options: dict[str, Any]
) -> None:
    reference, standin = getattr(load_solution(stem), name), getattr(load_standin(stem), name)
    assert_same_function(
        lambda *tensors: standin(*tensors, **options),
        lambda *tensors: reference(*tensors, **options),
        *[torch.randn(shape) for shape in inputs],
    )


@pytest.mark.parametrize("k", [8, 9, 1], ids=["even", "odd", "one"])
def test_stand_in_sinusoids_agree_with_reference(k: int) -> None:
    standin = load_standin("exercise6_position_encoding")
    assert_same([standin.sinusoidal_encoding(12, k)], [position.sinusoidal_encoding(12, k)])


@pytest.mark.parametrize(
    ("stem", "name", "arguments", "options"),
    [
        (STEMS[1], "QKVProjection", (12, 7), {}),
        (STEMS[1], "QKVProjection", (12, 7), {"bias": True}),
        (STEMS[1], "AttentionHead", (12, 7), {}),
        (STEMS[1], "AttentionHead", (12, 7), {"bias": True}),
        (STEMS[2], "MultiHeadSelfAttention", (12, 3), {}),
        (STEMS[2], "MultiHeadSelfAttention", (12, 3), {"head_dim": 12, "bias": True}),
        (STEMS[3], "FeedForward", (12,), {}),
        (STEMS[3], "FeedForward", (12,), {"hidden_dim": 20, "activation": "gelu"}),
        (STEMS[4], "EncoderLayer", (nn.Tanh(), nn.Sigmoid(), 12), {}),
        (STEMS[4], "EncoderLayer", (nn.Tanh(), nn.Sigmoid(), 12), {"norm_first": True}),
        (STEMS[5], "SinusoidalPositionEncoding", (12, 9), {}),
        (STEMS[5], "LearnedPositionEmbedding", (12, 9), {}),
    ],
    ids=[
        "projection",
        "projection-bias",
        "head",
        "head-bias",
        "narrow",
        "wide-bias",
        "relu",
        "gelu",
        "post-norm",
        "pre-norm",
        "sinusoids",
        "learned",
    ],
)
def test_stand_in_module_agrees_with_reference(
    stem: str, name: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> None:
    reference = randomize(getattr(load_solution(stem), name)(*arguments, **options))
    standin = getattr(load_standin(stem), name)(*arguments, **options)
    theirs, ours = dict(reference.named_parameters()), dict(standin.named_parameters())
    assert list(ours) == list(theirs)  # buffers may have other names: they hold what was computed
    standin.load_state_dict({name: value.detach() for name, value in theirs.items()}, strict=False)
    x = torch.randn(2, 5, 12)
    assert_same(
        outputs_and_gradients(standin, [x], list(standin.parameters())),
        outputs_and_gradients(reference, [x], list(reference.parameters())),
    )


@pytest.mark.parametrize(
    ("stem", "name", "arguments"),
    [
        (STEMS[3], "FeedForward", (12, None, 0.9)),
        (STEMS[4], "EncoderLayer", (nn.Identity(), nn.Identity(), 12, True, 0.9)),
    ],
    ids=["feed-forward", "encoder-layer"],
)
def test_stand_in_drops_in_training_only(stem: str, name: str, arguments: tuple[Any, ...]) -> None:
    module = getattr(load_standin(stem), name)(*arguments)
    x = torch.randn(2, 5, 12)
    assert not torch.equal(module(x), module(x))
    module.eval()
    assert torch.equal(module(x), module(x))


@pytest.mark.parametrize("stem", STEMS[:6])
def test_stand_in_globals_hold_definitions_only(stem: str) -> None:
    public = {name for name in vars(load_standin(stem)) if not name.startswith("__")}
    defined = {
        name
        for name, value in vars(load_solution(stem)).items()
        if getattr(value, "__module__", None) == stem
    }
    assert defined <= public
    assert public - defined <= {"torch", "F", "Tensor", "nn"}


# The loader


@pytest.mark.parametrize("load", [load_solution, load_standin], ids=["solution", "stand-in"])
def test_loader_leaves_no_trace(load: Callable[[str], Any]) -> None:
    path, modules = sys.path[:], dict(sys.modules)
    load("exercise3_multi_head")
    assert sys.path == path
    assert sys.modules == modules


def test_loader_restores_after_a_missing_file() -> None:
    path, modules = sys.path[:], dict(sys.modules)
    with pytest.raises(FileNotFoundError):
        load_solution("exercise8_missing")
    assert sys.path == path
    assert sys.modules == modules
