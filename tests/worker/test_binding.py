"""Parameters are found by name, by shape and by order, in whatever form they are kept."""

import itertools
from typing import Any

import pytest
import torch
from support import GradeText, edited, find_check, solution
from torch import nn

from grader.worker.binding import Memory, Unbound, bind, names_role, own_items
from grader.worker.parts import Uses
from grader.worker.protocol import (
    Action,
    Role,
    RoleKind,
    ShapeClaim,
    TargetKind,
    Told,
    WorkerCall,
)
from grader.worker.targets import Recipes, Targets
from grader.worker.torch_modules import TorchModules

OUT, IN = 6, 4
ROLES = [
    Role(f"to_{part}.weight", (OUT, IN), RoleKind.LINEAR, (part,))
    for part in ("queries", "keys", "values")
]


def values() -> list[torch.Tensor]:
    """Return distinct values for the three roles."""
    return [torch.arange(OUT * IN).reshape(OUT, IN) + 100.0 * i for i in range(3)]


def loaded(module: nn.Module, roles: list[Role] = ROLES) -> Any:
    """Bind the roles and load their values."""
    by_name = dict(zip((r.name for r in ROLES), values(), strict=True))
    with torch.no_grad():
        for bond in bind(own_items(module, []), roles, {}):
            bond.load([by_name[role.name] for role in bond.roles])
    return module


def linear(out: int = OUT, inner: int = IN) -> nn.Linear:
    """Return a linear layer without a bias."""
    return nn.Linear(inner, out, bias=False)


def raw(*shape: int) -> nn.Parameter:
    """Return a parameter of zeros."""
    return nn.Parameter(torch.zeros(shape))


def module_of(**parts: Any) -> Any:
    """Return a module with these attributes, in order."""
    module = nn.Module()
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def test_binding_names_beat_order() -> None:
    module = loaded(module_of(to_values=linear(), to_keys=linear(), to_queries=linear()))
    assert torch.equal(module.to_values.weight, values()[2])
    assert torch.equal(module.to_queries.weight, values()[0])


def test_binding_aliases_beat_order() -> None:
    module = loaded(
        module_of(v_proj=linear(), values=linear(), keys_lin=linear(), queries=linear())
    )
    assert torch.equal(module.values.weight, values()[2])
    assert torch.equal(module.keys_lin.weight, values()[1])
    assert not torch.equal(module.v_proj.weight, values()[2])


def test_binding_falls_back_on_order() -> None:
    module = loaded(module_of(a=linear(), b=linear(), c=linear()))
    assert [torch.equal(p, v) for p, v in zip(module.parameters(), values(), strict=True)] == [
        True
    ] * 3


def test_bias_of_a_fused_layer_plays_no_weights_of_norms() -> None:
    norms = [Role(f"norm{i}.weight", (OUT,), RoleKind.VECTOR, ()) for i in range(3)]
    module = module_of(c_attn=nn.Linear(IN, 3 * OUT), a=nn.LayerNorm(OUT), b=nn.LayerNorm(OUT))
    module.c = nn.LayerNorm(OUT)
    bonds = bind(own_items(module, []), [*ROLES, *norms], {})
    played = {bond.item.name: [role.name for role in bond.roles] for bond in bonds}
    assert played == {
        "c_attn.weight": [role.name for role in ROLES],
        **{f"{name}.weight": [norm.name] for name, norm in zip("abc", norms, strict=True)},
    }


def test_binding_reads_a_fused_layer_in_order() -> None:
    module = loaded(module_of(c_attn=linear(3 * OUT)))
    assert torch.equal(module.c_attn.weight, torch.cat(values()))


