"""Turns evidence into check results.

One shape, numeric and gradient check for each group of cases, and one for each property and each
known bug.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from grader.checks.shares import Share, shares_of
from grader.compare.bugs import judge_bug
from grader.compare.covered import acts_in, checks_failed_by
from grader.compare.evidence import (
    COMPARE_SHAPES,
    FOLLOW_HINT,
    LOST_AXIS,
    NO_IDEA,
    NOT_FINITE,
    PASSED,
    RESIZE,
    SEEK_LAYER,
    SPLIT_BEFORE,
    UNKNOWN,
    Evidence,
    Fault,
    Judgement,
    show_case,
)
from grader.compare.lost import SILENT, cut_at
from grader.compare.outcomes import judge_call, lacks_bias, other_form
from grader.course.models import Course, Exercise, Property, Target
from grader.properties.base import kinds_of
from grader.properties.draws import Draws
from grader.properties.trained import judge_trained
from grader.records.calls import PLAIN, Call, group_of
from grader.records.ids import CallId
from grader.records.key import AnswerKey
from grader.records.results import CheckResult, Diagnosis, Kind, Place, Status
from grader.records.text import as_step
from grader.worker.names import Group
from grader.worker.protocol import Action, TargetKind

_OF_LAYERS = (SEEK_LAYER, RESIZE, SPLIT_BEFORE)  # steps where a target's own layers do not fit
_OF_FORM = (COMPARE_SHAPES, LOST_AXIS, *_OF_LAYERS)  # steps where a form is wrong
# what the shape and numeric checks tell already
_NO_ANSWER = (Fault.RAISED, Fault.TYPE, Fault.UNBOUND)
_PARAMETER = re.compile(r"the parameter `([\w.]+)`")
OF_VALUES = (Fault.VALUES, Fault.FINITE, Fault.DTYPE)  # the form is right


def check_target(evidence: Evidence, *, bugs: bool = True) -> list[CheckResult]:
    """Return all checks of one target, in a fixed order; those of known bugs where `bugs`."""
    return list(check_each(evidence, bugs=bugs))


def check_each(evidence: Evidence, *, bugs: bool = True) -> Iterator[CheckResult]:
    """Yield the same one by one, each judged as it is asked for."""
    judge = _Judge(evidence)
    for share in shares_of(evidence.course, evidence.exercise, evidence.target, evidence.key):
        if bugs or share.kind is not Kind.BUG:
            yield _result(evidence.target, share, judge.outcome(share))


class _Judge:
    """Judges the checks of one target, some of which count only beside others."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._factory = evidence.target.kind is TargetKind.FACTORY
        course, exercise = evidence.course, evidence.exercise
        self._properties = {p.name: p for p in kinds_of(course, exercise, evidence.target)}
        self._bugs = {bug.id: bug for bug in evidence.key.book.checked(evidence.target.name)}
        self._values: dict[str, Judgement] = {}  # by group; many checks ask for it

    def outcome(self, share: Share) -> Judgement:
        """Return what one check came to."""
        match share.kind:
            case Kind.SHAPE:
                return self._shape(share.name)
            case Kind.NUMERIC:
                return self._numeric(share.name)
            case Kind.GRADIENT:
                return _gated(self._numeric(share.name), self._gradient(share.name), of_values=True)
            case Kind.PROPERTY:
                prop = self._properties[share.name]
                gate = self._answered(PLAIN) if prop.of_parts else self._numeric(PLAIN)
                outcome = _gated(gate, prop.judge(self._evidence), of_values=prop.by_values)
                return outcome if outcome.passed else _gated(self._of_options(prop), outcome)
            case Kind.BUG:
                bug = self._bugs[share.name]
                outcome = judge_bug(self._evidence, bug, self._numeric(PLAIN))
                calls = [proof.call for proof in bug.value_proofs]
                return self._beside_draws(self._beside_others(outcome, calls), calls)

    def _of_options(self, prop: Property) -> Judgement:
        """The values with what a property gives that fails with it, and goes by values."""
        of_options = prop.by_values and not (prop.of_parts or prop.claim)
        own = self._evidence.calls_of(prop.name) if of_options else []
        asked = {name for call in own for name in self._evidence.case(call).gives}
        judged = [self._numeric(group) for group in sorted(asked)]
        return next((one for one in judged if not one.passed), PASSED)

    def _shape(self, group: str) -> Judgement:
        """Types and shapes on every numeric case of a group, whatever the values."""
        calls = _calls(self._evidence, Action.FORWARD, group)
        forms = (other_form(self._evidence, call) for call in calls)
        answered = self._answered(group)
        return next(filter(None, forms), PASSED) if answered.passed else answered

    def _answered(self, group: str) -> Judgement:
        """Types and shapes, but for another form whose values can be compared all the same."""
        calls = _calls(self._evidence, Action.FORWARD, group)
        judged = [judge_call(self._evidence, call, Group.OUTPUT) for call in calls]
        failed = [one for one in judged if not one.passed and one.fault not in OF_VALUES]
        return _first(failed) if failed else PASSED

    def _numeric(self, group: str) -> Judgement:
        if group not in self._values:
            self._values[group] = self._judge_values(group)
        return self._values[group]

    def _judge_values(self, group: str) -> Judgement:
        """Values; a factory has its own, and is judged by what it makes of correct parts."""
        if not self._evidence.target.points.numeric:
            outcome = self._answered(group)
        else:
            outcome = _judge_all(self._evidence, Action.FORWARD, Group.OUTPUT, group)
            own = self._evidence.numeric_calls(Action.FORWARD, group)
            outcome = self._beside_others(outcome, [call.id for call in own])
        judged = self._factory and outcome.passed
        return _judge_assembly(self._evidence, group) if judged else outcome

    def _beside_others(self, outcome: Judgement, calls: Sequence[str]) -> Judgement:
        """Let what a constant passes, as weights at a scale of zero, count beside other values."""
        if outcome.passed and calls and all(map(self._evidence.key.is_constant, calls)):
            judged = (judge_call(self._evidence, one, Group.OUTPUT) for one in self._varied)
            if self._varied and not any(one.passed for one in judged):
                return _uncounted("other values")
        return outcome

    def _beside_draws(self, outcome: Judgement, calls: Sequence[str]) -> Judgement:
        """Let what draws leave no choice in tell of an option only where its draws are right.

        Code that never draws, and uses no temperature, is right wherever one token is certain.
        """
        cases = [self._evidence.case(self._evidence.key.plan.call(CallId.parse(c))) for c in calls]
        given = {name for case in cases for name in case.gives}
        wrong = bool(given) and any(given & asked for asked in self._misdrawn)
        return _uncounted("draws") if outcome.passed and wrong else outcome

    @cached_property
    def _misdrawn(self) -> list[set[str]]:
        """What those properties give whose draws are wrong."""
        evidence = self._evidence
        wrong = [
            p
            for p in self._properties.values()
            if isinstance(p, Draws) and not p.judge(evidence).passed
        ]
        return [
            {n for c in evidence.calls_of(p.name) for n in evidence.case(c).gives} for p in wrong
        ]

    @cached_property
    def _varied(self) -> list[Call]:
        calls = self._evidence.numeric_calls(Action.FORWARD)
        return [call for call in calls if not self._evidence.key.is_constant(call.id)]

    def _gradient(self, group: str) -> Judgement:
        if self._factory:
            return judge_trained(self._evidence)
        return _judge_all(self._evidence, Action.GRADIENT, Group.GRADIENT, group)


