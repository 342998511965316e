"""Identifiers: what is made is read back, and nothing else is taken for one."""

import pytest
from support import plain_call

from grader.records.calls import PUBLIC, Plan
from grader.records.ids import CallId, CheckId, Kind
from grader.worker.protocol import Action

NUMERIC = CheckId("exercise3", "fold_heads", Kind.NUMERIC)
DTYPE = CheckId("exercise3", "fold_heads", Kind.PROPERTY, "dtype")
BUG = CheckId("exercise3", "fold_heads", Kind.BUG, "heads-first")


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (NUMERIC, "exercise3/fold_heads/numeric"),
        (DTYPE, "exercise3/fold_heads/property/dtype"),
        (BUG, "exercise3/fold_heads/bug/heads-first"),
    ],
    ids=["numeric", "property", "bug"],
)
def test_check_id_is_read_back_from_its_text(check: CheckId, text: str) -> None:
    assert str(check) == text
    assert CheckId.parse(text) == check


@pytest.mark.parametrize("text", ["exercise3", "a/b", "a/b/colour", "a/b/bug/c/d"])
def test_other_text_is_no_check_id(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        CheckId.parse(text)


@pytest.mark.parametrize(
    ("check", "shown"),
    [(NUMERIC, "numeric"), (DTYPE, "dtype"), (BUG, "bug/heads-first")],
    ids=["numeric", "property", "bug"],
)
def test_check_is_shown_by_its_name_or_kind(check: CheckId, shown: str) -> None:
    assert check.shown == shown


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (CallId("fold_heads", "main-1", Action.FORWARD), "fold_heads/main-1/forward"),
        (CallId("fold_heads", "independent", "first"), "fold_heads/independent/first"),
        (CallId("fold_heads", "device"), "fold_heads/device"),
    ],
    ids=["case", "part of a property", "property"],
)
def test_call_id_is_read_back_from_its_text(call: CallId, text: str) -> None:
    assert str(call) == text
    assert CallId.parse(text) == call


@pytest.mark.parametrize("text", ["fold_heads", "a/b/c/d"])
def test_other_text_is_no_call_id(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        CallId.parse(text)


def test_a_property_gets_no_calls_of_one_whose_name_begins_as_its_own() -> None:
    names = ["dropout", "dropout-pre-norm", "dropout/one", "dropout-pre-norm/one"]
    calls = [plain_call(f"layer/{name}", "layer") for name in names]
    plan = Plan("exercise5", PUBLIC, [], calls, {})
    assert [call.id for call in plan.of_property("layer", "dropout")] == [
        "layer/dropout", "layer/dropout/one",
    ]  # fmt: skip