@pytest.mark.parametrize(
    ("shape", "laid"),
    [
        ((IN, OUT), lambda v: v.T),
        ((OUT, IN), lambda v: v),
        ((1, IN, OUT), lambda v: v.T[None]),
        ((2, IN, OUT // 2), lambda v: v.reshape(2, OUT // 2, IN).permute(0, 2, 1)),
        ((2, OUT // 2, IN), lambda v: v.reshape(2, OUT // 2, IN)),
        ((IN, 2, OUT // 2), lambda v: v.reshape(2, OUT // 2, IN).permute(2, 0, 1)),
    ],
    ids=["in, out", "out, in", "leading one", "heads, in, out", "heads, out, in", "in, heads, out"],
)
def test_binding_tells_a_raw_layout_by_its_shape(shape: tuple[int, ...], laid: Any) -> None:
    module = loaded(module_of(queries=raw(*shape), keys=raw(*shape), values=raw(*shape)))
    assert torch.equal(module.keys, laid(values()[1]))


@pytest.mark.parametrize(
    ("shape", "laid"),
    [
        ((3 * OUT, IN), torch.cat),
        ((IN, 3 * OUT), lambda v: torch.cat(v).T),
        ((3, OUT, IN), torch.stack),
        ((3, IN, OUT), lambda v: torch.stack(v).transpose(1, 2)),
        ((3, 2, IN, 3), lambda v: _parted(v).permute(0, 1, 3, 2)),
        ((2, 3, 3, IN), lambda v: _parted(v).transpose(0, 1)),
        ((IN, 3, 2, 3), lambda v: _parted(v).permute(3, 0, 1, 2)),
        ((2, IN, 9), lambda v: _parted(v).permute(1, 3, 0, 2).reshape(2, IN, 9)),
        ((IN, 2, 9), lambda v: _parted(v).permute(3, 1, 0, 2).reshape(IN, 2, 9)),
    ],
    ids=[
        *("out, in", "in, out", "stacked", "stacked transposed", "roles, heads, in, out"),
        *("heads, roles, out, in", "in, roles, heads, out", "heads, in, roles and out"),
        "in, heads, roles and out",
    ],
)
def test_binding_reads_fused_raw_parameters(shape: tuple[int, ...], laid: Any) -> None:
    module = loaded(module_of(in_proj_weight=raw(*shape)))
    assert torch.equal(module.in_proj_weight, laid(values()))


def _parted(values: list[torch.Tensor]) -> torch.Tensor:
    """Return values by roles, two heads, a head's outputs, and inputs."""
    return torch.stack(values).reshape(3, 2, OUT // 2, IN)


def test_square_matrix_of_heads_may_lie_either_way_until_a_shape_tells() -> None:
    """Whether heads are parts of what goes in or of what comes out; one head tells no more."""
    memory: Memory = {}
    for heads in (2, 1):
        role = Role("unify.weight", (OUT, OUT), RoleKind.LINEAR)
        items = own_items(module_of(unify=raw(heads, OUT // heads, OUT)), [])
        (bond,) = bind(items, [role], memory)
        assert bond.turnable
        assert torch.equal(bond.layout.lay(torch.eye(OUT), (OUT, OUT)), torch.eye(OUT))
    wide = Role("unify.weight", (OUT, 4), RoleKind.LINEAR)
    (bond,) = bind(own_items(module_of(unify=raw(2, 2, OUT)), []), [wide], memory)
    assert not bond.turnable
    given = torch.arange(4.0 * OUT).reshape(OUT, 4)
    assert torch.equal(bond.layout.lay(given, (4, OUT)), given.T)


def test_as_many_alike_parameters_as_roles_play_them() -> None:
    """A matrix that stands before them, and fits turned round, does not."""
    out = Role("unify.weight", (IN, OUT), RoleKind.LINEAR)
    module = module_of(z=raw(OUT, IN), a=raw(IN, OUT), b=raw(IN, OUT), c=raw(IN, OUT))
    bonds = bind(own_items(module, []), [*ROLES, out], {})
    played = {bond.item.name: bond.roles[0].name for bond in bonds}
    due = [role.name for role in ROLES]
    assert played == {**dict(zip("abc", due, strict=True)), "z": "unify.weight"}


def test_weight_beside_a_layer_keeps_its_own_name() -> None:
    """Of two parameters beside a layer, one is not the weight and the other the bias of it all."""
    holder = module_of(wq=raw(IN, OUT), bq=raw(OUT), kv=nn.Linear(IN, 2 * OUT))
    items = own_items(module_of(projection=holder), [])
    biases = [Role(f"{r.name.split('.')[0]}.bias", (OUT,), RoleKind.BIAS) for r in ROLES]
    aliased = [Role(r.name, r.shape, r.kind, (r.name[3], *r.aliases)) for r in (*ROLES, *biases)]
    bonds = bind(items, aliased, {})
    played = {bond.item.name: [role.name for role in bond.roles] for bond in bonds}
    assert played["projection.wq"] == ["to_queries.weight"]
    assert played["projection.bq"] == ["to_queries.bias"]
    assert played["projection.kv.weight"] == ["to_keys.weight", "to_values.weight"]


def test_binding_reads_a_convolution_of_width_one() -> None:
    conv = [nn.Conv1d(IN, OUT, 1, bias=False) for _ in range(3)]
    module = loaded(module_of(queries=conv[0], keys=conv[1], values=conv[2]))
    assert torch.equal(module.keys.weight, values()[1][..., None])


def test_binding_reads_a_list_with_one_projection_a_head() -> None:
    parts = {
        name: nn.ModuleList(linear(OUT // 3) for _ in range(3))
        for name in ("queries", "keys", "values")
    }
    module = loaded(module_of(**parts))
    assert torch.equal(torch.cat([layer.weight for layer in module.keys]), values()[1])


def test_binding_reads_a_list_of_fused_layers_of_which_each_has_a_part_of_every_role() -> None:
    """Two layers cannot be those of three roles; that three are not is known from there."""
    biases = [Role(f"{r.name.split('.')[0]}.bias", (OUT,), RoleKind.BIAS) for r in ROLES]
    given = {role.name: 100.0 * place + torch.arange(OUT) for place, role in enumerate(biases)}
    given |= dict(zip((role.name for role in ROLES), values(), strict=True))
    memory: Memory = {}
    for heads in (2, 3):
        layers = [nn.Linear(IN, 3 * OUT // heads) for _ in range(heads)]
        module = module_of(heads=nn.ModuleList(layers))
        with torch.no_grad():
            for bond in bind(own_items(module, []), [*ROLES, *biases], memory):
                bond.load([given[role.name] for role in bond.roles])
        for place, role in enumerate(ROLES):
            shares = [layer.weight.chunk(3)[place] for layer in layers]
            assert torch.equal(torch.cat(shares), given[role.name])
            shares = [layer.bias.chunk(3)[place] for layer in layers]
            assert torch.equal(torch.cat(shares), given[biases[place].name])


def test_a_bias_of_another_shape_is_not_missing() -> None:
    """One that may be left out is asked for where its name is there."""
    bias = Role("bias", (IN,), RoleKind.BIAS, optional=True)
    roles = [Role("weight", (IN,), RoleKind.VECTOR), bias]
    assert len(bind(own_items(module_of(weight=raw(IN)), []), roles, {})) == 1
    with pytest.raises(Unbound) as raised:
        bind(own_items(module_of(weight=raw(IN), bias=raw(1)), []), roles, {})
    assert [one.shape for one in raised.value.info.sought] == [[IN]]


def test_binding_by_unique_shape() -> None:
    roles = [
        Role("first.weight", (5, 3), RoleKind.LINEAR, ()),
        Role("second.weight", (3, 5), RoleKind.LINEAR, ()),
    ]
    module = module_of(zeta=linear(3, 5), alpha=linear(5, 3))
    found = {b.roles[0].name: b.item.name for b in bind(own_items(module, []), roles, {})}
    assert found == {"first.weight": "alpha.weight", "second.weight": "zeta.weight"}


def test_binding_leaves_given_sublayers_alone() -> None:
    given = linear()
    module = module_of(given=given, a=linear(), b=linear(), c=linear())
    names = {bond.item.name for bond in bind(own_items(module, [given]), ROLES, {})}
    assert names == {"a.weight", "b.weight", "c.weight"}


def test_binding_takes_gradients_back_into_the_roles_shape() -> None:
    module = module_of(queries=raw(IN, OUT), keys=raw(IN, OUT), values=raw(IN, OUT))
    bonds = bind(own_items(module, []), ROLES, {})
    module.keys.grad = values()[1].T.contiguous()
    found = {b.roles[0].name: b.gradients()[0] for b in bonds}
    assert torch.equal(found["to_keys.weight"], values()[1])  # type: ignore[arg-type]
    assert found["to_values.weight"] is None


def test_unbound_lists_what_was_sought_and_what_is_there() -> None:
    with pytest.raises(Unbound) as raised:
        bind(own_items(module_of(queries=linear(), other=linear(7, 2)), []), ROLES, {})
    sought = raised.value.info.sought
    assert sought == [ShapeClaim(f"to_{name}.weight", [OUT, IN]) for name in ("keys", "values")]
    assert raised.value.info.present == [
        ShapeClaim("queries.weight", [OUT, IN]), ShapeClaim("other.weight", [7, 2]),
    ]  # fmt: skip


def test_unbound_message_shows_names_and_shapes(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise4"),
        ("nn.Linear(size, embed_dim)", "nn.Identity()"),
    )
    message = find_check(grade_text({"exercise4": text}), "FeedForward/shape").message
    assert message.startswith("no parameter fits (5, 20)")
    assert "`expand.weight` (20, 5)" in message.partition("the module has")[2]


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("queries.weight", True),
        ("toQueries.weight", True),
        ("attn.w_queries", True),
        ("layers.0.queries_proj.weight", True),
        ("inqueries.weight", False),
        ("keys.weight", False),
    ],
)
def test_names_role_reads_the_ways_of_writing(name: str, means: bool) -> None:
    assert names_role(name, ROLES[0]) is means


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("attention_norm.bias", True),
        ("attention_norm.weight", False),
        ("b_attention", True),
        ("battention", True),
        ("shift.attention", True),
        ("scales.attention", False),
        ("post_attention_norm.bias", False),
    ],
)
def test_names_role_tells_a_norms_two_vectors_apart(name: str, means: bool) -> None:
    assert names_role(name, Role("norm1.bias", (OUT,), RoleKind.BIAS, ("attention",))) is means


NORMS = [
    Role(f"{norm}.{last}", (IN,), kind, ())
    for norm in ("norm1", "norm2")
    for last, kind in (("weight", RoleKind.VECTOR), ("bias", RoleKind.BIAS))
]


def _norm(*names: str) -> Any:
    return module_of(**{name: raw(IN) for name in names})


@pytest.mark.parametrize(
    ("names", "guessed"),
    [
        (("alpha", "bias"), False),
        (("bias", "alpha"), False),
        (("gain", "b_2"), False),
        (("a_2", "b_2"), True),
    ],
)
def test_of_a_layers_two_vectors_one_name_or_the_order_tells_the_other(
    names: tuple[str, str], guessed: bool
) -> None:
    """The norms are registered the wrong way round: their own names are never overruled."""
    module = module_of(norm_2=_norm(*names), norm_1=_norm(*names))
    bonds = bind(own_items(module, []), NORMS, {})
    bias = "bias" if "bias" in names else "b_2"
    weight = next(name for name in names if name != bias)
    assert {bond.roles[0].name: bond.item.name for bond in bonds} == {
        "norm1.weight": f"norm_1.{weight}",
        "norm1.bias": f"norm_1.{bias}",
        "norm2.weight": f"norm_2.{weight}",
        "norm2.bias": f"norm_2.{bias}",
    }
    assert {bond.told for bond in bonds} == {Told.ORDER if guessed else Told.NAME}


def test_vectors_that_no_name_tells_are_told_by_what_they_begin_as() -> None:
    """In a norm of one's own, whose roles have no layer's name before them."""
    roles = [Role("weight", (IN,), RoleKind.VECTOR, ()), Role("bias", (IN,), RoleKind.BIAS, ())]
    module = module_of(first=raw(IN), second=nn.Parameter(torch.ones(IN)))
    bonds = bind(own_items(module, []), roles, {})
    found = {bond.roles[0].name: (bond.item.name, bond.told) for bond in bonds}
    assert found == {"weight": ("second", Told.NAME), "bias": ("first", Told.NAME)}


def test_a_layer_of_ones_own_keeps_its_weight_and_bias_together() -> None:
    """Shapes tell which is which, whatever they are called; orders of layers do not mix them."""
    roles = [
        Role(f"{layer}.{last}", shape, kind, ())
        for layer in ("first", "second")
        for last, shape, kind in (
            ("weight", (IN, IN), RoleKind.LINEAR), ("bias", (IN,), RoleKind.BIAS),
        )
    ]  # fmt: skip
    own = [module_of(c=raw(IN), m=raw(IN, IN)) for _ in range(2)]
    bonds = bind(own_items(module_of(one=own[0], two=own[1]), []), roles, {})
    assert {bond.roles[0].name: bond.item.name for bond in bonds} == {
        "first.weight": "one.m",
        "first.bias": "one.c",
        "second.weight": "two.m",
        "second.bias": "two.c",
    }


def test_binding_the_order_of_use_beats_names_and_registration_in_what_is_assembled() -> None:
    module = module_of(values=linear(), queries=linear(), other=linear())
    uses, x = Uses(), torch.ones(1, IN)
    uses.note(lambda: [part(x) for part in (module.other, module.values, module.queries)])
    bonds = bind(uses.ordered(own_items(module, [])), ROLES, {}, by_use=tuple(RoleKind))
    assert [bond.item.name for bond in bonds] == ["other.weight", "values.weight", "queries.weight"]
    assert {bond.told for bond in bonds} == {Told.USE}


def test_what_a_module_hides_is_told_of_each_of_the_same_names_and_shapes() -> None:
    call = WorkerCall("1", "Hiding", TargetKind.MODULE, Action.FORWARD, (), {}, (), (), ROLES)
    shared: Recipes = {}
    told = []
    for hidden in ([linear()], torch.ones(2)):

        class Hiding(nn.Module):
            def __init__(self, kept: Any = hidden) -> None:
                super().__init__()
                self.kept = kept

        with pytest.raises(Unbound) as caught:
            Targets({"Hiding": Hiding}, {}, TorchModules(), shared=shared).get_ready(call)
        told += [one.what for one in caught.value.info.loose]
    assert told == ["module", "tensor"]


def test_lists_of_layers_come_where_their_first_one_is_registered() -> None:
    """A layer that fits as well, and comes later, is not taken before them."""
    heads = (nn.ModuleList(linear(3, 6) for _ in range(2)) for _ in range(2))
    module = module_of(**dict(zip("ab", heads, strict=True)), last=linear(6, 6))
    roles = [Role(f"{name}.weight", (6, 6), RoleKind.LINEAR, ()) for name in ("p", "q", "r")]
    bonds = bind(own_items(module, []), roles, {})
    found = {role.name: bond.item.name for bond in bonds for role in bond.roles}
    assert found == {"p.weight": "a.*.weight", "q.weight": "b.*.weight", "r.weight": "last.weight"}


def test_table_that_is_too_long_plays_its_role_with_its_first_rows() -> None:
    module = nn.Module()
    module.table = nn.Embedding(5, 2)
    module.layer = nn.Linear(2, 6, bias=False)  # of as many columns, but no table
    last = module.table.weight[4:].detach().clone()
    (bond,) = bind(own_items(module, ()), [Role("embedding.weight", (4, 2), RoleKind.TABLE)], {})
    values = torch.arange(8.0).view(4, 2)
    with torch.no_grad():
        bond.load([values])
    assert bond.item.name == "table.weight"
    assert module.table.weight[:4].equal(values)
    assert module.table.weight[4:].equal(last)
    (module.table.weight * torch.arange(5.0)[:, None]).sum().backward()
    (gradient,) = bond.gradients()
    assert gradient is not None
    assert gradient.equal(torch.arange(4.0)[:, None].expand(4, 2))


def test_one_of_two_tables_that_are_too_long_is_not_guessed() -> None:
    module = nn.Module()
    module.one, module.two = nn.Embedding(5, 2), nn.Embedding(6, 2)
    with pytest.raises(Unbound):
        bind(own_items(module, ()), [Role("embedding.weight", (4, 2), RoleKind.TABLE)], {})


@pytest.mark.parametrize("order", list(itertools.permutations("hdk")), ids="".join)
@pytest.mark.parametrize("part", ["outputs", "inputs"])
def test_raw_heads_are_read_in_any_order_of_axes(part: str, order: tuple[str, ...]) -> None:
    """Two heads of width three, outputs or inputs of a layer; the width of the model is four."""
    sizes = {"h": 2, "d": 3, "k": 4}
    module = module_of(weight=raw(*(sizes[axis] for axis in order)))
    shape = (6, 4) if part == "outputs" else (4, 6)
    value = torch.arange(24.0).view(shape)
    (bond,) = bind(own_items(module, ()), [Role("layer.weight", shape, RoleKind.LINEAR)], {})
    with torch.no_grad():
        bond.load([value])
    told = "hdk" if part == "outputs" else "khd"
    split = value.view([sizes[axis] for axis in told])
    assert module.weight.equal(torch.einsum(f"{told}->{''.join(order)}", split))
