"""Parses untrusted text, in the process that judges."""

import ast
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache

_PARSED = 1 << 15  # characters; the longest exercise has 8,000


@lru_cache(maxsize=64)  # several rules look at one exercise
def parse(text: str) -> ast.Module | None:
    """Return a submission's text as a tree to read, None where it has none or is too long for it.

    Some texts of 2 MiB would hold the parser up for minutes.
    """
    if len(text) > _PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def chain(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an attribute or item, what it is of, and so on down to where the chain begins."""
    yield node
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        yield node


def names_used(texts: Sequence[str], name: str) -> frozenset[str]:
    """Return every name that a function or class of these texts reads, or what it reads does.

    Empty where the texts do not define it.
    """
    defined: dict[str, list[ast.AST]] = {}
    for text in texts:
        tree = parse(text)
        for node in tree.body if tree is not None else []:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        defined.setdefault(target.id, []).append(node.value)
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for one in defined.pop(waiting.pop(), []):
            read = {n.id for n in ast.walk(one) if isinstance(n, ast.Name)}
            read |= {n.attr for n in ast.walk(one) if isinstance(n, ast.Attribute)}
            waiting += sorted(read - found)
            found |= read
    return frozenset(found)
