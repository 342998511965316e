"""Bug checks: whether the submission agrees with the reference where a known bug does not."""

from grader.compare.evidence import PASSED, Evidence, Outcome
from grader.compare.outcomes import judge_call
from grader.key.bugs import KnownBug
from grader.records import Status


def judge_bug(evidence: Evidence, bug: KnownBug, numeric: Outcome) -> Outcome:
    """Return the outcome of one bug check; a gradient counts only beside right values."""
    calls = {call.id: call for call in evidence.key.plan.calls}
    for proof in bug.proofs:
        kind, _, where = proof.partition(" ")
        if kind not in ("output", "grad"):
            continue  # a variant that another check shows
        outcome = judge_call(evidence, calls[where], kind)
        if not outcome.passed:
            return outcome
        if kind == "grad" and not numeric.passed:
            return Outcome(Status.SKIPPED, "counts once the values are right")
    return PASSED
