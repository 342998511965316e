"""How far a submission's run was right: the reference's named steps among its own tensors."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from grader.compare.evidence import Evidence
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, Call
from grader.worker.names import Group, of_group

_RTOL = 1e-7  # between float64's rounding and the least mistake; float32 gets the wider one
_RTOL32 = 1e-4
_AXES = 4  # more axes than this are not reordered


@dataclass(frozen=True)
class StepsFound:
    """The named steps up to the first that was not found."""

    right: tuple[str, ...]
    wrong: str  # the first step that is not among the submission's tensors

    @property
    def sentence(self) -> str:
        """`queries ✓ keys ✓ scores ✗`."""
        return " ".join([*(f"{name} ✓" for name in self.right), f"{self.wrong} ✗"])


def find_progress(evidence: Evidence, call: Call, recorded: Answer) -> StepsFound | None:
    """Return how far a run was right, None where nothing can be claimed.

    A step that was not found is excused where a later level of steps was: it was done in
    another way. Nothing is claimed where no step was found, or where all were.
    """
    if recorded.status is not AnswerStatus.OK:
        return None
    seen = list(of_group(recorded.tensors, Group.SEEN).values())
    steps = evidence.key.steps(call.id)
    levels = [[name for name in level if name in steps] for level in evidence.target.step_levels]
    found = [[occurs(steps[name], seen) for name in level] for level in levels]
    reached = max((i for i, level in enumerate(found) if any(level)), default=-1)
    if reached < 0:
        return None
    right: list[str] = []
    for index, (names, marks) in enumerate(zip(levels, found, strict=True)):
        right += [name for name, mark in zip(names, marks, strict=True) if mark]
        missing = [name for name, mark in zip(names, marks, strict=True) if not mark]
        if missing and index >= reached:
            return StepsFound(tuple(right), missing[0])
    return None


@np.errstate(over="ignore", invalid="ignore")  # a mask may be the least number that there is
def occurs(step: Array, seen: Sequence[Array]) -> bool:
    """Whether one of the tensors holds a step's values, in whatever order of axes."""
    wanted = step.ravel()
    scale = np.abs(wanted).max(initial=0.0) + 1e-12
    total, power = wanted.sum(), np.square(wanted).sum()
    for array in seen:
        if array.size != wanted.size:
            continue
        room = (_RTOL if array.dtype == np.float64 else _RTOL32) * scale
        flat = array.astype(np.float64)
        if abs(flat.sum() - total) > room * wanted.size:
            continue
        if abs(np.square(flat).sum() - power) > 4 * room * scale * wanted.size:
            continue
        if any(np.abs(order.ravel() - wanted).max() <= room for order in _orders(flat)):
            return True
    return False


def _orders(array: Array) -> list[Array]:
    if array.ndim > _AXES:
        return [array]
    return [array.transpose(axes) for axes in permutations(range(array.ndim))]
