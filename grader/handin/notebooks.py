"""Reads the code cells of a notebook from bytes; nothing of it is trusted or run."""

import ast
import json
from typing import Any

from grader.handin.refused import Refused
from grader.handin.syntax import parse

_FORMAT = 4  # nbformat's number for notebooks of today
_CELLS = 1000
_PARTS = 100_000  # values of JSON; a notebook without outputs has ten a cell
_LESS = "hand in only the cells that the exercise asks for"
_MAGIC = ("%", "!", "?")


def code_cells(data: bytes) -> list[tuple[int, str]]:
    """Return (number, text) of each code cell but test cells; raises Refused.

    Numbers count all code cells from one. Magics are commented out.
    """
    try:
        notebook = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _unreadable("is not valid JSON") from None
    try:
        cells = [cell for cell in _cells(notebook) if cell["cell_type"] == "code"]
        sources = [
            (number, unify_newlines(_source(cell)), _is_test(cell))
            for number, cell in enumerate(cells, start=1)
        ]
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        what = f"cannot be read as a notebook ({type(error).__name__})"
        raise _unreadable(what) from None
    return [
        (number, without_checks(neutralize_magics(text)))
        for number, text, is_test in sources
        if not is_test
    ]


def _unreadable(what: str) -> Refused:
    return Refused(what, "open it in Jupyter, save it, and hand it in again")


def _cells(notebook: Any) -> list[Any]:
    """Return the cells of a notebook of today's format, or of those with worksheets."""
    if notebook["nbformat"] == _FORMAT:
        cells = list(notebook["cells"])
    else:
        cells = [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
    if len(cells) > _CELLS:
        raise Refused(f"holds more than {_CELLS} cells", _LESS)
    return cells


def _source(cell: Any) -> str:
    return "".join(cell["source"] if "source" in cell else cell["input"])


def without_outputs(text: str) -> str:
    """Return a notebook's text with its code cells' outputs gone; nonsense comes back as it is.

    Raises Refused where what is left is more than tools for notebooks can look through.
    """
    try:
        notebook = json.loads(text)
        for cell in _cells(notebook):
            if "outputs" in cell:
                cell["outputs"] = []
        text = json.dumps(notebook)
    except (ValueError, AttributeError, TypeError, KeyError, IndexError, RecursionError):
        pass
    if sum(map(text.count, "[{,")) > _PARTS:
        raise Refused(f"holds more than {_PARTS} values beside its outputs", _LESS)
    return text


def _is_test(cell: Any) -> bool:
    marks = cell.get("metadata", {}).get("nbgrader") or {}
    return isinstance(marks, dict) and bool(marks.get("grade")) and not marks.get("solution")


def neutralize_magics(cell: str) -> str:
    """Comment out IPython's magics and shell lines, keeping every line in its place."""
    if cell.lstrip().startswith("%%"):
        first, _, rest = cell.lstrip().partition("\n")
        word = first[2:].split(maxsplit=1)[0] if first[2:].split() else ""
        if word not in ("time", "timeit", "capture", "prun", "check"):
            return "\n".join(f"# {line}" for line in cell.split("\n"))
        cell = f"# {first}\n{rest}"
    if parse(cell) is not None:
        return cell
    return "\n".join(_neutral_line(line) for line in cell.split("\n"))


def without_checks(cell: str) -> str:
    """Blank the statements of a cell that call this grader, keeping every line in its place."""
    if "check" not in cell and "grader" not in cell:
        return cell
    tree = parse(cell)
    if tree is None:
        return cell
    nodes = tree.body
    lines = cell.split("\n")  # as Python counts them
    for at, node in enumerate(nodes):
        if _calls_grader(node) and node.end_lineno is not None:
            first, last = node.lineno - 1, node.end_lineno
            beside = [*nodes[max(at - 1, 0) : at], *nodes[at + 1 : at + 2]]  # in order of lines
            if all(n.lineno > last or (n.end_lineno or 0) <= first for n in beside):
                lines[first:last] = ["pass"] + [""] * (last - first - 1)
            elif not lines[first].startswith("#"):
                lines[first] = f"# {lines[first]}"  # all on one line: a check alone, in practice
    return "\n".join(lines)


def _calls_grader(node: ast.stmt) -> bool:
    """Whether a statement imports grader, or checks an exercise with it."""
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and (node.module or "").split(".")[0] == "grader"
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "grader" for alias in node.names)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    function = node.value.func
    named = isinstance(function, ast.Name) and function.id == "check"
    dotted = (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and (function.value.id, function.attr) == ("grader", "check")
    )
    first = node.value.args[0] if node.value.args else None
    return (named or dotted) and isinstance(first, ast.Constant) and type(first.value) is str


def _neutral_line(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    body = line.strip()
    if body.startswith(_MAGIC) or body.endswith("?"):
        return f"{indent}pass  # {body}"
    name, equals, value = body.partition("=")
    if equals and name.strip().isidentifier() and value.strip().startswith(("!", "%")):
        return f"{indent}{name.strip()} = None  # {value.strip()}"
    return line


def unify_newlines(text: str) -> str:
    """Return text whose lines all end in one line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
