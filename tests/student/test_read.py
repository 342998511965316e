"""`grade read`: a lesson as a page, opened or written."""

import re
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from grader.cli.study import run_read
from grader.course.load import load_course


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that were opened, for no browser is here."""
    pages: list[str] = []
    monkeypatch.setattr(
        webbrowser, "open", lambda address: pages.append(unquote(urlsplit(address).path))
    )
    return pages


def test_read_opens_the_lesson(course: Path, opened: list[str]) -> None:
    told = run_read("3", course, None)
    (page,) = opened
    assert told == f"the lesson is in {page}"
    assert ">Traps</h2>" in Path(page).read_text(encoding="utf-8")
    assert Path(page).is_relative_to(course / ".grade")


def test_read_with_a_file_opens_nothing(course: Path, opened: list[str], tmp_path: Path) -> None:
    run_read("3", course, tmp_path / "lesson.html")
    assert (tmp_path / "lesson.html").is_file()
    assert opened == []


def test_read_shows_the_lesson_whatever_the_students_file_holds(
    course: Path, opened: list[str]
) -> None:
    (course / "exercises" / "exercise3_multi_head.py").write_text("mine")
    run_read("3", course, None)
    assert "multi-head attention" in Path(opened[0]).read_text(encoding="utf-8")


def test_pages_of_lessons_link_to_each_other(course: Path, opened: list[str]) -> None:
    run_read("3", course, None)
    page = Path(opened[0]).read_text(encoding="utf-8")
    assert (
        '<a rel="prev" href="exercise2.html">← exercise2: Query, key and value projections</a>'
        in page
    )
    assert '<a rel="next" href="exercise4.html">' in page
    files = set(re.findall('href="(exercise[^"]+)"', page))
    assert len(files) == len(load_course(course).course.exercises)
    assert all((Path(opened[0]).parent / file).is_file() for file in files)


def test_contents_lead_to_each_section(course: Path, tmp_path: Path) -> None:
    run_read("3", course, tmp_path / "lesson.html")
    page = (tmp_path / "lesson.html").read_text(encoding="utf-8")
    places = re.findall('href="#([^"]+)"', page)
    assert places == re.findall('<h2 id="([^"]+)"', page)
    assert ".html" not in page  # alone, it has no neighbours
