"""The signature of a target's answers: numbers by which ways of going wrong are told apart.

Of each call it keeps how the call ended, what was registered or changed, and three projections
of the values on fixed random directions: equal for equal values, and of no use for finding them.
"""

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod

import numpy as np

from grader.execute.answers import Answer, AnswerStatus
from grader.plan.records import Array, Call
from grader.records import CheckResult, Status

_DIRECTIONS = 3
_LONGEST = 1 << 14  # numbers of an answer that are projected; directions take memory, and are kept
_CODES = 7
REGISTERED = 3  # the code that says how many numbers a module registers
_TRAINED = "fit"  # the action whose values say nothing: only whether it came to its end
_SAMPLED = "train"  # the action whose values are statistics
_ROOM = 0.08  # relative distance of statistics that are the same: several standard errors
_STATUSES = list(AnswerStatus)


@dataclass(frozen=True)
class Signature:
    """One target's answers in short."""

    codes: Array  # (calls, 7) int64
    values: Array  # (calls, 3) float64
    failing: Array  # (checks,) uint8: 1 where the check failed
    sampled: Array  # (calls,) bool: where the values are statistics

    def of_values(self, rows: Sequence[int]) -> "Signature":
        """Return what the values of some calls say, and nothing of the checks."""
        return Signature(
            self.codes[rows, :2], self.values[rows], self.failing[:0], self.sampled[rows]
        )


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
        np.array([call.action == _SAMPLED for call in calls], dtype=bool),
    )


def _code(call: Call, answer: Answer, inputs: dict[str, Array], *, silent: bool) -> list[int]:
    if _refused(call):
        return [0] * _CODES
    info = answer.info
    ended = _STATUSES.index(answer.status)
    if answer.error is not None:
        # a call among right ones may fail with any text; a target that always fails is its text
        text = re.sub(r"\d+|'[^']*'", "#", answer.error.message) if silent else ""
        error = zlib.crc32(f"{answer.error.type}{text}".encode())
    else:
        error = zlib.crc32(repr(_form(answer)).encode())
    if call.action == "device":
        ended, error = int(answer.error is not None and answer.error.device), 0
    if call.action == _TRAINED:
        error = 0
    return [
        ended,
        error,
        _changed(call, answer, inputs),
        -1 if info.registered is None else info.registered,
        len({what for _, what in info.loose}),
        len(info.untrained),
        int(bool(info.forbidden or info.modules)),
    ]


def _refused(call: Call) -> bool:
    """Whether a call, named after its property alone, should end in an exception.

    How it ends otherwise says little, for no parameters are loaded; its own check says enough.
    """
    return call.action == "forward" and call.id.count("/") == 1


def _form(answer: Answer) -> list[object]:
    """What came but for its values: shapes and types, or the parameters that could not be bound."""
    info = answer.info
    shapes = [(name, answer.tensors[name].shape) for name in _valued(answer)]
    types = [part.type for part in info.parts if part.shape is None]
    # a layer fused, or split by heads, leaves as many numbers as the layers of the reference
    unbound = [sum(prod(shape) for _, shape in info.present)] if info.sought else []
    return [*shapes, types, len(info.parts), sorted(info.sought), unbound]


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
    if call.free or _refused(call):
        return np.zeros(_DIRECTIONS)
    if call.action == _SAMPLED:
        return _moments(answer)
    names = [] if call.action == _TRAINED else _valued(answer)
    if not names:
        return np.zeros(_DIRECTIONS)
    size = sum(answer.tensors[n].size for n in names)
    if size > _LONGEST:
        return np.full(_DIRECTIONS, float(size))  # like no known bug's
    flat = np.concatenate([answer.tensors[n].ravel().astype(np.float64) for n in names])
    projected: Array = _directions(flat.size) @ np.where(np.isfinite(flat), flat, 1e6)
    return projected


def _moments(answer: Answer) -> Array:
    """Means over all elements of what dropout leaves: size, spread and its tails."""
    found = np.zeros(_DIRECTIONS)
    for index, moment in enumerate(("mean", "second", "fourth")):
        arrays = [a for n, a in answer.tensors.items() if n.startswith(f"{moment}/")]
        found[index] = sum(float(np.abs(a).mean()) for a in arrays if a.size)
    return found


@lru_cache(maxsize=256)
def _directions(size: int) -> Array:
    generator = np.random.Generator(np.random.PCG64(size))
    return np.asarray(generator.standard_normal((_DIRECTIONS, size)) / max(size, 1) ** 0.5)


def value_rows(calls: Sequence[Call]) -> list[int]:
    """Return the places of the calls that tell wrong values: all forward ones, one gradient.

    Calls with free values tell the least, and are left out where there are others.
    """
    forward = [i for i, c in enumerate(calls) if c.action == "forward" and not _refused(c)]
    forward = [i for i in forward if not calls[i].free] or forward
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

    def signature(self, row: int) -> Signature:
        """Return one suspect's signature, as a submission's would be; none of it is sampled."""
        calls = self.codes.shape[1]
        return Signature(
            self.codes[row], self.values[row], self.failing[row], np.zeros(calls, dtype=bool)
        )

    def of_values(self, rows: Sequence[int]) -> "Suspects":
        """Return the suspects as `Signature.of_values` sees them."""
        return Suspects(
            self.names, self.codes[:, rows, :2], self.values[:, rows], self.failing[:, :0]
        )

    def _equal(self, seen: Signature, tolerance: float) -> tuple[Array, Array]:
        """Which calls of which suspect are as `seen`, and how far apart their values are."""
        size = np.where(seen.sampled, 1e-3, 1.0)[:, None] + np.abs(seen.values)
        apart = (np.abs(self.values - seen.values) / size).max(axis=2)
        room = np.where(seen.sampled, _ROOM, tolerance)
        same = (self.codes == seen.codes).all(axis=2) & (apart <= room)
        return same, np.where(seen.sampled, 0.0, apart)

    def matching(self, seen: Signature, tolerance: float) -> list[tuple[tuple[str, ...], float]]:
        """Return the suspects whose signature is `seen`, each with its distance."""
        equal, apart = self._equal(seen, tolerance)
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
        correct = reference._equal(seen, tolerance)[0][0]
        raised = seen.codes[:, 0] == _STATUSES.index(AnswerStatus.RAISED)
        if raised[~correct].all():
            return []  # exceptions alone tell mistakes apart badly: many raise in the same places
        equal, apart = self._equal(seen, tolerance)
        broken = ~reference._equal_rows(self, tolerance)
        misses = (broken & correct).sum(axis=1)
        enough = (broken & ~correct).sum(axis=1) > misses
        for branch in branches:
            if not (~correct & ~branch).any() and not correct.all():
                enough |= ~(broken & correct & branch).any(axis=1)
        fits = (equal | correct).all(axis=1) & enough
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
