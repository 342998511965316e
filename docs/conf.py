"""How Sphinx builds these pages: `make docs`. Nothing here asks the network."""

import re
from pathlib import Path

from sphinx.application import Sphinx

from grader.version import VERSION

project = "grader"
author = "the maintainers of grader"
release = VERSION
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"grader {VERSION}"
html_copy_source = False
html_show_copyright = False
myst_heading_anchors = 4

_TOP = Path(__file__).resolve().parent.parent
_FROM_TOP = {  # pages whose text stands at the top of the repository
    "security": "SECURITY.md",
    "contributing": "CONTRIBUTING.md",
    "changes": "CHANGELOG.md",
}


def _read(_: Sphinx, page: str, source: list[str]) -> None:
    """Put the text of a file at the top in a page's place, and let links lead to the page."""
    text = source[0]
    if page in _FROM_TOP:
        text = (_TOP / _FROM_TOP[page]).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/", "](", text)
    for name, file in _FROM_TOP.items():
        text = re.sub(rf"\]\((\.\./)?{re.escape(file)}", f"]({name}.md", text)
    source[0] = text


def setup(app: Sphinx) -> None:
    """Take part in the build."""
    app.connect("source-read", _read)
