"""What results say of tensors, modules and cases, as plain data."""

import pytest

from grader.records.results import RIGHT_VALUES, Diagnosis, Facts, Remark, ShownCase, Sized


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (Facts(), {}),
        (Facts(shape=()), {"shape": []}),
        (
            Facts(finite=False, count=2, index=(0, 1)),
            {"finite": False, "count": 2, "index": [0, 1]},
        ),
        (Facts(parameters=0), {"parameters": 0}),
        (Facts(parameters=(Sized("w", (2, 3)),)), {"parameters": [["w", [2, 3]]]}),
    ],
    ids=["nothing", "one number's shape", "not finite", "no parameters", "parameters by name"],
)
def test_facts_say_what_is_known_and_no_more(facts: Facts, said: dict[str, object]) -> None:
    assert facts.to_json() == said


def test_facts_keep_the_order_in_which_reports_show_them() -> None:
    facts = Facts((2,), "float64", value=1.5, largest_difference=0.5, index=(1,))
    assert list(facts.to_json()) == ["shape", "dtype", "value", "largest_difference", "index"]


def test_case_shows_inputs_where_they_are_few_alone() -> None:
    case = ShownCase("main", {"t": 2}, {}, {"bias": True})
    assert case.to_json() == {
        "name": "main", "dims": {"t": 2}, "constructor": {}, "options": {"bias": True},
    }  # fmt: skip
    few = ShownCase("smallest", {"t": 1}, {}, {}, {"x": [[1.0]]})
    assert few.to_json()["inputs"] == {"x": [[1.0]]}


def test_mistake_that_is_named_stands_apart_from_deviations_and_has_the_hint() -> None:
    found = Diagnosis("head", ("bug",), "", "Look there.", "It equals a bug's.", ("a", "b", "c"))
    assert found.remarks == (
        Remark("It equals a bug's.", hint="Look there."),
        Remark("Deviations:", ("a", "b", "c"), deviates=True),
    )
    assert found.sentence == "It equals a bug's. Deviations: a; b; and c."


def test_deviations_alone_have_the_hint() -> None:
    one = Diagnosis("head", (), "", "Look there.", RIGHT_VALUES, ("a",))
    said = "Right values. One deviation: a."
    assert one.remarks == (Remark(said, hint="Look there.", deviates=True),)
    two = Diagnosis("head", (), "", "", RIGHT_VALUES, ("a", "b"))
    assert two.remarks == (Remark("Right values. Two deviations:", ("a", "b"), deviates=True),)


def test_mistake_without_deviations_is_one_remark() -> None:
    found = Diagnosis("head", ("bug",), "", "Look there.", "It equals a bug's.")
    assert found.remarks == (Remark("It equals a bug's.", hint="Look there."),)
