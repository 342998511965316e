"""Bug checks: whether the submission agrees with the reference where a known bug does not."""

from grader.compare.arrays import distance
from grader.compare.evidence import PASSED, Evidence, Fault, Judgement
from grader.compare.outcomes import judge_call
from grader.course.limits import Tolerance
from grader.records.answers import Answer, AnswerStatus
from grader.records.ids import CallId
from grader.records.key import KnownBug, ValueProof
from grader.records.results import Status
from grader.worker.names import Group, compared

FAR = 1e30  # the distance of an answer that did not come, or has another shape
_NEAR = 1e-3  # of a bug's distance: what is nearer to the reference than this is not the bug


def judge_bug(evidence: Evidence, bug: KnownBug, numeric: Judgement) -> Judgement:
    """Return the outcome of one bug check; a gradient counts only beside right values."""
    for proof in bug.value_proofs:
        call = evidence.key.plan.call(CallId.parse(proof.call))
        outcome = judge_call(evidence, call, proof.group)
        if not outcome.passed and not (outcome.fault is Fault.VALUES and _is_near(evidence, proof)):
            return outcome
        if proof.group is Group.GRADIENT and not numeric.passed:
            return Judgement(Status.SKIPPED, "counts once the values are right")
    return PASSED


def _is_near(evidence: Evidence, proof: ValueProof) -> bool:
    """Whether values are off by far less than the bug's are, as with another epsilon."""
    actual, expected = evidence.answers[proof.call], evidence.key.answers[proof.call]
    tolerance = evidence.course.tolerances.float64
    return farthest(actual, expected, proof.group, tolerance) <= _NEAR * proof.far


def farthest(actual: Answer, expected: Answer, group: Group, tolerance: Tolerance) -> float:
    """Return the greatest distance of a group of tensors, in tolerances."""
    if actual.status is not AnswerStatus.OK:
        return FAR
    most = 0.0
    for name, wanted in compared(expected.tensors, group).items():
        came = actual.tensors.get(name)
        if came is None or came.shape != wanted.shape:
            return FAR
        most = max(most, min(distance(came, wanted, tolerance), FAR))
    return most
