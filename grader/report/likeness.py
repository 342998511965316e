"""Shows which submissions are alike: a table, a JSON document, and a page side by side."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from grader.likeness.pairs import AlikeClass, Pair
from grader.likeness.patterns import Found, Pattern, Script, patterns_of
from grader.records.text import clean, counted, listed, printable
from grader.report.layout import columns, cut
from grader.report.pages import render

# ---- two files side by side ----------------------------------------------------------------------


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


# ---- the table, the document and the page --------------------------------------------------------


_NAME = 40  # columns of a student's name
ACCUSES_NOBODY = (
    "This list accuses nobody. Code is alike where people talk, learn from one page, or where "
    "there is one good way: read both before you ask anybody."
)


@dataclass(frozen=True)
class ShownExercise:
    """One exercise of a pair, side by side."""

    exercise: str
    likeness: str
    one: Side
    other: Side


@dataclass(frozen=True)
class ShownPair:
    """A pair on the page."""

    one: str
    other: str
    likeness: str
    exercises: tuple[ShownExercise, ...]


def render_likeness(found: AlikeClass, *, width: int) -> str:
    """Return a line a pair, the most alike first."""
    lines = [f"{found.course}: {counted(found.compared, 'submission')} compared", ""]
    if found.pairs:
        rows = [("alike", "one", "other", "exercises")]
        rows += [(_percent(p.likeness), *_names(found, p), _exercises(p)) for p in found.pairs]
        lines += [*columns(rows, "><<<", most=_NAME), "", ACCUSES_NOBODY]
    else:
        lines.append("No two are more alike than independent work is.")
    return "\n".join([*(cut(line, width) for line in lines[:-1]), lines[-1], *_unread(found)])


def _unread(found: AlikeClass) -> Iterator[str]:
    """Yield a sentence where there are files that could not be compared."""
    if found.unread:
        names = listed([clean(name, 60) for name in found.unread])
        yield f"Not compared, or only in part ({len(found.unread)}): {names}"


def likeness_to_json(found: AlikeClass) -> dict[str, object]:
    """Return plain data with stable field names."""
    return {
        "format_version": 1,
        "course": found.course,
        "note": ACCUSES_NOBODY,
        "compared": found.compared,
        "unread": list(found.unread),
        "pairs": [
            {
                "submissions": [pair.one, pair.other],
                "students": [found.labels[pair.one], found.labels[pair.other]],
                "likeness": pair.likeness,
                "exercises": dict(pair.exercises),
            }
            for pair in found.pairs
        ],
    }


def render_likeness_page(found: AlikeClass) -> str:
    """Return one self-contained page: each pair, side by side."""
    shown = [_shown(found, pair) for pair in found.pairs]
    return render(
        "likeness.html.j2",
        found=found,
        pairs=shown,
        unread=list(_unread(found)),
        accuses_nobody=ACCUSES_NOBODY,
    )


def _shown(found: AlikeClass, pair: Pair) -> ShownPair:
    exercises = []
    for exercise, share in pair.exercises.items():
        one, other = (found.scripts[name][exercise] for name in (pair.one, pair.other))
        shown = sides(one, other, found.known[exercise], found.weights[exercise])
        exercises.append(ShownExercise(exercise, _percent(share), *shown))
    return ShownPair(*_names(found, pair), _percent(pair.likeness), tuple(exercises))


def _names(found: AlikeClass, pair: Pair) -> tuple[str, str]:
    one, other = (clean(found.labels[name], 80) for name in (pair.one, pair.other))
    return one, other


def _exercises(pair: Pair) -> str:
    return ", ".join(f"{exercise} {_percent(share)}" for exercise, share in pair.exercises.items())


def _percent(share: float) -> str:
    return f"{share:.0%}"
