"""Training on samples, after which a module knows what to make of others."""

from math import log
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from grader.compare.evidence import PASSED, Evidence, Fault, Judgement
from grader.compare.explain import explain_status
from grader.course.cases import Case
from grader.course.expressions import TensorSpec
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.plan.rules import draw_samples
from grader.properties.base import Kind
from grader.records.answers import AnswerStatus
from grader.records.calls import Array
from grader.records.results import Status
from grader.worker.names import Group, tensor_name
from grader.worker.protocol import Action, Learning, TargetKind

_STAGES = (20, 5, 2, 1)  # parts of the steps after which a model of sequences writes
# within these a model counts as no better than one that lacks a part
_ROUNDING = 1e-4  # of a sum of float32
_NORMED = "it returns probabilities, whose rows sum to one, where logits are asked for"
_LEAVE_OUT = (
    "leave out what makes them probabilities at its end: the loss function does that itself"
)
_NEAR = {"right": 0.02, "bits": 0.15}


class Learns(Kind):
    """Trained by the course's loop on samples, it predicts what is due for others.

    The parent alone knows what is due for those; of a sequence it is the token behind its end, so
    that nothing is given away by what comes in. It takes long: without `grade train` or a class
    that is graded whole the check waits.
    """

    kind: Literal["learns"]
    case: Case = Field(description="whose inputs are the unseen samples")
    data: str = Field(
        description="a function in `solutions/drawing.py`, called with how many samples to train "
        "on, the shape of the unseen ones and a generator of numpy's; it returns samples, their "
        'labels, unseen samples, what is due for them, and the letters of tokens in one text, "" '
        "where there are none"
    )
    samples: int = Field(gt=0, description="to train on")
    steps: int = Field(gt=0, description="of training")
    batch: int = Field(gt=0, description="samples a step")
    learning_rate: float = Field(gt=0, description="of Adam at its highest: it rises, then falls")
    seconds: int = Field(gt=0, description="that it may take")
    usual_seconds: int = Field(
        default=0, ge=0, description="that it takes the reference on one core, 0 if not known"
    )
    measure: Literal["right", "bits"] = Field(
        description="right: the share of predictions that are right; "
        "bits: the mean negative logarithm of a right prediction's probability"
    )
    bar: float = Field(gt=0, description="at least so many right, at most so many bits")
    lacking: dict[str, float] = Field(
        default={}, description="what models reach that lack a part, by what they lack"
    )

    by_values: ClassVar[bool] = True
    trains: ClassVar[bool] = True

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """Only what makes a module of one tensor can be trained."""
        one = [isinstance(spec, TensorSpec) for spec in target.input_specs.values()] == [True]
        fits = one and target.kind is TargetKind.FACTORY
        return "" if fits else "it is no factory of modules that take one tensor"

    def plan(self, planner: TargetPlanner) -> None:
        """Add a training, whose labels of unseen samples no worker gets."""
        drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        ((name, spec),) = planner.target.input_specs.items()
        assert isinstance(spec, TensorSpec)  # noqa: S101 - or it does not fit
        seed, shape = planner.seed(drawn, "samples"), spec.shape(drawn.dims)
        made = draw_samples(planner.rules, self.data, self.samples, shape, seed)
        planner.tensor(drawn, name, made.unseen.astype(spec.held), self.case)  # else it is drawn
        how = Learning(
            planner.tensor(drawn, "samples", made.samples, self.case),
            planner.tensor(drawn, "labels", made.labels, self.case),
            self.steps,
            self.batch,
            self.learning_rate,
            self.seconds,
            [self.steps // part for part in _STAGES] if made.letters else (),
        )
        call = planner.call(drawn, self.case, self.name, Action.LEARN, learning=how)
        planner.plan.trainings.append(call)
        letters = np.array([ord(letter) for letter in made.letters], np.int64)
        planner.plan.withheld[call.id] = {
            tensor_name(Group.LABELS): made.due,
            tensor_name(Group.LETTERS): letters,
        }

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on what a trained module says of samples that it has not seen."""
        call = evidence.key.plan.training(evidence.target.name, self.name)
        answer, case = evidence.answers.get(call.id), evidence.case(call)
        if answer is not None and answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, case)
        logits = answer.tensors.get(tensor_name(Group.AFTER)) if answer else None
        if answer is None or logits is None:
            return Judgement(
                Status.SKIPPED,
                "not trained yet",
                next_step="train it with `grade train`",
                fault=Fault.WAITS,
            )
        due = evidence.key.answers[call.id].tensors[tensor_name(Group.LABELS)]
        message = misfit_of(logits, due) or self._short_of(logits, due)
        if not message and _are_probabilities(logits):
            return Judgement(Status.FAILED, _NORMED, next_step=_LEAVE_OUT, case=case)
        if not message:
            return PASSED
        step = f"`grade train {evidence.exercise.id} --html page.html` shows the loss as it falls"
        return Judgement(Status.FAILED, message, next_step=step, case=case)

    def reached(self, logits: Array, due: Array) -> float:
        """Return how well unseen samples are predicted, by this measure."""
        if self.measure == "right":
            return float((logits.argmax(axis=1) == due).mean())
        return _bits(logits, due)

    @property
    def edge(self) -> str:
        """Which side of the bar is the right one."""
        return "at least" if self.measure == "right" else "at most"

    def shown(self, reached: float) -> str:
        """Return a figure of this measure as a message tells it."""
        return f"{reached:.1%} right" if self.measure == "right" else f"{reached:.2f} bits a token"

    def _short_of(self, logits: Array, due: Array) -> str:
        """Say how far the bar is, "" where it is reached."""
        reached = self.reached(logits, due)
        if reached >= self.bar if self.measure == "right" else reached <= self.bar:
            return ""
        told = (
            f"trained for {self.steps} steps it reaches {self.shown(reached)} on {len(due)} "
            f"samples that it has not seen; {self.edge} {self.shown(self.bar)} are due"
        )
        near = [
            part
            for part, known in self.lacking.items()
            if abs(known - reached) < _NEAR[self.measure]
        ]
        return told + "".join(f"; a model without {part} comes about as far" for part in near[:1])


def _are_probabilities(logits: Array) -> bool:
    """Whether each row sums to one and has no negative number, as no logits do by chance."""
    sums = logits.sum(axis=1)
    return bool((logits >= 0).all()) and np.allclose(sums, 1.0, rtol=0.0, atol=_ROUNDING)


def misfit_of(logits: Array, due: Array) -> str:
    """Say why nothing can be read from what came, "" where it can."""
    if logits.ndim != 2 or len(logits) != len(due) or logits.shape[1] <= due.max():
        return "for unseen samples it returns another shape than is due"
    return "" if np.isfinite(logits).all() else "the training ends in numbers that are not finite"


def _bits(logits: Array, due: Array) -> float:
    """Return the mean cross-entropy in bits."""
    highest = logits.max(axis=1, keepdims=True)
    total = highest[:, 0] + np.log(np.exp(logits - highest).sum(axis=1))
    return float((total - logits[np.arange(len(due)), due]).mean() / log(2))
