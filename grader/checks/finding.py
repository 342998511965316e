"""Finds the deviations of a target, each by itself."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import prod

from grader.checks.deviations import Deviation
from grader.checks.judge import OF_VALUES
from grader.checks.unheard import (
    OF_CASES,
    SIGNATURE,
    Try,
    first_of,
    named_in_full,
    no_argument,
    refused,
    unheard,
)
from grader.compare.evidence import Evidence
from grader.compare.outcomes import judge_call, other_form
from grader.course.expressions import literal
from grader.course.models import Target
from grader.properties.base import kinds_of
from grader.properties.dtype import Dtype
from grader.properties.raises import Raises
from grader.properties.registered import Registered
from grader.records.answers import Answer, AnswerStatus, Info, ParameterShape
from grader.records.calls import PLAIN
from grader.records.ids import BIASES
from grader.records.results import CheckResult, Kind, Status
from grader.records.text import clean
from grader.worker.names import Group, list_pattern
from grader.worker.protocol import Action, RoleKind

_NONE = "None"  # as code: what it stands for is not in the signature


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
    groups = dict.fromkeys(c.name for c in failed if c.kind in OF_CASES)
    unknown = evidence.unknown_options
    found: list[Deviation] = []
    for group in evidence.key.plan.groups(evidence.target.name):
        told = any(group in one.groups for one in found)
        if group not in groups or group in (PLAIN, BIASES) or told:
            continue
        if set(unknown).isdisjoint(first_of(evidence, group).gives):
            one = group in tries and unheard(evidence, group, tries[group], tried)
            one = one or refused(evidence, group, results)
            found += [one] if one else []
    found += [no_argument(evidence, name) for name in unknown]
    biases = _about_biases(evidence, missing=BIASES in groups)
    found += _about_the_rest(evidence, results)
    surplus = any(one.of_biases and not one.groups for one in biases)
    said = surplus and "bias" not in unknown  # with or without the option they are there
    return [*biases, *(one for one in found if not (said and one.groups == {"bias"}))]


def _about_the_rest(evidence: Evidence, results: Sequence[CheckResult]) -> list[Deviation]:
    """What properties, types and defaults say; of dropout a default says how much it is."""
    defaults = _about_defaults(evidence, results)
    others = _untold(_about_properties(evidence, results), defaults)
    return [*others, *_about_types(evidence, results), *defaults]


def _untold(about: Sequence[Deviation], defaults: Sequence[Deviation]) -> list[Deviation]:
    """Those of some properties that no default tells."""
    told = {name for one in defaults for name in one.properties}
    return [one for one in about if not one.properties <= told]


def plain_deviations(evidence: Evidence, results: Sequence[CheckResult]) -> list[Deviation]:
    """Return those deviations that are so whatever the values are.

    They are of biases, of what is refused, of precision, and of properties that say it by
    themselves, or by the default that they fail for.
    """
    missing = any(r.failed and r.id.name == BIASES and r.kind in OF_CASES for r in results)
    properties = kinds_of(evidence.course, evidence.exercise, evidence.target)
    alone = frozenset(p.name for p in properties if p.step_alone)
    apart = alone.union(p.name for p in properties if isinstance(p, Raises | Dtype))
    defaults = [
        replace(one, properties=one.properties & alone)
        for one in _about_defaults(evidence, results)
        if one.properties & alone
    ]
    about = [one for one in _about_properties(evidence, results) if one.properties <= apart]
    biases = _about_biases(evidence, missing=missing)
    return [*biases, *_untold(about, defaults), *defaults]


def _about_properties(evidence: Evidence, results: Sequence[CheckResult]) -> list[Deviation]:
    """What properties say of why they failed, where that touches nothing else.

    Of one that waits for right values nothing is said but what is so without them.
    """
    asked = {r.id.name: r for r in results if r.kind is Kind.PROPERTY}
    found = []
    for kind in kinds_of(evidence.course, evidence.exercise, evidence.target):
        check = asked[kind.name]
        waits = bool(kind.step_alone) and check.status is Status.SKIPPED
        if (check.failed or waits) and (sentence := kind.deviation(evidence)):
            step = check.next_step or kind.step_alone
            found.append(Deviation(sentence, step, properties=frozenset([kind.name])))
    return found


def _about_defaults(evidence: Evidence, results: Sequence[CheckResult]) -> list[Deviation]:
    """Other defaults than are asked for, where properties whose calls do not give them fail.

    Beside wrong values they are no more than skipped. What None stands for is known to be wrong
    where a property fails for which nothing else is to blame.
    """
    told = evidence.answers[evidence.first_call.id].info.defaults
    # one that is None costs nothing: a note tells it
    own = {d.name: d.own for d in told if evidence.target.defaults.get(d.name) is not None}
    apart = [r for r in results if r.kind is Kind.PROPERTY and r.status is not Status.PASSED]
    found = []
    for name in evidence.target.defaults:
        ungiven = frozenset(r.id.name for r in apart if _is_without(evidence, r.id.name, name))
        alone = len(own) == 1 and any(r.failed for r in apart if r.id.name in ungiven)
        alone |= list(own.values()).count(_NONE) == 1 and _is_of_another_size(evidence, ungiven)
        if own.get(name) and any(_raised(evidence, prop) for prop in ungiven):
            continue  # the check tells the exception, and where it comes from
        if ungiven and name in own and (alone or own[name] != _NONE):
            said = _of_default(evidence, name, clean(own[name], 60))
            step = f"see what your code makes of {name}=None" if own[name] == _NONE else SIGNATURE
            found.append(Deviation(said, step, properties=ungiven, of_default=True))
    return found


def _raised(evidence: Evidence, prop: str) -> bool:
    calls = evidence.calls_of(prop)
    return any(evidence.answers[call.id].status is AnswerStatus.RAISED for call in calls)


def _is_of_another_size(evidence: Evidence, properties: Collection[str]) -> bool:
    """Whether a weight does not fit in calls of properties: no default of a bias explains that."""
    sought = [
        one.name
        for prop in properties
        for call in evidence.calls_of(prop)
        for one in evidence.answers[call.id].info.sought
    ]
    return any(not name.endswith("bias") for name in sought)


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
    value = target.defaults[name]
    assert value is not None  # noqa: S101 - such a default is not told
    spec = literal(value)
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
    call = evidence.bound_call
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
        said, step = _of_missing(evidence, info, [role.name for role in absent])
        found.append(Deviation(said, step, frozenset([BIASES]), registered, of_biases=True))
    if surplus and registered:
        asked = "bias" in evidence.key.plan.groups(evidence.target.name)
        what = "biases although bias=False" if asked else "biases that nobody asked for"
        sentence = f"{what} ({named_in_full([one.name for one in surplus])})"
        step = _without_biases(evidence, surplus, asked=asked)
        found.append(Deviation(sentence, step, properties=registered, of_biases=True))
    return found


def _without_biases(evidence: Evidence, surplus: Sequence[ParameterShape], *, asked: bool) -> str:
    """Say how to do without biases, which an option asks for elsewhere."""
    layers = named_in_full([one.name.rpartition(".")[0] or one.name for one in surplus])
    if all("." not in one.name for one in surplus):  # they are of no layer
        return f"take {layers} out"
    heard = asked and "bias" not in evidence.unknown_options
    parts = dict.fromkeys(one.name.rpartition(".")[0].rpartition(".")[0] for one in surplus)
    if heard and "" not in parts:  # they are layers of parts, which are made of another class
        own = named_in_full([one.name.split(".")[-2] for one in surplus])
        return f"`bias` has to reach {own} in {named_in_full(list(parts))}: see where it is lost"
    return (evidence.words.bias_passed_on if heard else evidence.words.unbiased).format(layers)


def _of_missing(evidence: Evidence, info: Info, roles: Sequence[str]) -> tuple[str, str]:
    """Say which layers have no bias, or one with the option alone; and what to do."""
    own = " and ".join(_own_layer(info, role) for role in roles)
    layers = " and ".join(_layer(info, role) for role in roles)
    named = own if evidence.target.free_names else layers
    given = [evidence.answers[c.id].info for c in evidence.numeric_calls(Action.FORWARD, "bias")]
    there = {role for one in given for bound in one.bound for role in bound.roles}
    what = "a bias only where bias=True is given" if there.issuperset(roles) else "no bias"
    said = f"{named} {'has' if len(roles) == 1 else 'have'} {what}"
    scales = (evidence.roles.get(f"{role.removesuffix('.bias')}.weight") for role in roles)
    norms = all(scale is not None and scale.kind is RoleKind.VECTOR for scale in scales)
    return said, (evidence.words.biased_norm if norms else evidence.words.biased).format(own)


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


def _layer(info: Info, role: str) -> str:
    """The layer that lacks a bias, as the submission calls it and as the course does."""
    if "." not in role:
        return "it"
    stem, name = f"`{role.removesuffix('.bias')}`", _own_layer(info, role)
    return stem if name == stem else f"{name}, used as {stem},"


def _own_layer(info: Info, role: str) -> str:
    """The layer that lacks a bias, as the submission calls it."""
    if "." not in role:
        return "it"
    stem = role.removesuffix(".bias")
    own = [one.name for one in info.bound if f"{stem}.weight" in one.roles]
    name = own[0].rpartition(".")[0] or own[0] if own else stem  # a parameter may stand by itself
    return f"`{clean(name, 60)}`"
