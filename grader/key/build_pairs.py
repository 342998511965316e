"""Runs two known bugs at once: what the answers look like under both."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from grader.compare.signature import sign
from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.course.models import Target
from grader.key.build_bugs import MutantRunner, affected
from grader.key.builders import tell_step
from grader.records.key import bug_key
from grader.records.signatures import Code, Signature, Suspects
from grader.worker.protocol import TargetKind


def build_pairs(runner: MutantRunner) -> dict[str, Suspects]:
    """Return, for each target, the answers under two bugs at once.

    Values show both, or the number of parameters does.
    """
    folder, exercise, source = runner.folder, runner.exercise, runner.source
    shown = {bug.key for bug in runner.key.book.bugs if bug.shown_by_values}
    sized = {name for target in exercise.targets for name in _of_other_sizes(runner, target)}
    mutants = [
        mutant
        for bug in load_bugs(folder, exercise, source)
        if bug.key in shown | sized
        for mutant in mutants_of(folder, exercise, bug, source)
    ]
    found: dict[str, Suspects] = {}
    for target in exercise.targets:
        tell_step(f"{exercise.id}/{target.name}")
        near = [m for m in mutants if target in affected(exercise, m.bug.target)]
        if rows := list(_sign_pairs(runner, target, near, shown, sized)):
            found[target.name] = Suspects.gather(rows)
    return found


def _sign_pairs(
    runner: MutantRunner,
    target: Target,
    mutants: Sequence[Mutant],
    shown: set[str],
    sized: set[str],
) -> Iterator[tuple[tuple[str, str], Signature]]:
    """Yield the names and the answers of two bugs: one is the target's own, or both another's."""
    looks = [_look(runner, mutant, target) for mutant in mutants]
    # where a factory builds what fits its parts in some cases alone, these show another bug
    seen = shown | sized if target.kind is TargetKind.FACTORY else shown
    made = set()
    for (first, one), (second, other) in combinations(zip(mutants, looks, strict=True), 2):
        keys, names = (first.bug.key, second.bug.key), (first.name, second.name)
        targets = {first.bug.target, second.bug.target}
        own = (target.name in targets or len(targets) == 1) and len(set(keys)) > 1
        audits = sized.issuperset(keys)
        own &= audits or seen.issuperset(keys)
        if (names, one, other) in made or not own:
            continue  # other ways to write the same come to the same
        if (both := compose(first, second, runner.source)) is not None:
            made.add((names, one, other))
            signature = runner.sign_pair(both, target, audits=audits)
            if signature is not None:
                yield names, signature


def _look(runner: MutantRunner, mutant: Mutant, target: Target) -> bytes:
    """What tells a variant of a bug from its others, by what it comes to alone."""
    signature = runner.sign_pair(mutant.source, target, audits=False) if mutant.bug.also else None
    if signature is None:
        return b""
    values = np.round(signature.values, 7) + 0.0  # no negative zero
    return signature.codes.tobytes() + values.tobytes()


def _of_other_sizes(runner: MutantRunner, target: Target) -> set[str]:
    """The bugs with which a module has another number of parameters."""
    own = runner.key.suspects.get(target.name)
    if own is None:
        return set()
    calls = runner.key.plan.of_target(target.name)
    right = sign(calls, runner.key.answers, runner.key.plan.tensors, []).codes
    other = (own.codes != right)[:, :, Code.REGISTERED].any(axis=1)
    return {bug_key(own.names[row][0]) for row in np.flatnonzero(other)}
