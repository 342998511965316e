"""Puts what is known of a mistake into words, no stronger than its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import NamedTuple

from grader.compare.covered import acts_in
from grader.compare.evidence import Evidence, Fault
from grader.compare.outcomes import judge_call
from grader.compare.steps import StepsFound, calls_to_record
from grader.records.calls import Call
from grader.records.key import KnownBug
from grader.records.results import Diagnosis
from grader.worker.names import Group
from grader.worker.protocol import Action

_SHOWN = 1e-12  # a distance is told down to here; below, it is the machine's rounding


@dataclass(frozen=True)
class Claim:
    """What a submission's answers show of known bugs."""

    groups: Sequence[Sequence[KnownBug]]  # those that fit; the bugs of a group act at once
    others: Sequence[KnownBug]  # that only a check shows
    by_values: bool  # whether some value tells them
    distance: float  # of the values, at most
    where: str | None  # the cases that are wrong, by name, where others are right; None for all
    everywhere: bool  # whether every call was looked at
    compared: bool  # whether every call that was looked at gave an output that can be compared
    bound: bool  # whether some call could be made: else what is registered is all that is known
    or_else: str  # what else is registered alike

    @property
    def sentence(self) -> str:
        """It in one sentence, with one more for each of the others."""
        what = ways_of(self.groups)
        also = "".join(
            f" Beside that it behaves like code in which {bug.when}." for bug in self.others
        )
        if not self.bound:
            other = f", or in which {self.or_else}" if self.or_else else ""
            return f"Your module has the same parameters as code in which {what}{other}.{also}"
        if not self.by_values:
            return f"Your code behaves like code in which {what}.{also}"
        return f"{self._start}, to {nearness(self.distance)}, what comes out when {what}.{also}"

    @property
    def _start(self) -> str:
        if self.where is not None:
            named = f" ({self.where})" if self.where else ""
            start = f"where your output is wrong{named}, it equals"
        elif self.compared:
            start = "your output equals"
        else:
            start = "where your output can be compared, it equals"
        return (
            f"{start[0].upper()}{start[1:]}"
            if self.everywhere
            else f"But for the deviations, {start}"
        )


def ways_of(groups: Sequence[Sequence[KnownBug]], between: str = "; or ") -> str:
    """Return what is done under some bugs; those of a group act at once, in whatever order."""
    ways: dict[frozenset[str], str] = {}
    for group in groups:
        said = dict.fromkeys(bug.when for bug in group)  # several bugs may be one in words
        ways.setdefault(frozenset(said), ", and ".join(said))
    return between.join(ways.values())


def named(
    evidence: Evidence,
    groups: Sequence[Sequence[KnownBug]],
    others: Sequence[KnownBug],
    sentence: str,
) -> Diagnosis:
    """Name groups of bugs, one of which it is, and others that are there with any of them."""
    bugs = [bug for group in groups for bug in group]
    return Diagnosis(
        target=evidence.target.name,
        bugs=tuple(dict.fromkeys(bug.id for bug in [*bugs, *others])),
        step=next(iter(broken_steps(evidence, groups[0])), ""),
        hint=bugs[0].hints[0],
        evidence=sentence,
        either=alternatives(bugs) if all(len(group) == 1 for group in groups) else (),
        ways=tuple(dict.fromkeys(bug.name for bug in [*bugs, *others])),
    )


class WrongCases(NamedTuple):
    """How many cases are wrong, how many of them gave an output, and which are not explained."""

    cases: int
    ended: int
    of: str  # the part of the points that all of those belong to, as part of a sentence

    def named(self, count: int) -> str:
        """Begin a sentence on so many of them."""
        if count == self.cases:
            return f"In all {count} wrong cases"
        return f"{self.cases} cases are wrong. In {count} of them"


def of_others(
    wrong: WrongCases, count: int, alone: Sequence[Sequence[KnownBug]], *, drawn: bool
) -> str:
    """Say what is so of the wrong cases that the first bugs do not explain.

    Those may be `drawn` at random.
    """
    others = wrong.cases - count
    if not others:
        return "There may be more"
    left = f"In the other {'one' if others == 1 else others}{wrong.of}"
    if alone:
        return f"{left} it equals what comes out when {ways_of(alone)}"
    if drawn:
        return f"{left} two runs give two outputs: they cannot be compared"
    return f"{left} it does not" if wrong.ended > count else f"{left} no output came"


