"""What is told of a target that uses another one of its file which is wrong.

A mistake is told where it stands. What it makes of the answers of those that use the target may
equal by chance what mistakes of their own would, so they get no name that does not go on from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from grader.compare.covered import checks_failed_by
from grader.compare.diagnosis import diagnose
from grader.compare.evidence import FOLLOW_HINT, Evidence
from grader.compare.left_aside import Aside, Names
from grader.compare.outcomes import judge_call
from grader.compare.signature import STRICT, value_rows
from grader.course.models import Exercise
from grader.handin.read import Source
from grader.handin.syntax import names_used
from grader.records.answers import AnswerStatus
from grader.records.calls import PLAIN, Array, DrawnCase
from grader.records.key import bug_id, bug_key
from grader.records.results import CheckResult, Diagnosis, Kind, ShownCase, Status
from grader.records.signatures import Suspects
from grader.worker.names import Group
from grader.worker.protocol import Action, Earlier, TargetKind

_MAY_BE_EARLIER = "; it may also be in an earlier exercise, for your own work is used here"
Pairs = Callable[[], Mapping[str, Suspects]]


@dataclass(frozen=True)
class Judged:
    """What the answers of one target come to."""

    evidence: Evidence  # with the layers taken as they fit best
    checks: Sequence[CheckResult]
    diagnosis: Diagnosis | None
    notes: Sequence[str]


@dataclass(frozen=True)
class Behind:
    """A target, and those that it uses and that are wrong in cases like its own wrong ones."""

    evidence: Evidence
    used: Sequence[Judged]
    around: Sequence[Judged] = ()  # all that it uses, even if not wrong here

    @property
    def named(self) -> frozenset[str]:
        """The bugs that are named of them."""
        return frozenset(bug for one in self.used if one.diagnosis for bug in one.diagnosis.bugs)

    def allows(self, names: Names) -> bool:
        """Whether bugs may be named: some that act at once go on from what is known already."""
        if self.evidence.target.kind is TargetKind.FACTORY:
            targets = {key.partition("/")[0] for key in map(bug_key, names)}
            if not targets.isdisjoint(self._right):
                return False  # what it is made of has its own checks, and passes them
        return not self.used or not self.named.isdisjoint(map(bug_id, names))

    def rank(self, names: Names) -> int:
        """How likely bugs are: 0 with those named of what is used, 3 with those of what is not."""
        keys = set(map(bug_key, names))
        for rank, known in enumerate((_named, _known)):
            if any(not keys.isdisjoint(known(one)) for one in self.around):
                return rank
        own = {self.evidence.target.name, *(one.evidence.target.name for one in self.around)}
        own -= self._right
        return 2 if own.issuperset(key.partition("/")[0] for key in keys) else 3

    @cached_property  # each of thousands of explanations asks
    def _right(self) -> set[str]:
        """The targets that it uses, and that are right."""
        passed = [o for o in self.around if all(c.status is Status.PASSED for c in o.checks)]
        return {one.evidence.target.name for one in passed}

    def echo(self, results: Sequence[CheckResult], pairs: Pairs, aside: Aside) -> Diagnosis | None:
        """Return the diagnosis that says whose mistake it is, where no other is needed."""
        if not self.named:
            return None
        within = replace(aside, allows=lambda names: self.named.issuperset(map(bug_id, names)))
        suspects = self.evidence.key.suspects
        found = diagnose(self.evidence, results, suspects, pairs, within, whole=True)
        if found is None:
            return None
        told = [one.diagnosis for one in self._shown if one.diagnosis]
        bugs = dict.fromkeys(bug for one in told for bug in one.bugs)
        ways = dict.fromkeys(way for one in told for way in one.ways)
        found = replace(found, bugs=tuple(bugs), ways=tuple(ways), either=())
        return replace(found, hint="", evidence=f"The {_same(self._shown)}")

    @property
    def _shown(self) -> list[Judged]:
        """Those whose mistakes have names."""
        return [one for one in self.used if one.diagnosis and one.diagnosis.bugs]

    def in_part(self, found: Diagnosis | None) -> Diagnosis | None:
        """Return a diagnosis of some cases, with the word that it tells what is known already.

        None where it tells something else.
        """
        if found is None or not self.named.issuperset(found.bugs):
            return None
        first = self.evidence.answers[self.evidence.first_call.id]
        cases = "" if first.status is AnswerStatus.MISSING else f" {found.evidence}"
        return replace(found, hint="", evidence=f"{_partly(self._shown)}{cases}")

    def as_part(self, found: Diagnosis | None) -> Diagnosis | None:
        """Return a diagnosis as a part of what is known of one that the target uses, if it is.

        The rest of that acts here as well, in cases that no value shows, such as draws. What is a
        mistake of what is used, and is not known there, is told with its place.
        """
        if found is None:
            return None
        for one in self.around:
            known = one.diagnosis
            if known is None or known.either or not set(found.bugs) <= set(known.bugs):
                continue
            if not known.whole or set(found.bugs) != set(known.bugs):
                return replace(found, hint="", evidence=_partly([one]))
        book, own = self.evidence.key.book, self.evidence.target.name
        wrong = {one.evidence.target.name for one in self.around} - self._right
        places = dict.fromkeys(book.by_key(way).target for way in found.ways)
        if not places or not wrong.issuperset(places):
            return found
        said = f"`{own}` uses `{next(iter(places))}`, which is not right yet: look there first."
        return replace(found, evidence=f"{found.evidence} {said}")

    def own(self, bugs: Sequence[str]) -> list[str]:
        """Return those of some bugs that are not named of what the target uses."""
        return [bug for bug in bugs if bug not in self.named]

    def beyond(self, found: Diagnosis) -> Diagnosis:
        """Return a diagnosis with the hint of what is the target's own, which stands first."""
        own = self.own(found.bugs)
        if not own or not self.used:
            return found
        book = self.evidence.key.book
        ways = sorted(found.ways, key=lambda way: bug_id(way) in self.named)
        bugs = tuple(dict.fromkeys([*own, *found.bugs]))
        return replace(found, bugs=bugs, ways=tuple(ways), hint=book.by_key(ways[0]).hints[0])


