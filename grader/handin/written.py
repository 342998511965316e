"""What an operation is called where it is written: in a submission's own text."""

import ast
from collections.abc import Sequence
from functools import lru_cache

from grader.handin.read import Source
from grader.handin.syntax import nodes_of
from grader.records.text import clean

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.USub: "-", ast.Invert: "~", ast.BitAnd: "&",
    ast.BitOr: "|", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=",
}  # fmt: skip
_NAME = 24  # letters of a name that are shown


def written_at(source: Source, place: Sequence[int]) -> str:
    """Return what stands at a place of a text for its operation, "" where nothing is known.

    A place is the number of the file or cell, by the order of their labels, the first and last
    line, and the first and last byte in them. What a child says of places is a claim: only words
    of the submission's own text come out.

    Example: for `x.reshape(2, 3)` it is "reshape", for `x @ y` it is "@", for `x.mT` it is "mT".
    """
    texts = [text for _, text in sorted(source.units)]
    known = _words(texts[place[0]]) if place and place[0] < len(texts) else {}
    return known.get(tuple(place[1:]), "")


@lru_cache(maxsize=8)  # a run that is recorded asks for each of its tensors
def _words(text: str) -> dict[tuple[int, ...], str]:
    """The words of a text's operations, by first and last line, first and last byte."""
    found: dict[tuple[int, ...], str] = {}
    for node in nodes_of(text):
        if isinstance(node, ast.expr | ast.AugAssign) and (word := _word(node)):
            lines = (node.lineno, node.end_lineno or 0)
            stands = (*lines, node.col_offset, node.end_col_offset or 0)
            found.setdefault(stands, clean(word, _NAME))
    return found


def _word(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) | ast.Attribute(attr=name):
            return name
        case ast.BinOp(op=sign) | ast.UnaryOp(op=sign) | ast.Compare(ops=[sign]):
            return _SIGNS.get(type(sign), "")
        case ast.AugAssign(op=sign):
            return f"{_SIGNS.get(type(sign), '')}="
        case ast.Subscript():
            return "[ ]"
    return ""
