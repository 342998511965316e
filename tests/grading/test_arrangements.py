"""Parameters in other roles: what a child gets, and what its gradients then mean."""

import numpy as np
import pytest
from support import call_with

from grader.grading.arrangements import (
    Arrangement,
    Rows,
    arrangements_of,
    settled,
    shown_guesses,
)
from grader.records.answers import Answer, AnswerStatus, Bound, Info
from grader.worker.names import Group, tensor_name
from grader.worker.protocol import Role, RoleKind, Told

LAYERS = ("one", "two", "three")
ROLES = tuple(Role(f"{name}.weight", (4, 3), RoleKind.LINEAR) for name in LAYERS)
TENSORS = {
    f"{role.name}!": np.random.default_rng(i).normal(size=(4, 3)) for i, role in enumerate(ROLES)
}
CALL = call_with(ROLES, "!")


def bound(told: Told, *names: str) -> list[Bound]:
    return [Bound(name=f"own{i}.weight", roles=[n], told=told) for i, n in enumerate(names)]


def test_what_a_name_tells_is_never_exchanged() -> None:
    roles = [role.name for role in ROLES]
    assert arrangements_of(CALL, bound(Told.NAME, *roles)) == []
    assert arrangements_of(CALL, bound(Told.SHAPE, *roles)) == []
    assert shown_guesses(CALL, bound(Told.NAME, *roles)) == {}


def test_alike_layers_without_names_are_tried_in_every_order() -> None:
    found = bound(Told.ORDER, *(role.name for role in ROLES))
    ways = [way for way in arrangements_of(CALL, found) if not way.rows]
    assert len(ways) == 5
    orders = {
        tuple(float(value[0, 0]) for value in way.arranged(CALL, TENSORS).values()) for way in ways
    }
    assert len(orders) == 5
    assert shown_guesses(CALL, found) == {"own0": ["one"], "own1": ["two"], "own2": ["three"]}


def test_as_many_layers_as_heads_may_hold_a_head_of_each_role() -> None:
    ways = arrangements_of(CALL, bound(Told.ORDER, *(role.name for role in ROLES)))
    assert len(ways) == 2 * 6 - 1
    way = next(way for way in ways if way.rows and not way.layers)
    info = Info(bound=bound(Told.ORDER, *(role.name for role in ROLES)))
    found = way.restored(CALL, Answer(AnswerStatus.OK, {}, info)).info.bound
    assert [one.roles for one in found] == [[role.name for role in ROLES]] * 3
    assert shown_guesses(CALL, found) == {}


def test_rows_of_a_fused_layer_are_tried_role_by_role_and_part_by_part() -> None:
    fused = [Bound(name="qkv.weight", roles=[role.name for role in ROLES], told=Told.ORDER)]
    ways = arrangements_of(CALL, fused)
    # six orders of the roles, each as it is and in three orders of two parts, of all roles or of
    # all but the first, but for the usual one
    assert len(ways) == 6 * 7 - 1


def test_a_layer_alone_is_exchanged_with_the_rows_of_a_fused_one_that_no_name_tells() -> None:
    roles = [role.name for role in ROLES]
    fused = Bound(name="ab.weight", roles=roles[:2], told=Told.ORDER)
    alone = Bound(name="c.weight", roles=roles[2:], told=Told.SHAPE)
    ways = arrangements_of(CALL, [fused, alone])
    assert len(ways) == 6 * 4 - 1
    assert shown_guesses(CALL, [fused, alone]) == {"ab": ["one", "two"], "c": ["three"]}
    named = fused.model_copy(update={"told": Told.NAME})
    assert len(arrangements_of(CALL, [named, alone])) == 2 * 4 - 1
    assert shown_guesses(CALL, [named, alone]) == {}


def test_a_square_matrix_is_tried_the_other_way_round() -> None:
    role = Role("one.weight", (3, 3), RoleKind.LINEAR)
    call = call_with((role,), "!")
    values = {"one.weight!": np.arange(9.0).reshape(3, 3)}
    own = [Bound(name="w", roles=[role.name], told=Told.NAME, turnable=True)]
    (way,) = arrangements_of(call, own)
    handed = way.arranged(call, values)
    np.testing.assert_array_equal(handed["one.weight!"], values["one.weight!"].T)
    name = tensor_name(Group.GRADIENT, role.name)
    restored = way.restored(call, Answer(AnswerStatus.OK, {name: handed["one.weight!"]}))
    np.testing.assert_array_equal(restored.tensors[name], values["one.weight!"])
    # where shapes tell how it lies, nothing is turned
    known = [one.model_copy(update={"turnable": False}) for one in own]
    assert settled(way, "a", {"a": own, "b": known})["b"] == Arrangement({})


