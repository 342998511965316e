"""Tries every known bug, alone and two at a time, on the checks and on the diagnosis.

Runs in a builder, next to the solutions.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

from grader.compare.diagnosis import diagnose
from grader.compare.signature import Suspects
from grader.course.bugs import Mutant, compose, load_bugs, mutants_of
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.key.build_bugs import Finding, Lab, affected
from grader.key.store import AnswerKey
from grader.records import Status


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
    firsts = [m for m in mutants if not m.number]
    tried = [
        _try_pair(lab, first, second, source, pairs)
        for first, second in combinations(firsts, 2)
        if first.bug.target == second.bug.target
    ]
    counts = {word: tried.count(word) for word in ("named", "ambiguous", "masked", "unnamed")}
    return {"bugs": bugs, "pairs": counts}


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
    return "masked" if named & both else "ambiguous" if not named else "unnamed"


def _named(lab: Lab, found: Finding, target: str, pairs: Mapping[str, Suspects]) -> tuple[str, ...]:
    diagnosis = diagnose(
        found.evidences[target], found.results[target], lab.key.suspects, lambda: pairs
    )
    return diagnosis.bugs if diagnosis else ()
