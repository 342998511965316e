"""Turns evidence into check results.

One shape, numeric and gradient check a target, and one for each property and each known bug.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.compare.bugs import judge_bug
from grader.compare.evidence import BY_HAND, NO_IDEA, PASSED, Evidence, Fault, Judgement
from grader.compare.outcomes import judge_call
from grader.course.models import Course, Exercise
from grader.properties.base import kinds_of
from grader.properties.trained import judge_trained
from grader.records.calls import DrawnCase
from grader.records.ids import CheckId
from grader.records.key import AnswerKey
from grader.records.results import CheckResult, Facts, Kind, Place, ShownCase, Status
from grader.worker.names import Group
from grader.worker.protocol import Action, TargetKind

# what the shape and numeric checks tell already
_NO_ANSWER = (Fault.RAISED, Fault.TYPE, Fault.UNBOUND)
_OF_VALUES = (Fault.VALUES, Fault.FINITE, Fault.DTYPE)  # the form is right
_ROUNDING = 6  # digits of a check's points: shares of a point may not be round


def check_target(evidence: Evidence, *, bugs: bool = True) -> list[CheckResult]:
    """Return all checks of one target, in a fixed order; those of known bugs where `bugs`."""
    target, points = evidence.target, evidence.target.points
    shape = _judge_shape(evidence)
    numeric = _judge_all(evidence, Action.FORWARD, Group.OUTPUT) if points.numeric else shape
    if target.kind is TargetKind.FACTORY and numeric.passed:
        numeric = _judge_assembly(evidence)
    results = [_result(evidence, Kind.SHAPE, "", points.shape, shape)]
    if points.numeric:
        results.append(_result(evidence, Kind.NUMERIC, "", points.numeric, numeric))
    if points.gradient:
        factory = target.kind is TargetKind.FACTORY
        gradient = (
            judge_trained(evidence)
            if factory
            else _judge_all(evidence, Action.GRADIENT, Group.GRADIENT)
        )
        gradient = _gated(numeric, gradient, of_values=True)
        results.append(_result(evidence, Kind.GRADIENT, "", points.gradient, gradient))
    properties = kinds_of(evidence.course, evidence.exercise, target)
    for prop in properties:
        share = points.property / len(properties)
        gate = shape if prop.of_parts else numeric
        outcome = _gated(gate, prop.judge(evidence), of_values=prop.by_values)
        results.append(_result(evidence, Kind.PROPERTY, prop.name, share, outcome))
    known = evidence.key.book.checked(target.name) if bugs else []
    for bug in known:
        outcome = judge_bug(evidence, bug, numeric)
        results.append(_result(evidence, Kind.BUG, bug.id, points.bug / len(known), outcome))
    return results


def _judge_shape(evidence: Evidence) -> Judgement:
    """Types and shapes on every numeric case, whatever the values."""
    for call in evidence.numeric_calls(Action.FORWARD):
        outcome = judge_call(evidence, call, Group.OUTPUT)
        if not outcome.passed and outcome.fault not in _OF_VALUES:
            return outcome
    return PASSED


def _judge_all(evidence: Evidence, action: Action, group: Group) -> Judgement:
    """Return the first failed outcome, smallest case first."""
    for call in evidence.numeric_calls(action):
        outcome = judge_call(evidence, call, group)
        if not outcome.passed:
            return outcome
    return PASSED


def _judge_assembly(evidence: Evidence) -> Judgement:
    """Values of a factory, whose parameters are its own, where it is made of correct parts."""
    for prop in kinds_of(evidence.course, evidence.exercise, evidence.target):
        if prop.of_parts:
            outcome = prop.judge(evidence)
            if not outcome.passed:
                return outcome
    return PASSED


def _gated(numeric: Judgement, outcome: Judgement, *, of_values: bool) -> Judgement:
    """Let a claim earn its points only beside right values.

    What is itself judged `of_values` says nothing new where the values are wrong.
    """
    if not numeric.passed and (outcome.passed or of_values or outcome.fault in _NO_ANSWER):
        return Judgement(Status.SKIPPED, "counts once the values are right")
    return outcome


def _result(
    evidence: Evidence, kind: Kind, name: str, points: float, outcome: Judgement
) -> CheckResult:
    hidden = evidence.hidden
    message = outcome.message
    if outcome.detail and not hidden:
        message = f"{message}: {outcome.detail}"
    return CheckResult(
        id=CheckId(evidence.exercise.id, evidence.target.name, kind, name),
        status=outcome.status,
        score=round(points, _ROUNDING) if outcome.passed else 0.0,
        max_score=round(points, _ROUNDING),
        message=message,
        next_step=outcome.next_step,
        expected=Facts() if hidden else outcome.expected,
        actual=Facts() if hidden else outcome.actual,
        case=None if hidden or outcome.case is None else _shown(outcome.case),
        place=outcome.place,
        unwritten=outcome.fault is Fault.UNWRITTEN,
        trap=outcome.trap,
    )


def _shown(case: DrawnCase) -> ShownCase:
    return ShownCase(case.name, case.dims, case.construct, case.options)


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
    first: dict[Place, str] = {}  # the target
    named = []
    for result in results:
        if result.place is not None:
            target = first.setdefault(result.place, result.target)
            if target != result.target:
                step = f"it is the line that fails in `{target}` too: start there"
                result = replace(result, next_step=step)
        named.append(result)
    return named


def list_checks(course: Course, exercise: Exercise, key: AnswerKey) -> list[CheckResult]:
    """Return every check of an exercise with its points, none of them run."""
    checks = []
    for target in exercise.targets:
        points = target.points
        properties = course.properties(exercise, target)
        bugs = key.book.checked(target.name)
        parts = [
            (Kind.SHAPE, "", points.shape),
            (Kind.NUMERIC, "", points.numeric),
            (Kind.GRADIENT, "", points.gradient),
            *((Kind.PROPERTY, p.name, points.property / len(properties)) for p in properties),
            *((Kind.BUG, bug.id, points.bug / len(bugs)) for bug in bugs),
        ]
        checks += [
            CheckResult(
                id=CheckId(exercise.id, target.name, kind, name),
                status=Status.SKIPPED,
                score=0.0,
                max_score=round(worth, 6),
            )
            for kind, name, worth in parts
            if worth
        ]
    return checks
