"""How far a submission's run was right: the reference's named steps among its own tensors.

What `grade check`, `hint`, `explain` and the pages say of steps is all computed here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from grader.compare.evidence import Evidence, Fault
from grader.compare.lost import forgotten
from grader.compare.occurrence import (
    factor_of,
    holds_all,
    occurs,
    only_moves,
    rearranged,
    same_values,
)
from grader.compare.outcomes import judge_call, lacks_bias
from grader.compare.telling import filled_by_chance, shares_parameters
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import PLAIN, Array, Call
from grader.records.results import State
from grader.worker.names import GIVEN, MOST_SEEN, Group, of_group, operation_of, place_of
from grader.worker.protocol import Action

UNEXPLAINED = "No known mistake explains all."
_LARGEST = 4096  # numbers of a step that is looked for in slices
_RUNS = 2  # in which a step has to be right: in one it may be so by chance


@dataclass(frozen=True)
class StepsFound:
    """What is known of each named step."""

    states: Mapping[str, State]  # in the course's order
    scope: str = ""  # of which cases alone they are known, as part of a sentence
    # of a wrong step: in which case by which factor it is made, where it never is as it is due
    times: Mapping[str, str] = field(default_factory=dict)

    @property
    def wrong(self) -> str:
        """The first step that went wrong, "" where none is known."""
        return next((name for name, state in self.states.items() if state is State.WRONG), "")

    def broken_by(self, bugs: Sequence[str], levels: Sequence[Sequence[str]]) -> "StepsFound":
        """Say what is known where bugs break some steps: what follows from those is left open.

        So is one of them that was made, and need not be what is used. In a level none follows.
        """
        states, wrong = {**self.states}, False
        for level in levels:
            for name in (name for name in level if name in states):
                if name in bugs and states[name] in (State.OPEN, State.WRONG):
                    states[name] = State.WRONG
                elif (name in bugs or wrong) and states[name] is not State.NOT_REACHED:
                    states[name] = State.OPEN
            wrong = wrong or State.WRONG in (states.get(name) for name in level if name in bugs)
        return replace(self, states=states)

    @property
    def sentence(self) -> str:
        """`queries ✓ keys ✓ scores ✗`."""
        marks = {State.RIGHT: "✓", State.WRONG: "✗"}
        return " ".join(f"{n} {marks[s]}" for n, s in self.states.items() if s in marks)

    def told(self, upto: str = "") -> str:
        """What is said where no known mistake explains all, if asked only up to a wrong step."""
        said = self.sentence
        if upto:
            before = list(self.states.items())[: list(self.states).index(upto)]
            said = " ".join([*(f"{n} ✓" for n, s in before if s is State.RIGHT), f"{upto} ✗"])
        often = "" if upto else self.times.get(self.wrong, "")
        often = often and f" {often}, and never as it is due."
        return f"{UNEXPLAINED} Step by step{self.scope}: {said}.{often}"

    @property
    def complete(self) -> bool:
        """Whether there are steps before the wrong one, all known to be right."""
        before = list(self.states.values())[: list(self.states).index(self.wrong)]
        return bool(before) and all(state is State.RIGHT for state in before)


def calls_to_record(evidence: Evidence) -> list[Call]:
    """Return the calls in which steps are looked for: one that fails, and one more like it.

    A call that could not be made for its parameters has none, and comes first all the same where no
    usual one could be. One with an option that is refused comes last: it tells nothing of what
    fails without it.
    """
    calls = evidence.numeric_calls(Action.FORWARD)
    calls.sort(key=lambda call: (evidence.case(call).group, not evidence.case(call).main))
    judged = {call.id: judge_call(evidence, call, Group.OUTPUT) for call in calls}
    failed = [c for c in calls if not judged[c.id].passed and not lacks_bias(evidence, c)]
    failed.sort(key=lambda call: bool(evidence.refused(call)))
    refused = any(evidence.refused(call) for call in failed)
    wrong = [c for c in failed if refused or judged[c.id].fault is not Fault.UNBOUND]
    usual = [c for c in failed if evidence.case(c).group == PLAIN]
    if usual and not any(call in wrong for call in usual):
        wrong = failed
    first = next(iter([*wrong, *calls]), None)
    if first is None:
        return []
    group = evidence.case(first).group
    others = [c for c in [*wrong, *calls] if c is not first and evidence.case(c).group == group]
    return [first, *others[: _RUNS - 1]]


def find_steps(
    evidence: Evidence, recorded: Mapping[str, Answer], told: Sequence[str] = ()
) -> StepsFound | None:
    """Return what is known of each step; None where there are none, or nothing ran.

    `recorded` are answers by call, `told` the steps that a diagnosis names, in order. Where no step
    is right, code may go another way: one is wrong if its variable is, or one of several results.
    """
    calls = [call for call in evidence.calls if call.id in recorded]
    runs = [call for call in calls if recorded[call.id].status is AnswerStatus.OK]
    known = [evidence.key.steps(call.id) for call in calls]  # a case may go around some steps
    names = [n for n in evidence.target.step_names if calls and all(n in one for one in known)]
    unsure = any(shares_parameters(evidence.answers[call.id].info) for call in runs)
    if not names or len(runs) < len(calls) or unsure or filled_by_chance(evidence, runs):
        return None
    looks = [_Run(evidence, call, recorded[call.id]) for call in runs]
    marks = [look.marks() for look in looks]
    found = {n: _both([one[n] for one in marks]) for n in names}
    implied = _implied(evidence.target.step_levels, found, looks)
    found |= dict.fromkeys(implied, True)
    if all(judge_call(evidence, call, Group.OUTPUT).passed for call in runs):
        return StepsFound({n: State.RIGHT if found[n] else State.OPEN for n in names})
    broken = [name for name in told if name not in {*implied, *_following(found, looks)}]
    stopped = any(evidence.answers[call.id].status is not AnswerStatus.OK for call in runs)
    held = {n for n in names if all(recorded[call.id].held_by(n) for call in runs)}
    steps = StepsFound(_states(evidence.target.step_levels, found, broken, held, stopped=stopped))
    times = _times(steps.wrong, looks, evidence.case(runs[0]).name)
    if not (times or broken or State.RIGHT in steps.states.values()):
        steps = _without_the_unnamed(evidence, steps, [recorded[call.id] for call in runs])
    return replace(steps, scope=_scope(evidence, calls[0]), times=times)


def _following(found: Mapping[str, bool | None], looks: Sequence["_Run"]) -> set[str]:
    """The steps that are the same as an earlier one, which is not right: none is wrong first."""
    pairs = [(name, look.first_alike(name)) for look in looks for name in look.unchanged]
    return {name for name, first in pairs if first != name and not found.get(first)}


def _times(wrong: str, looks: Sequence["_Run"], case: str) -> dict[str, str]:
    """In which case by which factor a wrong step is made; nothing where some run has none."""
    factors = [look.multiple_of(wrong) for look in looks]
    said = f"In the case '{case}' your run has `{wrong}` times {factors[0]:.3g}"
    return {wrong: said} if all(factors) else {}


def _without_the_unnamed(
    evidence: Evidence, steps: StepsFound, answers: Sequence[Answer]
) -> StepsFound:
    """Leave open which wrong steps are there at all: no variable has their name, nor a result."""
    several = evidence.target.outputs if len(evidence.target.outputs) > 1 else ()
    unnamed = [
        name
        for name, state in steps.states.items()
        if state is State.WRONG and name not in several
        if not all(answer.held_by(name) for answer in answers)
    ]
    return StepsFound({**steps.states, **dict.fromkeys(unnamed, State.OPEN)})


def _scope(evidence: Evidence, looked_at: Call) -> str:
    """Say of which cases the steps are known, where others may show other ones."""
    case, calls = evidence.case(looked_at), evidence.numeric_calls(Action.FORWARD)
    others = (call for call in calls if evidence.case(call).group != case.group)
    if case.group == PLAIN and all(
        judge_call(evidence, call, Group.OUTPUT).passed for call in others
    ):
        return ""
    return ", in the usual cases" if case.group == PLAIN else f", in the case '{case.name}'"


def _both(marks: Sequence[bool | None]) -> bool | None:
    """Whether a step is right in every run; None where one cannot tell."""
    return None if None in marks else all(marks)


def _implied(
    levels: Sequence[Sequence[str]], found: Mapping[str, bool | None], looks: Sequence["_Run"]
) -> list[str]:
    """Steps that change nothing in these cases, and are right since what is made of them is."""
    rows = [[name for name in level if name in found] for level in levels]
    unchanged = set.intersection(*(look.unchanged for look in looks))
    return [
        name
        for row, after in pairwise(rows)
        for name in row
        if name in unchanged and after and all(found[one] for one in after)
    ]


def _states(
    levels: Sequence[Sequence[str]],
    found: Mapping[str, bool | None],
    told: Sequence[str],
    held: Collection[str],
    *,
    stopped: bool,
) -> dict[str, State]:
    rows = [[name for name in level if name in found] for level in levels]
    told_at = next((i for i, row in enumerate(rows) if set(told[:1]) & set(row)), len(rows))
    begun = [i for i, row in enumerate(rows[:told_at]) if any(found[name] for name in row)]
    reached = max(begun, default=-1)
    states, broken = dict[str, State](), False
    for index, row in enumerate(rows):
        for name in row:
            if name in told:  # what was made, and is not used, is not what is wrong
                unsure = stopped and index > reached and name not in held  # not made, maybe
                states[name] = State.OPEN if found[name] or unsure else State.WRONG
            elif broken or index > told_at:
                states[name] = State.NOT_REACHED if stopped else State.OPEN
            elif found[name]:
                states[name] = State.RIGHT
            elif stopped and index > reached and told_at == len(rows):
                states[name] = State.NOT_REACHED
            elif found[name] is None or index < reached or told_at < len(rows):
                states[name] = State.OPEN
            else:
                states[name] = State.WRONG
        broken = broken or State.WRONG in (states[name] for name in row)
    return states


def _is_part(array: Array, whole: Array) -> bool:
    """Whether something may be one sample or head of a step, made in a loop."""
    return array.ndim < whole.ndim and array.shape == whole.shape[whole.ndim - array.ndim :]


class _Run:
    """One recorded run beside the reference's steps."""

    def __init__(self, evidence: Evidence, call: Call, recorded: Answer) -> None:
        seen = of_group(recorded.tensors, Group.SEEN)
        self._evidence, self._call = evidence, call
        self._recorded = recorded
        self._given = [array for n, array in seen.items() if operation_of(n) == GIVEN]
        lost = forgotten(evidence)
        kept = [name for name in seen if place_of(name)[:2] not in lost]
        self._made = [seen[name] for name in kept if operation_of(name) != GIVEN]
        self._is_cut = len(seen) >= MOST_SEEN  # more may have been made
        self._returned = of_group(evidence.answers[call.id].tensors, Group.OUTPUT)
        self._expected = evidence.key.steps(call.id)
        self.unchanged: set[str] = set()  # steps that are an input, or one that is there already

    def marks(self) -> dict[str, bool | None]:
        """Say of each step whether it was made, in order; None where its values prove nothing."""
        marks: dict[str, bool | None] = {}
        before = list(self._given)
        start = 0
        for level in self._evidence.target.step_levels:
            places = []
            for name in level:
                if name not in self._expected:
                    continue
                wanted = self._expected[name]
                place = self._place(wanted, before, start)
                marks[name] = self._mark(name, wanted, place, before)
                places += [place] if marks[name] and place is not None else []
                before.append(wanted)
            start = max(places, default=start - 1) + 1
        return marks

    def _mark(
        self, name: str, wanted: Array, place: int | None, before: Sequence[Array]
    ) -> bool | None:
        passed = judge_call(self._evidence, self._call, Group.OUTPUT).passed
        if name in self._evidence.target.outputs:  # it is what was returned
            came = self._returned.get(name)
            if came is not None:
                return passed or same_values(wanted, came)
            if self._evidence.answers[self._call.id].status is AnswerStatus.OK:
                return None  # it may have been made: it was not returned
        if any(same_values(wanted, array) for array in before):
            self.unchanged.add(name)  # which proves nothing
            own = self._recorded.held_by(name)
            return False if own and not any(rearranged(wanted, one) for one in own) else None
        if place is None:
            moved = only_moves(wanted, before)
            turned = not moved and occurs(wanted, self._made, turned=True)
            cut = self._is_cut and not self._recorded.held_by(name)
            return None if cut or turned or not self._is_tried(name, wanted, moved=moved) else False
        as_it_is = passed and same_values(wanted, self._made[place])  # whatever has its name
        return True if as_it_is or self._is_kept(name, wanted) else None

    def first_alike(self, name: str) -> str:
        """The first of the steps that have the same values as one: that one, if no other has."""
        names = [one for one in self._evidence.target.step_names if one in self._expected]
        return next(n for n in names if same_values(self._expected[name], self._expected[n]))

    def _is_kept(self, name: str, wanted: Array) -> bool:
        """Whether a variable of the step's name, if there is one, got its values and kept them.

        Else they were made on the way to something else, or something was done to them. They may
        be in another order by now.
        """
        own = [a for a in self._recorded.held_by(name) if a.size == wanted.size]
        return not own or (occurs(wanted, own) and rearranged(wanted, own[-1]))

    def multiple_of(self, name: str) -> float:
        """By which number the last tensor that is a multiple of a step is, 0 where none is.

        Nor is one where the step itself was made, and is not what was used or returned.
        """
        wanted = self._expected.get(name)
        if wanted is None or occurs(wanted, self._made):
            return 0.0
        factors = (factor_of(wanted, array) for array in reversed(self._made))
        return next((factor for factor in factors if factor), 0.0)

    def _is_tried(self, name: str, wanted: Array, *, moved: bool) -> bool:
        """Whether something other than the step is there in its place; if not, all is open.

        Code that makes a step row by row, or never, has no tensor of its form but later ones.
        """
        held = self._recorded.held_by(name)
        alike = (one for own in held for one in (own, own[own != 0]))  # with and without padding
        if not moved and any(rearranged(wanted, one) or holds_all(wanted, one) for one in alike):
            return False
        if held and not all(_is_part(one, wanted) for one in held):
            return True
        known = [*self._expected.values(), *self._given, *self._returned.values()]
        return any(
            array.shape == wanted.shape and not any(same_values(one, array) for one in known)
            for array in self._made
        )

    def _place(self, wanted: Array, before: Sequence[Array], start: int) -> int | None:
        """Where a step's tensor first comes after those of the steps that it is made from.

        A step that only rearranges what came before it has to be there as it is: its values in
        another order prove nothing.
        """
        moved = only_moves(wanted, before)
        for place, array in enumerate(self._made[start:], start):
            if same_values(wanted, array) or (not moved and occurs(wanted, [array])):
                return place
        # slices that only are in another order may be those of the step before
        return self._place_in_slices(wanted, max(start - moved, 0), moved=moved)

    def _place_in_slices(self, wanted: Array, start: int, *, moved: bool) -> int | None:
        """Where the first of a step's slices comes, where it is made slice by slice.

        What only rearranges comes slice after slice, each as it is.
        """
        for axis in range(wanted.ndim - 1 if wanted.size <= _LARGEST else 0):
            slices = np.moveaxis(wanted, axis, 0)
            found: list[int] = []
            for one in slices:
                if (place := self._place_of_slice(one, start, moved=moved)) is None:
                    break
                found.append(place)
            if 1 < len(slices) == len(found) and not (moved and found != sorted(found)):
                return min(found)
        return None

    def _place_of_slice(self, wanted: Array, start: int, *, moved: bool) -> int | None:
        for place, array in enumerate(self._made[start:], start):
            if same_values(wanted, array) if moved else occurs(wanted, [array]):
                return place
        return None


def rank_steps(
    names: Sequence[str], expected: Mapping[str, Array], recorded: Answer
) -> tuple[int, ...]:
    """Return how far a run is right, to be compared: how many of the steps came up, and which.

    A step in a variable of its name counts twice; of as many, the earlier ones count more.
    """
    seen = of_group(recorded.tensors, Group.SEEN)
    made = [array for name, array in seen.items() if operation_of(name) != GIVEN]
    found = [
        occurs(expected[name], made) + occurs(expected[name], recorded.held_by(name)[-1:])
        for name in names
        if name in expected
    ]
    return sum(found), *found
