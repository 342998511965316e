"""Two files side by side: which lines of one are alike to which of the other."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass

from grader.likeness.patterns import Found, Pattern, patterns_of
from grader.likeness.tokens import Script
from grader.records.text import printable

_LINES = 400  # of a file that are shown
_WIDTH = 160  # characters of a line
_RARE = 0.25  # patterns that tell less are much of the class's
_OFTEN = 8  # places of one pattern: files may be made of one line, again and again

_Links = defaultdict[int, Counter[int]]  # by line: lines of the other file


@dataclass(frozen=True)
class Line:
    """A line of one of two files."""

    number: int
    text: str
    alike: int = 0  # the line of the other file that is most like it
    given: bool = False  # it stands so in the stub or the reference


@dataclass(frozen=True)
class Side:
    """One of two files."""

    lines: tuple[Line, ...]
    more: int = 0  # lines that are not shown


def sides(
    one: Script, other: Script, known: Set[Pattern], weights: Mapping[Pattern, float]
) -> tuple[Side, Side]:
    """Return two files, each with the lines of the other that its lines are alike to."""
    places = [_places(script) for script in (one, other)]
    shared = (places[0].keys() & places[1].keys()) - known
    told = [pattern for pattern in shared if weights.get(pattern, 0.0) >= _RARE]
    links: tuple[_Links, _Links] = (defaultdict(Counter), defaultdict(Counter))
    for pattern in told:
        for here in places[0][pattern]:
            for there in places[1][pattern]:
                for left, right in zip(here.tokens, there.tokens, strict=True):
                    links[0][left.line][right.line] += 1
                    links[1][right.line][left.line] += 1
    given = [_lines(found, known) for found in places]
    return _side(one, links[0], given[0]), _side(other, links[1], given[1])


def _places(script: Script) -> dict[Pattern, list[Found]]:
    """Return the first places of each pattern."""
    found: dict[Pattern, list[Found]] = {}
    for one in patterns_of(script):
        found.setdefault(one.pattern, []).append(one)
    return {pattern: places[:_OFTEN] for pattern, places in found.items()}


def _lines(found: Mapping[Pattern, list[Found]], wanted: Set[Pattern]) -> set[int]:
    """Return the lines on which some patterns stand."""
    return {
        token.line
        for pattern in wanted & found.keys()
        for place in found[pattern]
        for token in place.tokens
    }


def _side(script: Script, links: _Links, given: Set[int]) -> Side:
    lines = []
    for number, text in enumerate(script.lines[:_LINES], 1):
        alike = _first(links[number]) if number in links else 0
        shown = printable(text.expandtabs(4)).rstrip()
        lines.append(Line(number, shown[:_WIDTH], alike, number in given and not alike))
    return Side(tuple(lines), max(0, len(script.lines) - _LINES))


def _first(found: Counter[int]) -> int:
    """Return the line that was found most, of equals the first."""
    return min(found, key=lambda line: (-found[line], line))
