"""Names the mistake: the known bug, or the two, whose answers the submission's are."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from math import ceil, log10

import numpy as np

from grader.compare.evidence import Evidence, Fault
from grader.compare.outcomes import judge_call
from grader.compare.signature import sign, value_rows
from grader.compare.steps import StepsFound
from grader.records.calls import Array, Call
from grader.records.key import KnownBug
from grader.records.results import CheckResult, Diagnosis, Kind, Status
from grader.records.signatures import Code, Signature, Suspects
from grader.worker.names import Group
from grader.worker.protocol import Action

STRICT = 1e-9  # distance of projections that are the same in float64
_LAX = 1e-4  # where the submission computes in float32
_SHOWN = 1e-12  # a distance is told down to here; below, it is the machine's rounding
LISTED = 3  # bugs that cannot be told apart and are still worth naming


def diagnose(
    evidence: Evidence,
    results: Sequence[CheckResult],
    suspects: Mapping[str, Suspects],
    pairs: Callable[[], Mapping[str, Suspects]],
) -> Diagnosis | None:
    """Return the diagnosis of one target, None where nothing failed or nothing fits.

    `results` are the target's; `pairs` gives the signatures of two bugs at once, and is only
    called where no single bug fits.
    """
    judged = [r for r in results if r.kind is not Kind.BUG]
    if not any(r.status in (Status.FAILED, Status.TIMEOUT) for r in judged):
        return None
    target = evidence.target.name
    calls = evidence.key.plan.of_target(target)
    if _is_unwritten(evidence, calls):
        return None
    seen = sign(calls, dict(evidence.answers), evidence.key.plan.tensors, judged)
    tolerance = _LAX if _in_float32(evidence, judged) else STRICT
    right = sign(calls, evidence.key.answers, evidence.key.plan.tensors, [])
    rows = value_rows(calls)
    own = suspects.get(target)
    found = _matches(own, seen, tolerance)
    everywhere = True
    if not found and own is not None:
        telling = _value_checks(evidence, judged)
        found = _two_silent(evidence, own, seen, right, telling) or _one_and_silent(
            evidence, own, seen, rows, tolerance, telling
        )
    if not found and _has_values(seen) and not _all_right(seen, right, rows, tolerance):
        found = _matches(pairs().get(target), seen.of_values(rows), tolerance)
        if not found and own is not None:
            possible = own.only(_not_contradicted(evidence, own, judged))
            values, due = possible.of_values(rows), right.of_values(rows)
            branches = _branches([calls[row] for row in rows])
            found = dict(
                values.matching_where_wrong(seen.of_values(rows), due, branches, tolerance)
            )
            everywhere = False
    if not found:
        return None
    valued = _has_values(seen)
    return _word(evidence, suspects.values(), found, everywhere=everywhere, valued=valued)


def _all_right(seen: Signature, right: Signature, rows: Sequence[int], tolerance: float) -> bool:
    """Whether the values are the reference's: then no two bugs of values explain what failed."""
    reference = Suspects.gather([((), right.of_values(rows))])
    return bool(reference.matching(seen.of_values(rows), tolerance))


def _not_contradicted(
    evidence: Evidence, suspects: Suspects, judged: Sequence[CheckResult]
) -> Array:
    """Which suspects fail no check of a claim that the submission passed."""
    cleared = [
        place
        for place, result in enumerate(judged)
        if result.status is Status.PASSED
        and (prop := evidence.course.property_of(result.id)) is not None
        and prop.claim
    ]
    return np.asarray(~suspects.failing[:, cleared].any(axis=1))


def _branches(calls: Sequence[Call]) -> list[Array]:
    """The sets of calls that share an option, such as all in pre-norm, and their opposites."""
    options = dict.fromkeys((k, repr(v)) for call in calls for k, v in call.options.items())
    given = [
        np.array([repr(call.options.get(name)) == value for call in calls])
        for name, value in options
    ]
    return [mask for one in given for mask in (one, ~one)]


def _is_unwritten(evidence: Evidence, calls: Sequence[Call]) -> bool:
    """Whether the submission's own code says at each call that it is not written yet."""
    errors = [evidence.answers[call.id].error for call in calls if call.id in evidence.answers]
    return all(e is not None and e.type == "NotImplementedError" and e.frames for e in errors)


def first_wrong_call(evidence: Evidence) -> Call | None:
    """Return the smallest numeric case whose values alone are wrong, None where there is none."""
    for call in evidence.numeric_calls(Action.FORWARD):
        if judge_call(evidence, call, Group.OUTPUT).fault is Fault.VALUES:
            return call
    return None


def located(evidence: Evidence, progress: StepsFound) -> Diagnosis:
    """Put into words how far a run was right."""
    return Diagnosis(
        target=evidence.target.name,
        bugs=(),
        step=progress.wrong,
        hint=f"Everything up to there is right: look at how `{progress.wrong}` is made.",
        evidence=f"No known mistake fits. Step by step: {progress.sentence}.",
    )


def _matches(
    suspects: Suspects | None, seen: Signature, tolerance: float
) -> dict[tuple[str, ...], float]:
    """The distinct suspects that fit, with the least distance of their variants."""
    found: dict[tuple[str, ...], float] = {}
    if suspects is not None:
        for names, distance in suspects.matching(seen, tolerance):
            found[names] = min(distance, found.get(names, distance))
    return found


@dataclass(frozen=True)
class _Silent:
    """A bug that no value shows."""

    name: str
    failing: frozenset[int]  # the checks that it fails
    registered: tuple[int, ...]  # how many numbers its module registers, by call


