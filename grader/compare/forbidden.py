"""Finds names that an exercise forbids in a submission's source; advice, for it can be evaded."""

import ast
from collections.abc import Collection, Sequence

from grader.compare.evidence import Forbidden
from grader.submission import Source
from grader.syntax import chain, parse

_Labelled = tuple[str, ast.stmt]  # a statement, and the label of the unit in which it stands


def find_forbidden(
    source: Source, names: Sequence[str], targets: Collection[str]
) -> list[Forbidden]:
    """Return each use of a qualified name such as torch.nn.LayerNorm, in order of lines.

    Only what the targets are made of counts: who compares the result with torch's own, in a test
    or a cell beside it, has written it all the same.
    """
    last_words = {name.rpartition(".")[2] for name in names}
    if not any(word in text for _, text in source.units for word in last_words):
        return []
    statements: list[_Labelled] = []
    for label, text in source.units:
        if (tree := parse(text)) is not None:
            statements += [(label, statement) for statement in tree.body]
    aliases = _aliases(statements)
    found = [
        Forbidden(name, label, node.lineno)
        for label, statement in _reached(statements, targets)
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute | ast.Name)
        and (name := _qualified(node, aliases)) in names
    ]
    return sorted(found, key=lambda use: (use.label, use.line))


def _aliases(statements: Sequence[_Labelled]) -> dict[str, str]:
    aliases: dict[str, str] = {}
    for node in (node for _, statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.split(".")[0]
                aliases[alias.asname or whole] = whole
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return aliases


def _reached(statements: Sequence[_Labelled], targets: Collection[str]) -> list[_Labelled]:
    """Return the statements that make a target, or a name that such a statement mentions."""
    waiting = [(labelled, *_made_and_mentioned(labelled[1])) for labelled in statements]
    reached: list[_Labelled] = []
    wanted = set(targets)
    while found := [entry for entry in waiting if entry[1] & wanted]:
        reached += [labelled for labelled, _, _ in found]
        waiting = [entry for entry in waiting if not entry[1] & wanted]
        wanted = wanted.union(*(mentioned for _, _, mentioned in found))
    return reached


def _made_and_mentioned(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement of a file binds or changes, and those that it reads."""
    bound: set[str] = set()
    read: set[str] = set()
    changed: set[str] = set()
    for node in ast.walk(statement):
        match node:
            case ast.FunctionDef() | ast.ClassDef():
                bound.add(node.name)
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                bound.add(name)
            case ast.Name(id=name):
                read.add(name)
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                changed.add(_root(node))
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}, read - bound
    return bound | changed, read


def _root(node: ast.expr) -> str:
    *_, begin = chain(node)
    return begin.id if isinstance(begin, ast.Name) else ""


def _qualified(node: ast.expr, aliases: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([aliases.get(node.id, node.id), *reversed(parts)])
