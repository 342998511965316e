"""Signatures: numbers by which ways of going wrong are told apart, and those of known bugs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from itertools import product

import numpy as np

from grader.records.answers import AnswerStatus
from grader.records.calls import Array


class Code(IntEnum):
    """What a signature keeps of a call beside values: the columns of its codes."""

    ENDED = 0  # how the call ended
    ERROR = 1  # which exception, or which form the answer has
    CHANGED = 2  # which inputs the call changed, a bit each
    REGISTERED = 3  # how many numbers the module registers
    LOOSE = 4  # kinds of things that are not registered
    UNTRAINED = 5  # parameters that no gradient reached
    FORBIDDEN = 6  # whether a forbidden name was seen
    TEXT = 7  # of an exception: looked at where no value tells anything
    FORM = 8  # in which form outputs came that can be compared all the same
    DEFAULTS = 9  # which defaults are others: looked at where checks alone tell something


_OF_VALUES = (Code.ENDED, Code.ERROR)
_RAISED = list(AnswerStatus).index(AnswerStatus.RAISED)
_ZERO = 1e-9  # what is less is none
_ROOM = 0.08  # relative distance of statistics that are the same: several standard errors


def ended_raising(codes: Array) -> Array:
    """Whether calls ended in an exception, by their codes along the last axis."""
    raised: Array = codes[..., Code.ENDED] == _RAISED
    return raised


@dataclass(frozen=True)
class Signature:
    """One target's answers in short."""

    codes: Array  # (calls, codes) int64
    values: Array  # (calls, 3) float64
    failing: Array  # (checks,) uint8: 1 where the check failed
    sampled: Array  # (calls,) bool: where the values are statistics

    def part(
        self, rows: Sequence[int], codes: Sequence[int] | None, checks: Sequence[int]
    ) -> "Signature":
        """Return what some calls, codes and checks say; None stands for all codes."""
        chosen = self.codes[rows] if codes is None else self.codes[rows][:, codes]
        return Signature(chosen, self.values[rows], self.failing[checks], self.sampled[rows])

    def of_values(self, rows: Sequence[int]) -> "Signature":
        """Return what the values of some calls say, and nothing of the checks."""
        return Signature(
            self.codes[rows].take(_OF_VALUES, axis=-1),
            self.values[rows],
            self.failing[:0],
            self.sampled[rows],
        )


