"""Parts of a course: exercises that are handed out, graded and counted together."""

import difflib
from collections.abc import Mapping, Sequence

from pydantic import Field

from grader.course.record import Record
from grader.errors import UsageError
from grader.records.subtotals import Subtotal


class Part(Record):
    """Exercises that have a total of their own."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", description="one word, as `--part` takes it")
    title: str = Field(description="a few words that a student reads")
    exercises: list[str] = Field(
        min_length=1, description="ids of its exercises, in the course's order"
    )


def misfit_of_parts(parts: Sequence[Part], exercises: Sequence[str]) -> str:
    """Say why parts do not divide a course's exercises, "" where they do."""
    names = [part.name for part in parts]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return f"the part '{twice[0]}' is declared twice"
    held = [one for part in parts for one in part.exercises]
    if unknown := [one for one in held if one not in exercises]:
        near = difflib.get_close_matches(unknown[0], exercises, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return f"no exercise '{unknown[0]}' is declared{hint}"
    if twice := [one for one in exercises if held.count(one) > 1]:
        return f"the exercise '{twice[0]}' stands in two parts"
    if left := [one for one in exercises if one not in held]:
        return f"the exercise '{left[0]}' stands in no part"
    return "" if held == list(exercises) else "exercises are not in the order of the course"


def chosen_part(parts: Sequence[Part], name: str) -> Part:
    """Return the part of a name; raises UsageError with close matches."""
    found = {part.name: part for part in parts}
    if name in found:
        return found[name]
    if not found:
        raise UsageError(f"no part '{name}': the course has no parts")
    near = difflib.get_close_matches(name, found, 3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(found)}"
    raise UsageError(f"no part '{name}'; {hint}")


def subtotals(
    parts: Sequence[Part], scores: Mapping[str, tuple[float, float]]
) -> tuple[Subtotal, ...]:
    """Return points of each part, of `scores` (points, possible) by exercise; () for one."""
    found = []
    for part in parts:
        if own := [scores[exercise] for exercise in part.exercises if exercise in scores]:
            score, possible = (round(sum(points), 4) for points in zip(*own, strict=True))
            found.append(Subtotal(part.name, part.title, score, possible))
    return tuple(found) if len(found) > 1 else ()
