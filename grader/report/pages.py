"""The one place where HTML is made: templates that escape all that they are given.

No text counts as markup because somebody says so: no template has the filter `safe`.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from grader.records.text import ended, shown_shape
from grader.report.pictures import flow, heat_maps
from grader.report.words import (
    MARKS,
    number,
    paragraphs,
    shown_case,
    shown_sizes,
    shown_values,
    sole_reason,
)

if TYPE_CHECKING:
    from jinja2 import Environment

_QUOTED = re.compile("`([^`]+)`")


@dataclass(frozen=True)
class Piece:
    """A part of a sentence."""

    text: str
    quoted: bool  # stood in backticks


def pieces(sentence: str) -> list[Piece]:
    """Return a sentence as what stands in backticks and what does not, in order."""
    parts = _QUOTED.split(sentence)  # every other one stood in backticks
    return [Piece(text, quoted=bool(i % 2)) for i, text in enumerate(parts) if text]


def render(template: str, **values: object) -> str:
    """Return a template's text; a name that it asks for and does not get is an error."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # only where a page is asked for

    environment = Environment(
        loader=PackageLoader("grader.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["marks"] = MARKS
    environment.filters |= {
        "ended": ended,
        "flow": flow,
        "heat_maps": heat_maps,
        "number": number,
        "paragraphs": paragraphs,
        "pieces": pieces,
        "shape": shown_shape,
        "shown_case": shown_case,
        "shown_sizes": shown_sizes,
        "shown_values": shown_values,
        "sole_reason": sole_reason,
    }
    return environment
