"""What came out of a question, in a terminal and on a page."""

from dataclasses import replace

import click
import numpy as np
import pytest

from grader.course.questions import Question
from grader.grading.tried import Outcome, Tried
from grader.report.layout import width_of
from grader.report.lesson import render_lesson, render_questions
from grader.report.pictures import figures
from grader.report.runs import render_outcome, render_question, shown

QUESTION = Question(
    title="A <sum>",
    asks="What is `1 < 2`?",
    choices=["less", "<more>", "none"],
    answer=2,
    needs=["f"],
    lines="x = f(1) < 2\n",
    shows={"one": "x", "other": "x"},
    draw="bars",
    columns=["a", "b", "c"],
    when="True",
    because="Because <it> is.",
)
VALUES = np.array([0.0, 1.0, 4.0])


def tried(draw: str = "bars", values: object = VALUES, **changes: object) -> Tried:
    question = QUESTION.model_copy(update={"draw": draw, **changes})
    array = np.asarray(values)
    return Tried("exercise1", 1, 2, question, 1, Outcome((array, array / 2), held=True))


def bars(text: str) -> list[int]:
    return [line.count("█") for line in text.splitlines() if line.startswith("    ")]


def test_bars_of_all_that_is_shown_have_one_scale() -> None:
    assert bars(render_outcome(tried())) == [0, 10, 40, 0, 5, 20]


def test_bar_of_less_than_zero_is_grey() -> None:
    one = tried(values=[-2.0, 1.0, 0.0])
    assert "-2  ▒▒▒▒" in render_outcome(one)
    assert render_questions([one]).count('class="bar below"') == 2


@pytest.mark.parametrize("draw", ["bars", "map", "table"])
@pytest.mark.parametrize("width", [40, 80])
def test_drawing_fits_the_terminal(draw: str, width: int) -> None:
    lines = render_outcome(tried(draw, np.eye(12)[:, :3]), width=width).splitlines()
    assert max(map(width_of, lines)) <= width


def test_wide_map_is_drawn_without_numbers() -> None:
    text = render_outcome(tried("map", np.eye(20), columns=[]))
    assert "██" in text
    assert "1 ██" not in text
    assert max(map(width_of, text.splitlines())) <= 80


@pytest.mark.parametrize("draw", ["bars", "map", "table"])
def test_numbers_that_are_none_are_drawn_as_such(draw: str) -> None:
    one = tried(draw, [np.nan, np.inf, -1.0])
    assert "nan" in render_outcome(one)
    assert "nan" in render_questions([one])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.12345, "0.123"),
        (1e-9, "1.0e-09"),
        (1234.5, "1234"),
        (-2.5, "-2.5"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        (None, ["What came out is 2: <more>."]),
        (1, ["You guessed 1: less.", "What came out is 2: <more>."]),
        (2, ["You guessed 2: <more>.", "That is what came out."]),
    ],
)
def test_guess_stands_beside_what_came_out(guess: int | None, said: list[str]) -> None:
    text = render_outcome(replace(tried(), guess=guess))
    assert [line.strip() for line in text.splitlines() if "gues" in line or "came" in line] == said


def test_other_numbers_send_to_check() -> None:
    one = replace(tried(), outcome=Outcome((VALUES, VALUES), held=False))
    text = " ".join(render_outcome(one, command="%").split())
    assert "The right answer is 2: <more>. Your code gives other numbers" in text
    assert f"%check exercise1 With right code: {one.question.because}" in text


def test_right_guess_beside_other_numbers_is_told_as_right() -> None:
    one = replace(tried(), guess=2, outcome=Outcome((VALUES, VALUES), held=False))
    text = " ".join(render_outcome(one).split())
    assert "You guessed 2: <more>. That is right. Your code gives other numbers" in text


def test_trouble_is_all_that_is_shown() -> None:
    one = replace(tried(), outcome=Outcome(trouble="it is not there", remedy="write it"))
    assert render_outcome(one) == "  It is not there.\n  next  Write it."


def test_trouble_leads_to_the_check_of_where_it_is_shown() -> None:
    one = replace(tried(), outcome=Outcome(trouble="it raised"))
    exercise = one.exercise
    assert f"`%check {exercise}` says more" in render_outcome(one, command="%")
    assert f"%check {exercise}</code> says more" in render_questions([one], command="%")
    assert f"grade check {exercise}</code> says more" in render_questions([one])


def test_question_shows_its_choices_and_lines_and_no_answer() -> None:
    text = click.unstyle(render_question(tried()))
    assert text.splitlines()[0] == "exercise1 · question 1 of 2 · A <sum>"
    assert "  2  <more>." in text
    assert "    x = f(1) < 2" in text
    assert QUESTION.because not in text


def test_page_unfolds_what_came_out() -> None:
    text = render_lesson("x", "# %% [markdown]\n# # One\n", [tried()])
    assert text.partition("</nav>")[2].count("<details>") == 1
    assert text.count('role="img"') == 2
    assert 'aria-label="one: a: 0, b: 1, c: 4"' in text
    assert "<code>1 &lt; 2</code>" in text
    assert "<sum>" not in text
    assert "grade try exercise1 1 --guess N" in text


def test_page_unfolds_the_answer_where_nothing_was_tried() -> None:
    text = render_questions([replace(tried(), guess=None, outcome=None)], command="%")
    assert "<svg" not in text
    assert "Because &lt;it&gt; is." in text.partition("<details>")[2]
    assert "%try exercise1 1 N" in text


def test_table_on_a_page_names_its_rows_and_columns() -> None:
    text = render_questions([tried("table", np.eye(3), rows=["r", "s", "t"])])
    assert text.count('<th scope="col">') == 6
    assert text.count('<th scope="row">') == 6


def test_squares_are_as_wide_as_the_numbers_are_many() -> None:
    few, many = (figures(tried("map", np.eye(n), columns=[]))[0] for n in (4, 30))
    assert (len(few.shapes), few.shapes[0].width) == (16, 26)
    assert (len(many.shapes), many.shapes[0].width) == (900, 16)