def test_each_of_a_list_of_parameters_is_a_layer_of_its_own() -> None:
    """Where they are guessed to play other parts in another case, each is known by its place."""

    def told(*parts: str) -> list[Bound]:
        names = ("alone", "list.0", "list.1")
        pairs = zip(names, parts, strict=True)
        return [Bound(name=n, roles=[f"{part}.weight"], told=Told.ORDER) for n, part in pairs]

    way = Arrangement({"one": "three", "two": "one", "three": "two"})
    guesses = {"a": told("one", "two", "three"), "b": told("three", "one", "two")}
    assert settled(way, "a", guesses) == {"": way, "a": way, "b": Arrangement({})}


def test_matrices_are_turned_one_by_one_as_well() -> None:
    own = [
        Bound(name=f"w{place}", roles=[role.name], told=Told.NAME, turnable=True)
        for place, role in enumerate(ROLES)
    ]
    names = [role.name for role in ROLES]
    turned = [way.turned for way in arrangements_of(CALL, own)]
    pairs = [{*names} - {name} for name in names]
    assert turned == [{*names}, *({name} for name in names), *pairs]
    # what is turned in one case is turned in another, if it may be there
    way = Arrangement({}, (), frozenset(names[:1]))
    known = [own[0].model_copy(update={"turnable": False}), *own[1:]]
    assert settled(way, "a", {"a": own, "b": known})["b"] == Arrangement({})
    # nothing is, where nothing was and nothing could be
    fixed = [one.model_copy(update={"turnable": False}) for one in own]
    assert settled(Arrangement({}), "a", {"a": fixed, "b": own})["b"] == Arrangement({})


@pytest.mark.parametrize(
    "way",
    [
        Arrangement({"one": "two", "two": "one"}),
        Arrangement({}, (Rows(LAYERS, 1, (1, 0, 2)),)),
        Arrangement({"one": "three", "three": "one"}, (Rows(LAYERS, 1, (2, 0, 1)),)),
    ],
)
def test_gradients_come_back_under_the_roles_that_are_played(way: Arrangement) -> None:
    """A gradient equal to the parameter itself has to come back as the role's own values."""
    handed = way.arranged(CALL, TENSORS)
    gradients = {
        tensor_name(Group.GRADIENT, role): handed[key] for role, key in CALL.parameters.items()
    }
    restored = way.restored(CALL, Answer(AnswerStatus.OK, gradients))
    for role in ROLES:
        name = tensor_name(Group.GRADIENT, role.name)
        np.testing.assert_array_equal(restored.tensors[name], TENSORS[f"{role.name}!"])


def test_a_call_without_the_counting_argument_keeps_its_rows() -> None:
    rows = Rows(LAYERS, 7, (1, 0, 2))
    values = [TENSORS[f"{role.name}!"] for role in ROLES]
    for laid, value in zip(rows.lay(values, CALL), values, strict=True):
        np.testing.assert_array_equal(laid, value)


def test_a_layer_plays_one_part_in_every_case() -> None:
    """In a case in which more layers are alike, the same guess comes out otherwise."""
    roles = [role.name for role in ROLES]
    plain, option = bound(Told.ORDER, *roles), bound(Told.ORDER, *reversed(roles))
    ways = settled(Arrangement({}), "main-1", {"main-1": plain, "biased-1": option, "none-1": []})
    assert ways["main-1"] == Arrangement({})
    assert ways["biased-1"].layers == {"three": "one", "one": "three"}
    assert "none-1" not in ways


def test_a_bias_that_tells_nothing_leaves_its_layer_its_part() -> None:
    """Weights and biases may be attributes of their own, whose names tell nothing."""
    roles = [role.name for role in ROLES]
    names = ["a", "b", "c"]
    plain = [Bound(name=n, roles=[r], told=Told.ORDER) for n, r in zip(names, roles, strict=True)]
    biases = [
        Bound(name=f"{n}0", roles=[r.replace("weight", "bias")], told=Told.ORDER)
        for n, r in zip(names, roles, strict=True)
    ]
    way = Arrangement({"one": "three", "three": "one"})
    ways = settled(way, "main-1", {"main-1": plain, "biased-1": plain + biases})
    assert ways["biased-1"] == way


def test_one_head_s_layer_plays_the_part_of_a_list_of_heads() -> None:
    def guess(*names: str) -> list[Bound]:
        roles = ("one.weight", "two.weight")
        return [
            Bound(name=n, roles=[r], told=Told.ORDER) for n, r in zip(names, roles, strict=True)
        ]

    lists, alone = guess("fc1.*.weight", "fc2.*.weight"), guess("fc1.0.weight", "fc2.0.weight")
    way = Arrangement({"one": "two", "two": "one"})
    assert settled(way, "main-1", {"main-1": lists, "one-head-1": alone})["one-head-1"] == way
