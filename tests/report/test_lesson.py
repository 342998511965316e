"""A lesson as a page: formulas, drawings, traps, and nothing that loads or runs."""

import re

import pytest
from support import EXERCISES, ROOT

from grader.course.load import load_course
from grader.report.lesson import draw, render_lesson

HEAD = "# %% [markdown]\n"


def page(exercise_id: str) -> str:
    folder = load_course(ROOT)
    stub = folder.exercises / folder.course.exercise(exercise_id).file
    return render_lesson(exercise_id, stub.read_text(encoding="utf-8"))


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_each_formula_is_rendered(exercise_id: str) -> None:
    shown = re.sub(r"<pre>.*?</pre>", "", page(exercise_id), flags=re.DOTALL)
    assert "<math" in shown
    assert not re.search(r"\$|\\[a-z]", shown)


def test_formulas_of_one_line_can_stand_below_each_other() -> None:
    (line,) = re.findall(r'<div class="formula.*?</div>', page("exercise3"))
    assert line.count("<math") == 2


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_each_trap_unfolds(exercise_id: str) -> None:
    traps = page(exercise_id).partition(">Traps</h2>")[2].partition("<h2")[0]
    assert traps.count("<li>") == traps.count("<li><details><summary>") > 0
    names: list[str] = re.findall("<summary>(.*?)</summary>", traps, flags=re.DOTALL)
    assert [name for name in names if name[-1] not in ".:"] == []


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_page_loads_nothing(exercise_id: str) -> None:
    shown = page(exercise_id)
    assert "default-src 'none'" in shown
    assert not re.search(r"<(script|link|img|iframe)|\bsrc=|url\(|@import", shown)


@pytest.mark.parametrize(
    "text",
    [
        "# <script>x</script>",
        "# $<script>$",
        "# $\\text{<script>}$",
        "# $$<script>$$",
        "# ## <script>\n#\n# ```\n# <script> --> y\n# ```",
        "# | a |\n# | --- |\n# | <script> |",
    ],
)
def test_markup_in_a_lesson_is_text(text: str) -> None:
    assert "<script" not in render_lesson("<script>", f"{HEAD}{text}\n")


def test_code_stands_between_the_texts() -> None:
    shown = render_lesson("x", f"{HEAD}# before\n\n# %%\na < b\n\n{HEAD}# after\n")
    assert re.search(
        r"<p>before</p>\s*<pre[^>]*><code[^>]*>a &lt; b\s*</code></pre>\s*<p>after", shown
    )


def test_numbers_without_a_line_stay_text() -> None:
    block = "# ```\n#  z   -2  t - 1  self-attention\n# ```\n"
    assert "<svg" not in render_lesson("x", f"{HEAD}{block}")


def test_an_arrow_has_a_line_a_head_and_two_ends() -> None:
    art = draw("a --> b")
    assert [text.words for text in art.texts] == ["a", "b"]
    assert art.lines == "M16 9L24 9M24 9L32 9M32 9L36 9"
    assert art.tips.count("z") == 1


def test_a_corner_goes_on_where_a_line_does() -> None:
    assert "M20 18L20 9" in draw("--+\n  |").lines


def test_two_corners_above_each_other_are_of_two_lines() -> None:
    assert draw("--+\n--+").lines.count("M") == 6  # each row has two dashes and a corner's arm
