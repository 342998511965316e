"""Finds names that an exercise forbids in a submission's source; advice, for it can be evaded."""

import ast
from collections.abc import Sequence

from grader.compare.evidence import Forbidden
from grader.submission import Source
from grader.syntax import parse


def find_forbidden(source: Source, names: Sequence[str]) -> list[Forbidden]:
    """Return each use of a qualified name such as torch.nn.LayerNorm, in order of lines."""
    found: list[Forbidden] = []
    aliases: dict[str, str] = {}
    last_words = {name.rpartition(".")[2] for name in names}
    for label, text in source.units:
        if not any(word in text for word in last_words):
            continue
        tree = parse(text)
        if tree is None:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.split(".")[0]
                    aliases[alias.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute | ast.Name):
                name = _qualified(node, aliases)
                if name in names:
                    found.append(Forbidden(name, label, node.lineno))
    return sorted(found, key=lambda use: (use.label, use.line))


def _qualified(node: ast.expr, aliases: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([aliases.get(node.id, node.id), *reversed(parts)])
