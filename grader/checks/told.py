"""Marks what a name or a cause tells already, so that it is not told again."""

from collections.abc import Sequence, Set
from dataclasses import replace

from grader.compare.evidence import FOLLOW_HINT, UNKNOWN, Evidence
from grader.records.ids import CheckId
from grader.records.results import CheckResult, Kind
from grader.records.text import as_step


def told_by_name(results: Sequence[CheckResult], covered: Set[CheckId]) -> list[CheckResult]:
    """Mark that a mistake says what options do to shapes, but not at which line they end."""
    return [
        replace(r, told=True)
        if r.id in covered and r.failed and r.kind is Kind.SHAPE and r.id.name and not r.place
        else r
        for r in results
    ]


def without_comparisons(
    evidence: Evidence, results: Sequence[CheckResult], hint: str
) -> list[CheckResult]:
    """Mark as told what fails because two calls differ by chance, and lead to the hint."""
    kinds = evidence.course.properties(evidence.exercise, evidence.target)
    claims = {one.name for one in kinds if one.claim}
    told = []
    for r in results:
        if r.failed and r.kind is Kind.PROPERTY and r.id.name not in claims and r.case:
            r = replace(r, told=True, next_step=r.next_step if r.told else as_step(hint))
        elif r.next_step in UNKNOWN:
            r = replace(r, next_step=FOLLOW_HINT)
        told.append(r)
    return told
