"""For kinds that call with inputs moved along a dim and compare with the first answer."""

from collections.abc import Callable, Sequence

from grader.compare.arrays import find_difference
from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.course.expressions import TensorSpec
from grader.course.models import Target
from grader.properties.base import answers_of
from grader.records.answers import AnswerStatus
from grader.records.calls import Array, Call
from grader.records.ids import CallId
from grader.records.results import Status
from grader.worker.names import Group, tensor_name


def needs_axis(dim: str, target: Target) -> str:
    """Say so where no input, or no output, has an axis that is exactly the dim."""
    for what, specs in (("input", target.input_specs), ("output", target.output_specs)):
        tensors = [spec for spec in specs.values() if isinstance(spec, TensorSpec)]
        if all(spec.axis_of(dim) is None for spec in tensors):
            return f"no {what} has an axis '{dim}'"
    return ""


def judge_moved(
    evidence: Evidence,
    calls: Sequence[Call],
    dim: str,
    expected: Callable[[Array, int, str], Array],  # of the whole, the axis, the part of the id
    sentence: str,
    step: str,
) -> Judgement:
    """Compare the submission's answers on changed inputs with its own on the first case."""
    # Wide on purpose: a violation is of order one, and precision is another check's business.
    tolerance = evidence.course.tolerances.float32
    main = evidence.first_call
    answers = answers_of(evidence, [main, *calls])
    for call in [main, *calls]:
        if answers[call.id].status is not AnswerStatus.OK:
            return explain_status(evidence, answers[call.id], evidence.case(call))
    for name, spec in evidence.target.output_specs.items():
        axis = spec.axis_of(dim)
        whole = answers[main.id].tensors.get(tensor_name(Group.OUTPUT, name))
        if axis is None or whole is None or axis >= whole.ndim:
            continue
        for call in calls:
            part = answers[call.id].tensors.get(tensor_name(Group.OUTPUT, name))
            due = expected(whole, axis, CallId.parse(call.id).part)
            difference = None if part is None else find_difference(part, due, tolerance)
            if part is None or difference is not None:
                detail = difference.message if difference else ""
                case = evidence.case(call)
                return Judgement(Status.FAILED, sentence, detail, step, case=case)
    return PASSED
