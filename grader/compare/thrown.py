"""Lines that make a new tensor and keep nothing of it."""

import ast
from collections.abc import Sequence
from functools import lru_cache

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
        for line, code in _thrown(text, evidence.target.name):
            where = f"{label}, line {line}"
            return f"`{code}` makes a new tensor, and nothing keeps it ({where})"
    return ""


@lru_cache(maxsize=32)  # each check of a target that fails asks
def _thrown(text: str, target: str) -> Sequence[tuple[int, str]]:
    """Return the lines, with their code, in the definitions of a target."""
    tree = parse(text)
    definitions = [
        node
        for node in (tree.body if tree else [])
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == target
    ]
    found = []
    for node in (inner for one in definitions for inner in ast.walk(one)):
        if isinstance(node, ast.Expr):
            made = node.value.func if isinstance(node.value, ast.Call) else node.value
            if isinstance(made, ast.Attribute) and made.attr in _NEW:
                found.append((node.lineno, shown(node.value)))
    return found
