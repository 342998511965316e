"""The signature of a target's answers: numbers by which ways of going wrong are told apart.

Of each call it keeps how the call ended, what was registered or changed, and three projections
of the values on fixed random directions: equal for equal values, and of no use for finding them.
"""

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from grader.execute.answers import Answer, AnswerStatus
from grader.plan.records import Array, Call
from grader.records import CheckResult, Status

_DIRECTIONS = 3
_CODES = 7
_STATISTICAL = ("train", "fit")  # actions whose values differ between right answers
_STATUSES = list(AnswerStatus)


@dataclass(frozen=True)
class Signature:
    """One target's answers in short."""

    codes: Array  # (calls, 7) int64
    values: Array  # (calls, 3) float64
    failing: Array  # (checks,) uint8: 1 where the check failed

    def of_values(self, rows: Sequence[int]) -> "Signature":
        """Return what the values of some calls say, and nothing of the checks."""
        return Signature(self.codes[rows, :2], self.values[rows], self.failing[:0])


def sign(
    calls: Sequence[Call],
    answers: dict[str, Answer],
    inputs: dict[str, Array],
    results: Iterable[CheckResult],
) -> Signature:
    """Return the signature of a target; `calls` and `results` are in the plan's order.

    `inputs` are the plan's tensors, against which an echo shows what was changed.
    """
    silent = not any(answers[c.id].status is AnswerStatus.OK for c in calls)
    codes = [_code(call, answers[call.id], inputs, silent=silent) for call in calls]
    values = [_project(call, answers[call.id]) for call in calls]
    failing = [result.status not in (Status.PASSED, Status.SKIPPED) for result in results]
    return Signature(
        np.array(codes, dtype=np.int64).reshape(len(calls), _CODES),
        np.array(values, dtype=np.float64).reshape(len(calls), _DIRECTIONS),
        np.array(failing, dtype=np.uint8),
    )


def _code(call: Call, answer: Answer, inputs: dict[str, Array], *, silent: bool) -> list[int]:
    info = answer.info
    ended = _STATUSES.index(answer.status)
    if answer.error is not None:
        # a call among right ones may fail with any text; a target that always fails is its text
        text = re.sub(r"\d+|'[^']*'", "#", answer.error.message) if silent else ""
        error = zlib.crc32(f"{answer.error.type}{text}".encode())
    else:
        shapes = [(name, answer.tensors[name].shape) for name in _valued(answer)]
        error = zlib.crc32(repr(shapes).encode())
    if call.action == "device":
        ended, error = int(answer.error is not None and answer.error.device), 0
    if call.action in _STATISTICAL and answer.status is AnswerStatus.OK:
        return [ended] + [0] * (_CODES - 1)
    return [
        ended,
        error,
        _changed(call, answer, inputs),
        -1 if info.registered is None else info.registered,
        len({what for _, what in info.loose}),
        len(info.untrained),
        int(bool(info.forbidden or info.modules)),
    ]


def _valued(answer: Answer) -> list[str]:
    return sorted(n for n in answer.tensors if n.startswith(("output/", "grad/")))


def _changed(call: Call, answer: Answer, inputs: dict[str, Array]) -> int:
    changed = 0
    for index, argument in enumerate(call.inputs):
        after = answer.tensors.get(f"input/{index}")
        before = inputs.get(argument.get("tensor", ""))
        if after is not None and before is not None and after.shape == before.shape:
            changed |= int(not np.array_equal(after, before)) << index
    return changed


def _project(call: Call, answer: Answer) -> Array:
    if call.action in _STATISTICAL:
        return np.zeros(_DIRECTIONS)
    names = _valued(answer)
    if not names:
        return np.zeros(_DIRECTIONS)
    flat = np.concatenate([answer.tensors[n].ravel().astype(np.float64) for n in names])
    projected: Array = _directions(flat.size) @ np.where(np.isfinite(flat), flat, 1e6)
    return projected


@cache
def _directions(size: int) -> Array:
    generator = np.random.Generator(np.random.PCG64(size))
    return np.asarray(generator.standard_normal((_DIRECTIONS, size)) / max(size, 1) ** 0.5)


def value_rows(calls: Sequence[Call]) -> list[int]:
    """Return the places of the calls that tell wrong values: all forward ones, one gradient."""
    forward = [i for i, c in enumerate(calls) if c.action == "forward"]
    gradient = [i for i, c in enumerate(calls) if c.action == "gradient"]
    return forward + gradient[:1]


@dataclass(frozen=True)
class Suspects:
    """The signatures that a target's answers have under known bugs, one row a suspect."""

    names: tuple[tuple[str, ...], ...]  # each row's bugs, as "target/id"
    codes: Array  # (suspects, calls, 7)
    values: Array  # (suspects, calls, 3)
    failing: Array  # (suspects, checks)

    @staticmethod
    def gather(rows: Sequence[tuple[tuple[str, ...], Signature]]) -> "Suspects":
        """Stack signatures of one target; there is at least one."""
        return Suspects(
            tuple(names for names, _ in rows),
            np.stack([s.codes for _, s in rows]),
            np.stack([s.values for _, s in rows]),
            np.stack([s.failing for _, s in rows]),
        )

    def of_values(self, rows: Sequence[int]) -> "Suspects":
        """Return the suspects as `Signature.of_values` sees them."""
        return Suspects(
            self.names, self.codes[:, rows, :2], self.values[:, rows], self.failing[:, :0]
        )

    def _equal(self, seen: Signature, tolerance: float) -> tuple[Array, Array]:
        """Which calls of which suspect are as `seen`, and how far apart their values are."""
        apart = (np.abs(self.values - seen.values) / (1 + np.abs(seen.values))).max(axis=2)
        return (self.codes == seen.codes).all(axis=2) & (apart <= tolerance), apart

    def matching(self, seen: Signature, tolerance: float) -> list[tuple[tuple[str, ...], float]]:
        """Return the suspects whose signature is `seen`, each with its distance."""
        equal, apart = self._equal(seen, tolerance)
        same = equal.all(axis=1) & (self.failing == seen.failing).all(axis=1)
        return [(self.names[row], float(apart[row].max())) for row in np.flatnonzero(same)]

    def matching_where_wrong(
        self, seen: Signature, right: Signature, tolerance: float
    ) -> list[tuple[tuple[str, ...], float]]:
        """Return the suspects that `seen` equals on every call where it is not `right`.

        A mistake may stand in one branch only, as a scale that is missing unless it is given.
        Of several suspects those come back that are wrong where `seen` is right least often.
        """
        reference = Suspects.gather([((), right)])
        correct = reference._equal(seen, tolerance)[0][0]
        equal, apart = self._equal(seen, tolerance)
        broken = ~reference._equal_rows(self, tolerance)
        misses = (broken & correct).sum(axis=1)
        fits = (equal | correct).all(axis=1) & ((broken & ~correct).sum(axis=1) > misses)
        if not fits.any():
            return []
        least = misses[fits].min()
        return [
            (self.names[row], float(apart[row][~correct].max()))
            for row in np.flatnonzero(fits & (misses == least))
        ]

    def _equal_rows(self, others: "Suspects", tolerance: float) -> Array:
        """Which calls of which of `others` are as this one's only row."""
        apart = np.abs(others.values - self.values) / (1 + np.abs(self.values))
        same = (others.codes == self.codes).all(axis=2) & (apart.max(axis=2) <= tolerance)
        return np.asarray(same)
