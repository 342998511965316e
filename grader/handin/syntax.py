"""Parses untrusted text, in the process that judges."""

import ast
import warnings
from collections.abc import Iterator
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
