"""Tries every known bug, alone and two at a time, on the checks and on the diagnosis.

Runs in a builder, next to the solutions.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from grader.audit.records import BugTrial, PairReport
from grader.compare.diagnosis import LISTED, STRICT, count_behaviours, diagnose
from grader.compare.signature import value_rows
from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.errors import CourseError
from grader.key.build_bugs import BuiltKey, Finding, MutantRunner, affected
from grader.records.ids import CheckId, Kind
from grader.records.key import CheckProof
from grader.records.signatures import Suspects


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


def try_pairs(runner: MutantRunner, pairs: Mapping[str, Suspects]) -> Counter[PairReport]:
    """Count the pairs of bugs by how they are reported."""
    mutants = [mutant for mutant in _mutants(runner) if not mutant.number]
    tried = [
        report
        for first, second in combinations(mutants, 2)
        if first.bug.target == second.bug.target
        and not _both_shown(runner, first, second)
        and (report := _try_pair(runner, first, second, pairs)) is not None
    ]
    for target, some in pairs.items():
        tried += _try_shown_pairs(runner, target, some)
    return Counter(tried)


def _mutants(runner: MutantRunner) -> list[Mutant]:
    return [
        mutant
        for bug in load_bugs(runner.folder, runner.exercise, runner.source)
        for mutant in mutants_of(runner.folder, runner.exercise, bug, runner.source)
    ]


def _both_shown(runner: MutantRunner, first: Mutant, second: Mutant) -> bool:
    return all(runner.key.book.by_key(m.bug.key).shown_by_values for m in (first, second))


def _try_shown_pairs(runner: MutantRunner, target: str, pairs: Suspects) -> list[PairReport]:
    """Return how each pair that values show would be reported, from the signatures alone."""
    rows = value_rows(runner.key.plan.of_target(target))
    singles = runner.key.suspects[target].of_values(rows)
    reports = []
    for index, names in enumerate(pairs.names):
        seen = pairs.signature(index)
        alone = {one for (one,), _ in singles.matching(seen, STRICT)}
        alike = {some for some, _ in pairs.matching(seen, STRICT)}
        if alone:
            reports.append(PairReport.MASKED if alone & set(names) else PairReport.ANOTHER)
        else:
            few = count_behaviours(runner.key.suspects.values(), alike) <= LISTED
            reports.append(PairReport.NAMED if few else PairReport.AMBIGUOUS)
    return reports


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
    if text is None or not first.edits or not second.edits:
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
