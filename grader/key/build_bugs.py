"""Runs every known bug on the plan: what tells it from the reference, and its signatures."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from grader.checks.judge import check_each, check_target
from grader.compare.bugs import FAR, farthest
from grader.compare.evidence import Evidence
from grader.compare.retry import calls_to_retry
from grader.compare.signature import pair_rows, sign, sign_steps, step_calls
from grader.course.bugs import Bug, Mutant, as_mutant, bugs_path, load_bugs, mutants_of
from grader.course.load import CourseFolder
from grader.course.models import Exercise, Target
from grader.errors import CourseError
from grader.handin.forbidden import find_forbidden
from grader.handin.read import Source
from grader.key.builders import tell_step
from grader.key.reference import AnswersOnDemand, Reference, arrays_of, make_answer, recorded_steps
from grader.processes import EndlessError, ending
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import PLAIN, PUBLIC, Array, Call, Plan
from grader.records.ids import BIASES, CallId
from grader.records.key import (
    AnswerKey,
    BugBook,
    CheckProof,
    KnownBug,
    Proof,
    ValueProof,
    Way,
)
from grader.records.results import CheckResult, Kind, Status
from grader.records.signatures import Code, Signature, Suspects
from grader.worker.actions import built_from
from grader.worker.names import Group, is_bias
from grader.worker.protocol import Action, TargetKind
from grader.worker.targets import Recipes

_SHOWN = 100.0  # tolerances that show a bug well enough for its case to be chosen
_CLEAR = 1e4  # and that show it clearly
_ENDLESS = 60.0  # seconds of the processor that no solution takes for all of its calls
_VALUES = (
    (Group.OUTPUT, (Action.FORWARD, Action.REUSE, Action.PIECES)),
    (Group.GRADIENT, (Action.GRADIENT,)),
)


@dataclass(frozen=True)
class BuiltKey:
    """A key, and the runs of all bugs on the way to it."""

    runner: "MutantRunner"  # which has the whole key
    findings: tuple["Finding", ...]


def add_bugs(folder: CourseFolder, exercise: Exercise, source: str, key: AnswerKey) -> BuiltKey:
    """Return the key with all that it knows of bugs; raises CourseError."""
    runner = MutantRunner(folder, exercise, source, key)
    _refuse_unfair_checks(runner)
    known: list[KnownBug] = []
    tried: list[Finding] = []
    rows: dict[str, list[tuple[tuple[str, ...], Signature]]] = {}
    steps: dict[str, list[Array]] = {}
    begun = set()
    for bug in load_bugs(folder, exercise, source):
        if bug.target not in begun:
            begun.add(bug.target)
            tell_step(f"{exercise.id}/{bug.target}, its bugs")
        findings = [
            runner.examine(mutant, affected(exercise, bug.target))
            for mutant in mutants_of(folder, exercise, bug, source)
        ]
        known.append(_known(folder, exercise, bug, findings, key))
        tried += findings
        for found in findings:
            for name, signature in found.signatures.items():
                if signature.failing.any():
                    rows.setdefault(name, []).append(((found.mutant.name,), signature))
                    steps.setdefault(name, []).append(runner.sign_steps(found.mutant, name))
    for target in exercise.targets:
        shown = [b for b in known if b.target == target.name and b.shown_by_values]
        if target.points.bug and not shown and key.plan.split == PUBLIC:
            raise CourseError(
                f"{bugs_path(folder, exercise)}: {target.name} gives {target.points.bug:g} points "
                "for bugs, but has no known bug that values show"
            )
    suspects = {name: Suspects.gather(some, steps[name]) for name, some in rows.items()}
    whole = replace(key, book=BugBook(tuple(known)), suspects=suspects)
    return BuiltKey(replace(runner, key=whole), tuple(tried))


def _refuse_unfair_checks(runner: "MutantRunner") -> None:
    """Raise CourseError where the reference itself does not pass a check."""
    exercise, plain = runner.exercise, as_mutant(runner.source)
    found = runner.judge(plain, exercise.targets, runner.key.answers, {})
    for results in found.results.values():
        for result in results:
            if result.status not in (Status.PASSED, Status.SKIPPED):  # the latter are not trained
                raise CourseError(
                    f"{runner.folder.solutions / exercise.file}: the reference fails "
                    f"{result.id}: {result.message}"
                )


def affected(exercise: Exercise, name: str) -> list[Target]:
    """Return the target `name` and every target that uses it, directly or not."""
    reached = {name}
    targets = []
    for target in exercise.targets:
        if target.name in reached or reached & set(target.uses):
            reached.add(target.name)
            targets.append(target)
    return targets


@dataclass(frozen=True)
class Finding:
    """What running one mutant showed."""

    mutant: Mutant
    answers: Mapping[str, Answer]
    answers32: Mapping[str, Answer]
    evidences: Mapping[str, Evidence]  # by target
    results: Mapping[str, list[CheckResult]]  # by target
    signatures: Mapping[str, Signature]


@dataclass(frozen=True)
class MutantRunner:
    """Runs mutants of one exercise in this process; `key` may know bugs, which are judged too."""

    folder: CourseFolder
    exercise: Exercise
    source: str  # the reference's text, which mutants change
    key: AnswerKey
    recipes: Recipes = field(default_factory=dict)  # for all mutants; most are bound alike
    alike: dict[str, list[Call]] = field(default_factory=dict)  # made for pairs, in a quick order

    def examine(self, mutant: Mutant, targets: Sequence[Target], *, bugs: bool = True) -> Finding:
        """Run a mutant on the calls of some targets and judge what comes out.

        Without `bugs` the bug checks are left out, which no diagnosis looks at.
        """
        answers = self._run(mutant, self._calls_of(targets), torch.float64)
        again = calls_to_retry(self.key, answers)
        answers32 = self._run(mutant, again, torch.float32) if again else {}
        return self.judge(mutant, targets, answers, answers32, bugs=bugs)

    def first_failed(self, mutant: Mutant, targets: Sequence[Target]) -> CheckResult | None:
        """Return the first check that a mutant fails, those of bugs aside; None where none is.

        No more calls are made than that one needs. Where one of them raises, all of them are, for
        the whole may be run in float32.
        """
        calls = self._calls_of(targets)
        answers = AnswersOnDemand(calls, self._maker(mutant, torch.float64, calls))
        evidences = (self._evidence(mutant, target, answers, {}) for target in targets)
        results = (result for one in evidences for result in check_each(one, bugs=False))
        with _ending(mutant):
            failed = next((result for result in results if result.failed), None)
        if failed is None or not calls_to_retry(self.key, answers.made):
            return failed
        whole = self.examine(mutant, targets, bugs=False).results
        return next((r for target in targets for r in whole[target.name] if r.failed), None)

    def judge(
        self,
        mutant: Mutant,
        targets: Sequence[Target],
        answers: Mapping[str, Answer],
        answers32: Mapping[str, Answer],
        *,
        bugs: bool = True,
    ) -> Finding:
        """Judge answers as those of a submission with the mutant's text."""
        evidences, results, signatures = {}, {}, {}
        for target in targets:
            evidence = self._evidence(mutant, target, answers, answers32)
            results[target.name] = check_target(evidence, bugs=bugs)
            evidences[target.name] = evidence
            judged = [r for r in results[target.name] if r.kind is not Kind.BUG]
            own = self.key.plan.of_target(target.name)
            signatures[target.name] = sign(own, dict(answers), self.key.plan.tensors, judged)
        return Finding(mutant, answers, answers32, evidences, results, signatures)

    def _calls_of(self, targets: Sequence[Target]) -> list[Call]:
        names = {target.name for target in targets}
        return [call for call in self.key.plan.calls if call.target in names]

    def _evidence(
        self,
        mutant: Mutant,
        target: Target,
        answers: Mapping[str, Answer],
        answers32: Mapping[str, Answer],
    ) -> Evidence:
        source = Source(self.exercise.file, ((self.exercise.file, mutant.source),))
        return Evidence(
            self.folder.course,
            self.exercise,
            target,
            self.key,
            source,
            answers,
            answers32,
            None,
            find_forbidden(source, self.exercise.forbidden_for(target), [target.name]),
        )

    def sign_pair(self, source: str, target: Target, *, audits: bool) -> Signature | None:
        """Return the signature of `pair_rows`, None where the text does not even load.

        How many numbers are registered is counted where `audits` says so, for it takes time.
        """
        own = self.key.plan.of_target(target.name)
        calls = [own[row] for row in pair_rows(own)]
        if target.name not in self.alike:
            self.alike[target.name] = sorted(calls, key=lambda call: repr(built_from(call)))
        alike, mutant = self.alike[target.name], as_mutant(source, target.name)
        try:
            answers = self._run(mutant, alike, torch.float64, audits=audits, quick=True)
        except CourseError:
            return None  # no submission can equal it
        signature = sign(calls, answers, self.key.plan.tensors, [])
        return signature.part(range(len(calls)), range(Code.REGISTERED + 1), [])

    def sign_steps(self, mutant: Mutant, target: str) -> Array:
        """Return what is kept of a target's named steps."""
        calls = step_calls(self.key.plan, target)
        names = self.exercise.target(target).step_names
        reference = Reference(self.exercise, mutant.source, self.folder)
        runner = reference.runner(self.key.plan.tensors, shared=self.recipes, audits=False)
        runner.announce(calls, ())
        made = []
        for call in calls if names else []:
            steps: dict[str, torch.Tensor] = {}
            with recorded_steps(str(self.folder.solutions), names, steps):
                error = make_answer(runner, call).error
            unmade = error is not None and any(f.name == "__init__" for f in error.frames)
            made.append({} if unmade else arrays_of(steps))
        return sign_steps(names, made)

    def _run(
        self, mutant: Mutant, calls: Sequence[Call], dtype: torch.dtype, **options: bool
    ) -> dict[str, Answer]:
        make = self._maker(mutant, dtype, calls, **options)
        with _ending(mutant):
            return {call.id: make(call) for call in calls}

    def _maker(
        self,
        mutant: Mutant,
        dtype: torch.dtype,
        calls: Sequence[Call],
        *,
        audits: bool = True,
        quick: bool = False,
    ) -> Callable[[Call], Answer]:
        """Return what makes each of some calls; raises CourseError.

        With `quick` no forbidden name is told, and what is built alike may be one module.
        """
        reference = Reference(self.exercise, mutant.source, self.folder, dtype)
        options = {"shared": self.recipes, "audits": audits, "keeps": quick}
        runner = reference.runner(self.key.plan.tensors, **options)
        forbidden = () if quick else self.exercise.forbidden_for(*self.exercise.targets)
        runner.announce(calls, forbidden)

        def make(call: Call) -> Answer:
            # training to the end is slow, and only the target's own bugs are judged by it
            far = call.action is Action.FIT and call.target != mutant.bug.target
            return self.key.answers[call.id] if far else make_answer(runner, call)

        return make