def _calls(evidence: Evidence, action: Action, group: str) -> list[Call]:
    """The calls of a group of cases, but for those of which a missing bias leaves nothing."""
    calls = evidence.numeric_calls(action, group)
    return [call for call in calls if not lacks_bias(evidence, call)] or calls


def _judge_all(evidence: Evidence, action: Action, tensors: Group, group: str) -> Judgement:
    """Return the first failed outcome of a group of cases, smallest case first."""
    judged = [judge_call(evidence, call, tensors) for call in _calls(evidence, action, group)]
    return _first([one for one in judged if not one.passed])


def _first(failed: Sequence[Judgement]) -> Judgement:
    """The first of some failures, or the first exception where most of them are exceptions."""
    raised = [one for one in failed if one.fault is Fault.RAISED]
    return raised[0] if 2 * len(raised) > len(failed) else next(iter(failed), PASSED)


def _judge_assembly(evidence: Evidence, group: str) -> Judgement:
    """Values of a factory, whose parameters are its own, where it is made of correct parts.

    Of a group of cases those with its option, if there are any, else those without one.
    """
    kinds = kinds_of(evidence.course, evidence.exercise, evidence.target)
    groups = [
        (one, {group_of(evidence.case(call).gives) for call in evidence.calls_of(one.name)})
        for one in kinds
        if one.of_parts
    ]
    own = [one for one, names in groups if group in names]
    judged = (one.judge(evidence) for one in own or [o for o, names in groups if PLAIN in names])
    return next((outcome for outcome in judged if not outcome.passed), PASSED)


