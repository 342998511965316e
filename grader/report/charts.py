"""The geometry of charts in a fixed frame: the bars of a class, and the curve of a training."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from grader.classes.statistics import Spread, TimeLine
from grader.grading.learnt import Learnt

_WIDE, _HIGH = 640, 180  # of the bars, in pixels as all lengths here
_LEFT, _TOP, _BOTTOM = 44, 16, 40  # for the numbers beside, above and below
_GAP = 0.12  # of a column, between two bars
_TICKS = 4  # numbers beside the bars
_LABELS = 10  # below them, at most
_FORMATS = {"hour": "%d %b %H:00", "day": "%d %b", "week": "%d %b"}


@dataclass(frozen=True)
class Bar:
    """One bar."""

    x: float
    y: float
    width: float
    height: float
    title: str  # what it says, in words
    count: str  # above it; "" where bars are many


@dataclass(frozen=True)
class Mark:
    """A number or word beside or below the bars, or a line through them."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """Bars in a frame."""

    label: str  # for who cannot see it
    width: int
    height: int
    left: int
    bottom: float  # where the bars stand
    right: float
    top: int
    bars: tuple[Bar, ...]
    beside: tuple[Mark, ...]
    below: tuple[Mark, ...]
    lines: tuple[Mark, ...] = ()  # upright
    points: str = ""  # a line through the columns, as an SVG has it


def histogram(spread: Spread) -> Chart:
    """Return the students by tenths of the points, with mean and median."""
    count = len(spread.bins)
    edges = [spread.possible * n / count for n in range(count + 1)]
    titles = [
        f"{edges[n]:g} to {edges[n + 1]:g} points: {students}"
        for n, students in enumerate(spread.bins)
    ]
    most = spread.possible or 1.0
    lines = (("mean", spread.mean), ("median", spread.median))
    return _chart(
        f"students by points, {spread.students} of them",
        spread.bins,
        titles,
        [Mark(_LEFT + _WIDE * n / count, f"{edge:g}") for n, edge in enumerate(edges)],
        tuple(Mark(_LEFT + _WIDE * value / most, f"{what} {value:.1f}") for what, value in lines),
    )


def attempts(line: TimeLine) -> Chart:
    """Return the attempts by time, with the share of the points that they earned."""
    form = _FORMATS.get(line.unit, "%b %Y")
    when = [datetime.fromisoformat(column.begin).strftime(form) for column in line.columns]
    width = _WIDE / len(when)
    step = math.ceil(len(when) / _LABELS)
    titles = [
        f"{moment}: {column.attempts}, {column.share:.0%} of the points"
        for moment, column in zip(when, line.columns, strict=True)
    ]
    shares = [
        f"{_LEFT + (n + 0.5) * width:.1f},{_TOP + _HIGH * (1 - column.share):.1f}"
        for n, column in enumerate(line.columns)
        if column.attempts
    ]
    return _chart(
        f"attempts by {line.unit}",
        [column.attempts for column in line.columns],
        titles,
        [Mark(_LEFT + (n + 0.5) * width, when[n]) for n in range(0, len(when), step)],
        points=" ".join(shares),
    )


def _bars(counts: Sequence[int], titles: Sequence[str], top: float) -> Iterator[Bar]:
    """The bars of a chart whose axis ends at `top`."""
    width = _WIDE / len(counts)
    for n, count in enumerate(counts):
        high = _HIGH * count / top
        told = str(count) if count and len(counts) <= 2 * _LABELS else ""
        left = _LEFT + (n + _GAP / 2) * width
        yield Bar(left, _TOP + _HIGH - high, width * (1 - _GAP), high, titles[n], told)


def _chart(
    label: str,
    counts: Sequence[int],
    titles: Sequence[str],
    below: Sequence[Mark],
    lines: tuple[Mark, ...] = (),
    points: str = "",
) -> Chart:
    top = _round_up(max(counts))
    floor = _TOP + _HIGH
    beside = tuple(
        Mark(floor - _HIGH * n / _TICKS, f"{top * n / _TICKS:g}") for n in range(_TICKS + 1)
    )
    return Chart(
        label,
        _LEFT + _WIDE + _LEFT,
        floor + _BOTTOM,
        _LEFT,
        floor,
        _LEFT + _WIDE,
        _TOP,
        tuple(_bars(counts, titles, top)),
        beside,
        tuple(below),
        lines,
        points,
    )


def _round_up(count: int) -> int:
    """Return a number that the ticks divide into whole ones, and that is not below a count."""
    step = 10 ** max(0, math.floor(math.log10(max(count, 1) / _TICKS)))
    nice = next(step * n for n in (1, 2, 5, 10, 20) if step * n * _TICKS >= count)
    return int(nice * _TICKS)


# ---- the curve of a training ---------------------------------------------------------------------


_CURVE_WIDE, _CURVE_HIGH = 560, 160  # of the curve, in pixels as all lengths here
_CURVE_LEFT, _CURVE_TOP, _BELOW = 44, 12, 24  # for the numbers beside, above and below
_LINES = 4  # across the curve


@dataclass(frozen=True)
class Curve:
    """A line in a frame, with numbers beside and below."""

    label: str  # for who cannot see it
    width: int
    height: int
    left: int
    right: int
    points: str  # as an SVG has them
    beside: tuple[tuple[float, str], ...]  # how far down, and the number there
    below: tuple[tuple[float, str], ...]  # how far to the right


def curve(learnt: Learnt) -> Curve:
    """Return the loss by the steps, in bits, from zero up."""
    losses = learnt.losses
    top = max(losses) or 1.0
    across = [_CURVE_LEFT + _CURVE_WIDE * (n + 0.5) / len(losses) for n in range(len(losses))]
    down = [_CURVE_TOP + _CURVE_HIGH * (1 - loss / top) for loss in losses]
    return Curve(
        f"the loss over {learnt.steps} steps, from {losses[0]:.2f} to {losses[-1]:.2f} bits",
        _CURVE_LEFT + _CURVE_WIDE + _CURVE_LEFT,
        _CURVE_TOP + _CURVE_HIGH + _BELOW,
        _CURVE_LEFT,
        _CURVE_LEFT + _CURVE_WIDE,
        " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, down, strict=True)),
        tuple(
            (_CURVE_TOP + _CURVE_HIGH * n / _LINES, f"{top * (1 - n / _LINES):.1f}")
            for n in range(_LINES + 1)
        ),
        tuple((_CURVE_LEFT + _CURVE_WIDE * n / 2, f"{learnt.steps * n // 2}") for n in range(3)),
    )
