"""Turns evidence into check results.

One shape, numeric and gradient check a target, and one for each property and each known bug.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from grader.compare.bugs import judge_bug
from grader.compare.evidence import BY_HAND, NO_IDEA, PASSED, Evidence, Outcome
from grader.compare.outcomes import judge_call
from grader.compare.properties import judge_property, judge_trained
from grader.course.models import Agrees, Dropout, Dtype, Property, Reusable
from grader.records import CheckResult, Kind, Status

_NO_ANSWER = ("raised", "type", "unbound")  # what the shape and numeric checks tell already
_ROUNDING = 6  # digits of a check's points: shares of a point may not be round


def check_target(evidence: Evidence, *, bugs: bool = True) -> list[CheckResult]:
    """Return all checks of one target, in a fixed order; those of known bugs where `bugs`."""
    target, points = evidence.target, evidence.target.points
    shape = _judge_shape(evidence)
    numeric = _judge_all(evidence, "forward", "output") if points.numeric else shape
    if target.kind == "factory" and numeric.passed:
        numeric = _judge_assembly(evidence)
    results = [_result(evidence, Kind.SHAPE, "", points.shape, shape)]
    if points.numeric:
        results.append(_result(evidence, Kind.NUMERIC, "", points.numeric, numeric))
    if points.gradient:
        factory = target.kind == "factory"
        gradient = judge_trained(evidence) if factory else _judge_all(evidence, "gradient", "grad")
        gradient = _gated(numeric, gradient, of_values=True)
        results.append(_result(evidence, Kind.GRADIENT, "", points.gradient, gradient))
    properties = evidence.course.properties(evidence.exercise, target)
    for prop in properties:
        share = points.property / len(properties)
        of_values = isinstance(prop, Agrees | Dropout | Dtype | Reusable)
        gate = shape if _tells_values(prop) else numeric
        outcome = _gated(gate, judge_property(evidence, prop), of_values=of_values)
        results.append(_result(evidence, Kind.PROPERTY, prop.name, share, outcome))
    known = evidence.key.book.checked(target.name) if bugs else []
    for bug in known:
        outcome = judge_bug(evidence, bug, numeric)
        results.append(_result(evidence, Kind.BUG, bug.id, points.bug / len(known), outcome))
    return results


def _judge_shape(evidence: Evidence) -> Outcome:
    """Types and shapes on every numeric case, whatever the values."""
    for call in evidence.numeric_calls("forward"):
        outcome = judge_call(evidence, call, "output")
        if not outcome.passed and outcome.kind not in ("values", "finite", "dtype"):
            return outcome
    return PASSED


def _judge_all(evidence: Evidence, action: str, group: str) -> Outcome:
    """Return the first failed outcome, smallest case first."""
    for call in evidence.numeric_calls(action):
        outcome = judge_call(evidence, call, group)
        if not outcome.passed:
            return outcome
    return PASSED


def _judge_assembly(evidence: Evidence) -> Outcome:
    """Values of a factory, whose parameters are its own, where it is made of correct parts."""
    for prop in evidence.course.properties(evidence.exercise, evidence.target):
        if _tells_values(prop):
            outcome = judge_property(evidence, prop)
            if not outcome.passed:
                return outcome
    return PASSED


def _tells_values(prop: Property) -> bool:
    return isinstance(prop, Agrees) and prop.earlier == "stand-ins"


def _gated(numeric: Outcome, outcome: Outcome, *, of_values: bool) -> Outcome:
    """Let a claim earn its points only beside right values.

    What is itself judged `of_values` says nothing new where the values are wrong.
    """
    if not numeric.passed and (outcome.passed or of_values or outcome.kind in _NO_ANSWER):
        return Outcome(Status.SKIPPED, "counts once the values are right")
    return outcome


def _result(
    evidence: Evidence, kind: Kind, name: str, points: float, outcome: Outcome
) -> CheckResult:
    target = evidence.target.name
    parts = [evidence.exercise.id, target, kind.value, *([name] if name else [])]
    hidden = evidence.hidden
    message = outcome.message
    if outcome.detail and not hidden:
        message = f"{message}: {outcome.detail}"
    return CheckResult(
        id="/".join(parts),
        kind=kind,
        target=target,
        status=outcome.status,
        score=round(points, _ROUNDING) if outcome.passed else 0.0,
        max_score=round(points, _ROUNDING),
        message=message,
        next_step=outcome.next_step,
        expected={} if hidden else outcome.expected,
        actual={} if hidden else outcome.actual,
        case={} if hidden else _shown_case(outcome),
    )


def _shown_case(outcome: Outcome) -> dict[str, Any]:
    case = outcome.case
    if case is None:
        return {}
    return {
        "name": case.name,
        "dims": dict(case.dims),
        "constructor": dict(case.construct),
        "options": dict(case.options),
    }


def point_to_hint(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Where the mistake is named, its hint is the better next step."""
    step = "follow the hint of the mistake that is named"
    return [replace(r, next_step=step) if r.next_step == BY_HAND else r for r in results]


def name_causes(
    results: Sequence[CheckResult], uses: Callable[[str], Sequence[str]]
) -> list[CheckResult]:
    """Where a target fails beside one that it uses, say so: the mistake is told once."""
    broken = {
        r.target
        for r in results
        if r.kind in (Kind.SHAPE, Kind.NUMERIC) and r.status is Status.FAILED
    }
    named = []
    for result in results:
        causes = [name for name in uses(result.target) if name in broken]
        of_values = result.kind is Kind.NUMERIC or result.next_step in NO_IDEA
        if of_values and result.status is Status.FAILED and causes:
            step = f"`{result.target}` uses `{causes[0]}`, which is not right yet: start there"
            result = replace(result, next_step=step)
        named.append(result)
    return _name_lines(named)


def _name_lines(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Where a target fails at a line that another failed at before it, say so."""
    first: dict[str, str] = {}  # "exercise1.py, line 12" and its code -> the target
    named = []
    for result in results:
        _, at, place = result.message.rpartition(" at ")
        if at and ", line " in place and result.status is not Status.PASSED:
            target = first.setdefault(place, result.target)
            if target != result.target:
                step = f"it is the line that fails in `{target}` too: start there"
                result = replace(result, next_step=step)
        named.append(result)
    return named