def is_wrong(results: Sequence[CheckResult]) -> bool:
    """Whether values are wrong where no option is given."""
    return any(r.kind is Kind.NUMERIC and not r.id.name and r.failed for r in results)


def look_behind(evidence: Evidence, used: Sequence[Judged]) -> Behind:
    """Return what may have spoilt a target; `used` are those that its text does use.

    One that is known, and that leaves the answers here as they are, has not; nor have those of
    which nothing is known, where some case is wrong that they cannot have spoilt.
    """
    forward = evidence.numeric_calls(Action.FORWARD, PLAIN)
    factory = evidence.target.kind is TargetKind.FACTORY  # whose values are its own
    wrong = [c for c in forward if factory or not judge_call(evidence, c, Group.OUTPUT).passed]
    cases = [evidence.case(call) for call in wrong]
    spoiling = [
        one
        for one in used
        if is_wrong(one.checks) and any(can_spoil(one.evidence, case) for case in cases)
    ]
    named = {bug for one in spoiling if one.diagnosis for bug in one.diagnosis.bugs}
    explained = all(any(can_spoil(one.evidence, case) for one in spoiling) for case in cases)
    shows = _shows(evidence, named) if named else explained
    return Behind(evidence, spoiling if shows and not _undoes(evidence, named) else (), used)


def _named(one: Judged) -> set[str]:
    """The keys of bugs that are named."""
    return set(map(bug_key, one.diagnosis.ways)) if one.diagnosis else set()


def _known(one: Judged) -> set[str]:
    """The keys of bugs that fail beside right values."""
    if is_wrong(one.checks):
        return set()
    return {f"{c.target}/{c.id.name}" for c in one.checks if c.kind is Kind.BUG and c.failed}


def _partly(shown: Sequence[Judged]) -> str:
    return f"At least in part: the {_same(shown)}"


def _same(shown: Sequence[Judged]) -> str:
    names = " and in ".join(f"`{one.evidence.target.name}`" for one in shown)
    told = [one.diagnosis for one in shown if one.diagnosis]
    counts = (len(one.bugs) + len(one.deviations) for one in told if not one.either)
    several = len(told) > 1 or any(count > 1 for count in counts)
    return f"same mistake{'s' if several else ''} as in {names}."


def can_spoil(used: Evidence, case: DrawnCase | ShownCase) -> bool:
    """Whether a target is wrong in its own cases of the same kind, or in all where it has none.

    Of a case with options these are the ones that give some of them, and no other.
    """
    calls = used.numeric_calls(Action.FORWARD, None if case.options else PLAIN)
    given = [call for call in calls if call.options and call.options.keys() <= case.options.keys()]
    alike = given or [call for call in calls if _are_alike(used.case(call), case)]
    right = [judge_call(used, call, Group.OUTPUT).passed for call in alike or calls]
    return not (all(right) if alike else any(right))


