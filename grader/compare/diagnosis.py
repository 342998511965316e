"""Names the mistake: the known bug, or the two, whose answers the submission's are.

What deviations explain is left out: the calls and checks that they make wrong are not looked at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np

from grader.compare.evidence import REFUSALS, Evidence, own_refusal
from grader.compare.left_aside import NOTHING, Aside, Names, nearest
from grader.compare.needed import left_by_text, sized_alike
from grader.compare.outcomes import judge_call
from grader.compare.signature import LAX, STRICT, beyond, branches, failing, of_calls, value_rows
from grader.compare.telling import telling
from grader.compare.wording import Claim, cases_named, first_wrong_call, named
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, Call
from grader.records.ids import CallId
from grader.records.results import CheckResult, Diagnosis, Kind, Status
from grader.records.signatures import Code, Signature, Suspects
from grader.worker.names import Group, group_of
from grader.worker.protocol import Action, TargetKind

_LEAST = 2  # cases with an output that show two bugs at once
_SLIGHT = 1e-2  # of the greatest effect that a bug has beside others
_LOOKED_UP = (Code.REGISTERED, Code.LOOSE, Code.UNTRAINED)  # after a call that came to its end
_APART = (Code.TEXT, Code.DEFAULTS)  # looked at where little else is known
_AT_ONCE = 2  # bugs that only checks show: more are rather one mistake that is not known
LISTED = 3  # bugs that cannot be told apart and are still worth naming


def diagnose(
    evidence: Evidence,
    results: Sequence[CheckResult],
    suspects: Mapping[str, Suspects],
    pairs: Callable[[], Mapping[str, Suspects]],
    aside: Aside = NOTHING,
    *,
    whole: bool = False,
) -> Diagnosis | None:
    """Return the diagnosis of one target, None where nothing failed or nothing fits.

    `results` are the target's; `pairs` gives the signatures of two bugs at once, and is only
    called where no single bug fits. With `whole` bugs have to explain every value.
    """
    judged = [r for r in results if r.kind is not Kind.BUG]
    failed = [r for r in judged if r.failed and r.id not in aside.checks]
    own = suspects.get(evidence.target.name)
    if not failed or own is None or evidence.unwritten:
        return None
    look = _Look(evidence, judged, own, pairs, aside)
    for look.tolerance in (STRICT, LAX):
        found = look.exact() or look.by_values(whole=whole)
        if not found and not whole:
            found = look.by_checks()
        if found:
            return found
    return None


@dataclass
class _Look:
    """One look at a target's answers, beside those of its known bugs."""

    evidence: Evidence
    judged: Sequence[CheckResult]
    own: Suspects
    pairs: Callable[[], Mapping[str, Suspects]]
    aside: Aside
    tolerance: float = STRICT
    calls: list[Call] = field(init=False)
    rows: list[int] = field(init=False)  # the calls of values that count
    kept: list[int] = field(init=False)  # all calls that count
    seen: Signature = field(init=False)
    right: Signature = field(init=False)

    def __post_init__(self) -> None:
        evidence, aside = self.evidence, self.aside
        self.calls = evidence.calls
        self.kept = [i for i, c in enumerate(self.calls) if c.id not in aside.calls]
        self.rows = [i for i in value_rows(self.calls) if self.calls[i].id not in aside.calls]
        self.seen = replace(evidence.seen, failing=failing(self.judged))
        self.right = evidence.right

    # ---- the answers of one bug, or of two ---------------------------------------------------

    def exact(self) -> Diagnosis | None:
        """The bugs that look the same in every respect that counts."""
        found = self._matches(self._codes)
        told = self._any_value(self.kept) or self._changes_inputs() or self._refuses()
        if found and not told:
            found = self._matches([*self._codes, Code.TEXT])  # many mistakes raise in one place
        if self._unbound():  # sizes alone are seen: another mistake may make the same ones
            found = {names: found[names] for names in sized_alike(self.evidence, found, self.aside)}
        return self._word(self._likeliest(found)) if found else None

    def by_values(self, *, whole: bool) -> Diagnosis | None:
        """The bugs with the same values, and beside them those that only a check shows."""
        seen = self.seen.of_values(self.rows)
        if not self._any_value(self.rows) or self._values_right():
            return None
        possible = self._not_contradicted()
        found = self._least(possible.of_values(self.rows).matching(seen, self.tolerance))
        found = {names: d for names, d in found.items() if self._shown(names)}
        found = self._counted(found) or found or self._pairs(seen, possible)
        where, everywhere = None, bool(found)
        if not found and not whole:
            due = self.right.of_values(self.rows)
            fitting = possible.of_values(self.rows).matching_in_form(seen, due, self.tolerance)
            found = self._least(fitting)
        if not found and not whole:
            found, where = self._where_wrong(possible, seen)
        if not found:
            return None
        found = self._likeliest(found)
        beside = [] if where is not None else self._silent(self._unexplained(found))
        return self._word(found, beside, where=where, everywhere=everywhere)

    def by_checks(self) -> Diagnosis | None:
        """The bugs that no value shows, each told by what it alone changes."""
        gradients = (r.kind is Kind.GRADIENT for r in (self.judged[i] for i in self._failing))
        if not self._values_right() or any(gradients):  # what is cut off fails other checks, too
            return None
        named = self._silent(self._failing)
        one = named[0] if len(named) == 1 else [alike[0] for alike in named]
        return self._word({tuple(one): 0.0}) if named else None

    # ---- parts of the signatures -------------------------------------------------------------

    @property
    def _places(self) -> list[int]:
        """The checks that count, by their places among those that are judged."""
        return [i for i, r in enumerate(self.judged) if r.id not in self.aside.checks]

    @property
    def _codes(self) -> list[int]:
        return [code for code in Code if code not in self.aside.codes and code not in _APART]

    def _changes_inputs(self) -> bool:
        """Whether some call changed what it was given, which tells more than how it ended."""
        return bool(self.seen.codes[self.kept, Code.CHANGED].any())

    def _refuses(self) -> bool:
        """Whether all that was raised refuses what was given, in words of the submission's own."""
        raised = [answer.error for answer in self._answers(self.kept) if answer.error is not None]
        return all(one.type in REFUSALS and own_refusal(self.evidence, one) for one in raised)

    def _any_value(self, rows: Sequence[int]) -> bool:
        """Whether some of these calls gave numbers other than the right ones."""
        apart = ~self._close(self.right, self.seen, (Code.ENDED, Code.ERROR))
        return any(apart[row] and self._gave_numbers(row) for row in rows)

    def _gave_numbers(self, row: int) -> bool:
        """Whether a call ended in tensors: what came in another type says nothing of values."""
        answer = self.evidence.answers[self.calls[row].id]
        given = any(group_of(name) is not Group.INPUT for name in answer.tensors)
        return answer.status is AnswerStatus.OK and given

    def _answers(self, rows: Sequence[int]) -> list[Answer]:
        return [self.evidence.answers[self.calls[row].id] for row in rows]

    def _unbound(self) -> bool:
        """Whether no call of values could be made, for the parameters do not fit."""
        unbound = [one.status is AnswerStatus.UNBOUND for one in self._answers(self.rows)]
        return bool(unbound) and all(unbound)

    def _counts_otherwise(self) -> bool:
        """Whether a factory's parameters are not as many as are due: no value was compared then."""
        factory = self.evidence.target.kind is TargetKind.FACTORY
        seen, due = (one.codes[self.kept, Code.REGISTERED] for one in (self.seen, self.right))
        counted = seen >= 0  # some raise before that
        return factory and bool((seen != due)[counted].any())

    @property
    def _failing(self) -> set[int]:
        return {i for i in self._places if self.seen.failing[i]}

    def _matches(self, codes: Sequence[int]) -> dict[Names, float]:
        part = (self.kept, codes, self._places)
        return self._least(self.own.part(*part).matching(self.seen.part(*part), self.tolerance))

    def _least(self, matching: Iterable[tuple[Names, float]]) -> dict[Names, float]:
        """The distinct suspects that fit, with the least distance of their variants."""
        found: dict[Names, float] = {}
        for names, distance in matching:
            if self.aside.allows(names):
                found[names] = min(distance, found.get(names, distance))
        return found

    def _values_right(self) -> bool:
        """Whether the values are the reference's: then no bug of values explains what failed."""
        reference = Suspects.gather([((), self.right.of_values(self.rows))])
        return bool(reference.matching(self.seen.of_values(self.rows), self.tolerance))

    def _shown(self, names: Names) -> bool:
        return any(self.evidence.key.book.by_key(name).shown_by_values for name in names)

    def _pairs(self, seen: Signature, possible: Suspects) -> dict[Names, float]:
        pairs = self.pairs().get(self.evidence.target.name)
        if pairs is None or not any(telling(self.evidence, self.calls[row]) for row in self.rows):
            return {}
        kept = of_calls(pairs, self.calls, self.rows)
        numbers = [
            self.calls[r].action is Action.FORWARD and self._gave_numbers(r) for r in self.rows
        ]
        if sum(numbers) < _LEAST:
            return {}  # one case alone has many explanations
        cases = [call for call in self.evidence.numeric_calls(Action.FORWARD) if not call.free]
        pieces = [row for row in self.rows if self.calls[row].action is Action.PIECES]
        right = all(judge_call(self.evidence, c, Group.OUTPUT).passed for c in cases)
        if cases and right and not self._any_value(pieces):
            return {}  # what a property alone shows needs no two mistakes that cancel out
        found = self._least(kept.matching(seen, self.tolerance))
        found = {names: d for names, d in found.items() if self._needs_both(names, seen)}
        found = self._counted(found)
        likely = {name for names in possible.names for name in names}
        return {names: d for names, d in found.items() if likely.issuperset(names)} or found

    def _counted(self, found: dict[Names, float]) -> dict[Names, float]:
        if Code.REGISTERED in self.aside.codes:  # deviations tell why it is another number
            return found
        return self.own.counted(found, self.seen, self.right, self.rows)

    def _likeliest(self, found: dict[Names, float]) -> dict[Names, float]:
        """Of several that fit, those that explain words, forms, and what is left out as well."""
        found = self.own.alike_in_form(found, self.seen, self.right, self.rows)
        if len(found) < 2 or not self.aside.calls:
            return found
        rows = value_rows(self.calls)
        seen = self.seen.of_values(rows)
        pairs = self.pairs().get(self.evidence.target.name)
        known = [self.own.of_values(rows), *([of_calls(pairs, self.calls, rows)] if pairs else [])]
        fitting = {names for some in known for names, _ in some.matching(seen, self.tolerance)}
        return {names: d for names, d in found.items() if names in fitting} or found

    def _needs_both(self, names: Names, seen: Signature) -> bool:
        """Whether neither of two bugs alone comes near: at a wide tolerance small ones vanish.

        And whether each by itself changes something: else it shows beside the other one only, and
        what it does there may come from something else.
        """
        near, _ = self.own.of_values(self.rows).equal_calls(seen, beyond(self.tolerance))
        alone = [row for row, one in enumerate(self.own.names) if one[0] in names]
        if near[alone].all(axis=1).any():
            return False
        return all(self.own.acts(n, self.right, self.rows, self.tolerance) for n in names)

    def _where_wrong(self, possible: Suspects, seen: Signature) -> tuple[dict[Names, float], str]:
        """Bugs that explain all that is wrong, though they would break more; and the cases."""
        due = self.right.of_values(self.rows)
        calls = [self.calls[row] for row in self.rows]
        fitting = possible.of_values(self.rows).matching_where_wrong(
            seen, due, branches(calls), self.tolerance
        )
        return self._least(fitting), cases_named(self.evidence, calls, LISTED)

    def _not_contradicted(self) -> Suspects:
        """The suspects that fail no check of a claim that the submission passed.

        Nor do they change an input that it leaves alone.
        """
        course = self.evidence.course
        cleared = [
            place
            for place, result in enumerate(self.judged)
            if result.status is Status.PASSED
            and (prop := course.property_of(result.id)) is not None
            and prop.claim
        ]
        ended = [row for row in self.kept if self._gave_numbers(row)]
        contradicted = self.own.changing(self.seen, ended)
        contradicted |= self.own.failing[:, cleared].any(axis=1)
        return self.own.only(np.asarray(~contradicted))

    # ---- bugs that no value shows ------------------------------------------------------------

    def _unexplained(self, found: Mapping[Names, float]) -> set[int]:
        """The failed checks that none of some bugs fails, in the variant that fits if one does."""
        singles = {name for names in found for name in names}
        rows = [row for row, names in enumerate(self.own.names) if set(names) <= singles]
        seen, own = self.seen.of_values(self.rows), self.own.of_values(self.rows)
        same, _ = own.equal_calls(seen, self.tolerance)
        rows = [row for row in rows if same[row].all()] or rows
        explained = self.own.failing[rows].any(axis=0) if rows else np.zeros(0, dtype=bool)
        values = {i for i, r in enumerate(self.judged) if self._of_values(r)}
        return self._failing - set(np.flatnonzero(explained).tolist()) - values

    def _of_values(self, result: CheckResult) -> bool:
        """Whether a check fails with the values: a bug that no value shows fails none of these."""
        prop = self.evidence.course.property_of(result.id)
        of_parts = prop is not None and prop.of_parts
        return result.kind in (Kind.SHAPE, Kind.NUMERIC, Kind.GRADIENT) or of_parts

    def _silent(self, failing: Set[int]) -> list[list[str]]:
        """Bugs that explain failed checks and change nothing else, those alike side by side.

        A bug counts where it alone, or what cannot be told from it here, explains some check.
        """
        rows = [
            row
            for row, names in enumerate(self.own.names)
            if not self._shown(names) and self._changes_only_what_is_seen(row, failing)
        ]
        alike, named = self.own.first_alike, dict[str, list[str]]()
        for place in sorted(failing):
            fitting = [self.own.names[row][0] for row in rows if self.own.failing[row, place]]
            behaviours = list(dict.fromkeys(alike[name] for name in fitting))
            if len({self.evidence.key.book.by_key(name).when for name in behaviours}) == 1:
                told = {(name,): 0 for name in fitting if alike[name] == behaviours[0]}
                named.setdefault(behaviours[0], [name for (name,) in self.aside.likely(told)])
        return list(named.values()) if len(named) <= _AT_ONCE else []

    def _changes_only_what_is_seen(self, row: int, failing: Set[int]) -> bool:
        own, right, seen = self.own.signature(row), self.right, self.seen
        fails = set(np.flatnonzero(own.failing).tolist()) & set(self._places)
        if not fails or not fails <= self._failing or not fails & failing:
            return False
        calls, codes, kept = self.calls, [*self._codes, Code.DEFAULTS], self.kept
        apart = (own.codes != right.codes) & (own.codes != seen.codes)
        stopped = seen.codes[:, Code.ENDED] != right.codes[:, Code.ENDED]
        apart[np.ix_(stopped, _LOOKED_UP)] = False
        if apart[np.ix_(kept, codes)].any():
            return False
        sampled = [i for i in kept if seen.sampled[i] or calls[i].action is Action.PIECES]
        # what its checks sampled has to be as it would be, in all that they saw
        asked = {self.judged[place].id.name for place in fails}
        here = np.array([CallId.parse(calls[i].id).what in asked for i in sampled], dtype=bool)
        moved = ~self._close(own, right)[sampled] | here
        alike = not any(self.evidence.draws_otherwise(calls[i]) for i in compress(sampled, here))
        return alike and not (moved & ~self._close(own, seen)[sampled]).any()

    def _close(self, one: Signature, other: Signature, codes: Sequence[int] = ()) -> Array:
        """In which calls the values of two signatures are the same, and some codes."""
        part = (list(range(len(self.calls))), list(codes), list[int]())
        some = Suspects.gather([((), one.part(*part))])
        same, _ = some.equal_calls(other.part(*part), self.tolerance)
        return np.asarray(same[0])

    # ---- words -------------------------------------------------------------------------------

    def _word(
        self,
        found: Mapping[Names, float],
        beside: Sequence[Sequence[str]] = (),
        *,
        where: str | None = None,
        everywhere: bool = True,
    ) -> Diagnosis | None:
        """Put the suspects that fit into words; those that cannot be told apart are one.

        They fit `everywhere`, or else `where` the output is wrong, or has the right form.
        """
        book = self.evidence.key.book
        near = nearest(found)
        found = {names: near[names] for names in left_by_text(self.evidence, near, self.aside)}
        groups = [[book.by_key(key) for key in self._in_order(names)] for names in found]
        own = self.evidence.target.name  # its hints speak of what stands here
        groups.sort(key=lambda group: all(bug.target != own for bug in group))
        shown = any(bug.shown_by_values for group in groups for bug in group)
        shown = shown and self._any_value(self.rows)
        if self.own.count_behaviours(found) > (LISTED if shown else 1):
            return None
        drawn = {row for row in self.rows if self.evidence.is_random(self.calls[row])}
        by_values = shown and self._any_value([row for row in self.rows if row not in drawn])
        others = [book.by_key(some[0]) for some in beside]
        untold = [bug for bug in others if not self._is_said(bug.key)]
        claim = Claim(
            groups,
            untold,
            by_values,
            max(found.values()),
            where,
            everywhere=not self.aside.calls,
            compared=everywhere and not drawn and all(map(self._gave_numbers, self.rows)),
            bound=by_values or not (self._unbound() or self._counts_otherwise()),
            or_else=self.evidence.or_bare_norms(self._answers(self.rows)),
        )
        told = named(self.evidence, groups, untold, claim.sentence)
        bugs = dict.fromkeys([*told.bugs, *(bug.id for bug in others)])
        return replace(told, bugs=tuple(bugs), where=where or "")

    def _is_said(self, name: str) -> bool:
        """Whether deviations tell all that a bug fails here."""
        rows = [row for row, names in enumerate(self.own.names) if names == (name,)]
        fails: Array = self.own.failing[rows].max(axis=0, initial=0)
        return all(self.judged[i].id in self.aside.said for i in self._failing if fails[i])

    def _in_order(self, names: Names) -> Names:
        """Bugs that act at once: last what hardly shows where it is shown, for one hint is told."""
        call = first_wrong_call(self.evidence)
        if call is None or len(names) < 2:
            return names
        place = self.calls.index(call)
        effects = {name: self.own.effect(name, place, self.right) for name in names}
        slight = _SLIGHT * max((e for e in effects.values() if np.isfinite(e)), default=0.0)
        return tuple(sorted(names, key=lambda name: effects[name] <= slight))
