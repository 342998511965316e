"""`grade read`: a lesson as a page, opened or written."""

import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from grader.cli.study import run_read


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
    assert "<h2>Traps</h2>" in Path(page).read_text(encoding="utf-8")
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