def _silent(evidence: Evidence, suspects: Suspects) -> list[_Silent]:
    """Return the bugs of a target that no value shows, a row a variant that looks different."""
    rows = [
        _Silent(name, frozenset(np.flatnonzero(failing).tolist()), _registered(codes))
        for (name,), failing, codes in zip(
            suspects.names, suspects.failing, suspects.codes, strict=True
        )
        if not evidence.key.book.by_key(name).shown_by_values
    ]
    return list(dict.fromkeys(rows))


def _registered(codes: Array) -> tuple[int, ...]:
    return tuple(codes[:, Code.REGISTERED].tolist())


def _two_silent(
    evidence: Evidence,
    suspects: Suspects,
    seen: Signature,
    right: Signature,
    telling: Set[int],
) -> dict[tuple[str, ...], float]:
    """Two bugs that no value shows, which together fail exactly the checks that failed.

    Of several such pairs those are kept that explain what is registered, where any does.
    """
    failing = frozenset(np.flatnonzero(seen.failing).tolist())
    if failing & telling:
        return {}
    fitting = [
        (one, two)
        for one, two in combinations(_silent(evidence, suspects), 2)
        if one.name != two.name
        and one.failing | two.failing == failing
        and failing not in (one.failing, two.failing)
    ]
    counts = _registered(seen.codes), _registered(right.codes)
    explained = [pair for pair in fitting if _registers_both(*pair, *counts)]
    return {(one.name, two.name): 0.0 for one, two in explained or fitting}


def _registers_both(
    one: _Silent, two: _Silent, seen: tuple[int, ...], right: tuple[int, ...]
) -> bool:
    """Whether what is registered can be due to both: where one changes nothing, to the other."""
    calls = zip(one.registered, two.registered, seen, right, strict=True)
    return all(
        came == (second if first == due else first)
        for first, second, came, due in calls
        if due in (first, second)
    )


def _value_checks(evidence: Evidence, judged: Sequence[CheckResult]) -> set[int]:
    """The places of the checks of values: a bug that no value shows fails none of them."""
    return {
        place
        for place, result in enumerate(judged)
        if result.kind in (Kind.SHAPE, Kind.NUMERIC)
        or ((prop := evidence.course.property_of(result.id)) is not None and prop.of_parts)
    }


def _one_and_silent(
    evidence: Evidence,
    suspects: Suspects,
    seen: Signature,
    rows: Sequence[int],
    tolerance: float,
    telling: Set[int],
) -> dict[tuple[str, ...], float]:
    """A bug with the same values, and beside it one that no value shows."""
    values = suspects.of_values(rows)
    fitting = _matches(values, seen.of_values(rows), tolerance)
    failing = set(np.flatnonzero(seen.failing).tolist())
    found: dict[tuple[str, ...], float] = {}
    for names, distance in fitting.items():
        own = set(np.flatnonzero(suspects.failing[suspects.names.index(names)]).tolist())
        shown = any(evidence.key.book.by_key(name).shown_by_values for name in names)
        if not shown or not own & failing & telling:
            continue
        rest = failing - own
        silent = dict.fromkeys(s.name for s in _silent(evidence, suspects) if s.failing == rest)
        beside = list(silent) if rest else []
        for name in beside if len(beside) <= LISTED else []:
            found[(*names, name)] = distance
        if not beside or len(beside) > LISTED:
            found[names] = distance
    return found


def _in_float32(evidence: Evidence, results: Sequence[CheckResult]) -> bool:
    """Whether a property tells that the code computes in float32."""
    failed = [evidence.course.property_of(r.id) for r in results if r.status is Status.FAILED]
    return any(prop is not None and prop.of_precision for prop in failed)


def _has_values(seen: Signature) -> bool:
    return bool((seen.values != 0).any())


def _word(
    evidence: Evidence,
    suspects: Iterable[Suspects],
    found: Mapping[tuple[str, ...], float],
    *,
    everywhere: bool,
    valued: bool,
) -> Diagnosis | None:
    """Put the suspects that fit into words; those that cannot be told apart are one."""
    bugs = [[evidence.key.book.by_key(key) for key in names] for names in found]
    if count_behaviours(suspects, found) > (LISTED if valued else 1):
        return None
    return Diagnosis(
        target=evidence.target.name,
        bugs=tuple(dict.fromkeys(bug.id for group in bugs for bug in group)),
        step=_first_step(evidence, bugs[0]),
        hint=bugs[0][0].hints[0],
        evidence=_evidence(
            evidence, bugs, max(found.values()), everywhere=everywhere, valued=valued
        ),
    )


def count_behaviours(suspects: Iterable[Suspects], groups: Iterable[tuple[str, ...]]) -> int:
    """Return how many of the groups differ, bugs that cannot be told apart being one."""
    same = {name: first for some in suspects for name, first in some.first_alike.items()}
    return len({tuple(sorted(same.get(name, name) for name in group)) for group in groups})


def _first_step(evidence: Evidence, bugs: Sequence[KnownBug]) -> str:
    steps = evidence.target.step_names
    broken = [bug.step for bug in bugs if bug.step in steps]
    return min(broken, key=steps.index, default="")


def _evidence(
    evidence: Evidence,
    groups: Sequence[Sequence[KnownBug]],
    distance: float,
    *,
    everywhere: bool,
    valued: bool,
) -> str:
    ways = dict.fromkeys(", and ".join(bug.when for bug in group) for group in groups)
    what = "; or ".join(ways)
    if not valued or not any(bug.shown_by_values for group in groups for bug in group):
        return f"Your code behaves, on every case, like code in which {what}."
    start = "Your output equals" if everywhere else "Where your output is wrong, it equals"
    if evidence.hidden:
        return f"{start} what comes out when {what}."
    size = 10.0 ** ceil(log10(max(distance, _SHOWN)))
    return f"{start}, to {size:.0e}, what comes out when {what}."
