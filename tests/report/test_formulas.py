"""Formulas of lessons as plain text, for where nothing draws them."""

import re

import pytest
from support import EXERCISES, solution

from grader.course.lesson import read_lesson
from grader.report.formulas import mathml, plain


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r"Divide by $\sqrt{d}$.", "Divide by √d."),
        (r"the scale $1/\sqrt{d}$, or $1/\sqrt{h \cdot d}$", "the scale 1/√d, or 1/√(h·d)"),
        (r"with $\varepsilon = 10^{-5}$", "with ε = 10^−5"),
        (r"$w_0, \dots, w_{t-1}$", "w_0, …, w_(t − 1)"),
        (r"$Q K^\top$ over $\frac{a}{b + 1}$", "QKᵀ over a/(b + 1)"),
        (r"near $\log v$ in the mean", "near log v in the mean"),
        (r"$j \le p + i$", "j ≤ p + i"),
        ("no formula", "no formula"),
    ],
)
def test_formula_reads_as_it_would_be_typed(text: str, said: str) -> None:
    assert plain(text) == said


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_no_passage_of_a_lesson_keeps_a_command_of_tex(exercise_id: str) -> None:
    for passage in read_lesson(solution(exercise_id)):
        assert not re.search(r"\$|\\[a-z]+\b", plain(passage.text))


def test_scripts_stand_beside_a_letter_of_small_height() -> None:
    """Without a font for mathematics browsers put them too high, and subscripts on the line."""
    shown = mathml("W_Q^i", "inline")
    assert shown.count('<mpadded height="0.4em" depth="0.2em">') == 1
    assert plain("$W_Q^i$") == "W_Q^i"
