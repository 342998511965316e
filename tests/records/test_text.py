"""Texts of cases and sentences as a student reads them."""

from grader.records.text import as_inputs


def test_inputs_that_a_case_gives_are_short_and_true() -> None:
    assert as_inputs(None) == ""
    assert as_inputs({"step": 0}) == "; step = 0"
    assert as_inputs({"x": [[1.0, -2.0], [0.05, 1.05]], "n": 10.0}) == (
        "; x = [[1, -2], [0.05, 1.05]]; n = 10"
    )
    assert len(as_inputs({"x": [0.5] * 99})) == len("; x = ") + 120
