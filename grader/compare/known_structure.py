"""Names the mistake by what shows whatever the values are: numbers that are registered, types."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from grader.compare.diagnosis import LISTED
from grader.compare.evidence import Evidence, Fault
from grader.compare.left_aside import Aside, Names
from grader.compare.needed import left_by_text, sized_alike
from grader.compare.outcomes import judge_call
from grader.compare.retry import telling_calls
from grader.compare.signature import failing, pair_rows, value_rows
from grader.compare.wording import ways_of
from grader.records.answers import Answer, AnswerStatus, Info
from grader.records.calls import PLAIN, Array
from grader.records.results import CheckResult, Diagnosis, Kind
from grader.records.signatures import Code, Suspects
from grader.worker.names import Group
from grader.worker.protocol import Action, TargetKind

_UNFIT = list(AnswerStatus).index(AnswerStatus.UNBOUND)
_LEAST = 2  # cases in which another type came
_REGISTERS = "has as many numbers in its parameters as when"
_LACKS = "does not fit at the same parameters as when"


def known_structure(
    evidence: Evidence,
    results: Sequence[CheckResult],
    pairs: Callable[[], Mapping[str, Suspects]],
    aside: Aside,
) -> Diagnosis | None:
    """Return a diagnosis that names the bugs with the same structure, None where there are none.

    In every case that counts as many numbers are registered, or things of the same types come
    back. `pairs` gives two bugs at once.
    """
    own = evidence.key.suspects.get(evidence.target.name)
    if own is None:
        return None
    forward = [evidence.answers[call.id] for call in evidence.numeric_calls(Action.FORWARD)]
    partly = aside.calls or not all(map(_came_about, forward))
    every = "every case that can be compared" if partly else "every case"
    left = partial(left_by_text, evidence, aside=aside)
    found = left(_of_one_form(evidence, own, aside))
    if own.count_behaviours(found) == 1:
        return _worded(evidence, own, found, f"in {every} you return the same types as when")
    counts = _Counts(evidence, aside)
    if Code.REGISTERED in aside.codes or not counts.wrong or not counts.usual:
        return None
    found = left(_of_one_count(evidence, own, counts, results, pairs, aside.allows))
    if any(one.status is AnswerStatus.UNBOUND for one in forward):
        found = _possible(evidence, found, aside)
    if _share_none(own, found):
        return None
    return _worded(evidence, own, found, f"in {every} your module {counts.said}")


def _of_one_count(
    evidence: Evidence,
    own: Suspects,
    counts: "_Counts",
    results: Sequence[CheckResult],
    pairs: Callable[[], Mapping[str, Suspects]],
    allows: Callable[[Names], bool],
) -> list[Names]:
    """The bugs, or two at once that it `allows`, under which as many numbers are registered."""
    found = counts.fitting_alone(own)
    if not _raised(evidence):
        found = _failing_alike(own, found, results)
    elif own.count_behaviours(found) > 1:
        return []  # all checks fail for what is raised, and tell them apart no more
    guessing = counts.open and not found and not _lacks_alone(evidence)
    both = pairs().get(evidence.target.name) if guessing else None
    if both is not None:
        found = counts.fitting(both, pair_rows(evidence.calls))
        found = [
            names
            for names in found
            if allows(names) and all(counts.changed_by(own, name) for name in names)
        ]
    return found


def _possible(evidence: Evidence, found: list[Names], aside: Aside) -> list[Names]:
    """Those that the text allows, where sizes alone are seen: another mistake may make the same."""
    return found if _ran_wrong(evidence) else sized_alike(evidence, found, aside)


def _share_none(own: Suspects, found: Sequence[Names]) -> bool:
    """Whether none of the bugs is in all of several pairs that fit: each pair would be a guess."""
    several = own.count_behaviours(found) > 1 and all(len(names) > 1 for names in found)
    return several and not set.intersection(*map(set, found))


def _worded(
    evidence: Evidence, own: Suspects, found: Sequence[Names], told: str
) -> Diagnosis | None:
    if not found or own.count_behaviours(found) > LISTED:
        return None
    groups = [[evidence.key.book.by_key(key) for key in names] for names in found]
    told = f"{told} {ways_of(groups, '; or when ')}."
    if _ran_wrong(evidence):
        told = f"No known mistake explains your values. But {told}"
    bugs = [bug for group in groups for bug in group]
    return Diagnosis(
        target=evidence.target.name,
        bugs=tuple(dict.fromkeys(bug.id for bug in bugs)),
        step="",
        hint=bugs[0].hints[0],
        evidence=f"{told[0].upper()}{told[1:]}",
        ways=tuple(dict.fromkeys(bug.name for bug in bugs)),
    )


def _ran_wrong(evidence: Evidence) -> bool:
    """Whether some case gave values that are not right."""
    calls = [call for call in evidence.numeric_calls(Action.FORWARD) if not call.free]
    came = [call for call in calls if evidence.answers[call.id].status is AnswerStatus.OK]
    return not all(judge_call(evidence, call, Group.OUTPUT).passed for call in came)


def _lacks_alone(evidence: Evidence) -> bool:
    """Whether some parameters are missing, and each that is there has the name of another one.

    That is told by itself: two mistakes whose counts come to as many have nothing to do with it.
    """
    answers = [evidence.answers[call.id] for call in evidence.calls]
    unfit = [answer for answer in answers if answer.status is AnswerStatus.UNBOUND]
    there = [{one.name for one in answer.info.present} for answer in unfit]
    sought = {one.name for answer in unfit for one in answer.info.sought}
    return bool(unfit) and all(evidence.roles.keys() - sought >= names for names in there)


def _raised(evidence: Evidence) -> bool:
    """Whether every call without an option ended in an exception."""
    calls = evidence.numeric_calls(Action.FORWARD, PLAIN)
    return all(evidence.answers[call.id].status is AnswerStatus.RAISED for call in calls)


def _failing_alike(
    own: Suspects, found: Sequence[Names], results: Sequence[CheckResult]
) -> list[Names]:
    """Of bugs that fit, those that fail just the checks that fail here, all where none does."""
    failed = failing([result for result in results if result.kind is not Kind.BUG])
    alike = (own.failing == failed).all(axis=1)
    return [names for names in _names(own, alike) if names in found] or list(found)


class _Counts:
    """How many numbers are registered, in the calls that show it."""

    def __init__(self, evidence: Evidence, aside: Aside) -> None:
        calls, codes = evidence.calls, evidence.seen.codes
        self._bound = np.array([call.kind is not TargetKind.FACTORY for call in calls], dtype=bool)
        self._unfit = codes[:, Code.ENDED] == _UNFIT
        # of a module without a layer, as many mistakes make it, the count tells nothing
        self._bare = [_is_bare(evidence.answers[call.id].info) for call in calls]
        self._seen = self._sizes(codes, range(len(calls)))
        shown = [c.id not in aside.calls and _came_about(evidence.answers[c.id]) for c in calls]
        counted = self._seen >= 0
        self._rows = np.flatnonzero(np.array(shown) & counted)
        # what a factory builds does not fit: that may be for other names, too
        self._loose = np.flatnonzero(np.array(shown) & self._unfit & ~counted)
        numeric = evidence.numeric_calls(Action.FORWARD)
        main = {call.case for call in numeric if evidence.case(call).main}
        telling = telling_calls(evidence.key, evidence.target.name)
        main |= {call.case for call in telling if not evidence.case(call).gives}
        self._usual = {row for row, call in enumerate(calls) if call.case in main}
        self._due = self._sizes(evidence.right.codes, range(len(calls)))
        ended = [evidence.answers[call.id].status is AnswerStatus.OK for call in calls]
        gradient = [call.action is Action.GRADIENT for call in calls]
        # where a gradient reaches all that is registered
        self._trained = np.flatnonzero(
            np.array(ended) & np.array(gradient) & (codes[:, Code.UNTRAINED] == 0)
        )
        self._wrong = self._seen != evidence.right.codes[:, Code.REGISTERED]

    @property
    def said(self) -> str:
        """What is told of a bug under which they are alike."""
        return _LACKS if self.unfit else _REGISTERS

    @property
    def unfit(self) -> bool:
        """Whether in each of these calls some parameters are not there: they are what is known."""
        return bool(self._unfit[self._rows].all())

    @property
    def open(self) -> bool:
        """Whether no value tells that the parameters fit: they do not, or are a factory's own."""
        return bool((self._unfit | ~self._bound)[self._rows].any())

    @property
    def usual(self) -> bool:
        """Whether a usual case shows them: what one edge alone shows is told of no other case."""
        return bool(self._usual.intersection(self._rows))

    @property
    def wrong(self) -> bool:
        """Whether some are not as many as are due."""
        return bool(self._wrong[self._rows].any())

    def fitting(self, suspects: Suspects, rows: Sequence[int]) -> list[Names]:
        """The bugs with which as many are registered; `rows` are the calls that they have."""
        kept = [int(row) for row in self._rows if row in rows]
        if not self._wrong[kept].any() or all(self._bare[row] for row in kept):
            return []
        known = self._sizes(suspects.codes[:, [rows.index(row) for row in kept]], kept)
        fits = (known == self._seen[kept]).all(axis=1)
        loose = [int(row) for row in self._loose if row in rows]
        ended = suspects.codes[:, [rows.index(row) for row in loose], Code.ENDED]
        alike = fits & (ended == _UNFIT).all(axis=1)
        return _names(suspects, alike if alike.any() else fits)

    def fitting_alone(self, own: Suspects) -> list[Names]:
        """Of single bugs those that leave nothing without a gradient where all here has one."""
        idle = (own.codes[:, self._trained, Code.UNTRAINED] > 0).any(axis=1)
        return self.fitting(own.only(np.asarray(~idle)), range(own.codes.shape[1]))

    def changed_by(self, suspects: Suspects, name: str) -> bool:
        """Whether a bug alone registers others than are due: else it tells nothing of the count."""
        alone = [row for row, names in enumerate(suspects.names) if names == (name,)]
        rows = [int(row) for row in self._rows]
        known = self._sizes(suspects.codes[np.ix_(alone, rows)], rows)
        return bool((known != self._due[rows]).any())

    def _sizes(self, codes: Array, rows: Sequence[int]) -> Array:
        """What is known of how many numbers are registered: where they do not fit, of which.

        A factory's module is not bound: what does not fit in it may have other names.
        """
        unfit = (codes[..., Code.ENDED] == _UNFIT) & self._bound[list(rows)]
        return np.where(unfit, codes[..., Code.ERROR], codes[..., Code.REGISTERED])


