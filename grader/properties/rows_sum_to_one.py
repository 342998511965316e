"""Rows that are distributions."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from grader.compare.arrays import find_difference
from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.compare.outcomes import sound_calls
from grader.course.models import Exercise, Target
from grader.properties.base import Kind, answers_of, outputs_of
from grader.records.answers import AnswerStatus
from grader.records.results import Status
from grader.worker.protocol import Action


class RowsSumToOne(Kind):
    """Every row of the output along `axis` is a distribution; `log` for log-probabilities."""

    compares: ClassVar[bool] = True
    shrinkable: ClassVar[bool] = True

    kind: Literal["rows-sum-to-one"]
    axis: int = Field(default=-1, description="along which each row runs")
    log: bool = Field(default=False, description="whether outputs are log-probabilities")

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """Every output has to have the axis."""
        for name, spec in target.output_specs.items():
            if not -len(spec.axes) <= self.axis < len(spec.axes):
                return f"`{name}` has no axis {self.axis}"
        return ""

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        tolerance = evidence.course.tolerances.float32
        for call in sound_calls(evidence, Action.FORWARD):
            answer = answers_of(evidence, [call])[call.id]
            if answer.status is not AnswerStatus.OK:
                return explain_status(evidence, answer, evidence.case(call))
            for name, array in outputs_of(answer).items():
                with np.errstate(all="ignore"):
                    values = np.exp(array) if self.log else array
                if not -array.ndim <= self.axis < array.ndim:
                    continue  # the shape check tells it
                sums = values.sum(axis=self.axis)
                if (values < 0).any() or find_difference(sums, np.ones_like(sums), tolerance):
                    rows = "exp of each row" if self.log else "each row"
                    worst = sums.ravel()[int(np.abs(np.nan_to_num(sums - 1, nan=1e9)).argmax())]
                    return Judgement(
                        Status.FAILED,
                        f"{rows} of `{name}` should be a distribution: not negative, "
                        "and sum to one",
                        f"a row sums to {worst:.4g}",
                        f"check that there is a {'log-' if self.log else ''}softmax, its axis, "
                        "and that nothing follows it",
                        case=evidence.case(call),
                    )
        return PASSED
