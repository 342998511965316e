"""Deviations from what is asked for that leave the values right, each found and told by itself.

An option that is not heard, a bias too many or too few, another exception, float32, dropout that
nobody asked for: each costs its own checks, and what is left is judged and diagnosed without it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from grader.checks.judge import OF_VALUES
from grader.compare.arrays import exactly_equal
from grader.compare.diagnosis import Aside
from grader.compare.evidence import Evidence
from grader.compare.outcomes import judge_call, lacks_bias, other_form
from grader.course.expressions import literal
from grader.course.models import Target
from grader.properties.base import kinds_of
from grader.properties.registered import Registered
from grader.records.answers import Answer, AnswerStatus, Info, ParameterShape
from grader.records.calls import PLAIN, Call, DrawnCase
from grader.records.ids import BIASES, CallId, CheckId
from grader.records.key import CheckProof, Proof, ValueProof
from grader.records.results import CheckResult, Kind, Status
from grader.records.signatures import Code
from grader.records.text import clean
from grader.worker.names import Group, compared, list_pattern
from grader.worker.protocol import Action, Value

_SHOWN = 3  # biases that are named
_SIGNATURE = "compare the signature with the stub's"
_NONE = "None"  # as code: what it stands for is not in the signature


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
            given = any(not self.unheard.isdisjoint(case.gives) for case in cases)
            return check.name in self.properties or given
        if check.kind is not Kind.BUG:
            of_type = check.kind is Kind.SHAPE and check.name in self.shapes
            return of_type or check.name in self.groups
        bug = evidence.key.book.by_key(f"{check.target}/{check.name}")
        if self.of_default and not self.properties.isdisjoint(map(_shown_by, bug.proofs)):
            return True
        proofs = [proof for proof in bug.proofs if isinstance(proof, ValueProof)]
        plan = evidence.key.plan
        calls = [plan.call(CallId.parse(proof.call)) for proof in proofs]
        groups = {plan.case(check.target, call.case).group for call in calls}
        untold = self.of_biases and any(lacks_bias(evidence, call) for call in calls)
        return untold or bool(groups & self.groups)

    def failed(self, evidence: Evidence, results: Sequence[CheckResult]) -> set[CheckId]:
        """Return the failed checks that it explains, those of known bugs aside."""
        judged = [r for r in results if r.kind is not Kind.BUG and r.failed]
        return {r.id for r in judged if self.explains(evidence, r.id)}


@dataclass(frozen=True)
class Try:
    """A call that says whether something that is given is heard."""

    call: Call
    like: str  # the call that comes to the same where it is not


def _shown_by(proof: Proof) -> str:
    """The case or property that shows a bug."""
    return proof.check.name if isinstance(proof, CheckProof) else CallId.parse(proof.call).what


def find_deviations(
    evidence: Evidence,
    results: Sequence[CheckResult],
    tries: Mapping[str, Sequence[Try]],
    tried: Mapping[str, Answer],
) -> list[Deviation]:
    """Return the deviations of a target, in the order of its checks.

    `tried` has what the calls of `tries` came to, by their ids.
    """
    failed = {r.id for r in results if r.failed}
    groups = dict.fromkeys(c.name for c in failed if c.kind in (Kind.SHAPE, Kind.NUMERIC))
    unknown = evidence.unknown_options
    found: list[Deviation] = []
    for group in evidence.key.plan.groups(evidence.target.name):
        told = any(group in one.groups for one in found)
        if group not in groups or group in (PLAIN, BIASES) or told:
            continue
        if set(unknown).isdisjoint(_first_of(evidence, group).gives):
            one = group in tries and _unheard(evidence, group, tries[group], tried)
            one = one or _refused(evidence, group, results)
            found += [one] if one else []
    found += [_no_argument(evidence, name) for name in unknown]
    biases = _about_biases(evidence, missing=BIASES in groups)
    found += [*_about_properties(evidence, results), *_about_types(evidence, results)]
    found += _about_defaults(evidence, results)
    surplus = any(one.of_biases and not one.groups for one in biases)
    return [*biases, *(one for one in found if not (surplus and one.groups == {"bias"}))]


def tell(
    evidence: Evidence, deviations: Sequence[Deviation], results: Sequence[CheckResult]
) -> list[CheckResult]:
    """Return checks, those that say nothing but a deviation marked as told.

    Properties have their own words; cases with an option get the deviation's.
    """
    told = []
    for result in results:
        due = [d for d in deviations if d.explains(evidence, result.id)]
        if due and result.failed:
            steps = [one.step for one in due] if result.kind is Kind.PROPERTY else [due[0].step]
            result = replace(result, next_step="; ".join(dict.fromkeys(steps)), told=True)
            if result.kind is not Kind.PROPERTY:
                result = replace(result, message=due[0].sentence)
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
    return Aside(told, calls, codes)


def calls_to_try(evidence: Evidence, results: Sequence[CheckResult]) -> dict[str, list[Try]]:
    """Return what tells whether the options and inputs of failed groups are heard, by group.

    None is for an edge, which says nothing of other values.
    """
    failed = {
        r.id.name
        for r in results
        if r.kind in (Kind.SHAPE, Kind.NUMERIC) and r.status is Status.FAILED
    }
    groups = [g for g in evidence.key.plan.groups(evidence.target.name) if g in failed]
    cases = [_first_of(evidence, group) for group in groups if group not in (PLAIN, BIASES)]
    return {
        case.group: _with_options(evidence, case) or _without(evidence, case)
        for case in cases
        if case.of_what_it_gives
    }


def _with_options(evidence: Evidence, case: DrawnCase) -> list[Try]:
    """The first call with the options of a case.

    A size is tried as it is and one larger: one of the two may be the default. None is where that
    call has options itself, for with them another one may rightly make no difference.
    """
    first = evidence.first_call
    if first.options or not set(case.gives) <= set(case.options):
        return []
    larger = {n: v + 1 if type(v) is int else v for n, v in case.options.items()}
    tries = [dict(case.options), larger]
    return [
        Try(replace(first, id=f"{first.id}~{case.group}~{i}", options=some, watch=False), first.id)
        for i, some in enumerate(tries if larger != case.options else tries[:1])
    ]


def _without(evidence: Evidence, case: DrawnCase) -> list[Try]:
    """The calls of a group without what it gives; none where more than that is to be changed."""
    declared, gives = list(evidence.target.inputs), set(case.gives)
    known = {*declared, *case.options} - set(evidence.first_call.options)
    if not gives <= known:
        return []
    last = max(i for i, name in enumerate(declared) if name not in gives)
    return [
        Try(
            replace(
                call,
                id=f"{call.id}~",
                inputs=tuple(
                    Value(None) if name in gives else argument
                    for name, argument in zip(declared, call.inputs[: last + 1], strict=False)
                ),
                options={n: v for n, v in call.options.items() if n not in gives},
                watch=False,
            ),
            call.id,
        )
        for call in evidence.numeric_calls(Action.FORWARD, case.group)
    ]


def _unheard(
    evidence: Evidence, group: str, tries: Sequence[Try], tried: Mapping[str, Answer]
) -> Deviation | None:
    """Whether calls come to the same with what a group gives as without it."""
    pairs = [(evidence.answers[one.like], tried[one.call.id]) for one in tries]
    ended = {answer.status for pair in pairs for answer in pair}
    if ended != {AnswerStatus.OK} or not all(_same(*pair) for pair in pairs):
        return None
    case = _first_of(evidence, group)
    named = " and ".join(f"`{name}`" for name in case.gives)
    sentence = f"{named} is not used: with {_given(case) or 'it'} all is as without it"
    groups = _giving(evidence, case.gives[0]) if len(case.gives) == 1 else frozenset([group])
    return Deviation(
        sentence, f"use {named} where the docstring says so", groups, unheard=frozenset(case.gives)
    )


def _no_argument(evidence: Evidence, option: str) -> Deviation:
    sentence = f"`{option}` is no argument of `{evidence.target.name}`"
    groups = _giving(evidence, option)
    return Deviation(sentence, _SIGNATURE, groups, unheard=frozenset([option]))


def _refused(evidence: Evidence, group: str, results: Sequence[CheckResult]) -> Deviation | None:
    """Whether every call of a group raises, where no ordinary one does."""
    ended = {
        name: {
            evidence.answers[call.id].status
            for call in evidence.numeric_calls(Action.FORWARD, name)
        }
        for name in (PLAIN, group)
    }
    if ended != {PLAIN: {AnswerStatus.OK}, group: {AnswerStatus.RAISED}}:
        return None
    told = next(r for r in results if r.failed and r.id.name == group)
    case = _first_of(evidence, group)
    where = f"with {_given(case) or _listed(case.gives)}"
    if not case.of_what_it_gives and told.case is not None:
        where = f"in the case '{told.case.name}'"
    sentence = f"{where} {told.message}"
    return Deviation(sentence, told.next_step, frozenset([group]))


def _first_of(evidence: Evidence, group: str) -> DrawnCase:
    """Return the first case of a group."""
    cases = evidence.key.plan.numeric_cases(evidence.target.name)
    return next(case for case in cases if case.group == group)


def _giving(evidence: Evidence, name: str) -> frozenset[str]:
    """Return the groups whose every case gives something."""
    cases = evidence.key.plan.numeric_cases(evidence.target.name)
    without = {case.group for case in cases if name not in case.gives}
    return frozenset(case.group for case in cases) - without


def _given(case: DrawnCase) -> str:
    """Return the options that a case gives, with their values."""
    return ", ".join(f"{n}={v!r}" for n, v in case.options.items() if n in case.gives)


def _same(one: Answer, other: Answer) -> bool:
    """Whether two answers have the same outputs, some at least, of modules of as many parameters.

    A bias more or less makes no difference to outputs where it is zero.
    """
    before, after = (compared(answer.tensors, Group.OUTPUT) for answer in (one, other))
    return bool(before) and (
        one.info.registered == other.info.registered
        and before.keys() == after.keys()
        and all(exactly_equal(before[name], after[name]) for name in before)
    )


def _about_properties(evidence: Evidence, results: Sequence[CheckResult]) -> list[Deviation]:
    """What properties say of why they failed, where that touches nothing else."""
    failed = {r.id.name: r for r in results if r.kind is Kind.PROPERTY and r.failed}
    properties = kinds_of(evidence.course, evidence.exercise, evidence.target)
    said = {p.name: p.deviation(evidence) for p in properties if p.name in failed}
    return [
        Deviation(sentence, failed[name].next_step, properties=frozenset([name]))
        for name, sentence in said.items()
        if sentence
    ]


def _about_defaults(evidence: Evidence, results: Sequence[CheckResult]) -> list[Deviation]:
    """Other defaults than are asked for, where properties whose calls do not give them fail.

    Beside wrong values they are no more than skipped. What None stands for is known to be wrong
    where a property fails for which nothing else is to blame.
    """
    own = {d.name: d.own for d in evidence.answers[evidence.first_call.id].info.defaults}
    apart = [r for r in results if r.kind is Kind.PROPERTY and r.status is not Status.PASSED]
    found = []
    for name in evidence.target.defaults:
        ungiven = frozenset(r.id.name for r in apart if _is_without(evidence, r.id.name, name))
        alone = len(own) == 1 and any(r.failed for r in apart if r.id.name in ungiven)
        if ungiven and name in own and (alone or own[name] != _NONE):
            said = _of_default(evidence, name, clean(own[name], 60))
            found.append(Deviation(said, _SIGNATURE, properties=ungiven, of_default=True))
    return found


def _is_without(evidence: Evidence, prop: str, argument: str) -> bool:
    """Whether the calls of a property leave an argument to its default."""
    calls = [call for call in evidence.calls_of(prop) if not call.refused]
    return any(argument not in {**call.defaults, **call.options} for call in calls)


def _of_default(evidence: Evidence, name: str, own: str) -> str:
    asked = _asked(evidence.target, name)
    if not own:
        return f"`{name}` has no default; {asked} is asked for"
    if own == _NONE:
        return f"`{name}` is not {asked} where it is not given"
    return f"`{name}` is {own} where it is not given; {asked} is asked for"


def _asked(target: Target, name: str) -> str:
    """A default as course.yml declares it, with the constructor's names for sizes."""
    spec = literal(target.defaults[name])
    if not spec.names():
        return repr(spec.value({}))
    named = {str(size): argument for argument, size in target.constructor.items()}
    return f"`{re.sub('[A-Za-z_]+', lambda found: named.get(found[0], found[0]), spec.text)}`"


