"""Pages for readers who see little, or use no mouse: what axe-core asks for, as far as text tells.

Contrast is in test_contrast.py.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from support import EXERCISES, ROOT

import grader.report
from grader.course.load import load_course
from grader.grading.tried import Outcome, Tried
from grader.records.results import Document, ExerciseResult, Status
from grader.report.lesson import render_lesson
from grader.report.pages import render_page
from grader.student.tries import questions_of

TEMPLATES = sorted(Path(grader.report.__file__).with_name("templates").glob("*.html.j2"))
PAGES = [path for path in TEMPLATES if "<!doctype html>" in path.read_text(encoding="utf-8")]
_SCROLLS = (
    r'<(?:pre|div class="(?:wide|side|formula|drawing)(?: scrolls)?")'  # by their style, where wide
)


def _name(path: Path) -> str:
    return path.name


class _Outline(HTMLParser):
    """The headings of a page, and how often it has each element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.levels: list[int] = []
        self.count: dict[str, int] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, _: object) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))


def lessons() -> Iterator[tuple[str, str]]:
    """Yield each lesson with its questions as if they had been tried."""
    folder = load_course(ROOT)
    for exercise in folder.course.exercises:
        stub = (folder.exercises / exercise.file).read_text(encoding="utf-8")
        asked = [tried(one) for one in questions_of(folder, exercise)]
        yield exercise.id, render_lesson(exercise.id, stub, asked)


def tried(one: Tried) -> Tried:
    drawn = tuple(np.eye(3) for _ in one.question.shows)
    return Tried(one.exercise, one.number, one.count, one.question, 1, Outcome(drawn, held=True))


LESSONS = dict(lessons())


@pytest.mark.parametrize("path", PAGES, ids=_name)
def test_page_has_a_language_and_one_main_part(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert '<html lang="en">' in text
    assert "<title>" in text
    assert (text.count("<main>"), text.count("</main>")) == (1, 1)


@pytest.mark.parametrize("path", TEMPLATES, ids=_name)
def test_no_column_is_headed_by_nothing(path: Path) -> None:
    assert not re.search(r"<th[^>]*></th>", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", TEMPLATES, ids=_name)
def test_picture_says_what_it_shows_or_that_it_says_nothing_new(path: Path) -> None:
    pictures = re.findall(r"<svg[^>]*>(?:<title>)?", path.read_text(encoding="utf-8"))
    told = ("aria-label=", 'aria-hidden="true"', "<title>")
    assert [one for one in pictures if not any(word in one for word in told)] == []


@pytest.mark.parametrize("path", [p for p in TEMPLATES if p.name != "verdict.html.j2"], ids=_name)
def test_what_scrolls_can_be_reached_by_keys(path: Path) -> None:
    found = re.findall(_SCROLLS + r"[^>]*>", path.read_text(encoding="utf-8"))
    assert [one for one in found if 'tabindex="0"' not in one] == []


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_lesson_has_an_outline_without_gaps(exercise_id: str) -> None:
    outline = _Outline(LESSONS[exercise_id])
    steps = [
        after - before for before, after in zip(outline.levels, outline.levels[1:], strict=False)
    ]
    assert outline.levels.count(1) == outline.count["main"] == 1
    assert outline.levels[0] == 1
    assert max(steps) == 1


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_lesson_can_be_scrolled_by_keys_and_heads_its_columns(exercise_id: str) -> None:
    found = re.findall(_SCROLLS + r"[^>]*>", LESSONS[exercise_id])
    assert [one for one in found if 'tabindex="0"' not in one] == []
    assert not re.search(r"<th[^>]*></th>", LESSONS[exercise_id])


@pytest.mark.parametrize("count", [1, 2])
def test_report_has_one_heading_of_the_first_level(count: int) -> None:
    results = [ExerciseResult(f"exercise{n}", "x", Status.PASSED, 1, 1, ()) for n in range(count)]
    outline = _Outline(render_page(Document("course", "engine", "key", tuple(results)), {}))
    assert outline.levels == [1, *[2] * count]