def _gated(numeric: Judgement, outcome: Judgement, *, of_values: bool = True) -> Judgement:
    """Let a claim earn its points only beside right values.

    What is itself judged `of_values` says nothing new where the values are wrong.
    """
    said = outcome.passed or of_values or outcome.fault in _NO_ANSWER
    if not numeric.passed and said and not outcome.alone:
        return _uncounted("the values")
    return outcome


def _uncounted(what: str) -> Judgement:
    """Judge what nothing can be said of before something else is right."""
    return Judgement(Status.SKIPPED, f"counts once {what} are right")


def _result(target: Target, share: Share, outcome: Judgement) -> CheckResult:
    message = f"{outcome.message}: {outcome.detail}" if outcome.detail else outcome.message
    return CheckResult(
        id=share.check,
        status=outcome.status,
        score=share.points if outcome.passed else 0.0,
        max_score=share.points,
        message=message,
        next_step=outcome.next_step,
        expected=outcome.expected,
        actual=outcome.actual,
        case=None if outcome.case is None else show_case(target, outcome.case),
        place=outcome.place,
        unwritten=outcome.fault is Fault.UNWRITTEN,
        waits=outcome.fault is Fault.WAITS,
        trap=outcome.trap,
    )


def point_to_hint(
    evidence: Evidence, results: Sequence[CheckResult], found: Diagnosis, own: Sequence[str]
) -> list[CheckResult]:
    """Where the mistake is named, its hint is the better next step, of gradients too.

    So it is of the properties that fail with it, and of what an exception leaves open. Of several
    bugs that are a target's `own`, each has its own checks; what none of those that are named fails
    is for another reason, as a NaN may be. A line known to cut gradients off is better still.
    """
    line = cut_at(evidence)
    failed_by = {bug: checks_failed_by(evidence, results, [bug]) for bug in found.bugs}
    told = {r.next_step for r in results if r.kind in (Kind.SHAPE, Kind.NUMERIC)}
    pointed = []
    for r in results:
        bugs = [bug for bug in found.bugs if r.id in failed_by[bug]]
        if r.kind in (Kind.SHAPE, Kind.NUMERIC) and r.case:
            ended, case = r.place is not None, r.case.name
            bugs = [bug for bug in bugs if acts_in(evidence, bug, case, raised=ended)]
        of_property = r.kind is Kind.PROPERTY and r.failed and not r.told and bool(bugs)
        of_property &= r.next_step not in told  # what keeps all from being answered is told alike
        gradient = r.kind is Kind.GRADIENT and r.failed and not line
        of_form = r.next_step in (*_OF_FORM, evidence.words.affine) and bool(bugs)
        of_values = r.next_step in UNKNOWN and bool(bugs or not found.bugs)
        of_values |= r.next_step == NOT_FINITE and bool(bugs) and found.whole
        of_error = r.place is not None and r.next_step.endswith("?") and bool(bugs)
        if of_values or gradient or of_property or of_form or of_error:
            step = _hint_of(evidence, found, [bug for bug in bugs if bug in own])
            r = replace(r, next_step=step)
        pointed.append(r)
    return pointed


def _hint_of(evidence: Evidence, found: Diagnosis, bugs: Sequence[str]) -> str:
    """Where to look on for a check that some bugs of a diagnosis fail, or none that is known."""
    ways = [evidence.key.book.by_key(way) for way in found.ways]
    hints = [way.hints[0] for way in ways if way.id in bugs]
    if not found.hint or not hints or found.hint in hints:
        return FOLLOW_HINT
    return as_step(hints[0])


def is_of_values(evidence: Evidence, result: CheckResult) -> bool:
    """Whether a check fails where values are wrong, wherever these come from."""
    if result.kind is not Kind.PROPERTY:
        return result.kind is Kind.NUMERIC
    kinds = evidence.course.properties(evidence.exercise, evidence.target)
    named = [one for one in kinds if one.name == result.id.name]
    return any(one.by_values or one.compares for one in named)


