"""The geometry of pictures: heat maps, components as boxes, and what came out of a question."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from markupsafe import Markup

from grader.grading.exhibits import Drawing, Panel
from grader.grading.learnt import Learnt
from grader.grading.tried import Outcome, Tried
from grader.records.calls import Array
from grader.report.runs import largest, names_for, shown

_CELL = 16  # pixels, as all lengths here
_BOX, _GAP, _HIGH = 128, 26, 34  # a box's width, the way between two rows, a box's height
_BESIDE = 20  # for the arrow beside the rows
_CHARACTERS = 17  # of a name that fit into a box
_LOW, _MID, _TOP = (33, 102, 172), (247, 247, 247), (178, 24, 43)  # blue, white, red
_SHADES = 128  # on either side: more than are told apart
_MARKS = {"right": "✓ ", "wrong": "✗ "}


@dataclass(frozen=True)
class HeatMap:
    """A 2-D array as coloured squares, blue below zero and red above."""

    side: str  # expected or yours
    label: str
    shape: tuple[int, ...]  # of the whole tensor, of which this may be a part
    rows: int
    columns: int
    data: bytes  # the numbers, as float64: two maps that are equal are drawn once
    scale: float  # the value of the full colour

    @property
    def width(self) -> int:
        """Return the width in pixels."""
        return self.columns * _CELL

    @property
    def height(self) -> int:
        """Return the height in pixels."""
        return self.rows * _CELL

    @property
    def squares(self) -> Markup:
        """The squares, row by row, as elements of an SVG; a page has thousands."""
        values = np.frombuffer(self.data).reshape(self.rows, self.columns).tolist()
        drawn = [
            f'<path d="M{j} {i}h1v1h-1z" fill="{colour(value, self.scale)}">'
            f"<title>[{i}, {j}] {value:.4g}</title></path>"
            for i, row in enumerate(values)
            for j, value in enumerate(row)
        ]
        return Markup("".join(drawn))  # noqa: S704 - numbers and colours alone


@dataclass(frozen=True)
class Box:
    """A step or an input."""

    name: str
    text: str  # the name as far as it fits, with its mark
    state: str  # input, right, wrong or open
    x: float
    y: float
    width: int
    height: int


@dataclass(frozen=True)
class Line:
    """A line from one place to another."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Flow:
    """A component: inputs on top, one row a level of steps, in the order of the arrow."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    arrow: tuple[Line, ...]  # its lines


def heat_maps(panel: Panel) -> list[HeatMap]:
    """Return what was expected, and what came if anything did, in the same colours."""
    scale = _scale(panel.expected)
    maps = [_heat_map(panel.title, "expected", panel.expected, panel.expected_shape, scale)]
    if panel.actual is not None and panel.actual_shape is not None:
        side = "yours, probably this one" if panel.probable else "yours"
        maps.append(_heat_map(panel.title, side, panel.actual, panel.actual_shape, scale))
    return maps


def mixing_maps(learnt: Learnt) -> list[HeatMap]:
    """Return how a trained model mixes the places of one sample, each in colours of its own."""
    return [
        _heat_map(f"weights {number}", "yours", weights, weights.shape, _scale(weights))
        for number, weights in enumerate(learnt.mixed, start=1)
    ]


def _heat_map(
    title: str, side: str, values: Array, shape: tuple[int, ...], scale: float
) -> HeatMap:
    rows, columns = values.shape
    data = np.asarray(values, dtype=np.float64).tobytes()
    return HeatMap(side, f"{title}, {side}", shape, rows, columns, data, scale)


def colour(value: float, scale: float) -> str:
    """Return a value's colour, full at `scale`; what is no number is black."""
    if not math.isfinite(value):
        return "#000000"
    share = max(-1.0, min(1.0, value / scale)) if scale else 0.0
    return _mixed(round(share * _SHADES))


@cache
def _mixed(shade: int) -> str:
    end = _TOP if shade > 0 else _LOW
    parts = (m + (e - m) * abs(shade) / _SHADES for m, e in zip(_MID, end, strict=True))
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def _scale(expected: Array) -> float:
    """The largest finite value of what was expected: both maps share its colours."""
    finite = [abs(float(v)) for v in expected.ravel() if math.isfinite(v)]
    return max(finite, default=1.0) or 1.0


def flow(drawing: Drawing) -> Flow:
    """Lay a component out, in rows that follow one another as an arrow beside them shows.

    Which steps a step is made of is not known here, so nothing is drawn between boxes.
    """
    rows = [drawing.inputs, *drawing.levels]
    widest = max(len(row) for row in rows) * (_BOX + _GAP)
    boxes = [
        _box(name, "input" if not place else _state(drawing, name), x, place * (_HIGH + _GAP) + 1)
        for place, row in enumerate(rows)
        for x, name in zip(_places(widest, row), row, strict=True)
    ]
    height = len(rows) * (_HIGH + _GAP) - _GAP + 2
    return Flow(_BESIDE + widest, height, tuple(boxes), _downwards(height))


def _downwards(height: int) -> tuple[Line, ...]:
    """An arrow at the left edge: its line, and the two sides of its tip."""
    x, end, tip = _BESIDE / 2, height - 2.0, _BESIDE / 4
    sides = (Line(x + side, end - tip, x, end) for side in (-tip, tip))
    return (Line(x, 2.0, x, end), *sides)


