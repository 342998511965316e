"""The magics of a notebook: help on the cells as they are, whatever stands in files."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import SUBMISSIONS

from grader.cli.study import run_hint
from grader.course.load import load_course
from grader.notebook.imports import EarlierNotebooks
from grader.notebook.magics import load_extension
from grader.student.progress import load_progress

_PERFECT = (SUBMISSIONS / "perfect" / "exercise3_multi_head.py").read_text("utf-8")
_WRONG = (SUBMISSIONS / "keys-from-queries" / "exercise3_multi_head.py").read_text("utf-8")
Ask = Callable[..., Any]


class Shell:
    """What IPython is to an extension that adds magics of a line."""

    def __init__(self) -> None:
        self.magics: dict[str, Callable[[str], Any]] = {}

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        if kind == "line":
            self.magics[name] = function


@pytest.fixture
def ask(course: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that runs a magic on cells, which stand in no file."""
    monkeypatch.chdir(course / "exercises")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, EarlierNotebooks()])
    shell = Shell()
    load_extension(shell)

    def asked(name: str, line: str, *cells: str) -> Any:
        monkeypatch.setattr("grader.notebook.check.executed_cells", lambda: ["", *cells])
        return shell.magics[name](line)

    return asked


def test_hint_is_on_the_cells_and_plainer_each_time(ask: Ask) -> None:
    first, second = (repr(ask("hint", "exercise3", _WRONG)) for _ in range(2))
    assert "hint 1 of 3" in first
    assert "hint 2 of 3" in second
    assert "a plainer one: %hint exercise3" in first
    assert "(line " not in first


def test_hint_on_right_cells_says_so(ask: Ask) -> None:
    assert repr(ask("hint", "3", _PERFECT)) == "exercise3 is complete: no hint is needed."


def test_hint_is_on_the_target_that_is_named(ask: Ask) -> None:
    assert repr(ask("hint", "3 fold_heads", _WRONG)) == "fold_heads is complete: no hint is needed."
    named = repr(ask("hint", "3 MultiHeadSelfAttention", _WRONG))
    assert "a plainer one: %hint exercise3 MultiHeadSelfAttention" in named


def test_explain_of_a_target_leads_to_its_hints(ask: Ask) -> None:
    shown = repr(ask("explain", "3 MultiHeadSelfAttention", _WRONG))
    assert "What to do: %hint exercise3 MultiHeadSelfAttention" in shown


def test_explain_shows_the_run_of_the_cells(ask: Ask) -> None:
    assert "exercise3 · MultiHeadSelfAttention" in repr(ask("explain", "3", _WRONG))
    assert "exercise3 · fold_heads" in repr(ask("explain", "3 fold_heads", _WRONG))


def test_explain_of_an_unknown_target_is_one_line(ask: Ask) -> None:
    said = repr(ask("explain", "exercise3 fold", _PERFECT))
    assert said.startswith("grade: exercise3 has no 'fold'; it has fold_heads, unfold_heads,")


def test_read_shows_the_lesson_as_a_part_of_the_page(ask: Ask, course: Path) -> None:
    (course / "exercises" / "exercise3_multi_head.py").write_text("mine")
    lesson = ask("read", "exercise3")
    shown = lesson._repr_html_()
    assert shown.startswith('<div class="grade read">')
    assert "<math" in shown
    assert "<html" not in shown
    assert "Exercise 3: multi-head attention" in repr(lesson)


def test_progress_knows_what_the_cells_came_to(ask: Ask) -> None:
    ask("check", "exercise3", _PERFECT)
    said = repr(ask("list", ""))
    assert repr(ask("progress", "")) == said
    (row,) = (line for line in said.splitlines() if "exercise3" in line)
    assert row.startswith("✓ exercise3")
    assert "changed after" not in row
    assert "Next: %read exercise1" in said


def test_points_of_a_file_stay_while_it_is_as_it_was_checked(ask: Ask, course: Path) -> None:
    file = course / "exercises" / "exercise3_multi_head.py"
    file.write_text(_PERFECT)
    run_hint("exercise3", course, None, "")
    ask("check", "exercise3", _WRONG)
    assert "✓ exercise3" in repr(ask("list", ""))
    file.write_text(_WRONG)
    ask("check", "exercise3", _WRONG)
    assert "✗ exercise3" in repr(ask("list", ""))


def test_try_puts_the_questions(ask: Ask) -> None:
    asked = ask("try", "exercise3")
    assert "question 3 of 3" in repr(asked)
    assert "%try exercise3 3 N" in asked._repr_html_()
    assert "Run it, with the number that you guess for N: %try exercise3 3 N" in repr(asked)


def test_try_without_a_guess_runs_nothing(ask: Ask) -> None:
    asked = ask("try", "exercise3 2", _PERFECT)
    assert "question 2 of 3" in repr(asked)
    assert "question 1 of 3" not in repr(asked)
    assert "<details open>" not in asked._repr_html_()


def test_try_with_a_guess_runs_the_cells(ask: Ask) -> None:
    tried = ask("try", "exercise3 1 2", _PERFECT)
    assert "You guessed 2:" in repr(tried)
    assert "<details open>" in tried._repr_html_()
    assert "You guessed 2:" in ask("read", "exercise3")._repr_html_()


def test_guess_before_the_cells_is_kept(ask: Ask) -> None:
    assert "your guess, 2, is kept" in repr(ask("try", "exercise3 1 2"))
    assert "You guessed 2:" in repr(ask("try", "exercise3 1", _PERFECT))


def test_check_reminds_of_questions_until_they_are_tried(ask: Ask) -> None:
    for _ in range(2):
        told = repr(ask("check", "exercise3", _PERFECT))
        assert "Questions 1, 2, 3 wait for your guess: %try exercise3" in told


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("exercise3 one", "grade: 'one' is no number: write it as in: %try exercise3 1 2"),
        ("exercise3 9", "grade: exercise3 has the questions 1 to 3"),
        ("exercise3 1 9", "grade: guess a number from 1 to 3"),
        ("exercise3 1 --guess 2", "grade: write it as in: %try exercise3 1 2"),
    ],
)
def test_try_of_what_is_not_there_is_one_line(ask: Ask, line: str, said: str) -> None:
    assert repr(ask("try", line)) == said


@pytest.mark.parametrize("magic", ["hint", "explain", "read", "check", "try"])
def test_magic_without_an_exercise_says_how(ask: Ask, magic: str) -> None:
    assert repr(ask(magic, "")) == f"grade: name the exercise as in: %{magic} exercise3"


def test_hint_remembers_points(ask: Ask, course: Path) -> None:
    ask("hint", "exercise3", _WRONG)
    assert load_progress(load_course(course)).of("exercise3").score > 0


@pytest.mark.parametrize(
    "last", ["%check exercise3", 'check("exercise3")', _WRONG], ids=["magic", "call", "cells"]
)
def test_exercise_that_is_not_named_is_the_last_one(ask: Ask, last: str) -> None:
    assert "exercise3 · MultiHeadSelfAttention" in repr(ask("hint", "", _WRONG, last, "x = 1"))
