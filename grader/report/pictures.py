"""The geometry of pictures: heat maps of tensors, and components as boxes and arrows."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from markupsafe import Markup

from grader.grading.exhibits import Drawing, Panel
from grader.grading.learnt import Learnt
from grader.records.calls import Array

_CELL = 16  # pixels, as all lengths here
_BOX, _GAP, _HIGH = 128, 26, 34  # a box's width, the way between two rows, a box's height
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
class Arrow:
    """A way from one box to another."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Flow:
    """A component: inputs on top, one row a level of steps."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def heat_maps(panel: Panel) -> list[HeatMap]:
    """Return what was expected, and what came if anything did, in the same colours."""
    scale = _scale(panel.expected)
    maps = [_heat_map(panel.title, "expected", panel.expected, panel.expected_shape, scale)]
    if panel.actual is not None and panel.actual_shape is not None:
        maps.append(_heat_map(panel.title, "yours", panel.actual, panel.actual_shape, scale))
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
    """Lay a component out; each box has an arrow from every box of the row above."""
    rows = [drawing.inputs, *drawing.levels]
    width = max(len(row) for row in rows) * (_BOX + _GAP)
    boxes, arrows = [], []
    for index, row in enumerate(rows):
        y = index * (_HIGH + _GAP)
        for x, name in zip(_places(width, row), row, strict=True):
            boxes.append(_box(name, "input" if index == 0 else _state(drawing, name), x, y + 1))
            above = _places(width, rows[index - 1]) if index else []
            arrows += [Arrow(a + _BOX / 2, y - _GAP + 1, x + _BOX / 2, y) for a in above]
    height = len(rows) * (_HIGH + _GAP) - _GAP + 2
    return Flow(width, height, tuple(boxes), tuple(arrows))


def _places(width: float, row: tuple[str, ...]) -> list[float]:
    """The left edges of a row's boxes, which stand around the middle."""
    first = width / 2 - len(row) * (_BOX + _GAP) / 2 + _GAP / 2
    return [first + place * (_BOX + _GAP) for place in range(len(row))]


def _state(drawing: Drawing, name: str) -> str:
    if name == drawing.wrong:
        return "wrong"
    return "right" if name in drawing.right else "open"


def _box(name: str, state: str, x: float, y: float) -> Box:
    shown = name if len(name) <= _CHARACTERS else f"{name[: _CHARACTERS - 1]}…"
    return Box(name, f"{_MARKS.get(state, '')}{shown}", state, x, y, _BOX, _HIGH)