@dataclass(frozen=True)
class Suspects:
    """The signatures that a target's answers have under known bugs, one row a suspect."""

    names: tuple[tuple[str, ...], ...]  # each row's bugs, as "target/id"
    codes: Array  # (suspects, calls, codes)
    values: Array  # (suspects, calls, 3)
    failing: Array  # (suspects, checks)
    # (suspects, calls of `step_calls`, named steps, 4): how many numbers a step has, and three
    # projections of them; NaN where it was never made; None where nobody asked for steps
    steps: Array | None = None

    @staticmethod
    def gather(
        rows: Sequence[tuple[tuple[str, ...], Signature]], steps: Sequence[Array] = ()
    ) -> "Suspects":
        """Stack signatures of one target; there is at least one."""
        return Suspects(
            tuple(names for names, _ in rows),
            np.stack([s.codes for _, s in rows]),
            np.stack([s.values for _, s in rows]),
            np.stack([s.failing for _, s in rows]),
            np.stack(steps) if steps else None,
        )

    @cached_property
    def first_alike(self) -> dict[str, str]:
        """For each single bug, the first whose first variant looks the same."""
        seen: dict[tuple[bytes, bytes, bytes], str] = {}
        alike: dict[str, str] = {}
        for row, names in enumerate(self.names):
            rounded = np.round(self.values[row], 7) + 0.0  # no negative zero
            looks = (self.codes[row].tobytes(), rounded.tobytes(), self.failing[row].tobytes())
            alike.setdefault(names[0], seen.setdefault(looks, names[0]))
        return alike

    def count_behaviours(self, groups: Iterable[Sequence[str]]) -> int:
        """Return how many groups of bugs differ, bugs that cannot be told apart being one."""
        same = self.first_alike
        return len({tuple(sorted(same.get(name, name) for name in group)) for group in groups})

    def changing(self, seen: Signature, rows: Sequence[int]) -> Array:
        """Tell which suspects change an input, in some calls, that a submission leaves alone."""
        left = ~seen.codes[rows, Code.CHANGED]
        return np.asarray((self.codes[:, rows, Code.CHANGED] & left).any(axis=1))

    def acts(self, name: str, right: Signature, rows: Sequence[int], tolerance: float) -> bool:
        """Whether a bug by itself changes some calls, or how many numbers are registered."""
        own = self._alone(name)
        same, _ = own.of_values(rows).equal_calls(right.of_values(rows), tolerance)
        counts = own.codes[:, rows, Code.REGISTERED] != right.codes[rows, Code.REGISTERED]
        return bool((~same | counts).any())

    def effect(self, name: str, row: int, right: Signature) -> float:
        """How far a bug by itself moves the values of a call, in the variant that moves them least.

        Infinitely far where the call ends otherwise.
        """
        own = self._alone(name)
        apart = np.abs(own.values[:, row] - right.values[row]).max(axis=1)
        ended = own.codes[:, row, Code.ENDED] != right.codes[row, Code.ENDED]
        return float(np.where(ended, np.inf, apart).min(initial=np.inf))

    def alike_in_form(
        self,
        found: dict[tuple[str, ...], float],
        seen: Signature,
        right: Signature,
        rows: Sequence[int],
    ) -> dict[tuple[str, ...], float]:
        """Return those of several bugs, or pairs of them, that are like `seen` beside the values.

        Some of them alone raises what is raised, in the same words; and all alone give a form that
        is due or that came. All come back where none does so.
        """
        raised = [row for row in rows if ended_raising(seen.codes[row])]
        came, known = seen.codes[rows, Code.FORM], right.codes[rows, Code.FORM]

        def raises_alike(names: Sequence[str]) -> bool:
            texts = self._alone(*names).codes[:, raised, Code.TEXT]
            return bool((texts == seen.codes[raised, Code.TEXT]).any(axis=0).all())

        def forms_alike(names: Sequence[str]) -> bool:
            forms = self._alone(*names).codes[:, rows, Code.FORM]
            return bool(((forms == known) | (forms == came)).all())

        found = {names: d for names, d in found.items() if raises_alike(names)} or found
        return {names: d for names, d in found.items() if forms_alike(names)} or found

    def _alone(self, *names: str) -> "Suspects":
        """Some single bugs, a row for each way to make one of them."""
        single = [len(one) == 1 and one[0] in names for one in self.names]
        return self.only(np.array(single, dtype=bool))

    def counted(
        self,
        found: dict[tuple[str, ...], float],
        seen: Signature,
        right: Signature,
        rows: Sequence[int],
    ) -> dict[tuple[str, ...], float]:
        """Return those of several bugs, or pairs of them, that register as many numbers as `seen`.

        Where none does, those that register more where more are counted, and fewer where fewer are.
        """
        counts = (seen, right, rows)
        fits = {names: d for names, d in found.items() if self._may_register(names, *counts)}
        rough = (names for names in found if self._may_register(names, *counts, roughly=True))
        return fits or {names: found[names] for names in rough}

    def _may_register(
        self,
        names: Sequence[str],
        seen: Signature,
        right: Signature,
        rows: Sequence[int],
        *,
        roughly: bool = False,
    ) -> bool:
        """Whether bugs together register as many numbers more than is right as are seen.

        Or `roughly`, more where more are counted, and fewer where fewer are.
        """
        if roughly:
            rows = [row for row in rows if seen.codes[row, Code.REGISTERED] >= 0]

        def beyond(codes: Array) -> Array:
            more = codes[rows, Code.REGISTERED] - right.codes[rows, Code.REGISTERED]
            return np.sign(more) if roughly else np.asarray(more)

        ways = [
            [beyond(self.codes[row]) for row, one in enumerate(self.names) if one == (name,)]
            for name in names
        ]
        due = beyond(seen.codes)
        sums = (np.sum(way, axis=0) for way in product(*ways))
        return any(np.array_equal(np.sign(one) if roughly else one, due) for one in sums)

    def signature(self, row: int) -> Signature:
        """Return one suspect's signature, as a submission's would be; none of it is sampled."""
        calls = self.codes.shape[1]
        return Signature(
            self.codes[row], self.values[row], self.failing[row], np.zeros(calls, dtype=bool)
        )

    def part(
        self, rows: Sequence[int], codes: Sequence[int] | None, checks: Sequence[int]
    ) -> "Suspects":
        """Return the suspects as `Signature.part` sees them."""
        chosen = self.codes[:, rows] if codes is None else self.codes[:, rows][:, :, codes]
        return Suspects(self.names, chosen, self.values[:, rows], self.failing[:, checks])

    def of_values(self, rows: Sequence[int]) -> "Suspects":
        """Return the suspects as `Signature.of_values` sees them."""
        return Suspects(
            self.names,
            self.codes[:, rows].take(_OF_VALUES, axis=-1),
            self.values[:, rows],
            self.failing[:, :0],
        )

    def equal_calls(self, seen: Signature, tolerance: float) -> tuple[Array, Array]:
        """Which calls of which suspect are as `seen`, and how far apart their values are."""
        size = np.where(seen.sampled, 1e-3, 1.0)[:, None] + np.abs(seen.values)
        apart = (np.abs(self.values - seen.values) / size).max(axis=2)
        room = np.where(seen.sampled, _ROOM, tolerance)
        same = (self.codes == seen.codes).all(axis=2) & (apart <= room)
        # zeros are no rounded numbers: what is small in their place is something else
        nothing = ~seen.sampled & (self.values == 0).all(axis=2)
        same &= ~nothing | (np.abs(seen.values) < _ZERO).all(axis=1)
        return same, np.where(seen.sampled, 0.0, apart)

    def matching(self, seen: Signature, tolerance: float) -> list[tuple[tuple[str, ...], float]]:
        """Return the suspects whose signature is `seen`, each with its distance."""
        equal, apart = self.equal_calls(seen, tolerance)
        same = equal.all(axis=1) & (self.failing == seen.failing).all(axis=1)
        return [(self.names[row], float(apart[row].max())) for row in np.flatnonzero(same)]

    def only(self, rows: Array) -> "Suspects":
        """Return some of the suspects."""
        names = tuple(name for name, kept in zip(self.names, rows, strict=True) if kept)
        return Suspects(names, self.codes[rows], self.values[rows], self.failing[rows])

    def matching_where_wrong(
        self,
        seen: Signature,
        right: Signature,
        branches: Sequence[Array],
        tolerance: float,
    ) -> list[tuple[tuple[str, ...], float]]:
        """Return the suspects that `seen` equals on every call where it is not `right`.

        A mistake may stand in one branch only, as a scale that is missing unless it is given.
        Where it is none of `branches`, sets of calls, it must explain more than it misses. Of
        several suspects those come back that are wrong where `seen` is right least often.
        """
        reference = Suspects.gather([((), right)])
        correct = reference.equal_calls(seen, tolerance)[0][0]
        raised = ended_raising(seen.codes)
        if raised[~correct].all():
            return []  # exceptions alone tell mistakes apart badly: many raise in the same places
        equal, apart = self.equal_calls(seen, tolerance)
        broken = ~reference.equal_rows(self, tolerance)
        fits = (equal | correct).all(axis=1) & _explain(broken, correct, branches)
        if not fits.any():
            return []
        misses = (broken & correct).sum(axis=1)
        least = misses[fits].min()
        return [
            (self.names[row], float(apart[row][~correct].max()))
            for row in np.flatnonzero(fits & (misses == least))
        ]

    def matching_in_form(
        self, seen: Signature, right: Signature, tolerance: float
    ) -> list[tuple[tuple[str, ...], float]]:
        """Return the suspects that `seen` equals on every call where its form is the due one.

        On all others their form is another than `right`'s, too. Where the form is the due one
        everywhere, or nothing but right there, none come back.
        """
        due = (seen.codes == right.codes).all(axis=1)
        correct = Suspects.gather([((), right)]).equal_calls(seen, tolerance)[0][0]
        if due.all() or correct[due].all():
            return []
        equal, apart = self.equal_calls(seen, tolerance)
        alike = (self.codes == right.codes).all(axis=2) == due
        fits = (alike & (equal | ~due)).all(axis=1)
        return [(self.names[row], float(apart[row][due].max())) for row in np.flatnonzero(fits)]

    def equal_rows(self, others: "Suspects", tolerance: float) -> Array:
        """Which calls of which of `others` are as this one's only row."""
        apart = np.abs(others.values - self.values) / (1 + np.abs(self.values))
        same = (others.codes == self.codes).all(axis=2) & (apart.max(axis=2) <= tolerance)
        return np.asarray(same)


def _explain(broken: Array, correct: Array, branches: Sequence[Array]) -> Array:
    """Which suspects, that break some calls, explain those that are not `correct`."""
    enough = (broken & ~correct).sum(axis=1) > (broken & correct).sum(axis=1)
    for branch in branches:
        if not (~correct & ~branch).any() and not correct.all():
            enough |= ~(broken & correct & branch).any(axis=1)
    return np.asarray(enough)
