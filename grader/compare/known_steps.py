"""Names the mistake at the first wrong step: where several act, the first is seen by itself.

What a variable of the step's name ends up with is laid beside what it holds under each known bug.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from grader.compare.diagnosis import count_behaviours
from grader.compare.evidence import Evidence
from grader.compare.signature import sign_step, sign_steps, step_calls
from grader.compare.steps import StepsFound, ended_with, orders_of
from grader.records.answers import Answer
from grader.records.calls import Array
from grader.records.key import KnownBug
from grader.records.results import Diagnosis, State
from grader.records.signatures import Suspects

_STRICT = 1e-9  # distance of projections that are the same in float64
_LAX = 1e-4  # and in float32


def known_step(
    evidence: Evidence, recorded: Mapping[str, Answer], steps: StepsFound, *, guessed: bool
) -> Diagnosis | None:
    """Return a diagnosis that names the bug of the first wrong step; None where none is known.

    `recorded` are runs of `step_calls`, `steps` what is known of them. Where parts of layers are
    `guessed`, there have to be steps before, all right: they show that the guess is.
    """
    suspects = evidence.key.suspects.get(evidence.target.name)
    calls = step_calls(evidence.key.plan, evidence.target.name)
    if suspects is None or suspects.steps is None or any(c.id not in recorded for c in calls):
        return None
    before: list[State] = []
    for name, state in steps.states.items():
        sure = bool(before) and all(one is State.RIGHT for one in before)
        if state is not State.RIGHT:
            held = [ended_with(recorded[call.id], name) for call in calls]
            rows = _rows(evidence, suspects, name, held) if sure or not guessed else []
            if rows:
                return _word(evidence, suspects, rows, steps, name)
            if state is not State.OPEN:
                return None
        before.append(state)
    return None


def _rows(
    evidence: Evidence, suspects: Suspects, name: str, held: Sequence[Array | None]
) -> list[int]:
    """The suspects that go wrong first at a step, and there as the submission does."""
    names = evidence.target.step_names
    calls = step_calls(evidence.key.plan, evidence.target.name)
    expected = sign_steps(names, [evidence.key.steps(call.id) for call in calls])
    level = next(level for level in evidence.target.step_levels if name in level)
    before = [names.index(one) for one in names[: names.index(level[0])]]
    place = names.index(name)
    rows = []
    for row, signed in enumerate(suspects.steps if suspects.steps is not None else ()):
        apart = not _same(signed[:, place], expected[:, place], _STRICT)
        intact = _same(signed[:, before], expected[:, before], _STRICT)
        fits = all(_fits(own, wanted) for own, wanted in zip(held, signed[:, place], strict=True))
        if apart and intact and fits:
            rows.append(row)
    return rows


def _fits(held: Array | None, wanted: Array) -> bool:
    """Whether a tensor has a step's signature, in some order of axes."""
    if held is None or held.size != wanted[0]:
        return False
    tolerance = _STRICT if held.dtype == np.float64 else _LAX
    return any(_same(sign_step(order), wanted, tolerance) for order in orders_of(held))


def _same(one: Array, other: Array, tolerance: float) -> bool:
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True))


def _word(
    evidence: Evidence, suspects: Suspects, rows: Sequence[int], steps: StepsFound, name: str
) -> Diagnosis | None:
    found = [suspects.names[row] for row in rows]
    if count_behaviours([suspects], found) > 1:
        return None
    bugs = _bugs(evidence, found)
    ways = "; or ".join(dict.fromkeys(bug.when for bug in bugs))
    return Diagnosis(
        target=evidence.target.name,
        bugs=tuple(bug.id for bug in bugs),
        step=name,
        hint=bugs[0].hints[0],
        evidence=f"No known mistake explains all. Step by step: {steps.upto(name)}. "
        f"Your `{name}` is what comes out when {ways}.",
    )


def _bugs(evidence: Evidence, found: Sequence[tuple[str, ...]]) -> list[KnownBug]:
    book = evidence.key.book
    named = {book.by_key(key).id: book.by_key(key) for keys in found for key in keys}
    return list(named.values())
