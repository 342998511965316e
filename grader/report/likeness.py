"""Shows which submissions are alike: a table, a JSON document, and a page side by side."""

from collections.abc import Iterator
from dataclasses import dataclass

from grader.likeness.classes import AlikeClass
from grader.likeness.pairs import Pair
from grader.likeness.sides import Side, sides
from grader.records.text import clean, counted, listed
from grader.report.layout import columns, cut
from grader.report.pages import render

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
