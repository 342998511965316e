"""Reads the code cells of a notebook from bytes; nothing of it is trusted or run."""

import ast
import json
import warnings
from typing import Any

from grader.handin.syntax import parse

_FORMAT = 4  # nbformat's number for notebooks of today
_MAGIC = ("%", "!", "?")


class Unreadable(Exception):
    """Bytes that are no notebook; the text completes "exercise1.ipynb ..."."""


def code_cells(data: bytes) -> list[tuple[int, str]]:
    """Return (number, text) of each code cell but test cells; raises Unreadable.

    Numbers count all code cells from one. Magics are commented out.
    """
    try:
        bare = _bare_notebook(json.loads(data.decode("utf-8-sig")))
        found = bare["cells"] if bare.get("nbformat") == _FORMAT else _upgraded(bare)
        cells = [cell for cell in found if cell["cell_type"] == "code"]
        sources = [(number, str(c["source"]), c) for number, c in enumerate(cells, start=1)]
    except Exception as error:  # noqa: BLE001 - hostile text; nbformat raises many kinds
        if _is_broken_json(data):
            raise Unreadable("is not valid JSON") from None
        raise Unreadable(f"cannot be read as a notebook ({type(error).__name__})") from None
    return [
        (number, without_checks(neutralize_magics(unify_newlines(text))))
        for number, text, cell in sources
        if not _is_test(cell)
    ]


def _upgraded(bare: object) -> Any:
    """Return the cells of a notebook of another format as those of today's."""
    import nbformat  # takes a second to import, and few notebooks need it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of old formats; what matters is what is read
        return nbformat.reads(json.dumps(bare), as_version=_FORMAT).cells


def _bare_notebook(notebook: Any) -> Any:
    """Return what of a notebook is read; raises what nonsense raises.

    Outputs and metadata made for it would hold its validation up for hours.
    """
    bare: dict[str, object] = {
        key: notebook[key] for key in ("nbformat", "nbformat_minor") if key in notebook
    }
    bare["metadata"] = {}
    if "cells" in notebook:
        bare["cells"] = [_bare_cell(cell) for cell in notebook["cells"]]
    if "worksheets" in notebook:  # until format 3
        sheets = [sheet["cells"] for sheet in notebook["worksheets"]]
        cells = [[_bare_cell(cell) for cell in sheet] for sheet in sheets]
        bare["worksheets"] = [{"cells": some, "metadata": {}} for some in cells]
    return bare


def _bare_cell(cell: Any) -> dict[str, object]:
    bare: dict[str, object] = {key: cell[key] for key in ("id", "language", "level") if key in cell}
    bare["cell_type"] = cell["cell_type"]
    bare |= {key: "".join(cell[key]) for key in ("source", "input") if key in cell}
    marks = cell.get("metadata", {}).get("nbgrader")
    bare["metadata"] = {"nbgrader": marks} if isinstance(marks, dict) else {}
    if "outputs" in cell:
        bare["outputs"] = []
    if "execution_count" in cell:
        bare["execution_count"] = None
    return bare


def without_outputs(text: str) -> str:
    """Return a notebook's text with its code cells' outputs gone; nonsense comes back as it is."""
    try:
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            if "outputs" in cell:
                cell["outputs"] = []
    except (ValueError, TypeError, KeyError, RecursionError):
        return text
    return json.dumps(notebook)


def _is_test(cell: Any) -> bool:
    marks = cell["metadata"].get("nbgrader") or {}
    return isinstance(marks, dict) and bool(marks.get("grade")) and not marks.get("solution")


def _is_broken_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return True
    return False


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
            else:
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