@contextlib.contextmanager
def _ending(mutant: Mutant) -> Iterator[None]:
    """Raise CourseError where a mutant does not end: two bugs at once may leave such a loop."""
    try:
        with ending(_ENDLESS):
            yield
    except EndlessError:
        raise CourseError(f"the bug {mutant.bug.id} leaves code without an end") from None


def _known(
    folder: CourseFolder, exercise: Exercise, bug: Bug, findings: Sequence[Finding], key: AnswerKey
) -> KnownBug:
    proofs, margins = [], []
    for number, found in enumerate(findings):
        proof, margin = _prove(found, bug, folder, key)
        if not proof and key.plan.split == PUBLIC:
            which = "its change" if not number else f"its variant {number}"
            where = f"{bugs_path(folder, exercise)}: {bug.id}"
            raise CourseError(f"{where}: no check tells {which} from the reference")
        if not proof:
            continue  # its author is told on the public split; hidden cases may not show it
        proofs.append(proof)
        margins += [margin] if margin else []
    return KnownBug(
        bug.id,
        bug.target,
        bug.title,
        bug.when,
        bug.step,
        bug.lesson,
        tuple(bug.hints),
        tuple(dict.fromkeys(proofs)),
        min((m[0] for m in margins), default=None),
        min((m[1] for m in margins), default=None),
        tuple(bug.needs),
        tuple(_way(bug, place) for place, own in enumerate(bug.also) if own.is_apart),
    )


