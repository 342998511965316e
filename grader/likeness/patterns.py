"""Short stretches of code by which files are compared: ten tokens in a row, of any layout.

Own names count by where they come again within the stretch, so that whoever renames all of them
changes no pattern. Compare Schleimer et al. 2003 (winnowing) and Baker 1995 (parameterised
matching). Files here are short, so every stretch counts and none is left out.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from grader.likeness.tokens import Script, Token

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
