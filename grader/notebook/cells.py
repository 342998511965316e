"""Picks from a notebook's cells what defines some names, without running anything."""

import ast
from collections.abc import Sequence

from grader.handin.notebooks import neutralize_magics, without_checks
from grader.handin.syntax import parse, reached

LABEL = "this notebook"
_STAR = "*"  # what `from module import *` binds: anything


def definitions(cells: Sequence[str], names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return what defines `names` and all that they need, cell by cell, lines in their places.

    Demonstrations, training and plots are left out: only statements that bind a needed name
    are kept, every version of them in order.
    """
    parsed = [_parse(number, cell) for number, cell in enumerate(cells)]
    statements = [(i, node) for i, (_, _, tree) in enumerate(parsed) if tree for node in tree.body]
    made = [_binds(node) for _, node in statements]
    needed = reached(made, [_reads(node) for _, node in statements], [*names, _STAR])
    kept: dict[int, list[ast.stmt]] = {}
    for at in sorted(needed):
        number, node = statements[at]
        kept.setdefault(number, []).append(node)
    units = [(parsed[i][0], _only(parsed[i][1], nodes)) for i, nodes in kept.items()]
    label, text, tree = parsed[-1] if parsed else ("", "", None)
    if tree is None and any(name in text for name in names):
        units.append((label, text))  # the cell that was just run does not parse: say so
    return tuple(units)


def _parse(number: int, cell: str) -> tuple[str, str, ast.Module | None]:
    text = without_checks(neutralize_magics(cell))
    return f"In [{number}]", text, parse(text)


def _binds(node: ast.stmt) -> set[str]:
    """Names that a statement binds or changes in the module."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).split(".")[0] for a in node.names}  # "*" is _STAR
    if isinstance(node, ast.Expr):
        return set()
    bound = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            bound.add(inner.id)
        elif isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Store):
            base = inner.value  # MultiHead.forward = forward
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            bound |= {base.id} if isinstance(base, ast.Name) else set()
        elif isinstance(inner, ast.FunctionDef | ast.ClassDef):
            bound.add(inner.name)
        elif isinstance(inner, ast.Import | ast.ImportFrom):
            bound |= {(a.asname or a.name).split(".")[0] for a in inner.names}
    return bound


def _reads(node: ast.stmt) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _statements(cells: Sequence[str]) -> list[ast.stmt]:
    trees = [_parse(number, cell)[2] for number, cell in enumerate(cells)]
    return [node for tree in trees if tree is not None for node in tree.body]


def defined_names(cells: Sequence[str]) -> list[str]:
    """Return the functions and classes that some cells define."""
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [node.name for node in _statements(cells) if isinstance(node, defined)]


def constant_names(cells: Sequence[str]) -> list[str]:
    """Return the names that some cells bind to literals and to nothing else."""
    nodes = _statements(cells)
    literal = {name for node in nodes if _is_literal(node) for name in _binds(node)}
    return sorted(literal - {name for n in nodes if not _is_literal(n) for name in _binds(n)})


def _is_literal(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    return not any(isinstance(n, ast.Name | ast.Call) for n in ast.walk(node.value))


def _only(text: str, kept: Sequence[ast.stmt]) -> str:
    """The text with the lines of other statements blanked."""
    lines = text.split("\n")  # as Python counts them
    wanted: set[int] = set()
    for node in kept:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(d.lineno for d in decorators)])
        wanted |= set(range(first, (node.end_lineno or node.lineno) + 1))
    return "\n".join(line if i in wanted else "" for i, line in enumerate(lines, start=1))
