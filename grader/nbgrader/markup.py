"""Takes scripts out of what students wrote, for the pages that nbgrader makes of notebooks.

nbgrader's templates put the HTML of markdown cells and comments into feedback and formgrader as it
is. Both send it through nbconvert's filter `strip_files_prefix`, in whose place this one is set.
"""

import re

from bleach import clean
from nbconvert.filters import strip_files_prefix

FILTERS = {"strip_files_prefix": "grader.nbgrader.markup.clean_markup"}
_TEXT = "a abbr b br code del em i img ins kbd mark q s samp small span strong sub sup u var"
_BLOCKS = "blockquote dd details div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre summary ul"
_TABLES = "caption col colgroup table tbody td tfoot th thead tr"
_TAGS = frozenset(f"{_TEXT} {_BLOCKS} {_TABLES}".split())
_ATTRIBUTES = {
    "align",
    "alt",
    "class",
    "colspan",
    "height",
    "href",
    "id",
    "rowspan",
    "src",
    "title",
}
_PROTOCOLS = frozenset({"http", "https", "mailto", "data"})
_IMAGE = re.compile(r"data:image/(png|jpeg|gif);base64,")  # a picture that may run nothing


def clean_markup(text: str) -> str:
    """Return a cell's HTML with what could run, load or restyle the page shown as text instead."""
    stripped = strip_files_prefix(text)
    return str(clean(stripped, tags=_TAGS, attributes=_is_harmless, protocols=_PROTOCOLS))


def _is_harmless(tag: str, name: str, value: str) -> bool:
    if name in ("href", "src") and value.strip().lower().startswith("data:"):
        return tag == "img" and bool(_IMAGE.match(value))
    return name in _ATTRIBUTES