def _places(width: float, row: tuple[str, ...]) -> list[float]:
    """The left edges of a row's boxes, which stand around the middle."""
    first = _BESIDE + width / 2 - len(row) * (_BOX + _GAP) / 2 + _GAP / 2
    return [first + place * (_BOX + _GAP) for place in range(len(row))]


def _state(drawing: Drawing, name: str) -> str:
    if name in drawing.wrong:
        return "wrong"
    return "right" if name in drawing.right else "open"


def _box(name: str, state: str, x: float, y: float) -> Box:
    shown = name if len(name) <= _CHARACTERS else f"{name[: _CHARACTERS - 1]}…"
    return Box(name, f"{_MARKS.get(state, '')}{shown}", state, x, y, _BOX, _HIGH)


# ---- what came out of a question -----------------------------------------------------------------


_ROW, _BAR, _THICK = 22, 150, 14  # pixels, as all lengths here: a bar's row, its length, its height
_SQUARE, _SMALL = 26, 16  # a map's squares: beside few others, and beside many
_MANY = 10  # columns
_LETTER = 7.5  # of a name, about
_NUMBER = 62  # room behind a bar


@dataclass(frozen=True)
class Shape:
    """A bar or square."""

    x: float
    y: float
    width: float
    height: float
    fill: str  # a colour, "" for that of bars
    title: str  # what it says, in words
    below: bool = False  # a bar of less than zero


@dataclass(frozen=True)
class Word:
    """A name or number."""

    x: float
    y: float
    text: str
    anchor: str  # start, middle or end
    turned: bool = False  # it runs upwards


@dataclass(frozen=True)
class Figure:
    """One thing that a question shows: a picture, or rows of numbers."""

    caption: str
    label: str  # for who cannot see it
    width: float = 0
    height: float = 0
    shapes: tuple[Shape, ...] = ()
    words: tuple[Word, ...] = ()
    columns: tuple[str, ...] = ()  # of a table
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()  # their names, and their numbers


def figures(tried: Tried) -> list[Figure]:
    """Return all that came out, in one scale."""
    question, drawn = tried.question, (tried.outcome or Outcome()).drawn
    top = largest(drawn)
    named = zip(question.shows, drawn, strict=True)
    if question.draw == "bars":
        return [_bars(caption, array, question.columns, top) for caption, array in named]
    if question.draw == "map":
        return [
            _map(caption, array, question.rows, question.columns, top) for caption, array in named
        ]
    return [_table(caption, array, question.rows, question.columns) for caption, array in named]


def _room(names: Sequence[str]) -> float:
    return 8 + _LETTER * max(map(len, names))


def _bars(caption: str, array: Array, columns: Sequence[str], top: float) -> Figure:
    values = np.atleast_1d(array).ravel().tolist()
    names = names_for(columns, len(values))
    left = _room(names)
    shapes, words = [], []
    for place, (name, value) in enumerate(zip(names, values, strict=True)):
        middle = _ROW * (place + 0.5)
        long = _BAR * abs(value) / top if np.isfinite(value) else 0.0
        said = f"{name}: {shown(value)}"
        shapes.append(Shape(left, middle - _THICK / 2, max(long, 1), _THICK, "", said, value < 0))
        words.append(Word(left - 6, middle, name, "end"))
        words.append(Word(left + long + 6, middle, shown(value), "start"))
    told = ", ".join(shape.title for shape in shapes)
    size = (left + _BAR + _NUMBER, _ROW * len(values))
    return Figure(caption, f"{caption}: {told}", *size, tuple(shapes), tuple(words))


def _map(
    caption: str, array: Array, rows: Sequence[str], columns: Sequence[str], top: float
) -> Figure:
    values = np.atleast_2d(array)
    sides, tops = names_for(rows, len(values)), names_for(columns, values.shape[1])
    size = _SQUARE if len(tops) <= _MANY else _SMALL
    left, above = _room(sides), _room(tops) + 6 if columns else 18
    shapes = [
        Shape(
            left + size * j, above + size * i, size, size, colour(value, top),
            f"{sides[i]}, {tops[j]}: {shown(value)}",
        )
        for i, line in enumerate(values.tolist())
        for j, value in enumerate(line)
    ]  # fmt: skip
    words = [Word(left - 6, above + size * (i + 0.5), name, "end") for i, name in enumerate(sides)]
    words += [
        Word(
            left + size * (j + 0.5),
            above - 9,
            name,
            "start" if columns else "middle",
            bool(columns),
        )
        for j, name in enumerate(tops)
        if columns or len(tops) <= _MANY or j % 5 == 0
    ]
    told = f"{caption}: {len(sides)} rows of {len(tops)} numbers"
    whole = (left + size * len(tops) + 4, above + size * len(sides) + 4)
    return Figure(caption, told, *whole, tuple(shapes), tuple(words))


def _table(caption: str, array: Array, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    values = np.atleast_2d(array)
    sides, tops = names_for(rows, len(values)), names_for(columns, values.shape[1])
    lines = tuple(
        (side, tuple(map(shown, line))) for side, line in zip(sides, values.tolist(), strict=True)
    )
    return Figure(caption, caption, columns=tuple(tops), rows=lines)