def _way(bug: Bug, place: int) -> Way:
    """Return a variant of a bug with words of its own; the bug's stand for those it lacks."""
    own = bug.also[place]
    return Way(
        place + 1,
        own.when or bug.when,
        own.step or bug.step,
        tuple(own.hints or bug.hints),
        tuple(own.needs or bug.needs),
    )


def _prove(
    found: Finding, bug: Bug, folder: CourseFolder, key: AnswerKey
) -> tuple[Proof | None, tuple[float, float] | None]:
    """What shows the mutant best: values, gradients, or else a check."""
    tolerances = folder.course.tolerances
    for group, actions in _VALUES:
        best = _Shown()
        for place, call in enumerate(key.plan.of_target(bug.target)):
            if call.action not in actions or call.free:
                continue
            expected, actual = key.answers[call.id], found.answers[call.id]
            # a factory that assembles other parts is told by those, not by values
            unfit = call.kind is TargetKind.FACTORY and actual.status is not AnswerStatus.OK
            if expected.status is not AnswerStatus.OK or unfit:
                continue
            apart = [
                farthest(actual, expected, group, tolerance)
                for tolerance in (tolerances.float32, tolerances.float64)
            ]
            rank = _rank(key.plan, call) if min(apart) > _SHOWN else int(min(apart) > 1)
            early = -place if min(apart) > _CLEAR else -len(key.plan.calls)
            best = max(best, _Shown(rank, early, apart[0], apart[1], call.id))
        if min(best.in_float32, best.in_float64) > 1:
            no_values = best.in_float64 == FAR
            # gradients count beside right values alone: that some came is proof enough
            far = 0.0 if no_values and group is Group.OUTPUT else best.in_float64
            return ValueProof(best.call, group, far), (best.in_float64, best.in_float32)
    failed = [r.id for r in found.results[bug.target] if r.failed and r.kind is not Kind.NUMERIC]
    properties = [check for check in failed if check.kind is Kind.PROPERTY]
    return CheckProof((properties or failed)[0]) if failed else None, None


def _rank(plan: Plan, call: Call) -> int:
    """How little else makes a call fail that shows a bug.

    With an option it fails for an option that is not heard, and with biases of its own for one
    that is missing: that shows no bug of an option, and an option no bug of biases. What gives
    less than others by name fails for another default.
    """
    case = plan.case(call.target, call.case)
    if len(call.defaults) < len(plan.call(CallId.first(call.target)).defaults):
        return 1
    if case.group == PLAIN and case.numeric:
        return 4
    if case.group == BIASES:
        return 3
    return 2 if all(role.optional for role in call.roles if is_bias(role.name)) else 1


@dataclass(frozen=True, order=True)
class _Shown:
    """The call that shows a bug best: of those alike in rank the first that shows it clearly.

    The later a case, the more unusual it is, as numbers so small that an epsilon counts.
    """

    rank: int = 0
    early: int = 0
    in_float32: float = 0.0  # tolerances
    in_float64: float = 0.0
    call: str = ""
