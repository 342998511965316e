"""Tries every known bug, alone and two at a time, on the checks and on the diagnosis.

Runs in a builder, next to the solutions.
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from grader.audit.records import BugTrial, PairReport, PairTrial
from grader.compare.diagnosis import LISTED, diagnose
from grader.compare.signature import STRICT, of_calls, value_rows
from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.errors import CourseError
from grader.key.build_bugs import BuiltKey, Finding, MutantRunner, affected
from grader.records.ids import CheckId, Kind
from grader.records.key import CheckProof
from grader.records.signatures import Suspects

_FEW = 100  # pairs of an exercise: so many are all tried
_EVERY = 4  # of more pairs, about one of four is


def try_bugs(runner: MutantRunner) -> tuple[BugTrial, ...]:
    """Run every known bug; one trial a bug and variant."""
    return tuple(
        _tried(runner, runner.examine(mutant, affected(runner.exercise, mutant.bug.target)))
        for mutant in _mutants(runner)
    )


def try_findings(built: BuiltKey) -> tuple[BugTrial, ...]:
    """Return the trials of bugs that ran before the key knew them, without another run."""
    runner = built.runner
    trials = []
    for found in built.findings:
        targets = affected(runner.exercise, found.mutant.bug.target)
        judged = runner.judge(found.mutant, targets, found.answers, found.answers32)
        trials.append(_tried(runner, judged))
    return tuple(trials)


def try_pairs(runner: MutantRunner, pairs: Mapping[str, Suspects], *, whole: bool) -> PairTrial:
    """Count the pairs of bugs by how they are reported; of many only a part, but for `whole`.

    Pairs that values show are looked up in `pairs`; all others are run.
    """
    run = [
        (first, second)
        for first, second in combinations([m for m in _mutants(runner) if not m.number], 2)
        if first.bug.target == second.bug.target and not _both_shown(runner, first, second)
    ]
    shown = [
        (target, row)
        for target, some in pairs.items()
        for row, names in enumerate(some.names)
        if all(runner.key.book.by_key(name).shown_by_values for name in names)
    ]
    step = choose_step(len(run) + len(shown), whole=whole)
    tried = [
        _try_pair(runner, first, second, pairs)
        for first, second in run
        if is_tried([first.bug.key, second.bug.key], step)
    ]
    found = Counter(report for report in tried if report is not None)
    asked = [(target, row) for target, row in shown if is_tried(pairs[target].names[row], step)]
    found.update(_try_shown_pairs(runner, pairs, asked))
    return PairTrial(found, step)


def choose_step(count: int, *, whole: bool) -> int:
    """Return 1 where all of so many pairs are tried, n where about one of n is."""
    return 1 if whole or count <= _FEW else _EVERY


def is_tried(names: Sequence[str], step: int) -> bool:
    """Whether a pair is among those that are tried: always the same, and spread over all bugs."""
    return zlib.crc32(" ".join(names).encode()) % step == 0


def _mutants(runner: MutantRunner) -> list[Mutant]:
    return [
        mutant
        for bug in load_bugs(runner.folder, runner.exercise, runner.source)
        for mutant in mutants_of(runner.folder, runner.exercise, bug, runner.source)
    ]


def _both_shown(runner: MutantRunner, first: Mutant, second: Mutant) -> bool:
    return all(runner.key.book.by_key(m.bug.key).shown_by_values for m in (first, second))


def _try_shown_pairs(
    runner: MutantRunner, pairs: Mapping[str, Suspects], shown: Sequence[tuple[str, int]]
) -> Iterator[PairReport]:
    """Tell how each pair that values show would be reported, from the signatures alone."""
    suspects = runner.key.suspects
    calls = {target: runner.key.plan.of_target(target) for target in pairs}
    rows = {target: value_rows(own) for target, own in calls.items()}
    singles = {target: suspects[target].of_values(rows[target]) for target in pairs}
    values = {target: of_calls(some, calls[target], rows[target]) for target, some in pairs.items()}
    for target, row in shown:
        seen = values[target].signature(row)
        alone = {one for (one,), _ in singles[target].matching(seen, STRICT)}
        if alone:
            own = alone & set(pairs[target].names[row])
            yield PairReport.MASKED if own else PairReport.ANOTHER
        else:
            alike = {some for some, _ in values[target].matching(seen, STRICT)}
            few = suspects[target].count_behaviours(alike) <= LISTED
            yield PairReport.NAMED if few else PairReport.AMBIGUOUS


def _tried(runner: MutantRunner, found: Finding) -> BugTrial:
    bug = found.mutant.bug
    results = [result for some in found.results.values() for result in some]
    named = _named(runner, found, bug.target, {})  # a bug by itself looks like no pair
    known = runner.key.book.by_key(bug.key)
    own = {p.check for p in known.proofs if isinstance(p, CheckProof)}
    if known.shown_by_values:
        own.add(CheckId(runner.exercise.id, bug.target, Kind.BUG, bug.id))
    failed = [r.id for r in results if r.failed]
    return BugTrial(
        bug=bug.key,
        variant=found.mutant.number,
        title=bug.title,
        lost=round(sum(r.max_score - r.score for r in results), 4),
        failed=tuple(failed),
        own=bool(own & set(failed)),
        named=named,
        right=bug.id in named,
        alike=len(_alike(runner, found, bug.target)),
    )


def _try_pair(
    runner: MutantRunner, first: Mutant, second: Mutant, pairs: Mapping[str, Suspects]
) -> PairReport | None:
    """Return how a pair was reported, None where the two cannot be made together."""
    text = compose(first, second, runner.source)
    if text is None:
        return None
    target = first.bug.target
    try:
        both_made = replace(first, source=text)
        found = runner.examine(both_made, [runner.exercise.target(target)], bugs=False)
    except CourseError:
        return None
    named = set(_named(runner, found, target, pairs))
    both = {first.bug.id, second.bug.id}
    if both <= named:
        return PairReport.NAMED
    if not named:
        return PairReport.AMBIGUOUS
    return PairReport.MASKED if named & both else PairReport.ANOTHER


def _alike(runner: MutantRunner, found: Finding, target: str) -> set[str]:
    """The identifiers of all bugs whose answers cannot be told from these."""
    seen = found.signatures[target]
    matching = runner.key.suspects[target].matching(seen, STRICT)
    return {runner.key.book.by_key(name).id for (name,), _ in matching}


def _named(
    runner: MutantRunner, found: Finding, target: str, pairs: Mapping[str, Suspects]
) -> tuple[str, ...]:
    diagnosis = diagnose(
        found.evidences[target], found.results[target], runner.key.suspects, lambda: pairs
    )
    return diagnosis.bugs if diagnosis else ()
