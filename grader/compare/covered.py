"""Which checks of a target known bugs fail, as their own answers show."""

from collections.abc import Collection, Sequence

from grader.compare.evidence import Evidence
from grader.records.calls import Array
from grader.records.ids import CheckId
from grader.records.key import bug_key
from grader.records.results import CheckResult, Kind


def checks_failed_by(
    evidence: Evidence, results: Sequence[CheckResult], bugs: Collection[str]
) -> set[CheckId]:
    """Return the checks, among a target's `results`, that some bugs fail, in some variant."""
    own = evidence.key.suspects.get(evidence.target.name)
    if own is None:
        return set()
    judged = [r.id for r in results if r.kind is not Kind.BUG]
    rows = [
        row
        for row, names in enumerate(own.names)
        if all(bug_key(name).partition("/")[2] in bugs for name in names)
    ]
    failing: Array = own.failing[rows].max(axis=0, initial=0)
    return {check for place, check in enumerate(judged) if failing[place]}
