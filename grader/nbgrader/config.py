"""What `grader.nbgrader.configure(c)` sets: only nbgrader's own options, nothing is patched."""

import re
from pathlib import Path
from typing import Any

from bleach import clean
from nbconvert.filters import strip_files_prefix
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.preprocessors import ClearOutput, Execute, NbGraderPreprocessor, SaveAutoGrades
from traitlets.config import Config

from grader.course.derive import BEGIN
from grader.errors import UsageError
from grader.nbgrader.executor import SandboxExecute, SaveDiagnoses
from grader.nbgrader.repair import RepairCells
from grader.notebook.finding import root_near

_SECONDS = 600  # for a cell of the stock kernel: a first test cell may build the answer key
_IGNORED = (".ipynb_checkpoints", "*.pyc", "__pycache__", ".pytest_cache", ".grade-nbgrader.json")


def set_up(c: Config) -> None:
    """Put grader's parts into nbgrader's pipelines and pages."""
    stock = Autograde.autograde_preprocessors.default()
    swapped = [SandboxExecute if part is Execute else part for part in stock]
    sanitize = Autograde.sanitize_preprocessors.default()
    c.GenerateAssignment.preprocessors = [
        RefuseSolutions,
        *GenerateAssignment.preprocessors.default(),
    ]
    c.Autograde.sanitize_preprocessors = _inserted(sanitize, ClearOutput, RepairCells)
    c.Autograde.autograde_preprocessors = _inserted(swapped, SaveAutoGrades, SaveDiagnoses)
    c.HTMLExporter.filters = dict(FILTERS)
    c.CourseDirectory.ignore = list(_IGNORED)
    c.Execute.timeout = _SECONDS


def _inserted(parts: list[type], after: type, new: type) -> list[type]:
    place = parts.index(after) + 1
    return [*parts[:place], new, *parts[place:]]


# ---- pages without scripts -----------------------------------------------------------------------


FILTERS = {"strip_files_prefix": "grader.nbgrader.config.clean_markup"}
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


# ---- releases without solutions ------------------------------------------------------------------


class RefuseSolutions(NbGraderPreprocessor):  # type: ignore[misc]
    """Stops `generate_assignment` where a solution would be copied into the release."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Look through the folder that the notebook comes from; raises UsageError."""
        source = Path(resources["metadata"]["path"]).resolve()
        secret = _secret_contents(source)
        for path in sorted(p for p in source.rglob("*") if p.is_file()):
            if path.suffix == ".ipynb":
                continue
            data = path.read_bytes()
            if BEGIN.encode() in data or data.strip() in secret:
                raise UsageError(f"{path} holds a solution and would be released: remove it")
        return nb, resources


def _secret_contents(source: Path) -> set[bytes]:
    """The contents of all files below the course's solutions; raises where the course is gone."""
    root = root_near(source)
    if root is None:
        return set()
    return {p.read_bytes().strip() for p in (root / "solutions").rglob("*") if p.is_file()} - {b""}
