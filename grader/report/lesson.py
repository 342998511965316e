"""A lesson as a page to read: its text, formulas as MathML, drawings as SVG, traps that unfold."""

import html
import re
from collections.abc import Sequence
from typing import Any

import mistune
from markupsafe import Markup

from grader.grading.tried import Tried
from grader.report.drawings import draw
from grader.report.formulas import mathml
from grader.report.pages import render

_CELL = re.compile(r"^# %%( \[markdown\])?[^\n]*\n", re.MULTILINE)
_FORMULA = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)  # on lines of its own: mistune asks for that
COMMAND = "grade "  # how a command begins in a terminal
_TRAP = re.compile(  # its bold words, up to the end of the sentence, and the rest
    r"<strong>(.+?)</strong>((?<!\.</strong>)[^.:]*[.:])?(.*)", re.DOTALL
)


class _Lesson(mistune.HTMLRenderer):
    """Markdown as HTML; what it does not know is escaped."""

    def __init__(self) -> None:
        super().__init__(escape=True)
        self.section = ""

    def heading(self, text: str, level: int, **attributes: Any) -> str:
        self.section = text
        return super().heading(text, level, **attributes)

    def block_code(self, code: str, info: str | None = None) -> str:
        drawing = draw(code)
        if info or not drawing.lines:
            # what may be wider than the page can be reached, and scrolled, by keys
            return super().block_code(code, info).replace("<pre>", '<pre tabindex="0">', 1)
        label = f"drawing: {html.unescape(self.section)}"
        return render("drawing.html.j2", picture=drawing, label=label)

    def list_item(self, text: str, **attributes: Any) -> str:
        trap = _TRAP.match(text) if self.section == "Traps" else None
        if trap is None:
            return super().list_item(text, **attributes)
        bold, further, told = trap.groups(default="")
        return f"<li><details><summary>{bold}{further}</summary>{told}</details></li>\n"

    def table(self, text: str) -> str:
        """Return a table that scrolls by itself where it is wide."""
        return f'<div class="wide" tabindex="0"><table>\n{text}</table></div>\n'

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        """Return a cell; one that heads a column has words."""
        del align  # lessons have none
        return f'<th scope="col">{text}</th>\n' if head and text else f"<td>{text}</td>\n"

    def inline_math(self, text: str) -> str:
        return mathml(text, "inline")

    def block_math(self, text: str) -> str:
        return f'<div class="formula" tabindex="0">{mathml(text, "block")}</div>\n'


def render_lesson(title: str, stub: str, questions: Sequence[Tried] = ()) -> str:
    """Return the page of a stub in the percent format, and questions to it; it loads nothing."""
    part = render_lesson_part(stub, questions)
    return render("lesson.html.j2", title=title, lesson=_made(part))


def render_lesson_part(
    stub: str, questions: Sequence[Tried] = (), *, command: str = COMMAND
) -> str:
    """Return a lesson as one element with its own style, for a page or a notebook's cell.

    Formulas stand in the text as `$...$` and `$$...$$`, drawings and tables of numbers between ```.
    `command` is how a command begins here.
    """
    markdown = mistune.create_markdown(renderer=_Lesson(), plugins=["table", "math"])
    body = _made(str(markdown(_markdown(stub))))
    return render(
        "lesson_part.html.j2", body=body, questions=questions, command=command, unfolded=False
    )


def render_questions(questions: Sequence[Tried], *, command: str = COMMAND) -> str:
    """Return questions alone as one element with its own style, what came out unfolded."""
    asked = {"questions": questions, "command": command}
    return render("lesson_part.html.j2", body="", unfolded=True, **asked)


def _made(text: str) -> Markup:
    """Return HTML that the renderer above or a template made: both escape what they are given."""
    return Markup(text)  # noqa: S704


def _markdown(stub: str) -> str:
    """Return a stub's text, with its code in fences."""
    before, *cells = _CELL.split(stub)
    parts = [before] if before.strip() else []
    for kind, cell in zip(cells[::2], cells[1::2], strict=True):
        if kind:
            text = re.sub(r"^# ?", "", cell, flags=re.MULTILINE)
            parts.append(_FORMULA.sub(r"\n\n$$\n\1\n$$\n\n", text))
        else:
            parts.append(f"```python\n{cell.strip()}\n```")
    return "\n\n".join(parts)
