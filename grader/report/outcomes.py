"""The geometry of what came out of a question: bars, squares, or numbers in a table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grader.grading.tried import Outcome, Tried
from grader.records.calls import Array
from grader.report.pictures import colour
from grader.report.tried import largest, names_for, shown

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
