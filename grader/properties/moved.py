"""What kinds share that call with inputs moved along a dim and compare with the first answer."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from grader.compare.arrays import Words, find_difference
from grader.compare.beside import lacks_axes
from grader.compare.evidence import COMPARE_SHAPES, LOST_AXIS, PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.course.expressions import TensorSpec
from grader.course.models import Exercise, Target
from grader.properties.base import Kind, answers_of, outputs_of
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, DrawnCase
from grader.records.ids import CallId
from grader.records.results import Status


class Moved(Kind):
    """The submission's answers on changed inputs are held against its own on the first case."""

    compares: ClassVar[bool] = True
    shrinkable: ClassVar[bool] = True
    sentence: ClassVar[str]  # what should hold along {dim}
    words: ClassVar[Words]  # for a value that is to be met, and for the one that has to meet it
    step: ClassVar[str]  # what to look for where it does not

    dim: str = Field(description="along which the items of the inputs are moved")

    @abstractmethod
    def expected(self, array: Array, axis: int, part: str) -> Array:
        """Return what an output should become in the call of that part."""

    def looked_at(self, array: Array, axis: int, part: str) -> Array:
        """Return what of an output in the call of that part has to be as expected."""
        return array

    def begins(self, array: Array, axis: int, part: str) -> int:
        """Return the place, along the dim, of the first item that is looked at."""
        return 0

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """An input and an output have to have the dim as an axis."""
        for what, specs in (("input", target.input_specs), ("output", target.output_specs)):
            tensors = [spec for spec in specs.values() if isinstance(spec, TensorSpec)]
            if all(spec.axis_of(self.dim) is None for spec in tensors):
                return f"no {what} has an axis '{self.dim}'"
        return ""

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        # Wide on purpose: a violation is of order one, and precision is another check's business.
        tolerance = evidence.course.tolerances.float32
        main, calls = evidence.first_call, evidence.calls_of(self.name)
        answers = answers_of(evidence, [main, *calls])
        if waits := _waits_for(evidence, answers):
            return waits
        for name, whole in outputs_of(answers[main.id]).items():
            spec = evidence.target.output_specs[name]
            axis = spec.axis_of(self.dim)
            if axis is None or whole.ndim != len(spec.axes):
                continue  # another number of axes is what the shape check tells
            if before := _missing_before(whole.shape[axis] == main.shapes[name][axis], whole):
                return before
            for call in calls:
                came = outputs_of(answers[call.id]).get(name)
                part = CallId.parse(call.id).part
                due = self.expected(whole, axis, part)
                difference = None
                if came is not None:
                    came = self.looked_at(came, axis, part)
                    start = [self.begins(whole, axis, part) * (i == axis) for i in range(came.ndim)]
                    difference = find_difference(came, due, tolerance, self.words, start)
                if came is None or difference is not None:
                    detail = difference.message if difference else ""
                    broken = self._broken(detail, evidence.case(call))
                    return broken if came is None else _of_form(broken, came, due)
        return PASSED

    def _broken(self, detail: str, case: DrawnCase) -> Judgement:
        said, step = (text.format(dim=self.dim) for text in (self.sentence, self.step))
        return Judgement(Status.FAILED, said, detail, step, case=case)


def _of_form(broken: Judgement, came: Array, due: Array) -> Judgement:
    """Return it with another next step where axes are lost: nothing that mixes items does that."""
    if lacks_axes(came.shape, due.shape):
        return replace(broken, next_step=LOST_AXIS)
    return broken if came.ndim == due.ndim else replace(broken, next_step=COMPARE_SHAPES)


def _waits_for(evidence: Evidence, answers: Mapping[str, Answer]) -> Judgement | None:
    """Say what has to be right before answers can be compared; None where all is.

    Where numbers are to be drawn, the cases leave a right target no choice.
    """
    for call, answer in answers.items():
        if answer.status is not AnswerStatus.OK:
            case = evidence.case(evidence.key.plan.call(CallId.parse(call)))
            return explain_status(evidence, answer, case)
    if evidence.has_to_draw and any(answer.info.random for answer in answers.values()):
        return Judgement(Status.SKIPPED, "counts once the numbers that are drawn are right")
    return None


def _missing_before(fits: bool, whole: Array) -> Judgement | None:
    """Say what has to be right first: as many items as are due, and no NaN; None where it is."""
    if not fits:  # its items are others than are meant
        return Judgement(Status.SKIPPED, "counts once the shape is right")
    if (whole != whole).any():  # NaN, which is unlike itself
        return Judgement(Status.SKIPPED, "counts once no number is NaN")
    return None