def _about_types(evidence: Evidence, results: Sequence[CheckResult]) -> list[Deviation]:
    """An output in another form, where nothing else is wrong with types or shapes."""
    other = other_form(evidence, evidence.first_call)
    failed = [r.id.name for r in results if r.kind is Kind.SHAPE and r.failed]
    shapes = frozenset(group for group in failed if _is_of_form(evidence, group))
    return [Deviation(other.message, other.next_step, shapes=shapes)] if other and shapes else []


def _is_of_form(evidence: Evidence, group: str) -> bool:
    """Whether what comes back in some cases can be compared with what is due."""
    calls = evidence.numeric_calls(Action.FORWARD, group)
    judged = [judge_call(evidence, call, Group.OUTPUT) for call in calls]
    return all(one.passed or one.fault in OF_VALUES for one in judged)


def _about_biases(evidence: Evidence, *, missing: bool) -> list[Deviation]:
    """Biases that nobody asked for, and biases that are not there."""
    call = evidence.first_call
    answer, expected = evidence.answers[call.id], evidence.key.answers[call.id]
    if answer.status is not AnswerStatus.OK or not call.roles:
        return []
    info = answer.info
    played = {role for one in info.bound for role in one.roles}
    absent = [r for r in call.roles if r.optional and r.name not in played] if missing else []
    surplus = _surplus(info)
    count = (info.registered or 0) - (expected.info.registered or 0)
    explained = sum(prod(one.shape) for one in surplus) - sum(prod(r.shape) for r in absent)
    registered = _audits(evidence) if count == explained else frozenset()
    found = []
    if absent:
        layers, own = (
            " and ".join(name(info, role.name) for role in absent) for name in (_layer, _own_layer)
        )
        said = f"{layers} {'has' if len(absent) == 1 else 'have'} no bias"
        step = evidence.words.biased.format(own)
        found.append(Deviation(said, step, frozenset([BIASES]), registered, of_biases=True))
    if surplus and registered:
        asked = "bias" in evidence.key.plan.groups(evidence.target.name)
        what = "biases although bias=False" if asked else "biases that nobody asked for"
        sentence = f"{what} ({_listed([one.name for one in surplus])})"
        layers = _listed([one.name.rpartition(".")[0] or one.name for one in surplus])
        step = (evidence.words.bias_passed_on if asked else evidence.words.unbiased).format(layers)
        found.append(Deviation(sentence, step, properties=registered, of_biases=True))
    return found


