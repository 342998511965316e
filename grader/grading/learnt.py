"""What trainings came to, to be shown: how the loss fell, what was reached, what was written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grader.course.models import Exercise
from grader.properties.learns import Learns, misfit_of
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array
from grader.worker.names import Group, of_group, tensor_name
from grader.worker.protocol import TensorKey

if TYPE_CHECKING:  # what was kept is shown without what grades
    from grader.grading.exercise import Run

_POINTS = 60  # of a curve, each the mean of some steps
_MAPS, _PLACES = 16, 64  # of weights that are shown, at most


@dataclass(frozen=True)
class Learnt:
    """One training."""

    target: str
    steps: int
    losses: tuple[float, ...]  # in bits; each the mean of as many steps
    told: str  # what was reached, and what is due
    lacking: tuple[tuple[str, str], ...]  # what models reach that lack a part
    written: tuple[tuple[int, str], ...]  # by a model of text, after so many steps
    mixed: tuple[Array, ...] = ()  # weights (t, t) with which it mixes the places of one sample
    sample: str = ""  # the one, where it is text


def learnt_of(exercise: Exercise, run: "Run") -> tuple[Learnt, ...]:
    """Return what the trainings of a run came to, of those that came to an end."""
    if run.rounds is None:
        return ()
    trained, key = run.rounds.trained, run.rounds.key
    found = []
    for target in exercise.targets:
        for prop in target.properties:
            if isinstance(prop, Learns):
                call = key.plan.training(target.name, prop.name)
                known, (given,) = key.answers[call.id].tensors, call.inputs
                assert isinstance(given, TensorKey)  # noqa: S101 - or it could not be trained
                new = key.plan.tensors[given.tensor]
                one = _learnt(target.name, prop, trained.get(call.id), known, new[0])
                found += [one] if one else []
    return tuple(found)


def _learnt(
    target: str, prop: Learns, answer: Answer | None, known: Mapping[str, Array], sample: Array
) -> Learnt | None:
    if answer is None or answer.status is not AnswerStatus.OK:
        return None
    losses, logits = (answer.tensors.get(tensor_name(g)) for g in (Group.LOSSES, Group.AFTER))
    due = known[tensor_name(Group.LABELS)]
    if losses is None or logits is None or misfit_of(logits, due) or not losses.size:
        return None
    parts = np.array_split(losses.ravel() / np.log(2), min(_POINTS, losses.size))
    lacking = tuple((part, prop.shown(figure)) for part, figure in prop.lacking.items())
    letters, mixed = known[tensor_name(Group.LETTERS)], mixed_of(answer)
    reached, bar = prop.shown(prop.reached(logits, due)), prop.shown(prop.bar)
    return Learnt(
        target,
        losses.size,
        tuple(float(part.mean()) for part in parts),
        f"{reached} on {len(due)} samples that it has not seen; {prop.edge} {bar} are due",
        lacking,
        tuple(_written(answer, letters)),
        mixed,
        _text(sample[: len(mixed[0])], letters) if mixed and letters.size else "",
    )


def mixed_of(answer: Answer) -> tuple[Array, ...]:
    """Return weights that can be shown: what a child sends may be anything."""
    weights = answer.tensors.get(tensor_name(Group.MIXED))
    if weights is None or weights.ndim != 3 or weights.dtype.kind != "f":
        return ()
    count, rows, columns = weights.shape
    fits = count <= _MAPS and 0 < rows == columns <= _PLACES
    return tuple(weights) if fits and (np.abs(weights) <= 1.1).all() else ()


def _written(answer: Answer, letters: Array) -> list[tuple[int, str]]:
    """Return what was written by the step, in order."""
    found = []
    for step, tokens in of_group(answer.tensors, Group.WRITTEN).items():
        whole = tokens.dtype.kind in "iu" and step.isdecimal()
        if whole and ((tokens >= 0) & (tokens < len(letters))).all():
            found.append((int(step), _text(tokens.ravel(), letters)))
    return sorted(found)


def _text(tokens: Array, letters: Array) -> str:
    return "".join(chr(letters[token]) for token in tokens)
