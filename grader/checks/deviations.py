"""Deviations from what is asked for that leave the values right: what each explains.

An option that is not heard, a bias too many or too few, another exception, float32, dropout that
nobody asked for: each costs its own checks, and what is left is judged and diagnosed without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.compare.covered import explain_cases
from grader.compare.evidence import Evidence
from grader.compare.left_aside import Aside
from grader.compare.outcomes import lacks_bias
from grader.records.calls import DrawnCase
from grader.records.ids import BIASES, CallId, CheckId
from grader.records.key import CheckProof, Proof
from grader.records.results import (
    RIGHT_BARE,
    RIGHT_BESIDE,
    RIGHT_GIVEN,
    RIGHT_PLAIN,
    RIGHT_USUAL,
    RIGHT_VALUES,
    CheckResult,
    Kind,
    Status,
)
from grader.records.signatures import Code
from grader.worker.protocol import Action

_DEFAULTS = "defaults"  # the kind of property whose values come of what is not given


@dataclass(frozen=True)
class Deviation:
    """One way in which a submission is not as asked for, whatever its values are."""

    sentence: str  # without its full stop
    step: str  # what to do about it
    groups: frozenset[str] = frozenset()  # of cases that are wrong for it, whatever else is
    properties: frozenset[str] = frozenset()  # that fail for it
    shapes: frozenset[str] = frozenset()  # groups of cases whose type is wrong, and no more
    of_biases: bool = False  # what is registered, and which gradients there are, is due to it
    unheard: frozenset[str] = frozenset()  # options, arguments and inputs that make no difference
    of_default: bool = False  # a known bug that its properties show is the same

    def explains(self, evidence: Evidence, check: CheckId) -> bool:
        """Whether a failed check says nothing but this."""
        if check.kind is Kind.PROPERTY:
            cases = [evidence.case(call) for call in evidence.calls_of(check.name)]
            return check.name in self.properties or self._is_given(cases)
        if check.kind is not Kind.BUG:
            of_type = check.kind is Kind.SHAPE and check.name in self.shapes
            return of_type or check.name in self.groups
        bug = evidence.key.book.by_key(f"{check.target}/{check.name}")
        if self.of_default and not self.properties.isdisjoint(map(_shown_by, bug.proofs)):
            return True
        plan = evidence.key.plan
        calls = [plan.call(CallId.parse(proof.call)) for proof in bug.value_proofs]
        cases = [plan.case(check.target, call.case) for call in calls]
        untold = self.of_biases and any(lacks_bias(evidence, call) for call in calls)
        return untold or self._is_given(cases) or any(c.group in self.groups for c in cases)

    def _is_given(self, cases: Sequence[DrawnCase]) -> bool:
        """Whether some case gives what is not heard."""
        return any(not self.unheard.isdisjoint(case.gives) for case in cases)

    def failed(self, evidence: Evidence, results: Sequence[CheckResult]) -> set[CheckId]:
        """Return the failed checks that it explains, those of known bugs aside.

        A property that waits for right values is one of them, where it is so without them.
        """
        own = [r for r in results if r.failed or r.id.name in self.properties]
        judged = [r for r in own if r.kind is not Kind.BUG]
        return {r.id for r in judged if self.explains(evidence, r.id)}


def acting_beside(
    evidence: Evidence, bugs: Sequence[str], deviations: Sequence[Deviation]
) -> list[Deviation]:
    """Leave out what some bugs come to by themselves: options that cannot act beside them."""
    return [
        one for one in deviations if not (one.unheard and explain_cases(evidence, bugs, one.groups))
    ]


def _shown_by(proof: Proof) -> str:
    """The case or property that shows a bug."""
    return proof.check.name if isinstance(proof, CheckProof) else CallId.parse(proof.call).what


def tell(
    evidence: Evidence, deviations: Sequence[Deviation], results: Sequence[CheckResult]
) -> list[CheckResult]:
    """Return checks, those that say nothing but a deviation marked as told.

    Properties that fail have their own words; those that wait, and cases with an option, get the
    deviation's.
    """
    told = []
    for result in results:
        apart = result.status is not Status.PASSED
        due = [d for d in deviations if apart and d.explains(evidence, result.id)]
        own = [d for d in due if result.id.name in d.properties]
        if result.kind is Kind.PROPERTY and result.failed and due:
            step = "; ".join(dict.fromkeys(one.step for one in own or due))
            result = replace(result, next_step=step, told=True)
        elif shown := due if result.failed else own:
            said, step = shown[0].sentence, shown[0].step
            result = replace(result, message=said, next_step=step, told=True)
        told.append(result)
    return told


def look_aside(
    evidence: Evidence, deviations: Sequence[Deviation], results: Sequence[CheckResult]
) -> Aside:
    """Return what a diagnosis need not look at beside some deviations."""
    told = {r.id for r in results if any(d.explains(evidence, r.id) for d in deviations)}
    groups = {group for d in deviations for group in d.groups}
    unheard = {name for d in deviations for name in d.unheard}
    properties = {name for d in deviations for name in d.properties}
    biases = any(d.of_biases for d in deviations)
    calls = {
        call.id
        for call in evidence.calls
        if evidence.case(call).group in groups
        or not unheard.isdisjoint(evidence.case(call).gives)
        or CallId.parse(call.id).what in properties
        or (biases and (call.action is Action.GRADIENT or lacks_bias(evidence, call)))
    }
    codes = {Code.REGISTERED, Code.UNTRAINED} if biases else set()
    forms = {Code.FORM} if any(d.shapes for d in deviations) else set()
    return Aside(told, calls, codes | forms, unheard=unheard)


def where_right(evidence: Evidence, deviations: Sequence[Deviation]) -> str:
    """Say where values are right beside deviations that leave them so in ordinary cases.

    "" where none are compared: a factory's own, which no assembly of correct parts shows.
    """
    kinds = evidence.course.properties(evidence.exercise, evidence.target)
    if not (evidence.target.points.numeric or any(one.of_parts for one in kinds)):
        return ""
    groups = {group for d in deviations for group in d.groups}
    other = {name for d in deviations for name in d.properties}
    bare = BIASES in groups
    given = any(one.name in other and one.kind == _DEFAULTS for one in kinds)
    groups.discard(BIASES)
    if bare + given + bool(groups) > 1:
        return RIGHT_BESIDE
    if bare or given:
        return RIGHT_BARE if bare else RIGHT_GIVEN
    cases = evidence.key.plan.numeric_cases(evidence.target.name)
    edges = {case.group for case in cases if case.group in groups and not case.gives}
    return RIGHT_USUAL if edges else RIGHT_PLAIN if groups else RIGHT_VALUES