def _audits(evidence: Evidence) -> frozenset[str]:
    """The properties that count what is registered."""
    kinds = kinds_of(evidence.course, evidence.exercise, evidence.target)
    return frozenset(p.name for p in kinds if isinstance(p, Registered))


def _surplus(info: Info) -> list[ParameterShape]:
    """The biases of a module that play no role."""
    played = [list_pattern(one.name) for one in info.bound]
    known = re.compile("|".join(played) or "(?!)")
    return [
        one
        for one in info.names
        if re.search(r"bias(es)?$", one.name) and not known.fullmatch(one.name)
    ]


def _listed(names: Sequence[str]) -> str:
    """Some names, and that there are more."""
    shown = [f"`{clean(name, 60)}`" for name in names[:_SHOWN]]
    return f"{', '.join(shown)}{', …' if len(names) > _SHOWN else ''}"


def _layer(info: Info, role: str) -> str:
    """The layer that lacks a bias, as the submission calls it and as the course does."""
    stem, name = f"`{role.removesuffix('.bias')}`", _own_layer(info, role)
    return stem if name == stem else f"{name}, used as {stem},"


def _own_layer(info: Info, role: str) -> str:
    """The layer that lacks a bias, as the submission calls it."""
    stem = role.removesuffix(".bias")
    own = [one.name for one in info.bound if f"{stem}.weight" in one.roles]
    return f"`{clean(own[0].rpartition('.')[0], 60) if own else stem}`"
