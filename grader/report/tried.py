"""The words and plain drawings of `grade try`: a question, and what came out beside the guess."""

import math
from collections.abc import Sequence

import click
import numpy as np

from grader.grading.tried import Outcome, Tried
from grader.records.calls import Array
from grader.records.text import ended
from grader.report.layout import padded, width_of, wrapped

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHADES = " ░▒▓█"
_BAR = 40  # columns of the longest bar, at most


def render_question(tried: Tried, *, width: int = 80) -> str:
    """Return a question with its choices and the lines that will be run."""
    question = tried.question
    title = f"{tried.exercise} · question {tried.number} of {tried.count} · {question.title}"
    lines = [click.style(title, bold=True), "", *wrapped(question.asks, width, first="  ", hang=2)]
    lines.append("")
    for number, choice in enumerate(question.choices, start=1):
        lines += wrapped(ended(choice), width, first=f"  {number}  ", hang=5)
    return "\n".join(
        [*lines, "", *(f"    {line}".rstrip() for line in question.lines.splitlines())]
    )


def render_outcome(tried: Tried, *, width: int = 80, command: str = "grade ") -> str:
    """Return what came out, drawn, beside the guess; `command` is how one begins here."""
    question, outcome = tried.question, tried.outcome or Outcome()
    if outcome.trouble:
        lines = wrapped(ended(capital(outcome.trouble)), width, first="  ", hang=2)
        if outcome.remedy:
            lines += wrapped(ended(capital(outcome.remedy)), width, first="  next  ", hang=8)
        return "\n".join(lines)
    lines = []
    for caption, array in zip(question.shows, outcome.drawn, strict=True):
        lines += [f"  {caption}", *_drawing(tried, array, width), ""]
    for sentence in told(tried, command):
        lines += wrapped(sentence, width, first="  ", hang=2)
    return "\n".join([*lines, "", *wrapped(question.because, width, first="  ", hang=2)])


def told(tried: Tried, command: str = "grade ") -> list[str]:
    """Return the guess and what came out, a sentence each."""
    question, outcome, guess = tried.question, tried.outcome or Outcome(), tried.guess
    answer = ended(f"{question.answer}: {question.choices[question.answer - 1]}")
    sentences = []
    if guess is not None:
        sentences.append(ended(f"You guessed {guess}: {question.choices[guess - 1]}"))
    same = guess == question.answer
    if outcome.held:
        return [*sentences, "That is what came out." if same else f"What came out is {answer}"]
    return [
        *sentences,
        "That is due." if same else f"Due is {answer}",
        "The numbers of your code are other ones, so a part of it is not right yet: "
        f"{command}check {tried.exercise}",
    ]


def capital(sentence: str) -> str:
    """Return a sentence that begins with a capital letter."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


# ---- drawings ------------------------------------------------------------------------------------


def _drawing(tried: Tried, array: Array, width: int) -> list[str]:
    question = tried.question
    if question.draw == "bars":
        top = largest((tried.outcome or Outcome()).drawn)
        return _bars(np.atleast_1d(array).ravel(), question.columns, top, width)
    return _table(np.atleast_2d(array), question.rows, question.columns, question.draw, width)


def largest(arrays: Sequence[Array]) -> float:
    """Return the largest size of a number, by which all drawings of a question are scaled."""
    sizes = np.concatenate([np.abs(array).ravel() for array in arrays])
    return float(max(sizes[np.isfinite(sizes)], default=0.0)) or 1.0


def shown(value: float) -> str:
    """Return a number in few digits."""
    if not math.isfinite(value):
        return str(value)
    if value and not 1e-3 <= abs(value) < 1e5:
        return f"{value:.1e}"
    return f"{value:.4g}" if abs(value) >= 1 else f"{round(value, 3):g}"


def names_for(names: Sequence[str], count: int) -> list[str]:
    """Return the names of so many things, numbers from 0 where they have none."""
    return list(names) if len(names) == count else [str(n) for n in range(count)]


def _bars(values: Array, names: Sequence[str], top: float, width: int) -> list[str]:
    labels = names_for(names, len(values))
    numbers = [shown(value) for value in values.tolist()]
    wide, digits = max(map(width_of, labels)), max(map(len, numbers))
    most = max(8, min(_BAR, width - wide - digits - 8))
    return [
        f"    {padded(label, wide)}  {padded(number, digits, right=True)}  "
        f"{_bar(value / top * most)}".rstrip()
        for label, number, value in zip(labels, numbers, values.tolist(), strict=True)
    ]


def _bar(length: float) -> str:
    """Return a bar of so many columns, to an eighth; a grey one for less than none."""
    if not math.isfinite(length):
        return ""
    if length < 0:
        return _SHADES[2] * round(-length)
    whole, part = divmod(round(length * 8), 8)
    return f"{_EIGHTHS[8] * whole}{_EIGHTHS[part].strip()}"


def _table(
    values: Array, rows: Sequence[str], columns: Sequence[str], draw: str, width: int
) -> list[str]:
    """Return numbers in rows, with a shade behind each in a map; shades alone where it is wide."""
    count, across = values.shape
    sides, tops = names_for(rows, count), names_for(columns, across)
    shades = _shades(values) if draw == "map" else [[""] * across] * count
    cells = [
        [f"{shown(value)} {shade * 2}".rstrip() if not shade else f"{shown(value)} {shade * 2}"
         for value, shade in zip(line, marks, strict=True)]
        for line, marks in zip(values.tolist(), shades, strict=True)
    ]  # fmt: skip
    side = max(map(width_of, sides))
    size = max(width_of(text) for text in [*tops, *(cell for line in cells for cell in line)])
    if draw == "map" and side + 6 + across * (size + 2) > width:
        return [f"    {padded(s, side)}  {''.join(m * 2 for m in line)}|" for s, line in
                zip(sides, shades, strict=True)]  # fmt: skip
    lines = [["", *tops], *([s, *line] for s, line in zip(sides, cells, strict=True))]
    return [
        f"    {padded(s, side)}  {'  '.join(padded(c, size, right=True) for c in rest)}".rstrip()
        for s, *rest in lines
    ]


def _shades(values: Array) -> list[list[str]]:
    top = largest([values])
    return [
        [
            _SHADES[min(4, math.ceil(abs(v) / top * 4 - 1e-9))] if math.isfinite(v) else "?"
            for v in line
        ]
        for line in values.tolist()
    ]
