"""The one place where HTML is made: templates that escape all that they are given.

No text counts as markup because somebody says so: no template has the filter `safe`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from grader.classes.feedback import Feedback
from grader.classes.insight import Insight
from grader.classes.statistics import FEWEST
from grader.classes.summary import Summary
from grader.grading.exhibits import Exhibit
from grader.records.results import Document
from grader.records.text import clean, counted, ended, file_stem, shown_shape
from grader.report.charts import attempts, curve, histogram
from grader.report.formulas import plain
from grader.report.pictures import HeatMap, figures, flow, heat_maps, mixing_maps
from grader.report.runs import capital, remedy, told, why
from grader.report.words import (
    MARKS,
    legend,
    number,
    paragraphs,
    shown_case,
    shown_sizes,
    shown_values,
    sole_reason,
)

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


_NAME, _SAID = 60, 300  # characters of a person's name and of a remark that are shown
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


@lru_cache(maxsize=1024)  # what is expected stands on the page of each student
def _svg(picture: HeatMap) -> "Markup":
    """Return a heat map as its template draws it."""
    module: Any = _environment().get_template("pictures.html.j2").module
    return module.heat_map(picture)  # type: ignore[no-any-return]


def _px(length: float) -> str:
    """Return a length in pixels, to a tenth."""
    return f"{round(length, 1):g}"


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
    environment.globals |= {"marks": MARKS, "remedy": remedy}
    environment.filters |= _filters()
    return environment


def _filters() -> dict[str, Callable[..., object]]:
    """What templates call, by the name that they call it by."""
    own: tuple[Callable[..., object], ...] = (
        attempts, counted, curve, ended, figures, file_stem, flow, heat_maps, histogram, legend,
        mixing_maps, number, paragraphs, pieces, plain, shown_case, shown_sizes, shown_values,
        sole_reason, told, why,
    )  # fmt: skip
    return {one.__name__: one for one in own} | {
        "capitalized": capital,
        "name": partial(clean, limit=_NAME),
        "px": _px,
        "said": partial(clean, limit=_SAID),
        "shape": shown_shape,
        "svg": _svg,
    }


# ---- the pages -----------------------------------------------------------------------------------


def render_page(document: Document, exhibits: Mapping[str, Sequence[Exhibit]]) -> str:
    """Return the whole page; `exhibits` are an exercise's pictures, by its id."""
    return render("page.html.j2", document=document, exhibits=exhibits, said=())


def render_fragment(
    document: Document,
    exhibits: Mapping[str, Sequence[Exhibit]],
    said: Sequence[str] = (),
    *,
    command: str = "grade ",
) -> str:
    """Return the report as one element with its own style, for a page or a notebook's cell.

    `said` is told last, a paragraph each; `command` is how a command begins where it is read.
    """
    return render(
        "report.html.j2", document=document, exhibits=exhibits, said=said, command=command
    )


def render_class(summary: Summary, insight: Insight) -> str:
    """Return the page of the class, which links to `students/`."""
    return render("class.html.j2", summary=summary, insight=insight, fewest=FEWEST)


def render_student(own: Feedback) -> str:
    """Return one person's page."""
    return render("student.html.j2", own=own)