def _is_bare(info: Info) -> bool:
    return not (info.present or info.registered or info.loose)


def _came_about(answer: Answer) -> bool:
    """Whether a call shows what is registered, or that what is does not fit."""
    shows = answer.status in (AnswerStatus.OK, AnswerStatus.UNBOUND)
    return shows or answer.info.registered is not None


def _of_one_form(evidence: Evidence, suspects: Suspects, aside: Aside) -> list[Names]:
    """The bugs under which other types come back than are due, and the same ones everywhere."""
    calls = evidence.calls
    rows = [
        row
        for row in value_rows(calls)
        if calls[row].action is not Action.PIECES
        and evidence.answers[calls[row].id].status is AnswerStatus.OK
        and calls[row].id not in aside.calls
    ]
    judged = [judge_call(evidence, calls[row], Group.OUTPUT) for row in rows]
    if len(rows) < _LEAST or any(one.fault is not Fault.TYPE for one in judged):
        return []
    codes = [Code.ENDED, Code.ERROR]
    seen = evidence.seen.codes[rows][:, codes]
    return _names(suspects, (suspects.codes[:, rows][:, :, codes] == seen).all(axis=(1, 2)))


def _names(suspects: Suspects, fitting: Array) -> list[Names]:
    return list(dict.fromkeys(suspects.names[row] for row in np.flatnonzero(fitting)))
