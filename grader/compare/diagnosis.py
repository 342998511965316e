"""Names the mistake: the known bug, or the two, whose answers the submission's are."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, log10

from grader.compare.outcomes import Evidence
from grader.compare.signature import Signature, Suspects, sign
from grader.key.bugs import BugBook, KnownBug
from grader.records import CheckResult, Diagnosis, Kind, Status

_STRICT = 1e-9  # distance of projections that are the same in float64
_LAX = 1e-4  # where the submission computes in float32
_LISTED = 3  # bugs that cannot be told apart and are still worth naming


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
    seen = sign(calls, dict(evidence.answers), evidence.key.plan.tensors, judged)
    tolerance = _LAX if _fails_dtype(judged) else _STRICT
    found = _matches(suspects.get(target), seen, tolerance)
    if not found and _has_values(seen):
        found = _matches(pairs().get(target), seen, tolerance)
    if not found:
        return None
    return _word(evidence, found, evidence.key.book)


def _matches(
    suspects: Suspects | None, seen: Signature, tolerance: float
) -> dict[tuple[str, ...], float]:
    """The distinct suspects that fit, with the least distance of their variants."""
    found: dict[tuple[str, ...], float] = {}
    if suspects is not None:
        for names, distance in suspects.matching(seen, tolerance):
            found[names] = min(distance, found.get(names, distance))
    return found


def _fails_dtype(results: Sequence[CheckResult]) -> bool:
    return any(r.id.endswith("/property/dtype") and r.status is Status.FAILED for r in results)


def _has_values(seen: Signature) -> bool:
    return bool((seen.values != 0).any())


def _word(
    evidence: Evidence, found: Mapping[tuple[str, ...], float], book: BugBook
) -> Diagnosis | None:
    """Put the suspects that fit into words; those that cannot be told apart are one."""
    groups = list(found)
    bugs = [[book.by_key(key) for key in names] for names in groups]
    ids = tuple(dict.fromkeys(bug.id for group in bugs for bug in group))
    if len({tuple(sorted(b.id for b in group)) for group in bugs}) > _LISTED:
        return None
    first = bugs[0]
    return Diagnosis(
        target=evidence.target.name,
        bugs=ids,
        step=_first_step(evidence, first),
        hint=first[0].hints[0],
        evidence=_evidence(evidence, bugs, max(found.values())),
    )


def _first_step(evidence: Evidence, bugs: Sequence[KnownBug]) -> str:
    steps = evidence.target.steps
    broken = [bug.step for bug in bugs if bug.step in steps]
    return min(broken, key=steps.index, default="")


def _evidence(evidence: Evidence, groups: Sequence[Sequence[KnownBug]], distance: float) -> str:
    ways = dict.fromkeys(", and ".join(bug.when for bug in group) for group in groups)
    what = "; or ".join(ways)
    valued = any(bug.margin64 is not None for group in groups for bug in group)
    if not valued:
        return f"Your code behaves, on every case, like code in which {what}."
    if evidence.hidden:
        return f"Your output equals what comes out when {what}."
    size = 10.0 ** ceil(log10(max(distance, 1e-15)))
    return f"Your output equals, to {size:.0e}, what comes out when {what}."
