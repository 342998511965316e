"""The signature of a target's answers: small numbers by which two ways of going wrong are told
apart.

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
    odd = ~np.isfinite(flat)
    flat = np.where(odd, 1e6, flat)
    projected = _directions(flat.size) @ flat
    return np.asarray(projected, dtype=np.float64)


@cache
def _directions(size: int) -> Array:
    generator = np.random.Generator(np.random.PCG64(size))
    return generator.standard_normal((_DIRECTIONS, size)) / max(size, 1) ** 0.5


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

    def matching(self, seen: Signature, tolerance: float) -> list[tuple[tuple[str, ...], float]]:
        """Return the suspects whose signature is `seen`, each with its distance."""
        same = (self.codes == seen.codes).all(axis=(1, 2)) & (self.failing == seen.failing).all(
            axis=1
        )
        apart = np.abs(self.values - seen.values) / (1 + np.abs(seen.values))
        distances = apart.max(axis=(1, 2), initial=0.0)
        return [
            (self.names[row], float(distances[row]))
            for row in np.flatnonzero(same & (distances <= tolerance))
        ]
