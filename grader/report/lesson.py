"""A lesson as a page to read: its text, formulas as MathML, drawings as SVG, traps that unfold."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import mistune
from markupsafe import Markup

from grader.grading.tried import Tried
from grader.report.formulas import mathml
from grader.report.pages import render

# ---- drawings ------------------------------------------------------------------------------------


CELL_WIDTH, CELL_HEIGHT = 8, 18  # pixels a character
_X, _Y = CELL_WIDTH / 2, CELL_HEIGHT / 2  # from a cell's corner to its middle
_LEVEL = "-+<>`'"  # what a `-` beside them goes on with
_ARMS = {
    "|": (("up", "down"),),
    "-": (("left", "right"),),
    "`": (("up", "middle"), ("middle", "right")),
    "'": (("up", "middle"), ("middle", "left")),
    "<": (("middle", "right"),),
    ">": (("left", "middle"),),
    "v": (("up", "middle"),),
    "\\": (("first", "last"),),
}
_HEADS = {"<": "left", ">": "right", "v": "down"}
_PLACES = {  # in a cell
    "up": (_X, 0.0),
    "down": (_X, 2 * _Y),
    "left": (0.0, _Y),
    "right": (2 * _X, _Y),
    "middle": (_X, _Y),
    "first": (0.0, 0.0),
    "last": (2 * _X, 2 * _Y),
}
_TIPS = {  # of an arrow: two corners, and the tip
    "left": ((_X + 3, _Y - 4), (_X + 3, _Y + 4), (0.0, _Y)),
    "right": ((_X - 3, _Y - 4), (_X - 3, _Y + 4), (2 * _X, _Y)),
    "down": ((_X - 4, _Y), (_X + 4, _Y), (_X, 2 * _Y)),
}


class Text(NamedTuple):
    """Characters without a gap, and where they begin."""

    x: float
    y: float
    width: float
    words: str


@dataclass(frozen=True)
class LineArt:
    """A drawing in pixels; it has no lines where the block is only text."""

    width: int
    height: int
    lines: str  # a path
    tips: str  # a path of triangles
    texts: tuple[Text, ...]


class _Grid:
    def __init__(self, source: str) -> None:
        self.rows = source.splitlines()

    def at(self, row: int, column: int) -> str:
        inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[row])
        return self.rows[row][column] if inside else " "

    def is_sum(self, row: int, column: int) -> bool:
        """Whether a `+` is that of (+), which is text."""
        return self.rows[row][max(0, column - 1) : column + 2] == "(+)"

    def upright(self, row: int, column: int) -> bool:
        """Whether a corner goes on there; two corners above each other belong to two lines."""
        sign = self.at(row, column)
        return sign in "|v" or (sign == "+" and self.is_sum(row, column))

    def arms(self, row: int, column: int) -> tuple[tuple[str, str], ...]:
        """Which lines a character stands for; none where it is text."""
        sign = self.at(row, column)
        left, right = self.at(row, column - 1), self.at(row, column + 1)
        if sign == "+" and not self.is_sum(row, column):
            met = {"left": left in _LEVEL, "right": right in _LEVEL}
            met |= {"up": self.upright(row - 1, column), "down": self.upright(row + 1, column)}
            return tuple((place, "middle") for place, line in met.items() if line)
        drawn = {
            "|": True,
            "-": left in _LEVEL or right in _LEVEL,
            "`": right == "-",
            "'": left == "-",
            "<": right == "-",
            ">": left == "-",
            "v": self.at(row - 1, column) == "|" and left == right == " ",
            "\\": left == right == " ",
        }
        return _ARMS[sign] if drawn.get(sign) else ()


def draw(source: str) -> LineArt:
    """Return the geometry of a block of characters.

    Example: draw("a --> b") has one line from a to b, one head, and the texts a and b.
    """
    grid = _Grid(source)
    lines: list[str] = []
    tips: list[str] = []
    texts: list[Text] = []
    for row, text in enumerate(grid.rows):
        plain = ""
        for column, sign in enumerate(text):
            arms = grid.arms(row, column)
            plain += " " if arms else sign
            lines += [_path(row, column, (_PLACES[a], _PLACES[b])) for a, b in arms]
            if arms and sign in _HEADS:
                tips.append(_path(row, column, _TIPS[_HEADS[sign]]) + "z")
        texts += _texts(row, plain)
    width = max(map(len, grid.rows), default=0) * CELL_WIDTH
    height = len(grid.rows) * CELL_HEIGHT
    return LineArt(width, height, "".join(lines), "".join(tips), tuple(texts))


def _path(row: int, column: int, points: tuple[tuple[float, float], ...]) -> str:
    """Return a path through points of one cell."""
    x, y = column * CELL_WIDTH, row * CELL_HEIGHT
    return "M" + "L".join(f"{x + right:g} {y + down:g}" for right, down in points)


def _texts(row: int, plain: str) -> list[Text]:
    """Return what stands in a line, word by word: so columns stay below each other."""
    found: list[Text] = []
    column = 0
    for word in plain.split(" "):
        if word:
            x, width = column * CELL_WIDTH, len(word) * CELL_WIDTH
            found.append(Text(x, row * CELL_HEIGHT + _Y, width, word))
        column += len(word) + 1
    return found


# ---- the page ------------------------------------------------------------------------------------


_SECTION = 2  # level of the headings that the contents list
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
        self.sections: list[Section] = []  # by headings of level 2

    def heading(self, text: str, level: int, **attributes: Any) -> str:
        self.section = text
        if level == _SECTION:
            attributes["id"] = f"section-{len(self.sections) + 1}"
            self.sections.append(Section(attributes["id"], html.unescape(text)))
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
        return f'<div class="wide scrolls" tabindex="0"><table>\n{text}</table></div>\n'

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        """Return a cell; one that heads a column has words."""
        del align  # lessons have none
        return f'<th scope="col">{text}</th>\n' if head and text else f"<td>{text}</td>\n"

    def inline_math(self, text: str) -> str:
        return mathml(text, "inline")

    def block_math(self, text: str) -> str:
        """Return formulas that stand side by side, and below each other where that is too wide."""
        formulas = "".join(mathml(one.strip(), "block") for one in text.split(r"\qquad"))
        return f'<div class="formula scrolls" tabindex="0">{formulas}</div>\n'


class Section(NamedTuple):
    """A part of a lesson that can be gone to."""

    place: str  # its id on the page
    title: str


class Page(NamedTuple):
    """A lesson's page beside the others of its course."""

    file: str
    title: str


