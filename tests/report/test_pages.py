"""Templates: they escape by default, ask for nothing in vain, and cost nothing where unused."""

import re
import subprocess
import sys
from pathlib import Path

import jinja2
import pytest

import grader.report
from grader.report.pages import Piece, pieces, render

TEMPLATES = sorted(Path(grader.report.__file__).with_name("templates").glob("*.j2"))


def test_what_is_given_is_escaped() -> None:
    page = render("trouble.html.j2", text="<b onclick='x'>\"&")
    assert page == "<div>&lt;b onclick=&#39;x&#39;&gt;&#34;&amp;</div>\n"


def test_a_name_that_is_not_given_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="'text' is undefined"):
        render("trouble.html.j2")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_lets_text_pass_as_markup(path: Path) -> None:
    assert not re.search(r"\|\s*safe\b|autoescape", path.read_text(encoding="utf-8"))


def test_backticks_make_pieces() -> None:
    assert pieces("use `x`, not `<y>`") == [
        Piece("use ", quoted=False),
        Piece("x", quoted=True),
        Piece(", not ", quoted=False),
        Piece("<y>", quoted=True),
    ]


def test_a_lone_backtick_is_text() -> None:
    assert pieces("a ` b") == [Piece("a ` b", quoted=False)]


def test_nothing_loads_the_template_engine_before_a_page_is_asked_for() -> None:
    code = (
        "import grader.cli.check, grader.cli.grade_many, grader.report.terminal, sys; "
        "import grader.report.pages, grader.report.verdict, grader.report.audit; "
        "sys.exit('jinja2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
