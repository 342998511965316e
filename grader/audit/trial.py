"""Tries every known bug, alone and two at a time, on the checks and on the diagnosis.

Runs in a builder, next to the solutions.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from grader.compare.diagnosis import LISTED, STRICT, count_behaviours, diagnose
from grader.compare.signature import Suspects, value_rows
from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.key.build_bugs import Finding, Lab, affected
from grader.key.store import AnswerKey
from grader.records import Status

# how a pair is reported: by both names; as one of too many; by the one that hides the other, for
# together they are that one; or by another bug's name, for together they are that
PAIR_WORDS = ("named", "ambiguous", "masked", "another")


def audit_exercise(
    folder: CourseFolder,
    exercise: Exercise,
    source: str,
    key: AnswerKey,
    pairs: Mapping[str, Suspects],
) -> dict[str, Any]:
    """Return plain data: a row a bug and variant, and counts of pairs."""
    lab = Lab(folder, exercise, key)
    mutants = [
        mutant
        for bug in load_bugs(folder, exercise, source)
        for mutant in mutants_of(folder, exercise, bug, source)
    ]
    bugs = [_try_bug(lab, mutant, pairs) for mutant in mutants]
    tried = [
        _try_pair(lab, first, second, source, pairs)
        for first, second in combinations([m for m in mutants if not m.number], 2)
        if first.bug.target == second.bug.target and not _both_shown(lab, first, second)
    ]
    for target, some in pairs.items():
        tried += _try_shown_pairs(lab, target, some)
    counts = {word: tried.count(word) for word in PAIR_WORDS}
    return {"bugs": bugs, "pairs": counts}


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


def _try_bug(lab: Lab, mutant: Mutant, pairs: Mapping[str, Suspects]) -> dict[str, Any]:
    bug = mutant.bug
    found = lab.examine(mutant, affected(lab.exercise, bug.target))
    results = [result for some in found.results.values() for result in some]
    named = _named(lab, found, bug.target, pairs)
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
        found = lab.examine(replace(first, source=text), [lab.exercise.target(target)])
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
