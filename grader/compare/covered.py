"""Which checks of a target known bugs fail, as their own answers show."""

from collections.abc import Collection, Sequence

import numpy as np

from grader.compare.evidence import Evidence
from grader.compare.signature import STRICT
from grader.records.calls import Array
from grader.records.ids import CheckId
from grader.records.key import bug_id
from grader.records.results import CheckResult, Kind, Status
from grader.records.signatures import Suspects, ended_raising
from grader.worker.protocol import Action


def checks_failed_by(
    evidence: Evidence, results: Sequence[CheckResult], bugs: Collection[str]
) -> set[CheckId]:
    """Return the checks, among a target's `results`, that some bugs fail, in some variant.

    A property that waits for right values is one of them where its calls came to the same.
    """
    own = evidence.key.suspects.get(evidence.target.name)
    if own is None or not bugs:
        return set()
    judged = [r.id for r in results if r.kind is not Kind.BUG]
    rows = np.array([all(bug_id(name) in bugs for name in names) for names in own.names])
    failing: Array = own.failing[rows].max(axis=0, initial=0)
    shown = {check for place, check in enumerate(judged) if failing[place]}
    waits = [r.id for r in results if r.kind is Kind.PROPERTY and r.status is Status.SKIPPED]
    return shown | {check for check in waits if _alike(evidence, own.only(rows), check)}


def acts_in(evidence: Evidence, bug: str, case: str, *, raised: bool = False) -> bool:
    """Whether a bug changes the outputs of the cases of a name, or ends one in an exception."""
    own = evidence.key.suspects.get(evidence.target.name)
    places = [
        place
        for place, call in enumerate(evidence.calls)
        if call.action is Action.FORWARD and evidence.case(call).name == case
    ]
    if own is None or not places:
        return not raised
    alone = own.only(np.array([all(bug_id(name) == bug for name in names) for names in own.names]))
    if raised:
        return bool(ended_raising(alone.codes[:, places]).any())
    same, _ = alone.of_values(places).equal_calls(evidence.right.of_values(places), STRICT)
    return not same.all()


def explain_cases(evidence: Evidence, bugs: Collection[str], groups: Collection[str]) -> bool:
    """Whether some bugs, or one of them, alone give what came out in all cases of some groups.

    What is found in these cases is no mistake beside the bugs then.
    """
    own = evidence.key.suspects.get(evidence.target.name)
    if own is None or not bugs or not groups:
        return False
    rows = np.array([set(map(bug_id, names)) <= set(bugs) for names in own.names])
    calls = [c for group in groups for c in evidence.numeric_calls(Action.FORWARD, group)]
    return _same(evidence, own.only(rows), {call.id for call in calls})


def _alike(evidence: Evidence, suspects: Suspects, check: CheckId) -> bool:
    """Whether some suspect comes to what was seen in all calls of a property."""
    return _same(evidence, suspects, {call.id for call in evidence.calls_of(check.name)})


def _same(evidence: Evidence, suspects: Suspects, asked: Collection[str]) -> bool:
    places = [place for place, call in enumerate(evidence.calls) if call.id in asked]
    same, _ = suspects.of_values(places).equal_calls(evidence.seen.of_values(places), STRICT)
    return bool(places) and bool(same.all(axis=1).any())
