"""Parses untrusted text, and measures it before: what is searched is never large."""

import ast
import contextlib
import functools
import warnings
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import ClassVar

from grader.handin.aside import ask
from grader.handin.refused import Refused

# of one file, all cells of a notebook together; the longest exercise has 9,000 and 500
_CHARACTERS = 1 << 19
_NODES = 30_000
_DEPTH = 1000
_KEPT = 2 * _NODES  # of trees that are kept at a time
_ONLY_CODE = "hand in only the code that the exercise asks for"


def measure(texts: Sequence[str]) -> int:
    """Return how many nodes the trees of one file have; raises Refused where it is too much."""
    if sum(map(len, texts)) > _CHARACTERS:
        raise Refused(f"holds more than {_CHARACTERS // 1024} KiB of code", _ONLY_CODE)
    nodes = ask(_size_together, tuple(texts))
    if nodes > _NODES:
        what = f"holds more than {_NODES} names, numbers and operations"
        raise Refused(what, _ONLY_CODE)
    return nodes


def _size_together(texts: Sequence[str]) -> int:
    return sum(map(_size, texts))


@lru_cache(maxsize=256)  # what was measured with its file is asked for once more, to be searched
def _size(text: str) -> int:
    """Return how many nodes a text's tree has, 0 where it has none; raises Refused."""
    tree = _parsed(text)
    nodes = depth = 0
    level: list[ast.AST] = [] if tree is None else [tree]
    while level and nodes <= _NODES:
        if depth == _DEPTH:
            raise _too_deep()
        nodes, depth = nodes + len(level), depth + 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return nodes


def _too_deep() -> Refused:
    what = f"holds code that is nested more than {_DEPTH} levels deep"
    return Refused(what, "make several short statements of its longest one")


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    except RecursionError:
        raise _too_deep() from None


def parse(text: str) -> ast.Module | None:
    """Return a text as a tree to read, None where it has none or is too much to be searched."""
    return _Trees.of(text)


def nodes_of(text: str) -> Sequence[ast.AST]:
    """Return every node of the tree that `parse` returns, as `ast.walk` goes."""
    return _Trees.nodes_of(text)


class _Trees:
    """The trees of the last texts: several rules look at one file."""

    _kept: ClassVar[dict[str, ast.Module | None]] = {}
    _walked: ClassVar[dict[str, Sequence[ast.AST]]] = {}
    _nodes: ClassVar[int] = 0

    @classmethod
    def of(cls, text: str) -> ast.Module | None:
        if text not in cls._kept:
            size = _size_to_search(text)
            if cls._nodes + size > _KEPT:
                cls._kept.clear()
                cls._walked.clear()
                cls._nodes = 0
            with contextlib.suppress(Refused):  # where this process itself is deep in calls
                cls._kept[text] = _parsed(text) if size else None
            cls._nodes += size + 1
        return cls._kept.get(text)

    @classmethod
    def nodes_of(cls, text: str) -> Sequence[ast.AST]:
        if (tree := cls.of(text)) is None:
            return ()
        if text not in cls._walked:
            cls._walked[text] = walked(tree)
        return cls._walked[text]


def _size_to_search(text: str) -> int:
    """Return how many nodes a text has, 0 where it is not searched."""
    try:
        return measure([text])
    except Refused:
        return 0


def walked(top: ast.AST) -> list[ast.AST]:
    """Return what `ast.walk` yields, in its order, and sooner."""
    nodes = [top]
    for node in nodes:  # which grows
        for name in node._fields:
            held = getattr(node, name, None)
            if isinstance(held, ast.AST):
                nodes.append(held)
            elif isinstance(held, list):
                nodes += [one for one in held if isinstance(one, ast.AST)]
    return nodes


def chain(node: ast.expr) -> Iterator[ast.expr]:
    """Yield an attribute or item, what it is of, and so on down to where the chain begins."""
    yield node
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
        yield node


def reached(
    made: Sequence[Collection[str]], read: Sequence[Collection[str]], wanted: Collection[str]
) -> set[int]:
    """Return which statements make a wanted name, or a name that such a statement reads.

    Of each statement, `made` and `read` say what names it makes and reads.
    """
    makers: dict[str, list[int]] = {}
    for number, names in enumerate(made):
        for name in names:
            makers.setdefault(name, []).append(number)
    found: set[int] = set()
    waiting = list(wanted)
    while waiting:
        for number in makers.pop(waiting.pop(), ()):
            if number not in found:
                found.add(number)
                waiting += read[number]
    return found


def names_used(texts: Sequence[str], name: str) -> frozenset[str]:
    """Return every name that a function or class of these texts reads, or what it reads does.

    Empty where the texts do not define it.
    """
    found = [definition for text in texts for definition in _definitions(text)]
    made, read = [made for made, _ in found], [read for _, read in found]
    return frozenset(word for number in reached(made, read, [name]) for word in read[number])


@functools.lru_cache(maxsize=16)  # the checks of an exercise look at one file, again and again
def _definitions(text: str) -> Sequence[tuple[Sequence[str], set[str]]]:
    """Return the names that each definition at the top of a text makes, and those it mentions."""
    tree, found = parse(text), []
    torchs = _of_torch(nodes_of(text))
    for node in tree.body if tree is not None else []:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.append(([node.name], _mentioned(node, torchs)))
        elif isinstance(node, ast.Assign):
            made = [target.id for target in node.targets if isinstance(target, ast.Name)]
            found.append((made, _mentioned(node.value, torchs)))
    return found


def _mentioned(node: ast.AST, aside: set[str]) -> set[str]:
    """The names that a piece of code reads, and the attributes of all but those set aside.

    A name that a function gives a value itself, and what a method keeps in itself, is its own.
    """
    parts = (*node.bases, *node.body) if isinstance(node, ast.ClassDef) else (node,)
    return set().union(*(_read_in(part, aside) for part in parts))


def _read_in(node: ast.AST, aside: set[str]) -> set[str]:
    inner = walked(node)
    names = {n.id for n in inner if isinstance(n, ast.Name)}
    if isinstance(node, ast.FunctionDef):
        given = {n.arg for n in inner if isinstance(n, ast.arg)}
        names -= given | {
            n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
    return names | {
        n.attr
        for n in inner
        if isinstance(n, ast.Attribute)
        and not (isinstance(n.value, ast.Name) and n.value.id in {*aside, "self"})
    }


def _of_torch(nodes: Sequence[ast.AST]) -> set[str]:
    """The names of torch's modules in a file: `nn.LayerNorm` is no LayerNorm of its own."""
    imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    return {
        alias.asname or alias.name.partition(".")[0]
        for node in imports
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] == "torch"
    }
