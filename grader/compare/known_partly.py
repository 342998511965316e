"""Names the mistake of some cases, where others show that there is more than one.

A mistake may act only with an option, or where an input is long. Cases that it leaves alone show
the others by themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from grader.compare.diagnosis import LISTED
from grader.compare.evidence import Evidence
from grader.compare.left_aside import Aside, Names
from grader.compare.needed import left_by_text
from grader.compare.outcomes import judge_call
from grader.compare.signature import LAX, STRICT, beyond, branches, of_calls, value_rows
from grader.compare.steps import StepsFound, calls_to_record
from grader.compare.telling import in_shape, outputs_of, telling
from grader.compare.wording import (
    WrongCases,
    alternatives,
    broken_steps,
    first_broken,
    nearness,
    of_others,
    ways_of,
)
from grader.course.expressions import TensorSpec
from grader.records.answers import AnswerStatus
from grader.records.calls import PLAIN, Array, Call, DrawnCase
from grader.records.results import Diagnosis, State
from grader.records.signatures import Suspects
from grader.worker.names import Group
from grader.worker.protocol import Action, TensorKey

_NUMBERS = 24  # that are equal at least: fewer may be so by chance
_CASES = 2  # in which they are, at least
_WHOLE = 6  # and of whole numbers, such as tokens, which are equal by chance more easily
_SINGLE = 3  # where an output is one number each: so many for each bug


@dataclass(frozen=True)
class _Fit:
    """What explains most of the wrong cases, and which."""

    names: Names
    explained: Array  # by call
    distance: float
    breaks: int = 0  # so many other wrong cases, zeros too, does it make wrong as well

    @property
    def count(self) -> int:
        """In how many cases it is what came out."""
        return int(self.explained.sum())


def known_partly(
    evidence: Evidence,
    pairs: Callable[[], Mapping[str, Suspects]],
    aside: Aside,
    steps: StepsFound | None,
) -> Diagnosis | None:
    """Return a diagnosis that names what alone explains some cases, and breaks no right one.

    It goes on from how far the `steps` are right. `pairs` gives two bugs at once.
    """
    own = evidence.key.suspects.get(evidence.target.name)
    if own is None:
        return None
    look = _Look(evidence, aside, own)
    if look.wrong.sum() <= 1:
        return None
    tolerances = (STRICT, LAX) if look.is_rounded else (STRICT,)
    for look.tolerance in tolerances:
        if found := _of_some(look, own, pairs, steps):
            return found
    return None


def known_split(
    evidence: Evidence, pairs: Callable[[], Mapping[str, Suspects]], aside: Aside
) -> Diagnosis | None:
    """Return a diagnosis of two bugs of which one acts in some cases alone; they explain all."""
    name = evidence.target.name
    own = evidence.key.suspects.get(name)
    if own is None:
        return None
    look = _Look(evidence, aside, own)
    both = pairs().get(name) if look.wrong.sum() > 1 else None
    split = look.split(own, both) if both is not None else None
    if split is None:
        return None
    found, rest = split
    wrong = look.count_wrong(found[0].explained)
    return _worded(evidence, found, rest, wrong, None, drawn=False)


def _of_some(
    look: "_Look",
    own: Suspects,
    pairs: Callable[[], Mapping[str, Suspects]],
    steps: StepsFound | None,
) -> Diagnosis | None:
    evidence, aside, name = look.evidence, look.aside, look.evidence.target.name
    singles = own.of_values(look.rows)
    found = _best(look, own, singles, pairs().get(name))
    left = left_by_text(evidence, [fit.names for fit in found], aside)
    found = [fit for fit in found if fit.names in left and not _denied(look, fit, steps)]
    # what alone would be right in a case that is wrong needs one more to explain it
    most = max((fit.breaks for fit in found), default=0)
    found = [fit for fit in found if fit.breaks == most]
    if not found or own.count_behaviours(fit.names for fit in found) > LISTED:
        return None
    rest = look.rest(singles, found[0].explained)
    left = left_by_text(evidence, [fit.names for fit in rest], aside)
    rest = [fit for fit in rest if fit.names in left]
    alone = rest if own.count_behaviours(fit.names for fit in rest) == 1 else []
    explained = found[0].explained
    wrong, drawn = look.count_wrong(explained), look.is_drawn_beyond(explained)
    return _worded(evidence, found, alone[:1], wrong, steps, drawn=drawn)


def _denied(look: "_Look", fit: _Fit, steps: StepsFound | None) -> bool:
    """Whether a step that bugs break is right in wrong cases that they do not explain.

    There they would break it: what they explain has another reason.
    """
    if steps is None:
        return False
    evidence = look.evidence
    broken = broken_steps(evidence, [evidence.key.book.by_key(name) for name in fit.names])
    if not any(steps.states.get(name) is State.RIGHT for name in broken):
        return False
    looked_at = {call.id for call in calls_to_record(evidence)}
    rest = zip(look.calls, look.wrong & ~fit.explained, strict=True)
    return any(left and call.id in looked_at for call, left in rest)


def _best(look: "_Look", own: Suspects, singles: Suspects, both: Suspects | None) -> list[_Fit]:
    found = look.best(singles)
    if both is not None:
        more = look.best(of_calls(both, look.evidence.calls, look.rows), singles)
        better = more and (not found or more[0].count > found[0].count)
        if better and own.count_behaviours(fit.names for fit in more) == 1:
            return more  # of several, the second would be a guess
    return found


class _Look:
    """The outputs of some calls, beside those of known bugs."""

    tolerance: float = STRICT

    def __init__(self, evidence: Evidence, aside: Aside, own: Suspects) -> None:
        calls = evidence.calls
        self.evidence, self.aside = evidence, aside
        self.rows = [
            row
            for row in value_rows(calls)
            if calls[row].action is Action.FORWARD and calls[row].id not in aside.calls
        ]
        self.calls = [calls[row] for row in self.rows]
        self.seen = evidence.seen.of_values(self.rows)
        self._due = evidence.right.of_values(self.rows)
        right = self._expected = Suspects.gather([((), self._due)])
        judged = [judge_call(evidence, call, Group.OUTPUT).passed for call in self.calls]
        # what is right in float32 alone is no mistake of values
        self.right: Array = right.equal_calls(self.seen, STRICT)[0][0] | np.array(judged)
        self.wrong = ~self.right & np.array([self._numbers(call) > 0 for call in self.calls])
        cases = [evidence.case(call) for call in self.calls]
        self._drawn = self._by_chance(cases)
        whole = not any(map(self._has_floats, self.calls))
        self.least = _WHOLE if whole else _CASES
        # where something is one, such as a text of one token, many mistakes come to the same tokens
        least = [min((size for _, size in sizes), default=0) for sizes in self._sizes]
        self._beyond: Array = np.array([size != 1 for size in least], dtype=bool)
        self._tells: Array = self._beyond | (not whole)
        single = all(self._numbers(call) <= 1 for call in self.calls)
        self.numbers = _SINGLE if single and self.least == _CASES else _NUMBERS
        # bugs that change an input, whichever way they are written, where it is left alone
        ended = [row for row, came in zip(self.rows, self._came, strict=True) if came]
        changing = zip(own.names, own.changing(evidence.seen, ended), strict=True)
        self._impossible = {*own.names} - {names for names, changes in changing if not changes}

    def _by_chance(self, cases: Sequence[DrawnCase]) -> Array:
        """Which calls are of a case in which two runs differ.

        What happens to draw little leaves values that some other mistake has.
        """
        random = (self.evidence.answers[call.id].info.random for call in self.calls)
        drawn = [case for case, one in zip(cases, random, strict=True) if one]
        return np.array([case in drawn for case in cases], dtype=bool)

    def count_wrong(self, explained: Array) -> WrongCases:
        """Count the wrong cases, of which some are explained."""
        wrong = [call for call, right in zip(self.calls, self.right, strict=True) if not right]
        here, others = (
            {self.evidence.case(self.calls[i]).group for i in np.flatnonzero(~self.right & rows)}
            for rows in (explained, ~explained)
        )
        alone = len(others) == 1 and not others & {PLAIN, *here}
        of = f", of `numeric/{min(others)}`," if alone else ""
        return WrongCases(len(wrong), sum(self._ended(call) for call in wrong), of)

    def is_drawn_beyond(self, explained: Array) -> bool:
        """Whether outputs of all other wrong cases are drawn at random."""
        left = self.wrong & ~explained
        return bool(left.any() and self._drawn[left].all())

    def best(self, suspects: Suspects, singles: Suspects | None = None) -> list[_Fit]:
        """The suspects that explain most of the wrong cases, and break no right one.

        Of two bugs at once each has to show in what they explain, beside what `singles` give.
        """
        alike, apart = suspects.equal_calls(self.seen, self.tolerance)
        explained = self._explain(alike)
        numbers = explained @ np.array([self._numbers(call) for call in self.calls])
        count = explained.sum(axis=1)
        bugs = np.array([len(names) for names in suspects.names])
        due = np.minimum(self.numbers * bugs, _NUMBERS)
        fits = (explained[:, self._tells].sum(axis=1) >= self.least) & (numbers >= due)
        fits &= np.array([self._allows(names) for names in suspects.names], dtype=bool)
        # with a size of 1 alone, mistakes of many kinds come to the same
        fits &= explained[:, self._beyond].any(axis=1) | ~(self.wrong & self._beyond).any()
        for row in np.flatnonzero(fits):
            fits[row] = not self._by_sizes(explained[row])
            if fits[row] and singles is not None:
                fits[row] = self._acts(suspects, int(row), singles, explained[row])
        if not fits.any():
            return []
        most = count[fits].max()
        broken = ~self.right & self._came & ~explained & ~suspects.equal_calls(self._due, STRICT)[0]
        silent = ~self.right & ~self.wrong & self._came  # zeros: they alone tell nothing
        found: dict[Names, _Fit] = {}
        for row in np.flatnonzero(fits & (count == most)):
            far = float(apart[row][explained[row]].max())
            names, all_told = suspects.names[row], explained[row] | (alike[row] & silent)
            found.setdefault(names, _Fit(names, all_told, far, int(broken[row].sum())))
        return list(found.values())

    def _explain(self, same: Array) -> Array:
        """Which wrong cases, of the `same`, each suspect explains that breaks no right one."""
        if self.tolerance != STRICT:  # what is that near to what is right is no mistake of these
            near = self._expected.equal_calls(self.seen, beyond(self.tolerance))[0]
            same = same & (~near | self.right)
        possible = np.asarray((same | ~self.right).all(axis=1))
        return np.asarray(same & self.wrong & ~self._drawn & possible[:, np.newaxis])

    def rest(self, singles: Suspects, explained: Array) -> list[_Fit]:
        """The bugs that explain all the other wrong cases, whatever they do to the rest."""
        left = self.wrong & ~explained
        same, apart = singles.equal_calls(self.seen, self.tolerance)
        fits = (same | ~left).all(axis=1)
        if not self._suffices(left, 1) or (~self.right & ~self.wrong).any():
            return []
        found = {
            singles.names[row]: _Fit(singles.names[row], left, float(apart[row][left].max()))
            for row in np.flatnonzero(fits)
            if self._allows(singles.names[row])
        }
        return list(found.values())

    def split(self, own: Suspects, both: Suspects) -> tuple[list[_Fit], list[_Fit]] | None:
        """Two bugs of which one acts in one branch alone, such as pre-norm: there, and elsewhere.

        They have to explain every case.
        """
        singles = own.of_values(self.rows)
        pairs = of_calls(both, self.evidence.calls, self.rows)
        alone, _ = singles.equal_calls(self.seen, self.tolerance)
        together, apart = pairs.equal_calls(self.seen, self.tolerance)
        found: dict[Names, tuple[list[_Fit], list[_Fit]]] = {}
        for branch in branches(self.calls):
            here = branch & self.wrong
            if not self._suffices(here, 2) or not (~branch & self.wrong).any():
                continue
            others = {singles.names[i][0] for i in np.flatnonzero(alone[:, ~branch].all(axis=1))}
            for row in np.flatnonzero(together[:, branch].all(axis=1)):
                names = pairs.names[row]
                rest = [name for name in names if name in others and self._allows(names)]
                if rest and self._acts(pairs, int(row), singles, here):
                    elsewhere = _Fit((rest[0],), ~branch & self.wrong, 0.0)
                    fit = _Fit(names, here, float(apart[row][here].max()))
                    found.setdefault(names, ([fit], [elsewhere]))
        left = left_by_text(self.evidence, list(found), self.aside)
        return found[left[0]] if own.count_behaviours(left) == 1 else None

    def _suffices(self, explained: Array, bugs: int) -> bool:
        """Whether so many cases, with so many numbers, do not come so by chance."""
        numbers = sum(self._numbers(self.calls[i]) for i in np.flatnonzero(explained))
        due = min(self.numbers * bugs, _NUMBERS)
        return (explained & self._tells).sum() >= self.least and numbers >= due

    def _acts(self, suspects: Suspects, row: int, singles: Suspects, explained: Array) -> bool:
        """Whether each of two bugs changes what the other gives alone, in some calls.

        One that alone leaves all of them right shows what the other does to how it is written.
        """
        both = suspects.only(np.arange(len(suspects.names)) == row)
        parts = set(suspects.names[row])
        alone = singles.only(np.array([{*names} < parts for names in singles.names]))
        same, _ = alone.equal_calls(self._due, STRICT)
        wrong = np.asarray(~same[:, explained].all(axis=1))
        if {*alone.only(wrong).names} != {(name,) for name in parts}:
            return False
        ways, room = map(alone.signature, range(len(alone.names))), beyond(self.tolerance)
        return not any(both.equal_calls(way, room)[0][0][explained].all() for way in ways)

    def _allows(self, names: Names) -> bool:
        return self.aside.allows(names) and self._impossible.isdisjoint((n,) for n in names)

    def _by_sizes(self, explained: Array) -> bool:
        """Whether what is explained has sizes, beyond 1, that no other case of wrong values has.

        It may be so by chance: 2 / √d is 1 where d is 4. With a size of 1 mistakes often vanish.
        Where all ordinary cases are explained, an edge that is not is a matter of its own.
        """
        plain = np.array([self.evidence.case(call).group == PLAIN for call in self.calls])
        if not (self.wrong & plain & ~explained).any():
            return False
        here = [self._sizes[i] for i in np.flatnonzero(explained)]
        left = np.flatnonzero(self.wrong & ~explained)
        others = [self._sizes[i] for i in left if in_shape(self.evidence, self.calls[i])]
        shared = {one for one in here[0] if one[1] > 1}.intersection(*here)
        return bool(others and shared) and not any(shared <= other for other in others)

    @cached_property
    def _came(self) -> Array:
        return np.array([self._ended(call) for call in self.calls], dtype=bool)

    @cached_property
    def _sizes(self) -> list[set[tuple[str, int]]]:
        """The dims of each call with their sizes."""
        return [self._sizes_of(call) for call in self.calls]

    def _sizes_of(self, call: Call) -> set[tuple[str, int]]:
        """Those of its case, but that a property changes them in the first main case."""
        case, tensors = self.evidence.case(call), self.evidence.key.plan.tensors
        specs = self.evidence.target.input_specs.values() if case.main else ()
        sizes = {**case.dims}
        for given, spec in zip(call.inputs, specs, strict=False):
            if isinstance(given, TensorKey) and isinstance(spec, TensorSpec):
                axes = [axis.text for axis in spec.axes]
                own = dict(zip(axes, tensors[given.tensor].shape, strict=False))
                sizes |= {dim: size for dim, size in own.items() if dim in sizes}
        return set(sizes.items())

    def _numbers(self, call: Call) -> int:
        """How many numbers came out of a call that tell something: zeros alone do not."""
        return sum(output.size for output in telling(self.evidence, call))

    @property
    def is_rounded(self) -> bool:
        """Whether outputs came in float32."""
        return any(
            one.dtype == np.float32
            for call in self.calls
            for one in outputs_of(self.evidence, call)
        )

    def _has_floats(self, call: Call) -> bool:
        return any(output.dtype.kind == "f" for output in outputs_of(self.evidence, call))

    def _ended(self, call: Call) -> bool:
        return self.evidence.answers[call.id].status is AnswerStatus.OK


def _worded(
    evidence: Evidence,
    found: Sequence[_Fit],
    rest: Sequence[_Fit],
    wrong: WrongCases,
    steps: StepsFound | None,
    *,
    drawn: bool,
) -> Diagnosis:
    by_key = evidence.key.book.by_key
    groups, alone = ([[*map(by_key, fit.names)] for fit in fits] for fits in (found, rest))
    first = first_broken(evidence, groups, steps)
    for group in groups:  # what breaks the first wrong step is to be mended first
        group.sort(key=lambda bug: first is not None and bug.step != first.step)
    far, count = nearness(max(fit.distance for fit in [*found, *rest])), found[0].count
    order = [alone, groups] if 2 * count < wrong.cases else [groups, alone]  # most cases first
    bugs = [bug for part in order for group in part for bug in group]
    others = of_others(wrong, count, alone, drawn=drawn)
    equal = f"your output equals, to {far}, what comes out when {ways_of(groups)}"
    said = f"{wrong.named(count)} {equal}. {others}."
    return Diagnosis(
        target=evidence.target.name,
        bugs=tuple(dict.fromkeys(bug.id for bug in bugs)),
        step=first.step if first else "",
        hint=bugs[0].hints[0],
        evidence=f"{first.evidence} {said}" if first and count < wrong.cases else said,
        either=() if alone or len(bugs) > len(groups) else alternatives(bugs),
        ways=tuple(dict.fromkeys(bug.name for bug in bugs)),
    )
