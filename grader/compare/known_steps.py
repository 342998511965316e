"""Names the mistake at the first wrong step: where several act, the first is seen by itself.

What a variable of the step's name ends up with is laid beside what it holds under each known bug.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose

import numpy as np

from grader.compare.arrays import exactly_equal
from grader.compare.diagnosis import LISTED
from grader.compare.evidence import Evidence
from grader.compare.left_aside import Aside
from grader.compare.needed import left_by_text
from grader.compare.occurrence import factor_of, orders_of
from grader.compare.signature import LAX, STRICT, beyond, sign_step, sign_steps, step_calls
from grader.compare.steps import StepsFound
from grader.compare.wording import alternatives, broken_steps, ways_of
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import PLAIN, Array, Call
from grader.records.results import Diagnosis, State
from grader.records.signatures import Code, Suspects
from grader.worker.names import GIVEN, Group, of_group, operation_of


def known_step(
    evidence: Evidence,
    recorded: Mapping[str, Answer],
    steps: StepsFound,
    aside: Aside,
    *,
    guessed: bool,
) -> Diagnosis | None:
    """Return a diagnosis that names the bug of the first wrong step; None where none is known.

    `recorded` are runs of `step_calls`. Steps before, all right, show that what is `guessed` is.
    """
    suspects = evidence.key.suspects.get(evidence.target.name)
    calls = step_calls(evidence.key.plan, evidence.target.name)
    if suspects is None or suspects.steps is None or any(c.id not in recorded for c in calls):
        return None
    look = _Look(evidence, suspects, suspects.steps, calls, aside)
    for look.tolerance in (STRICT, LAX):
        sure = False
        for name, state in steps.states.items():
            held = [recorded[call.id].held_by(name) for call in calls]
            if state is State.RIGHT or look.is_right(name, held):
                sure = True
                continue
            if (sure or not guessed) and (found := look.named(name, held, steps)):
                return None if look.is_scaled_later(recorded, held) else found
            if state is not State.OPEN:
                break
            sure = False
    return None


@dataclass
class _Look:
    """One look at a target's steps, beside those of its known bugs."""

    evidence: Evidence
    suspects: Suspects
    signed: Array
    calls: Sequence[Call]
    aside: Aside
    tolerance: float = STRICT
    names: list[str] = field(init=False)
    plain: list[int] = field(init=False)  # calls without an option
    expected: Array = field(init=False)
    # the suspects that change an input that is left alone, or stop where an end was come to
    changing: Array = field(init=False)

    def __post_init__(self) -> None:
        key, evidence = self.evidence.key, self.evidence
        seen = evidence.seen
        ended = [
            row
            for row, call in enumerate(evidence.calls)
            if evidence.answers[call.id].status is AnswerStatus.OK
        ]
        here = [row for row in ended if evidence.calls[row] in self.calls]
        apart = self.suspects.codes[:, here, Code.ENDED] != seen.codes[here, Code.ENDED]
        self.changing = self.suspects.changing(seen, ended) | apart.any(axis=1)
        self.names = self.evidence.target.step_names
        self.plain = [i for i, c in enumerate(self.calls) if self.evidence.case(c).group == PLAIN]
        self.expected = sign_steps(self.names, [key.steps(call.id) for call in self.calls])

    def is_right(self, name: str, held: Sequence[Sequence[Array]]) -> bool:
        """Whether a step differs by what another epsilon makes, and by no more."""
        place = self.names.index(name)
        wanted = self.expected[:, place]
        return self.tolerance == LAX and all(
            held[i] and self._fits(held[i][-1], wanted[i]) for i in self.plain
        )

    def is_scaled_later(
        self, recorded: Mapping[str, Answer], held: Sequence[Sequence[Array]]
    ) -> bool:
        """Whether what a variable holds is no step's end yet, in any call."""
        plain = [(recorded[self.calls[i].id], held[i][-1:]) for i in self.plain]
        return all(_is_scaled_later(*one) for one in plain)

    def named(
        self, name: str, held: Sequence[Sequence[Array]], steps: StepsFound
    ) -> Diagnosis | None:
        """Name the bug of a step by what its variable ended up with, or else got first.

        What it got first tells nothing where it was right after that.
        """
        if rows := self._rows(name, [one[-1] if one else None for one in held], steps):
            return self._word(rows, name, steps, f"Your `{name}` is")
        if any(len(one) > 1 for one in held) and not self._was_right(name, held):
            rows = self._rows(name, [one[0] if one else None for one in held], steps)
            if len({self.suspects.names[row] for row in rows}) == 1:
                return self._word(rows, name, steps, f"At first your `{name}` is")
        return None

    def _was_right(self, name: str, held: Sequence[Sequence[Array]]) -> bool:
        """Whether a step's variable once had what is due, in each call without an option."""
        wanted = self.expected[:, self.names.index(name)]
        return all(any(self._fits(one, wanted[i]) for one in held[i]) for i in self.plain)

    def _rows(self, name: str, held: Sequence[Array | None], steps: StepsFound) -> list[int]:
        """The suspects that go wrong first at a step, and there as the submission does.

        What is right beside it is so with them. Of several, those come back that go on so where an
        option is given.
        """
        level = next(level for level in self.evidence.target.step_levels if name in level)
        before = list(range(self.names.index(level[0])))
        before += [self.names.index(n) for n in level if steps.states.get(n) is State.RIGHT]
        place, plain = self.names.index(name), self.plain
        wanted = self.expected[:, place]
        if all(self._fits(held[i], wanted[i]) for i in plain):
            return []  # it was right, and something was done to it later
        room = beyond(self.tolerance)
        rows, further = [], []
        for row, signed in enumerate(self.signed):
            apart = not _same(signed[plain, place], wanted[plain], room)
            earlier, due = signed[plain][:, before], self.expected[plain][:, before]
            fits = [self._fits(own, due) for own, due in zip(held, signed[:, place], strict=True)]
            alike = apart and _same(earlier, due, STRICT) and not self.changing[row]
            if alike and all(fits[i] for i in plain):
                rows.append(row)
                further += [row] if all(fits) else []
        return further or rows

    def _fits(self, held: Array | None, wanted: Array) -> bool:
        """Whether a tensor has a step's signature, in some order of axes."""
        if held is None or held.size != wanted[0]:
            return False
        tolerance = self.tolerance if held.dtype == np.float64 else LAX
        return any(_same(sign_step(order), wanted, tolerance) for order in orders_of(held))

    def _word(
        self, rows: Sequence[int], name: str, steps: StepsFound, said: str
    ) -> Diagnosis | None:
        names = [self.suspects.names[row] for row in rows]
        found = left_by_text(self.evidence, names, self.aside)
        if self.suspects.count_behaviours(found) > LISTED:
            return None
        book = self.evidence.key.book
        bugs = [book.by_key(key) for key in dict.fromkeys(key for keys in found for key in keys)]
        ways = ways_of([[bug] for bug in bugs], "; or when ")
        either = alternatives(bugs)
        broken = () if either else broken_steps(self.evidence, bugs)
        others, levels = [n for n in broken if n != name], self.evidence.target.step_levels
        told = steps.broken_by(others, levels).told(upto=name)
        return Diagnosis(
            target=self.evidence.target.name,
            bugs=tuple(dict.fromkeys(bug.id for bug in bugs)),
            step=name,
            hint=bugs[0].hints[0],
            evidence=f"{told} {said} what comes out when {ways}.",
            either=either,
            ways=tuple(bug.name for bug in bugs),
        )


def _is_scaled_later(run: Answer, held: Sequence[Array]) -> bool:
    """Whether a multiple of what a variable holds is made after it: it is no step's end yet."""
    seen = of_group(run.tensors, Group.SEEN)
    made = [array for name, array in seen.items() if operation_of(name) != GIVEN]
    for array in held:
        place = next((i for i, one in enumerate(made) if exactly_equal(one, array)), len(made))
        factors = [factor_of(array, one) for one in made[place:]]
        if any(factor != 0 and not isclose(factor, 1) for factor in factors):
            return True
    return False


def _same(one: Array, other: Array, tolerance: float) -> bool:
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True))
