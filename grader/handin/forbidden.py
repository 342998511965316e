"""Finds names that an exercise forbids in a submission's source; advice, for it can be evaded."""

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from grader.handin.read import Source
from grader.handin.syntax import chain, parse, reached, walked


@dataclass(frozen=True)
class Forbidden:
    """A forbidden name found in a submission's source."""

    name: str
    label: str  # of the unit of source
    line: int


_PARTS = 12  # of a qualified name; a chain of attributes may be a thousand
_Labelled = tuple[str, ast.stmt]  # a statement, and the label of the unit in which it stands


def find_forbidden(
    source: Source, names: Sequence[str], targets: Collection[str]
) -> list[Forbidden]:
    """Return each use of a qualified name such as torch.nn.LayerNorm, in order of lines.

    Only what the targets are made of counts: who compares the result with torch's own, in a test
    or a cell beside it, has written it all the same.
    """
    units = tuple((label, text) for label, text in source.units)
    statements, uses = _uses(units, tuple(names))
    if not uses:
        return []
    both = [_made_and_mentioned(statement) for _, statement in statements]
    own = reached([made for made, _ in both], [read for _, read in both], targets)
    found = [Forbidden(name, statements[at][0], line) for at, name, line in uses if at in own]
    return sorted(found, key=lambda use: (use.label, use.line))


@lru_cache(maxsize=16)  # the targets of a file forbid the same, one after the other
def _uses(
    units: Sequence[tuple[str, str]], names: Sequence[str]
) -> tuple[Sequence[_Labelled], Sequence[tuple[int, str, int]]]:
    """Return the statements of a file, and where which of them may mean one of some names."""
    last_words = {name.rpartition(".")[2] for name in names}
    if not any(word in text for _, text in units for word in last_words):
        return (), ()
    statements: list[_Labelled] = []
    for label, text in units:
        if (tree := parse(text)) is not None:
            statements += [(label, statement) for statement in tree.body]
    return statements, [use for use in _mentions(statements, last_words) if use[1] in names]


def _mentions(
    statements: Sequence[_Labelled], last_words: Collection[str]
) -> list[tuple[int, str, int]]:
    """Return what may be meant: the statement's number, the qualified name, its line."""
    aliases: dict[str, str] = {}
    mentions: list[tuple[int, ast.Name | ast.Attribute]] = []
    for number, (_, statement) in enumerate(statements):  # once: an audit reads thousands of texts
        for node in walked(statement):
            if isinstance(node, ast.Import | ast.ImportFrom):
                aliases.update(_aliases(node))
            elif isinstance(node, ast.Name) or (
                isinstance(node, ast.Attribute) and node.attr in last_words
            ):
                mentions.append((number, node))
    return [(number, _qualified(node, aliases), node.lineno) for number, node in mentions]


def _aliases(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    if isinstance(node, ast.Import):
        wholes = {
            alias: alias.name if alias.asname else alias.name.split(".")[0] for alias in node.names
        }
        return {alias.asname or whole: whole for alias, whole in wholes.items()}
    module = node.module
    return {a.asname or a.name: f"{module}.{a.name}" for a in node.names} if module else {}


def _made_and_mentioned(statement: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement of a file binds or changes, and those that it reads."""
    bound: set[str] = set()
    read: set[str] = set()
    changed: set[str] = set()
    for node in walked(statement):
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
    while isinstance(node, ast.Attribute) and len(parts) < _PARTS:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([aliases.get(node.id, node.id), *reversed(parts)])