def name_causes(
    results: Sequence[CheckResult],
    uses: Callable[[str], Sequence[str]],
    of_values: Callable[[CheckResult], bool],
    may_explain: Callable[[CheckResult, CheckResult], bool],
) -> list[CheckResult]:
    """Where a target fails beside one that it uses, say so: the mistake is told once.

    `may_explain` says whether what fails in another target can be why a check fails.
    """
    failed = [r for r in results if r.status is Status.FAILED and not r.told]
    used = {target: uses(target) for target in {r.target for r in failed}}
    behind = {one: [r for r in failed if r.target in used[one]] for one in used}
    named = []
    for result in results:
        open_to = result.status is Status.FAILED and not result.told
        others = behind[result.target] if open_to else []
        causes = [o for o in others if _explains(o, result) and may_explain(o, result)]
        if result.next_step in _OF_LAYERS:  # which a part is to blame for only if its own do not
            causes = [other for other in causes if other.next_step in _OF_LAYERS]
        same = any(other.kind in (Kind.PROPERTY, Kind.GRADIENT) for other in causes)
        if causes and (same or of_values(result) or result.next_step in NO_IDEA):
            step = f"`{result.target}` uses `{causes[0].target}`, which is not right yet"
            result = replace(result, next_step=f"{step}: start there")
        named.append(result)
    return _name_lines(named)


def _explains(other: CheckResult, result: CheckResult) -> bool:
    """Whether what fails in one target may be why another, which uses it, fails here.

    An option of that one explains no case without, and wrong values raise no exception and change
    no shape. What only a property or gradients show there, the same property or gradients show
    here. Parameters are too many, or too few, because they are so there, or because none fit there.
    """
    if _surplus(result):
        return other.kind is Kind.SHAPE or _surplus(other) * _surplus(result) > 0
    if result.place is not None or result.kind is Kind.SHAPE:
        return other.kind is Kind.SHAPE and bool(result.id.name or not other.id.name)
    if other.kind is Kind.PROPERTY:
        shown = result.kind is Kind.PROPERTY and result.case is not None
        of_steps = {other.next_step, result.next_step}  # one, where it has another name there
        alike = len(of_steps) == 1 and of_steps.isdisjoint(NO_IDEA)
        same = alike or other.id.name == result.id.name
        return shown and same and _of_one_parameter(other, result) and not _surplus(other)
    wrong = other.kind in (Kind.SHAPE, Kind.NUMERIC)
    wrong |= other.kind is result.kind is Kind.GRADIENT
    return wrong and bool(result.id.name or not other.id.name)


def _of_one_parameter(other: CheckResult, result: CheckResult) -> bool:
    """Whether two checks may name one parameter, of a part and of what the part stands in."""
    inner, whole = (_PARAMETER.search(one.message) for one in (other, result))
    if inner is None or whole is None:
        return True
    return f".{whole[1]}".endswith(f".{inner[1]}")


def _surplus(result: CheckResult) -> int:
    """How many numbers more than are due a module is said to register, 0 where nothing is said."""
    due, came = (facts.parameters for facts in (result.expected, result.actual))
    return came - due if isinstance(due, int) and isinstance(came, int) else 0


def _name_lines(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Where a target fails at a line that another failed at before it, say so.

    A line of another one that is right was given what it cannot work with.
    """
    first: dict[Place, str] = {}  # the target
    not_right = {"", *(r.target for r in results if r.status is not Status.PASSED)}
    named = []
    for result in results:
        if (place := result.place) is not None:
            target = first.setdefault(place, result.target)
            if target != result.target:
                step = f"it is the line that fails in `{target}` too: start there"
                result = replace(result, next_step=step)
            elif place.caller and place.inside not in not_right:
                given = f"look at what it is given in line {place.caller.line}"
                if result.next_step != FOLLOW_HINT and SILENT not in result.next_step:
                    result = replace(result, next_step=f"`{place.inside}` is right: {given}")
        named.append(result)
    return named


def list_checks(course: Course, exercise: Exercise, key: AnswerKey) -> list[CheckResult]:
    """Return every check of an exercise with its points, none of them run."""
    return [
        CheckResult(id=share.check, status=Status.SKIPPED, score=0.0, max_score=share.points)
        for target in exercise.targets
        for share in shares_of(course, exercise, target, key)
        if share.points
    ]