def render_lesson(
    title: str,
    stub: str,
    questions: Sequence[Tried] = (),
    pages: Sequence[Page] = (),
    *,
    file: str = "",
) -> str:
    """Return the page of a stub in the percent format, and questions to it; it loads nothing.

    `pages` are all lessons of the course in their order; the one of this title is this page.
    `file` is the student's own, in which the code is written.
    """
    body, sections = _body(stub)
    if questions:
        sections.append(Section("questions", "Predict, then run"))
    here = next((place for place, page in enumerate(pages) if page.title == title), -1)
    part = render(
        "lesson_part.html.j2",
        body=body,
        questions=questions,
        command=COMMAND,
        unfolded=False,
        sections=sections,
        file=file,
        pages=pages,
        before=pages[here - 1] if here > 0 else None,
        after=pages[here + 1] if 0 <= here < len(pages) - 1 else None,
    )
    return render("lesson.html.j2", title=title, lesson=_made(part))


def render_lesson_part(stub: str, questions: Sequence[Tried] = (), *, command: str) -> str:
    """Return a lesson as one element with its own style, for a notebook's cell.

    Formulas stand in the text as `$...$` and `$$...$$`, drawings and tables of numbers between ```.
    `command` is how a command begins here.
    """
    asked = {"questions": questions, "command": command}
    return render("lesson_part.html.j2", body=_body(stub)[0], unfolded=False, sections=(), **asked)


def _body(stub: str) -> tuple[Markup, list[Section]]:
    """Return a lesson's HTML, and what can be gone to."""
    renderer = _Lesson()
    markdown = mistune.create_markdown(renderer=renderer, plugins=["table", "math"])
    return _made(str(markdown(_markdown(stub)))), renderer.sections


def render_questions(questions: Sequence[Tried], *, command: str = COMMAND) -> str:
    """Return questions alone as one element with its own style, what came out unfolded."""
    asked = {"questions": questions, "command": command}
    return render("lesson_part.html.j2", body="", unfolded=True, sections=(), **asked)


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
