"""Training that brings the loss down."""

from typing import Literal

import numpy as np
from pydantic import Field

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.course.cases import Case
from grader.course.expressions import parse_size
from grader.plan.draw import draw_indices
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind
from grader.records.answers import AnswerStatus
from grader.records.calls import Array
from grader.records.results import Status
from grader.worker.names import Group, tensor_name
from grader.worker.protocol import Action, Training

_NO_LOSS = "return log-probabilities of the classes; then train once more"
_NEXT_STEP = (
    "check that every layer is registered and used, and that the output is log-probabilities"
)


class Fits(Kind):
    """Training on one small batch brings the loss below a share of what it was."""

    kind: Literal["fits"]
    case: Case = Field(description="whose inputs are trained on")
    steps: int = Field(gt=0, description="of training")
    learning_rate: float = Field(gt=0, description="of Adam")
    classes: str = Field(description="how many labels there are, over the dims")
    share: float = Field(gt=0, lt=1, description="of the first loss that may be left")

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call that trains on one batch with drawn labels."""
        drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        classes = parse_size(self.classes).size(drawn.dims)
        rows = next(iter(planner.target.output_specs.values())).shape(drawn.dims)[0]
        labels = draw_indices((rows,), classes, planner.seed(drawn, "labels"))
        training = Training(
            planner.tensor(drawn, "labels", labels, self.case),
            self.steps,
            self.learning_rate,
            self.share,
        )
        planner.add(planner.call(drawn, self.case, self.name, Action.FIT, training=training))

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        call = evidence.call_of(self.name)
        answer = evidence.answers[call.id]
        case = evidence.case(call)
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, case)
        assert call.training is not None  # noqa: S101 - as it was planned
        labels = evidence.key.plan.tensors[call.training.labels]
        before, after = (
            _loss(answer.tensors.get(tensor_name(when)), labels)
            for when in (Group.BEFORE, Group.AFTER)
        )
        if np.isfinite(before) and after <= self.share * before:
            return PASSED
        if not np.isfinite(before):
            message = "the outputs are no log-probabilities, so no loss is computed of them"
            return Judgement(Status.FAILED, message, next_step=_NO_LOSS, case=case)
        return Judgement(
            Status.FAILED,
            f"{self.steps} steps of training on a small batch bring the loss down too little",
            f"from {before:.3g} to {after:.3g}",
            _NEXT_STEP,
            case=case,
        )


def _loss(log_probabilities: Array | None, labels: Array) -> float:
    """Mean negative log-likelihood; infinite for anything that is no (b, c)."""
    if log_probabilities is None or log_probabilities.ndim != 2:
        return float("inf")
    if len(log_probabilities) != len(labels) or log_probabilities.shape[1] <= labels.max():
        return float("inf")
    loss = -log_probabilities[np.arange(len(labels)), labels].mean()
    sums = np.exp(log_probabilities).sum(axis=1)
    right = np.isfinite(loss) and np.abs(sums - 1).max() < 1e-3
    return float(loss) if right else float("inf")
