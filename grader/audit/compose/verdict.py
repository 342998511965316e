"""Lays a report beside the truth: what it says that is not so, and what it leaves unsaid."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from itertools import combinations

from grader.audit.compose.material import Composition
from grader.audit.compose.oracle import Oracle, Scope, Truth
from grader.audit.compose.sameness import CLOSE
from grader.course.models import Target
from grader.grading.trace import Trace
from grader.records.results import CheckResult, Diagnosis, ExerciseResult, Kind, State, Status
from grader.student.hints import Advice

_MOST_IDLE = 0.15  # of a target's points, for code that does not do the work
_LEAST_RIGHT = 0.7  # of a target's points, for values that are right where no option is given
_USES = re.compile(r"`(\w+)` uses `(\w+)`, which is not right yet")
_NO_GRADIENT = re.compile(r"no gradient reaches (?:the parameter )?`([\w.]+)`")
_NEARNESS = re.compile(r", to (1e-\d+),")  # of projections, which a report states
_LOOSE = 100.0  # times that the numbers themselves may differ
_STEP = re.compile(r"(\w+) ([✓✗])")
_EQUALS = "Your output equals"
_AT_STEP = " is what comes out when "
_REGISTERS = (
    "has as many numbers in its parameters as when",
    "has the same parameters as code",
    "does not fit at the same parameters as when",
)
_BEHAVES = "behaves like code in which"
_PARTLY = "here your output is wrong"
_DRAWN = "numbers are drawn at random"
_WIDE = "^in float32, | is float64 where "
_ENDED = "here your output can be compared"
# what is planted as a bug, and told as a deviation
_FORMS = (
    *(
        " should return a tensor",
        " alone is asked for",
        " that nobody asked for",
        "where it is not given",
    ),
    "true and false are asked for",
)
# what a deviation's sentence says, and the kinds of those of which it is so
_TOLD = (
    ("numbers are float32|last digits are wrong", ("float32",)),
    ("dropout acts although", ("dropout",)),
    ("no dropout acts", ("no-dropout",)),
    (_DRAWN, ()),
    (r"`dropout` is [\d.]+ where it is not given", ("dropout",)),
    ("(have|has) (no bias|a bias only where bias=True is given)", ("bias-missing",)),
    ("^biases ", ("biases-always",)),
    ("is not used|changes nothing", ("option-unheard",)),
    ("is no argument of", ("option-refused",)),
    (_WIDE, ()),
    (" raised ", ("option-refused",)),
    (" in place of ", ("wrong-exception", "refusal-missing")),
    (" goes unnoticed", ("refusal-missing",)),
    (" should return a number", ("number-as-tensor",)),
    *((said, ()) for said in _FORMS),
)
# may come of a bug
_BY_BUGS = (
    *(" raised ", " in place of ", " goes unnoticed", "is not used|changes nothing"),
    *(
        "dropout acts although",
        "no dropout acts",
        "^biases ",
        " should return a number",
        _WIDE,
        *_FORMS,
    ),
)
_ECHO = "The same mistake"
_UP_TO_THERE = "The values of the steps before are right"


@dataclass(frozen=True, order=True)
class Fault:
    """Something in a report that is not as it must be."""

    kind: str  # a few words, the same for all faults of one kind
    target: str
    words: str  # what the report says or does


@dataclass(frozen=True)
class Naming:
    """The planted bugs of one target that act, and those of them that were named."""

    target: str
    acting: frozenset[str]
    named: frozenset[str]
    beside: tuple[str, ...]  # deviations, by kind


@dataclass(frozen=True)
class Verdict:
    """What one report came to."""

    faults: tuple[Fault, ...]
    namings: tuple[Naming, ...]
    kept: tuple[float, ...]  # shares of the points of targets where deviations act, and no bug


@dataclass(frozen=True)
class Report:
    """All that a learner is told of one exercise."""

    result: ExerciseResult
    traces: Mapping[str, Trace]  # by target
    advice: Advice | None
    beside: Mapping[str, Sequence[str]]  # by target, those that right ones stood in for


def judge_report(oracle: Oracle, made: Composition, report: Report) -> Verdict:
    """Return the verdict on the report of one composition."""
    faults = set(_of_advice(report))
    namings, kept = [], []
    idle = {plant.target for plant in made.of("idle")}
    for target in oracle.exercise.targets:
        if target.trains or (idle and target.name not in idle):
            continue  # nothing is trained here; and others may use what does not do its work
        judge = _judge_of(oracle, made, target, report)
        if idle:
            faults.update(judge.of_idle_code())
            continue
        faults.update(judge.faults())
        if judge.truth.acting:
            namings += [judge.naming()] if judge.truth.own else []
        elif judge.truth.deviations:
            kept.append(judge.share)
    return Verdict(tuple(sorted(faults)), tuple(namings), tuple(kept))


def _judge_of(oracle: Oracle, made: Composition, target: Target, report: Report) -> "_Judge":
    right = report.beside.get(target.name, ())  # what is planted there did not run
    made = made.without(*(plant for plant in made.plants if plant.target in right))
    return _Judge(
        oracle,
        made,
        target,
        oracle.truth(made, target.name),
        [check for check in report.result.checks if check.target == target.name],
        next((d for d in report.result.diagnoses if d.target == target.name), None),
        report.traces.get(target.name),
        _named_elsewhere(made, target, report),
        tuple(bug for d in report.result.diagnoses if d.target in target.uses for bug in d.bugs),
    )


def _named_elsewhere(made: Composition, target: Target, report: Report) -> frozenset[str]:
    """Return the bugs of targets that one uses, as far as a report names them there."""
    told = {d.target: d.bugs for d in report.result.diagnoses}
    others = [plant for plant in made.of("bugs") if plant.target in target.uses]
    return frozenset(plant.id for plant in others if plant.id in told.get(plant.target, ()))


@dataclass(frozen=True)
class _Judge:
    """One target of one report."""

    oracle: Oracle
    made: Composition
    target: Target
    truth: Truth
    checks: Sequence[CheckResult]
    found: Diagnosis | None
    trace: Trace | None
    elsewhere: frozenset[str]  # planted bugs of targets that it uses, which are named there
    around: tuple[str, ...]  # all that is named there

    @property
    def share(self) -> float:
        """How much of the target's points it got, from 0 to 1."""
        return sum(c.score for c in self.checks) / (sum(c.max_score for c in self.checks) or 1.0)

    @property
    def said(self) -> str:
        """The diagnosis' sentence."""
        return self.found.sentence if self.found else ""

    @property
    def told(self) -> frozenset[str]:
        """The groups of cases that a deviation explains."""
        told = [check.id for check in self.checks if check.told]
        return frozenset(one.name for one in told if one.kind in (Kind.SHAPE, Kind.NUMERIC))

    def of_idle_code(self) -> Iterator[Fault]:
        """Whether code that does not do the work earns points for it."""
        if self.share >= _MOST_IDLE:
            plant = next(p for p in self.made.of("idle") if p.target == self.target.name)
            yield self._fault("idle code earns points", f"{plant.id}: {self.share:.0%}")

    def faults(self) -> Iterator[Fault]:
        """Go through all that is not as it must be."""
        for check in self.checks:
            if check.status is Status.ERROR:
                yield self._fault("the grader's own fault", f"{check.id}: {check.message}")
        if not self.truth.acting:
            yield from self._of_points()
        if self.found is not None:
            yield from self._of_names(self.found)
            yield from self._of_words(self.found)
            yield from self._of_deviations(self.found)
        yield from self._of_steps()
        for check in self.checks:
            yield from self._of_check(check)

    def naming(self) -> Naming:
        """Return which of the acting bugs are named, by their own name or an equal one.

        Those that stand in a target which this one uses may be named there: once is enough.
        """
        acting = self.truth.acting
        names = self.found.bugs if self.found else ()
        named = {name for name in names if name in acting} | (self.elsewhere & acting)
        for name in names:
            if named != acting and name not in acting:
                named |= acting & self._stands_for(name)
        if self.found and named != acting and self._equal_ways(names, _scope(self.found)):
            named = set(acting)
        told = self._kinds_told(self.found)
        bugs = self.made.of("bugs")
        named |= {p.id for p in bugs if self.oracle.material.change(p).kind in told} & acting
        if self.found and any(f in said for said in self.found.deviations for f in _FORMS):
            named |= {bug for bug in acting if self.oracle.is_of_form(bug, self.target.name)}
        kinds = tuple(self.oracle.material.change(p).kind for p in self.truth.deviations)
        return Naming(self.target.name, acting, frozenset(named), tuple(sorted(kinds)))

    # ---- points -----------------------------------------------------------------------------

    def _of_points(self) -> Iterator[Fault]:
        changes = [self.oracle.material.change(plant) for plant in self.truth.deviations]
        allowed = [cost for change in changes for cost in change.costs]
        allowed += [c for o in self.oracle.material.options(self.made) for c in o.loses]
        kind = "a deviation costs more than its own" if changes else "right code loses points"
        lost = [check for check in self.checks if check.score < check.max_score]
        own = [c for c in lost if any(fnmatchcase(c.id.in_target, one) for one in allowed)]
        if further := [check for check in lost if check not in own]:
            yield self._fault(kind, f"{further[0].id.in_target}: {further[0].message}")
        # a property that is a deviation's own costs its points beside those of groups of cases
        beside = [check for check in own if check.kind is Kind.PROPERTY]
        points = sum(check.max_score for check in self.checks) or 1.0
        share = self.share + sum(check.max_score - check.score for check in beside) / points
        if self.truth.right and share < _LEAST_RIGHT:
            yield self._fault("right values keep too little", f"{share:.0%}")

    # ---- names ------------------------------------------------------------------------------

    def _of_names(self, found: Diagnosis) -> Iterator[Fault]:
        name = self.target.name
        false = [
            bug for bug in found.bugs if bug not in self.truth.names and not self._stands_for(bug)
        ]
        if not false:
            return
        if _AT_STEP in found.evidence:
            at = (self.made, name)
            false = [bug for bug in false if not self.oracle.equals_at_step(*at, bug, found.step)]
        if any(said in found.evidence for said in _REGISTERS):
            false = [b for b in false if not self._registers(b, found.bugs)]
        if _BEHAVES in found.evidence:
            false = [b for b in false if not self.oracle.behaves_as(self.made, name, b)]
        equal = self._equal_ways(list(dict.fromkeys([*found.bugs, *self.around])), _scope(found))
        apart = [b for b in false if not any(b in way for way in equal)]
        if found.evidence.startswith(_ECHO):
            apart = [b for b in apart if b not in self.elsewhere]
        if apart:
            said = f"{', '.join(apart)}: {found.evidence}"
            yield self._fault("a name that is not so", said)

    def _stands_for(self, bug: str) -> frozenset[str]:
        """The planted bugs that do what a known bug does, wherever no deviation explains values."""
        return self.oracle.stands_for(self.made, self.target.name, bug, without=self.told)

    def _registers(self, bug: str, named: Sequence[str]) -> bool:
        """Whether as many numbers are registered as under a bug, alone or beside another named."""
        ways = [[bug], *([bug, other] for other in named if other != bug)]
        return any(self.oracle.registers_as(self.made, self.target.name, way) for way in ways)

    def _equal_ways(self, names: Sequence[str], scope: Scope = Scope.EVERY) -> list[list[str]]:
        """Those of some names, and of their pairs, whose values are the composition's."""
        ways = [[one] for one in names] + [list(pair) for pair in combinations(names, 2)]
        # what a target is made of may be where its values come from
        asked = [(self.made, target) for target in (self.target.name, *self.target.uses)]
        stated = _NEARNESS.search(self.said)
        close = max(CLOSE, _LOOSE * float(stated[1])) if stated else CLOSE
        equal = partial(self.oracle.equals, scope=scope, without=self.told, close=close)
        return [way for way in ways if any(equal(*one, way) for one in asked)]

    # ---- steps ------------------------------------------------------------------------------

    def _of_steps(self) -> Iterator[Fault]:
        marks = dict(_STEP.findall(self.said))
        if false := self.truth.wrong_among([n for n, mark in marks.items() if mark == "✓"]):
            yield self._fault("check: a step is ✓ that is wrong", f"{false[0]}: {self.said}")
        named = set(self.found.bugs) if self.found else set()
        # rows that nothing names may lie in any order, such as one in which other bugs do the same,
        # or in which all is right
        passed = {c.id.in_target for c in self.checks if c.status is Status.PASSED}
        if self.trace is None or Kind.NUMERIC in passed or named - self.truth.names:
            return
        marked = {State.RIGHT: "✓", State.WRONG: "✗"}
        shown = {s.name: marked[s.state] for s in self.trace.steps if s.state in marked}
        if false := self.truth.wrong_among([n for n, mark in shown.items() if mark == "✓"]):
            yield self._fault("explain: a step is ✓ that is wrong", ", ".join(false))
        if apart := sorted(name for name, mark in marks.items() if shown.get(name, mark) != mark):
            yield self._fault("explain and check disagree", f"{apart[0]}: {self.said}")

    # ---- words ------------------------------------------------------------------------------

    def _of_words(self, found: Diagnosis) -> Iterator[Fault]:
        names = self.target.step_names
        told = _UP_TO_THERE in found.hint and found.step in names
        before = names[: names.index(found.step)] if told else []
        if false := self.truth.wrong_among(before):
            said = f"{false[0]}: {found.evidence}"
            yield self._fault("'everything up to there is right' is not so", said)
        outputs = self.oracle.gives_outputs(self.made, self.target.name)
        if _EQUALS in found.evidence and not outputs:
            yield self._fault("'equals' of code without an output", found.evidence)

    def _kinds_told(self, found: Diagnosis | None) -> set[str]:
        """The kinds of deviations that a report tells of."""
        said = found.deviations if found else ()
        return {k for words in said for p, kinds in _TOLD if re.search(p, words) for k in kinds}

    def _of_deviations(self, found: Diagnosis) -> Iterator[Fault]:
        planted = {self.oracle.material.change(p).kind for p in self.truth.deviations}
        styles = {c for o in self.oracle.material.options(self.made) for c in o.loses}
        for said in found.deviations:
            pattern, kinds = next((one for one in _TOLD if re.search(one[0], said)), ("", ()))
            by_style = "float32" in kinds and "property/dtype" in styles
            by_bug = pattern in _BY_BUGS and self.truth.acting
            drawn = pattern == _DRAWN and self.oracle.draws(self.made, self.target.name)
            if not (planted.intersection(kinds) or by_style or by_bug or drawn):
                yield self._fault("a deviation that is not so", said)

    def _of_check(self, check: CheckResult) -> Iterator[Fault]:
        told = f"{check.message}. {check.next_step}"
        uses = _USES.search(told)
        if uses and uses[2] not in self.truth.calls & self.truth.planted:
            yield self._fault("'uses ...: start there' is not so", uses[0])
        if (cut := _NO_GRADIENT.search(told)) and cut[1] in self.truth.reached:
            yield self._fault("'no gradient reaches' is not so", cut[0])

    def _fault(self, kind: str, words: str) -> Fault:
        return Fault(kind, self.target.name, words)


def _scope(found: Diagnosis) -> Scope:
    """On which cases a diagnosis says that values are those of known bugs."""
    if _PARTLY in found.evidence:
        return Scope.WRONG
    return Scope.ENDED if _ENDED in found.evidence else Scope.EVERY


def _of_advice(report: Report) -> Iterator[Fault]:
    """Whether hint speaks of a target that is not right, and says what check says."""
    failed = [c.target for c in report.result.checks if c.status is not Status.PASSED]
    advice = report.advice
    if advice is None or not failed:
        if failed or advice is not None:
            target = advice.target if advice else failed[0]
            yield Fault("hint and check disagree", target, "one finds fault, and one does not")
        return
    if not advice.hints:
        yield Fault("hint is empty", advice.target, advice.topic)
    if advice.target not in failed:
        yield Fault("hint and check disagree", advice.target, "nothing of it fails")
    found = next((d for d in report.result.diagnoses if d.target == advice.target), None)
    if found and found.sentence not in advice.finding:
        said = f"{advice.finding} / {found.sentence}"
        yield Fault("hint and check disagree", advice.target, said)
