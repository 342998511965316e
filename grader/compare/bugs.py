"""Bug checks: whether the submission agrees with the reference where a known bug does not."""

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.outcomes import judge_call
from grader.records.key import KnownBug, ValueProof
from grader.records.results import Status
from grader.worker.names import Group


def judge_bug(evidence: Evidence, bug: KnownBug, numeric: Judgement) -> Judgement:
    """Return the outcome of one bug check; a gradient counts only beside right values."""
    calls = {call.id: call for call in evidence.key.plan.calls}
    for proof in bug.proofs:
        if not isinstance(proof, ValueProof):
            continue  # a variant that another check shows
        outcome = judge_call(evidence, calls[proof.call], proof.group)
        if not outcome.passed:
            return outcome
        if proof.group is Group.GRADIENT and not numeric.passed:
            return Judgement(Status.SKIPPED, "counts once the values are right")
    return PASSED
