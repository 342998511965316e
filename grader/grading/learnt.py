"""What trainings came to, to be shown: how the loss fell, what was reached, what was written."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grader.course.models import Exercise
from grader.grading.exercise import Run
from grader.properties.learns import Learns, misfit_of
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array
from grader.worker.names import Group, of_group, tensor_name

_POINTS = 60  # of a curve, each the mean of some steps


@dataclass(frozen=True)
class Learnt:
    """One training."""

    target: str
    steps: int
    losses: tuple[float, ...]  # in bits; each the mean of as many steps
    told: str  # what was reached, and what is due
    lacking: tuple[tuple[str, str], ...]  # what models reach that lack a part
    written: tuple[tuple[int, str], ...]  # by a model of text, after so many steps


def learnt_of(exercise: Exercise, run: Run) -> tuple[Learnt, ...]:
    """Return what the trainings of a run came to, of those that came to an end."""
    if run.rounds is None:
        return ()
    trained, key = run.rounds.trained, run.rounds.key
    found = []
    for target in exercise.targets:
        for prop in target.properties:
            if isinstance(prop, Learns):
                call = key.plan.training(target.name, prop.name)
                known = key.answers[call.id].tensors
                one = _learnt(target.name, prop, trained.get(call.id), known)
                found += [one] if one else []
    return tuple(found)


def _learnt(
    target: str, prop: Learns, answer: Answer | None, known: Mapping[str, Array]
) -> Learnt | None:
    if answer is None or answer.status is not AnswerStatus.OK:
        return None
    losses, logits = (answer.tensors.get(tensor_name(g)) for g in (Group.LOSSES, Group.AFTER))
    due = known[tensor_name(Group.LABELS)]
    if losses is None or logits is None or misfit_of(logits, due) or not losses.size:
        return None
    parts = np.array_split(losses.ravel() / np.log(2), min(_POINTS, losses.size))
    lacking = tuple((part, prop.shown(figure)) for part, figure in prop.lacking.items())
    reached, bar = prop.shown(prop.reached(logits, due)), prop.shown(prop.bar)
    return Learnt(
        target,
        losses.size,
        tuple(float(part.mean()) for part in parts),
        f"{reached} on {len(due)} samples that it has not seen; {prop.edge} {bar} are due",
        lacking,
        tuple(_written(answer, known[tensor_name(Group.LETTERS)])),
    )


def _written(answer: Answer, letters: Array) -> list[tuple[int, str]]:
    """Return what was written by the step, in order."""
    found = []
    for step, tokens in of_group(answer.tensors, Group.WRITTEN).items():
        whole = tokens.dtype.kind in "iu" and step.isdecimal()
        if whole and ((tokens >= 0) & (tokens < len(letters))).all():
            found.append((int(step), "".join(chr(letters[t]) for t in tokens.ravel())))
    return sorted(found)
