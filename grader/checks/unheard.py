"""Whether options, arguments and inputs are heard: calls that tell it, and what they came to."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from grader.checks.deviations import Deviation
from grader.compare.arrays import exactly_equal
from grader.compare.evidence import Evidence
from grader.properties.base import kinds_of
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import PLAIN, Call, DrawnCase
from grader.records.ids import BIASES
from grader.records.results import CheckResult, Kind, Status
from grader.records.text import clean
from grader.worker.names import Group, compared
from grader.worker.protocol import Action, Scalar, TargetKind, Value

_SHOWN = 3  # names, at most
OF_CASES = (Kind.SHAPE, Kind.NUMERIC)  # kinds of checks that each group of cases has
SIGNATURE = "compare the signature with the stub's"


@dataclass(frozen=True)
class Try:
    """A call that says whether something that is given is heard."""

    call: Call
    like: str  # the call that comes to the same where it is not


def calls_to_try(evidence: Evidence, results: Sequence[CheckResult]) -> dict[str, list[Try]]:
    """Return what tells whether the options and inputs of failed groups are heard, by group.

    None is for an edge, which says nothing of other values.
    """
    failed = {r.id.name for r in results if r.kind in OF_CASES and r.status is Status.FAILED}
    groups = [g for g in evidence.key.plan.groups(evidence.target.name) if g in failed]
    cases = [first_of(evidence, group) for group in groups if group not in (PLAIN, BIASES)]
    return {
        case.group: _with_options(evidence, case) or _without(evidence, case)
        for case in cases
        if case.of_what_it_gives
    }


def _with_options(evidence: Evidence, case: DrawnCase) -> list[Try]:
    """The first call of a module that is built with the options of a case.

    A size is tried as it is and one larger: one of the two may be the default. None is where that
    call has options itself, for with them another one may rightly make no difference.
    """
    first = evidence.first_call
    built = first.kind is not TargetKind.FUNCTION
    if not built or first.options or not set(case.gives) <= set(case.options):
        return []
    larger = {n: v + 1 if type(v) is int else v for n, v in case.options.items()}
    tries = [dict(case.options), larger]
    return [
        Try(replace(first, id=f"{first.id}~{case.group}~{i}", options=some, watch=False), first.id)
        for i, some in enumerate(tries if larger != case.options else tries[:1])
    ]


def _without(evidence: Evidence, case: DrawnCase) -> list[Try]:
    """The calls that give what a case gives, without it; none where more is to be changed.

    All that end are looked at, for an option may act on some inputs alone.
    """
    declared, gives = list(evidence.target.inputs), set(case.gives)
    known = {*declared, *case.options} - set(evidence.first_call.options)
    if not gives <= known:
        return []
    last = max(i for i, name in enumerate(declared) if name not in gives)
    return [
        Try(
            replace(
                call,
                id=f"{call.id}~{case.group}",
                inputs=tuple(
                    Value(None) if name in gives else argument
                    for name, argument in zip(declared, call.inputs[: last + 1], strict=False)
                ),
                options={n: v for n, v in call.options.items() if n not in gives},
                watch=False,
            ),
            call.id,
        )
        for call in evidence.numeric_calls(Action.FORWARD)
        if evidence.case(call).group == case.group
        or (_gives(declared, call, gives) and evidence.answers[call.id].status is AnswerStatus.OK)
    ]


def _gives(declared: Sequence[str], call: Call, names: Set[str]) -> bool:
    """Whether a call gives all of some options and inputs."""
    inputs = zip(declared, call.inputs, strict=False)
    given = {name for name, argument in inputs if argument != Value(None)}
    return names <= {*given, *call.options}


def unheard(
    evidence: Evidence, group: str, tries: Sequence[Try], tried: Mapping[str, Answer]
) -> Deviation | None:
    """Say so where calls come to the same with what a group gives as without it."""
    pairs = [(evidence.answers[one.like], tried[one.call.id]) for one in tries]
    ended = {answer.status for pair in pairs for answer in pair}
    if ended != {AnswerStatus.OK} or not all(_same(*pair) for pair in pairs):
        return None
    case = first_of(evidence, group)
    named = " and ".join(f"`{name}`" for name in case.gives)
    given, same = _given(case.gives, case.options), "the output is the same with"
    step = f"use {named} where the docstring says so"
    if not any(map(evidence.reads, case.gives)):
        sentence = f"{named} is not used: {same} {given or 'it'} and without it"
    else:  # another value may change something
        which = f"`{given}`" if given else named
        sentence = f"{which} changes nothing: {same} it and without it"
        if takers := _takers(evidence, case.gives):
            step = f"follow {named} into `{takers[0]}`: is it heard there?"
    groups = _giving(evidence, case.gives[0]) if len(case.gives) == 1 else frozenset([group])
    return Deviation(sentence, step, groups, unheard=frozenset(case.gives))


def _takers(evidence: Evidence, names: Sequence[str]) -> list[str]:
    """The targets that a target uses and that have the same options."""
    used = (one for one in evidence.exercise.targets if one.name in evidence.target.uses)
    return [one.name for one in used if one.defaults.keys() >= {*names}]


def no_argument(evidence: Evidence, option: str) -> Deviation:
    """Say that the signature has no such argument."""
    sentence = f"`{option}` is no argument of `{evidence.target.name}`"
    groups, asking = _giving(evidence, option), frozenset(_asking(evidence, option))
    return Deviation(sentence, SIGNATURE, groups, asking, unheard=frozenset([option]))


def _asking(evidence: Evidence, name: str) -> Iterator[str]:
    """The properties that give a source of random numbers or a device, in each of their calls."""
    properties = (p.name for p in kinds_of(evidence.course, evidence.exercise, evidence.target))
    for prop in properties:
        calls = evidence.calls_of(prop)
        if calls and all(name in (call.generator, call.device) for call in calls):
            yield prop


def refused(evidence: Evidence, group: str, results: Sequence[CheckResult]) -> Deviation | None:
    """Say so where every call of a group raises, and no ordinary one does.

    Other groups and properties that end at the same line have nothing else to say; where a part of
    a group ends there, its own check tells it.
    """
    if not _is_refused(evidence, group):
        return None
    told = next(r for r in results if r.failed and r.id.name == group)
    case = first_of(evidence, group)
    shown = told.case or case  # it may be another case of the group that raised what is told
    where = f"with {_given(case.gives, shown.options) or named_in_full(case.gives)}"
    if not case.of_what_it_gives and told.case is not None:
        where = f"in the case '{told.case.name}'"
    alike = [r for r in results if r.failed and r.place is not None and r.place == told.place]
    groups = frozenset(r.id.name for r in alike if r.kind is Kind.SHAPE)
    if not all(_is_refused(evidence, one) for one in groups):
        return None
    properties = frozenset(r.id.name for r in alike if r.kind is Kind.PROPERTY)
    return Deviation(f"{where} {told.message}", told.next_step, groups | {group}, properties)


def _is_refused(evidence: Evidence, group: str) -> bool:
    ended = {
        name: {
            evidence.answers[call.id].status
            for call in evidence.numeric_calls(Action.FORWARD, name)
        }
        for name in (PLAIN, group)
    }
    return ended == {PLAIN: {AnswerStatus.OK}, group: {AnswerStatus.RAISED}}


def first_of(evidence: Evidence, group: str) -> DrawnCase:
    """Return the first case of a group."""
    cases = evidence.key.plan.numeric_cases(evidence.target.name)
    return next(case for case in cases if case.group == group)


def _giving(evidence: Evidence, name: str) -> frozenset[str]:
    """Return the groups whose every case gives something."""
    cases = evidence.key.plan.numeric_cases(evidence.target.name)
    without = {case.group for case in cases if name not in case.gives}
    return frozenset(case.group for case in cases) - without


def _given(names: Sequence[str], options: Mapping[str, Scalar]) -> str:
    """Return those of some options that have a name of these, with their values."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items() if name in names)


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


def named_in_full(names: Sequence[str]) -> str:
    """Return some names, and that there are more."""
    shown = [f"`{clean(name, 60)}`" for name in names[:_SHOWN]]
    return f"{', '.join(shown)}{', …' if len(names) > _SHOWN else ''}"
