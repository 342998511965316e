"""Lines that make a new tensor and keep nothing of it."""

import ast
from collections.abc import Iterator

from grader.compare.evidence import Evidence
from grader.compare.statement import shown
from grader.handin.syntax import parse

# what leaves the tensor as it is that it is called on, in each framework
_NEW = (
    *("contiguous", "expand", "flatten", "masked_fill", "movedim", "moveaxis", "mT", "permute"),
    *("reshape", "squeeze", "swapaxes", "swapdims", "T", "transpose", "unflatten"),
    *("unsqueeze", "view"),
)


def thrown_away(evidence: Evidence) -> str:
    """Return what is known of the first such line of a target, "" where there is none."""
    for label, text in evidence.source.units:
        for line, code in _thrown(parse(text), evidence.target.name):
            where = f"{label}, line {line}"
            return f"`{shown(code)}` makes a new tensor, and nothing keeps it ({where})"
    return ""


def _thrown(tree: ast.Module | None, target: str) -> Iterator[tuple[int, ast.expr]]:
    """Yield the lines, with their code, in the definitions of a target."""
    definitions = [
        node
        for node in (tree.body if tree else [])
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == target
    ]
    for node in (inner for one in definitions for inner in ast.walk(one)):
        if isinstance(node, ast.Expr):
            made = node.value.func if isinstance(node.value, ast.Call) else node.value
            if isinstance(made, ast.Attribute) and made.attr in _NEW:
                yield node.lineno, node.value
