"""Pictures as SVG: heat maps of tensors, and components as boxes and arrows."""

import math
from html import escape

from grader.exhibits import Drawing, Panel
from grader.plan.records import Array

_CELL = 16  # pixels
_BOX, _GAP, _HIGH = 128, 26, 34  # a box's width, the way between two rows, a box's height
_CHARACTERS = 17  # of a name that fit into a box
_LOW, _MID, _TOP = (33, 102, 172), (247, 247, 247), (178, 24, 43)  # blue, white, red


def heat_map(values: Array, scale: float, label: str) -> str:
    """Return a 2-D array as an SVG, blue below zero and red above; `scale` is full colour."""
    rows, columns = values.shape
    cells = []
    for i in range(rows):
        for j in range(columns):
            value = float(values[i, j])
            cells.append(
                f'<rect x="{j * _CELL}" y="{i * _CELL}" width="{_CELL}" height="{_CELL}" '
                f'fill="{colour(value, scale)}"><title>[{i}, {j}] {value:.4g}</title></rect>'
            )
    width, height = columns * _CELL, rows * _CELL
    return (
        f'<svg class="map" role="img" aria-label="{escape(label)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">{"".join(cells)}</svg>'
    )


def colour(value: float, scale: float) -> str:
    """Return a value's colour; what is no number is black."""
    if not math.isfinite(value):
        return "#000000"
    share = max(-1.0, min(1.0, value / scale)) if scale else 0.0
    end = _TOP if share > 0 else _LOW
    mixed = (round(m + (e - m) * abs(share)) for m, e in zip(_MID, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def panel_scale(panel: Panel) -> float:
    """Return the largest finite value of what was expected: both maps share its colours."""
    finite = [abs(float(v)) for v in panel.expected.ravel() if math.isfinite(v)]
    return max(finite, default=1.0) or 1.0


def flow(drawing: Drawing) -> str:
    """Return a component as an SVG: inputs on top, one row a level of steps."""
    rows = [drawing.inputs, *drawing.levels]
    width = max(len(row) for row in rows) * (_BOX + _GAP)
    parts = []
    for index, row in enumerate(rows):
        y = index * (_HIGH + _GAP)
        for place, name in enumerate(row):
            x = _left(width, len(row), place)
            parts.append(_box(name, x, y, "input" if index == 0 else _state(drawing, name)))
            if index:
                above = rows[index - 1]
                parts += [
                    _arrow(_left(width, len(above), k) + _BOX / 2, y - _GAP, x + _BOX / 2, y)
                    for k in range(len(above))
                ]
    height = len(rows) * (_HIGH + _GAP) - _GAP + 2
    return (
        f'<svg class="flow" role="img" aria-label="the steps of the component" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )


def _left(width: float, count: int, place: int) -> float:
    return width / 2 - count * (_BOX + _GAP) / 2 + place * (_BOX + _GAP) + _GAP / 2


def _state(drawing: Drawing, name: str) -> str:
    if name == drawing.wrong:
        return "wrong"
    return "right" if name in drawing.right else "open"


def _box(name: str, x: float, y: float, state: str) -> str:
    mark = {"right": "✓ ", "wrong": "✗ "}.get(state, "")
    shown = name if len(name) <= _CHARACTERS else f"{name[: _CHARACTERS - 1]}…"
    return (
        f'<g class="{state}"><rect x="{x:g}" y="{y + 1:g}" width="{_BOX}" height="{_HIGH}" rx="6"/>'
        f'<text x="{x + _BOX / 2:g}" y="{y + 1 + _HIGH / 2:g}">{mark}{escape(shown)}</text>'
        f"<title>{escape(name)}</title></g>"
    )


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:g}" y1="{y1 + 1:g}" x2="{x2:g}" y2="{y2:g}"/>'
