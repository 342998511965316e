"""Aligned columns and wrapped lines, measured in the columns of a terminal.

A Chinese character takes two columns, an accent that stands on another letter none. Our own colours
take none either. What a submission or a name holds beside letters is shown as spaces.
"""

import re
from collections.abc import Sequence

import click
import wcwidth

from grader.records.text import printable

_TOGETHER = re.compile(
    r"`[^`\n]*`|\bgrade [a-z]+(?: exercise\d+(?: (?:[A-Z]\w+|\w+_\w+))?)?(?: --[a-z-]+)*"
)
_SHORT = 44  # characters that stay together
_JOINT = "\ue000"  # stands for a space where a line is not broken; no text of ours has it


def width_of(text: str) -> int:
    """Return how many columns a text takes; our own colours are allowed in it."""
    return wcwidth.width(click.unstyle(text), control_codes="ignore")


def cut(text: str, width: int) -> str:
    """Return a plain text in at most `width` columns, with … in the place of what is left out."""
    if width_of(text) <= width:
        return text
    return f"{wcwidth.clip(text, 0, width - 1, fillchar='')}…"


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a text filled up with spaces to `width` columns, behind it or on its left."""
    space = " " * (width - width_of(text))
    return f"{space}{text}" if right else f"{text}{space}"


def columns(
    rows: Sequence[Sequence[str]], sides: str, *, indent: int = 0, most: int = 0
) -> list[str]:
    """Return plain rows as lines of aligned columns with two spaces between.

    `sides` says of each column on which side its text stands, as in "<>>". No column but the last
    is wider than `most`, if that is given.
    Example: columns([("a", "1"), ("张", "12")], "<>") is ["a    1", "张  12"].
    """
    last = len(sides) - 1
    shown = [
        [cut(t, most) if most and i < last else t for i, t in enumerate(map(printable, row))]
        for row in rows
    ]
    widths = [max((width_of(row[i]) for row in shown), default=0) for i in range(len(sides))]
    lines = [
        "  ".join(
            padded(text, width, right=side == ">")
            for text, width, side in zip(row, widths, sides, strict=True)
        )
        for row in shown
    ]
    return [f"{' ' * indent}{line}".rstrip() for line in lines]


def spread(left: str, right: str, width: int) -> str:
    """Return two texts at the two ends of a line, never less than two spaces apart."""
    return f"{left}{' ' * max(2, width - width_of(left) - width_of(right))}{right}"


def _joined(found: re.Match[str]) -> str:
    return found[0].replace(" ", _JOINT) if len(found[0]) <= _SHORT else found[0]


def wrapped(text: str, width: int, *, first: str = "", hang: int = 0) -> list[str]:
    """Wrap `text` behind `first`; later lines are indented by `hang`, less in a narrow terminal.

    A command, and code between backticks, stay on one line if they are short.
    """
    lines = wcwidth.wrap(
        _TOGETHER.sub(_joined, text),
        max(width, 20),
        initial_indent=first,
        subsequent_indent=" " * (hang if hang <= width // 3 else 6),
        propagate_sgr=False,
    )
    return [line.replace(_JOINT, " ") for line in lines] or [first]
