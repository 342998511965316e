"""Code as it is compared: its tokens, and short stretches of ten tokens in a row, of any layout.

Own names count by where they come again within the stretch, so that whoever renames all of them
changes no pattern. Compare Schleimer et al. 2003 (winnowing) and Baker 1995 (parameterised
matching). Files here are short, so every stretch counts and none is left out.
"""

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.handin.syntax import parse

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SILENT = (ast.Pass, ast.expr_context, ast.Import, ast.ImportFrom)
_TOLD_APART = ("name", "annotation", "returns", "type_params")  # fields that are no code, or told


@dataclass(frozen=True)
class Token:
    """A word of a file's code."""

    word: str
    own: bool  # a name that the file makes up
    line: int  # of the script


@dataclass(frozen=True)
class Script:
    """One submitted file."""

    lines: tuple[str, ...]  # the cells of a notebook one after the other
    pieces: tuple[tuple[Token, ...], ...]  # functions and methods, and what stands outside of them
    whole: bool = True  # whether all of it could be parsed


@dataclass(frozen=True)
class _Names:
    """What the names of a file mean."""

    own: frozenset[str]
    attributes: frozenset[str]  # own ones
    imported: dict[str, str]  # what the library calls them


def read_script(texts: Sequence[str]) -> Script:
    """Return a file's units of text as one script; what cannot be parsed has no tokens."""
    trees = [parse(text) for text in texts]
    names = _names_of([tree for tree in trees if tree is not None])
    lines: list[str] = []
    pieces: list[tuple[Token, ...]] = []
    for text, tree in zip(texts, trees, strict=True):
        if tree is not None:
            reader = _Reader(names, len(lines))
            pieces += [tuple(reader.tokens(nodes)) for nodes in _pieces(tree)]
        lines += text.split("\n")
    return Script(tuple(lines), tuple(piece for piece in pieces if piece), None not in trees)


def _names_of(trees: Sequence[ast.AST]) -> _Names:
    own: set[str] = set()
    attributes: set[str] = set()
    imported: dict[str, str] = {}
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            own.add(node.id)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, _DEFINITIONS):
            own.add(node.name)
            attributes |= set(_fields(node))
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            attributes.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {a.asname or a.name: a.name.rpartition(".")[2] for a in node.names}
    return _Names(frozenset(own), frozenset(attributes), imported)


def _fields(node: ast.AST) -> Iterator[str]:
    """Yield the names of a class's methods and fields."""
    for inner in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(inner, _DEFINITIONS):
            yield inner.name
        targets = inner.targets if isinstance(inner, ast.Assign) else []
        targets += [inner.target] if isinstance(inner, ast.AnnAssign) else []
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _pieces(tree: ast.Module) -> list[list[ast.AST]]:
    """Return each function and method, then what is left: their order counts for nothing."""
    found: list[list[ast.AST]] = []
    rest: list[ast.AST] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found += [[inner] for inner in node.body if isinstance(inner, _DEFINITIONS)]
            rest += node.bases
            rest += [inner for inner in node.body if not isinstance(inner, _DEFINITIONS)]
        elif isinstance(node, _DEFINITIONS):
            found.append([node])
        else:
            rest.append(node)
    return [*found, rest]


class _Reader:
    """Turns syntax trees into tokens; without recursion, for they may be deep."""

    def __init__(self, names: _Names, above: int) -> None:
        """`above` is the number of lines before the text that the trees are of."""
        self._names = names
        self._above = above

    def tokens(self, nodes: Sequence[ast.AST]) -> Iterator[Token]:
        """Yield the tokens of some nodes, in order."""
        line = 1
        waiting: list[ast.AST | Token] = list(reversed(nodes))
        while waiting:
            one = waiting.pop()
            if isinstance(one, Token):
                yield one
            elif not isinstance(one, _SILENT):
                line = getattr(one, "lineno", line)
                waiting += reversed(list(self._parts(one, line + self._above)))

    def _parts(self, node: ast.AST, line: int) -> Iterator[ast.AST | Token]:
        """Yield what a node consists of."""
        own = False
        match node:
            case ast.Expr(value=ast.Constant()):
                return  # a docstring
            case ast.Expr():
                yield node.value
                return
            case ast.Name(id=name):
                own = name in self._names.own and name not in self._names.imported
                word = self._names.imported.get(name, name)
            case ast.arg(arg=word):
                own = True
            case ast.Attribute(attr=name):
                yield node.value
                word, own = f".{name}", name in self._names.attributes
            case ast.Constant(value=value):
                word = "text" if isinstance(value, str | bytes) else repr(value)
            case ast.JoinedStr():
                word = "text"
            case _:
                yield from self._of_others(node, line)
                return
        yield Token(word, own, line)

    def _of_others(self, node: ast.AST, line: int) -> Iterator[ast.AST | Token]:
        kind = "Assign" if isinstance(node, ast.AnnAssign) else type(node).__name__
        yield Token(kind, False, line)
        if isinstance(node, _DEFINITIONS):
            yield Token(node.name, True, line)
        for field, value in ast.iter_fields(node):
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, ast.AST) and field not in _TOLD_APART:
                    yield inner


# ---- stretches of tokens -------------------------------------------------------------------------


_LENGTH = 10  # tokens: a call with its arguments
_LEAST = 5  # of a piece that is shorter as a whole
MOST = 10_000  # stretches of one file, of which the longest exercise has 900; others fill memory

Pattern = tuple[str | int, ...]


@dataclass(frozen=True)
class Found:
    """A pattern where it stands."""

    pattern: Pattern
    tokens: tuple[Token, ...]


def patterns_of(script: Script) -> Iterator[Found]:
    """Yield the stretches of a script, so many of them as count."""
    return itertools.islice(_all(script), MOST)


def _all(script: Script) -> Iterator[Found]:
    for piece in script.pieces:
        if len(piece) >= _LEAST:
            for start in range(max(1, len(piece) - _LENGTH + 1)):
                tokens = piece[start : start + _LENGTH]
                yield Found(_pattern(tokens), tokens)


def _pattern(tokens: tuple[Token, ...]) -> Pattern:
    numbers: dict[str, int] = {}
    return tuple(
        numbers.setdefault(token.word, len(numbers)) if token.own else token.word
        for token in tokens
    )
