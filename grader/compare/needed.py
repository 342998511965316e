"""Leaves out the known bugs that a submission's text cannot have: their words are not in it."""

import ast
from collections.abc import Collection, Iterator, Sequence, Set
from functools import lru_cache
from math import inf

from grader.compare.evidence import Evidence
from grader.compare.left_aside import Aside, Names
from grader.compare.lost import unmade
from grader.handin.syntax import parse
from grader.records.key import KnownBug

_SIZES = 999  # what is more is no size of a tensor, but made up to stand for infinity
_LARGE = "a large number"  # the word for any of these


def left_by_text(evidence: Evidence, found: Collection[Names], aside: Aside) -> list[Names]:
    """Return the likely ones of some explanations that the text allows, all if it allows none.

    What is at hand explains the same answers; the text only chooses among it. Options that are
    not heard count as not there.
    """
    found = aside.likely(found)
    return [names for names in found if _text_allows(evidence, names, aside)] or list(found)


def sized_alike(evidence: Evidence, found: Collection[Names], aside: Aside) -> list[Names]:
    """Return the explanations of parameters that do not fit which the text allows.

    Sizes alone are seen there, and many mistakes make the same ones; of a layer that is called and
    never made the text tells more.
    """
    if unmade(evidence):
        return []
    return [names for names in found if _text_allows(evidence, names, aside)]


def _text_allows(evidence: Evidence, names: Names, aside: Aside) -> bool:
    """Whether each of some known bugs may stand in the text: a word that it needs is there."""
    bugs = map(evidence.key.book.by_key, names)
    return all(_may_be(evidence, bug, aside.unheard) for bug in bugs)


def _may_be(evidence: Evidence, bug: KnownBug, unheard: Set[str]) -> bool:
    if not bug.needs:
        return True
    own = (bug.target, evidence.target.name)
    others = frozenset(t.name for t in evidence.exercise.targets if t.name not in own)
    needs = set(bug.needs).difference(evidence.unknown_options, unheard)
    texts = [text for _, text in evidence.source.units]
    return any(word in _words(text, others) for text in texts for word in needs)


@lru_cache(maxsize=32)  # each explanation asks
def _words(text: str, others: frozenset[str]) -> frozenset[str]:
    """The names and numbers of a text, and `name()` for each call that is a statement of its own.

    A number that stands for infinity is "a large number", too.

    What defines `others` is left out.
    """
    tree = parse(text)
    parts: Sequence[ast.stmt] = tree.body if tree else ()
    own = [part for part in parts if getattr(part, "name", None) not in others]
    return frozenset(word for part in own for node in ast.walk(part) for word in _of(node))


def _of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            yield name
        case ast.keyword(arg=str(name)):
            yield name
        case ast.Constant(value=int() | float() as number):
            yield str(number)
            if _SIZES < number < inf:
                yield _LARGE
        case ast.Expr(value=ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name))):
            yield f"{name}()"
