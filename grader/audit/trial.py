"""Tries every known bug, alone and two at a time, on the checks and on the diagnosis.

Runs in a builder, next to the solutions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from grader.compare.diagnosis import LISTED, STRICT, count_behaviours, diagnose
from grader.compare.signature import Suspects, value_rows
from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.errors import CourseError
from grader.key.build_bugs import Finding, Lab, affected
from grader.records import Status

# how a pair is reported: by both names; as one of too many; by the one that hides the other, for
# together they are that one; or by another bug's name, for together they are that
PAIR_WORDS = ("named", "ambiguous", "masked", "another")


def try_bugs(lab: Lab, source: str) -> list[dict[str, Any]]:
    """Run every known bug and return plain data, a row a bug and variant."""
    return [
        _row(lab, mutant, lab.examine(mutant, affected(lab.exercise, mutant.bug.target)))
        for mutant in _mutants(lab, source)
    ]


def try_findings(lab: Lab, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the rows of bugs that ran before the key knew them, without another run."""
    rows = []
    for found in findings:
        targets = affected(lab.exercise, found.mutant.bug.target)
        judged = lab.judge(found.mutant, targets, found.answers, found.answers32)
        rows.append(_row(lab, found.mutant, judged))
    return rows


def try_pairs(lab: Lab, source: str, pairs: Mapping[str, Suspects]) -> dict[str, int]:
    """Return how many pairs of bugs are reported in which way."""
    mutants = [mutant for mutant in _mutants(lab, source) if not mutant.number]
    tried = [
        _try_pair(lab, first, second, source, pairs)
        for first, second in combinations(mutants, 2)
        if first.bug.target == second.bug.target and not _both_shown(lab, first, second)
    ]
    for target, some in pairs.items():
        tried += _try_shown_pairs(lab, target, some)
    return {word: tried.count(word) for word in PAIR_WORDS}


def _mutants(lab: Lab, source: str) -> list[Mutant]:
    return [
        mutant
        for bug in load_bugs(lab.folder, lab.exercise, source)
        for mutant in mutants_of(lab.folder, lab.exercise, bug, source)
    ]


def _both_shown(lab: Lab, first: Mutant, second: Mutant) -> bool:
    return all(lab.key.book.by_key(m.bug.key).shown_by_values for m in (first, second))


def _try_shown_pairs(lab: Lab, target: str, pairs: Suspects) -> list[str]:
    """Return how each pair that values show would be reported, from the signatures alone."""
    rows = value_rows(lab.key.plan.of_target(target))
    singles = lab.key.suspects[target].of_values(rows)
    words = []
    for index, names in enumerate(pairs.names):
        seen = pairs.signature(index)
        alone = {one for (one,), _ in singles.matching(seen, STRICT)}
        alike = {some for some, _ in pairs.matching(seen, STRICT)}
        if alone:
            words.append("masked" if alone & set(names) else "another")
        else:
            few = count_behaviours(lab.key.suspects.values(), alike) <= LISTED
            words.append("named" if few else "ambiguous")
    return words


def _row(lab: Lab, mutant: Mutant, found: Finding) -> dict[str, Any]:
    bug = mutant.bug
    results = [result for some in found.results.values() for result in some]
    named = _named(lab, found, bug.target, {})  # a bug by itself looks like no pair
    known = lab.key.book.by_key(bug.key)
    own = {f"{lab.exercise.id}/{bug.target}/bug/{bug.id}"} if known.shown_by_values else set()
    own |= {p.removeprefix("check ") for p in known.proofs if p.startswith("check ")}
    failed = [r.id for r in results if r.status in (Status.FAILED, Status.TIMEOUT)]
    return {
        "bug": bug.key,
        "variant": mutant.number,
        "title": bug.title,
        "lost": round(sum(r.max_score - r.score for r in results), 4),
        "failed": failed,
        "own": bool(own & set(failed)),
        "named": list(named),
        "right": bug.id in named,
        "alike": len(_alike(lab, found, bug.target)),
    }


def _try_pair(
    lab: Lab, first: Mutant, second: Mutant, source: str, pairs: Mapping[str, Suspects]
) -> str:
    """Return how a pair was reported; "" where the two cannot be made together."""
    text = compose(first, second, source)
    if text is None or not first.edits or not second.edits:
        return ""
    target = first.bug.target
    try:
        both_made = replace(first, source=text)
        found = lab.examine(both_made, [lab.exercise.target(target)], bugs=False)
    except CourseError:
        return ""
    named = set(_named(lab, found, target, pairs))
    both = {first.bug.id, second.bug.id}
    if both <= named:
        return "named"
    return "masked" if named & both else "ambiguous" if not named else "another"


def _alike(lab: Lab, found: Finding, target: str) -> set[str]:
    """The identifiers of all bugs whose answers cannot be told from these."""
    seen = found.signatures[target]
    matching = lab.key.suspects[target].matching(seen, STRICT)
    return {lab.key.book.by_key(name).id for (name,), _ in matching}


def _named(lab: Lab, found: Finding, target: str, pairs: Mapping[str, Suspects]) -> tuple[str, ...]:
    diagnosis = diagnose(
        found.evidences[target], found.results[target], lab.key.suspects, lambda: pairs
    )
    return diagnosis.bugs if diagnosis else ()
