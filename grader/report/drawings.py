"""Drawings of a lesson: lines of characters, as they stand in an editor, and as geometry.

Lines are drawn where a character meets one: `|`, runs of `-`, corners `+`, and heads of arrows.
All else is text. A block that has no line is a table of numbers, and stays text.
"""

from dataclasses import dataclass
from typing import NamedTuple

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