def broken_steps(evidence: Evidence, bugs: Sequence[KnownBug]) -> tuple[str, ...]:
    """Return the steps that some bugs make wrong, in order."""
    broken = {bug.step for bug in bugs}
    return tuple(step for step in evidence.target.step_names if step in broken)


def alternatives(bugs: Sequence[KnownBug]) -> tuple[str, ...]:
    """Return a bug for each thing that is done under one of some, () where there is one thing."""
    ways: dict[str, str] = {}
    for bug in bugs:
        ways.setdefault(bug.when, bug.name)
    return tuple(ways.values()) if len(ways) > 1 else ()


def cases_named(evidence: Evidence, calls: Sequence[Call], most: int) -> str:
    """Return the names of the cases among some calls that are wrong, "" for too many."""
    names = dict.fromkeys(
        evidence.case(call).name
        for call in calls
        if call.action is Action.FORWARD and not judge_call(evidence, call, Group.OUTPUT).passed
    )
    few = len(names) <= most and "main" not in names
    return ", ".join(names) if few else ""


def nearness(distance: float) -> str:
    """Return a distance as the power of ten above it, such as `1e-12`."""
    return f"{10.0 ** ceil(log10(max(distance, _SHOWN))):.0e}"


def first_wrong_call(evidence: Evidence) -> Call | None:
    """Return the smallest numeric case whose values alone are wrong, None where there is none."""
    for call in evidence.numeric_calls(Action.FORWARD):
        if judge_call(evidence, call, Group.OUTPUT).fault is Fault.VALUES:
            return call
    return None


def located(evidence: Evidence, steps: StepsFound | None) -> Diagnosis | None:
    """Put into words how far a run was right; None where no step is known to be wrong."""
    if steps is None or not steps.wrong:
        return None
    wrong, first = steps.wrong, evidence.target.step_levels[0]
    hint = f"ook at what `{wrong}` is made of, and how"
    before = list(steps.states)[: list(steps.states).index(wrong)]
    known = steps.complete and wrong not in first
    if wrong in evidence.target.outputs and wrong not in first:
        them = "them" if known else "the steps before"
        hint = f"ook at what is done with {them}, and at what is returned"
    elif known and len(before) == 1:
        hint = f"ook at how `{wrong}` is made of `{before[0]}`"
    elif known:  # they are there: which of them is used as what no value tells
        hint = f"ook at which of them `{wrong}` is made of, and how"
    if wrong in steps.times:
        hint = f"ook for a factor or a divisor of `{wrong}` that is missing, or is another one"
    return Diagnosis(
        target=evidence.target.name,
        bugs=(),
        step=wrong,
        hint=f"The values of the steps before are right: l{hint}." if known else f"L{hint}.",
        evidence=steps.told(),
    )


def first_broken(
    evidence: Evidence, groups: Sequence[Sequence[KnownBug]], steps: StepsFound | None
) -> Diagnosis | None:
    """How far a run is right, by its steps and by the bugs that act in the cases looked at."""
    cases = {evidence.case(call).name for call in calls_to_record(evidence)}
    bugs = groups[0] if len(groups) == 1 else ()
    acting = [bug for bug in bugs if any(acts_in(evidence, bug.id, case) for case in cases)]
    broken, levels = broken_steps(evidence, acting), evidence.target.step_levels
    return located(evidence, steps and steps.broken_by(broken, levels))


def drawn(evidence: Evidence) -> Diagnosis | None:
    """Say that a wrong output is drawn at random, if a second call of the same made another one.

    None where it is not, and where a target has to draw.
    """
    call = first_wrong_call(evidence)
    if call is None or evidence.has_to_draw or not evidence.answers[call.id].info.random:
        return None
    return Diagnosis(
        target=evidence.target.name,
        bugs=(),
        step="",
        hint="Look for a dropout that acts though nobody trains, or for numbers drawn at random.",
        evidence="Two calls with the same input give different outputs: something is drawn at "
        "random.",
        whole=False,  # what is wrong beside that no value can tell
    )