def may_explain(told: Mapping[str, Judged], other: CheckResult, check: CheckResult) -> bool:
    """Whether what fails in another target can be why a check fails of one that uses it."""
    one, used = told[check.target], told[other.target]
    known = used.diagnosis.bugs if used.diagnosis else ()
    named = one.diagnosis.bugs if one.diagnosis else ()
    parts = (told[part].diagnosis for part in one.evidence.target.uses if part in told)
    elsewhere = {bug for part in parts if part for bug in part.bugs}
    own = [bug for bug in named if bug not in elsewhere]
    right_values = other.kind in (Kind.PROPERTY, Kind.GRADIENT)
    if own or right_values:
        here, there = (checks_failed_by(one.evidence, one.checks, bugs) for bugs in (own, known))
        return check.id not in here and (right_values or check.id in there)
    if _compares(one, check) and not named and other.kind is Kind.NUMERIC:
        alike = [own for own in used.checks if _compares(used, own)]
        if alike and not any(own.failed for own in alike):
            return False  # its answers agree with each other, though they are wrong
    return bool(named) or check.case is None or can_spoil(used.evidence, check.case)


def _compares(judged: Judged, check: CheckResult) -> bool:
    """Whether a check compares answers with each other."""
    prop = judged.evidence.course.property_of(check.id)
    return prop is not None and prop.compares


def causes_of(exercise: Exercise, source: Source, target: str) -> list[str]:
    """Return the targets that one may use and that its text does name."""
    read = names_used([text for _, text in source.units], target)
    return [other for other in exercise.target(target).uses if other in read]


def name_earlier(
    evidence: Mapping[str, Evidence], found: Sequence[CheckResult], named: Sequence[CheckResult]
) -> list[CheckResult]:
    """Say of what fails in the submission's own earlier work that the mistake may be there.

    Of the checks that were `found`, those that are `named` otherwise have another cause. Evidence
    comes by target.
    """
    return [
        _in_earlier_work(evidence[now.target], now) if now.next_step == before.next_step else now
        for before, now in zip(found, named, strict=True)
    ]


def _in_earlier_work(evidence: Evidence, check: CheckResult) -> CheckResult:
    known = check.told or check.unwritten or check.place or check.next_step in ("", FOLLOW_HINT)
    if known or not check.failed or not evidence.exercise.builds_on_earlier:
        return check
    calls = evidence.calls_of(check.id.name) if check.kind is Kind.PROPERTY else evidence.calls
    own = any(call.earlier is Earlier.OWN for call in calls)
    return replace(check, next_step=f"{check.next_step}{_MAY_BE_EARLIER}") if own else check


def _are_alike(one: DrawnCase, other: DrawnCase | ShownCase) -> bool:
    """Whether of the sizes that two cases share the same ones are 1."""
    shared = one.dims.keys() & other.dims.keys()
    return all((one.dims[name] == 1) == (other.dims[name] == 1) for name in shared)


def _undoes(evidence: Evidence, bugs: set[str]) -> bool:
    """Whether a target has a mistake of its own, and takes back what these bugs do to it."""
    own = evidence.key.suspects.get(evidence.target.name)
    if own is None or not _acting(own, bugs).any():
        return False
    rows = value_rows(evidence.calls)
    same = own.of_values(rows).matching(evidence.seen.of_values(rows), STRICT)
    return bool(same) and all(bugs.isdisjoint(map(bug_id, names)) for names, _ in same)


def _acting(own: Suspects, bugs: set[str]) -> Array:
    """Which of some suspects have one of these bugs."""
    return np.array([not bugs.isdisjoint(map(bug_id, names)) for names in own.names])


def _shows(evidence: Evidence, bugs: set[str]) -> bool:
    """Whether some of these bugs change the values of a target."""
    own = evidence.key.suspects.get(evidence.target.name)
    if own is None:
        return True
    rows = value_rows(evidence.calls)
    kept = _acting(own, bugs)
    some = own.only(kept).of_values(rows)
    same, _ = some.equal_calls(evidence.right.of_values(rows), STRICT)
    return not kept.any() or not same.all()
