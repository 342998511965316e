"""The report as one self-contained page, and as a fragment for notebooks."""

from collections.abc import Mapping, Sequence

from grader.grading.exhibits import Exhibit
from grader.records.results import Document
from grader.report.pages import render


def render_page(document: Document, exhibits: Mapping[str, Sequence[Exhibit]]) -> str:
    """Return the whole page; `exhibits` are an exercise's pictures, by its id."""
    return render("page.html.j2", document=document, exhibits=exhibits)


def render_fragment(document: Document, exhibits: Mapping[str, Sequence[Exhibit]]) -> str:
    """Return the report as one element with its own style, for a page or a notebook's cell."""
    return render("report.html.j2", document=document, exhibits=exhibits)
