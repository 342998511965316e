"""What a report on hidden cases tells: what passed, and words that public cases gave.

Whatever a run on hidden cases says could carry hidden inputs: a submission chooses the line that
it fails on, the exception's type, whether it hangs, and which known mistake it looks like. So of
that run nothing counts but which checks passed. All words come of a run on the public cases, which
everybody has, in children that never saw a hidden one.
"""

from collections.abc import Iterable
from dataclasses import replace

from grader.records.results import CheckResult, ExerciseResult, Status

_MESSAGE = "it is right on the public cases, and not on hidden ones"
_STEP = "look for what fits the public cases alone: a fixed size, a fixed number, a sign of values"
_SLOW = "on hidden cases it does not always finish in time"


def without_words(result: ExerciseResult) -> ExerciseResult:
    """Return nothing of a result but which checks passed, and whether something took too long.

    A timeout may be the machine's fault, so it is told: once, for one of each check would be a word
    to choose.
    """
    slow = any(check.status is Status.TIMEOUT for check in result.checks)
    notes = (*result.notes, _SLOW) if slow else result.notes
    return with_checks(replace(result, notes=notes), map(_silent, result.checks))


def in_public_words(hidden: ExerciseResult, public: ExerciseResult) -> ExerciseResult:
    """Return a result on hidden cases, told in the words of the same work's on public cases."""
    told = {check.id: check for check in public.checks}
    result = with_checks(hidden, (_worded(check, told.get(check.id)) for check in hidden.checks))
    wrong = {check.target for check in result.checks if check.status is not Status.PASSED}
    return replace(
        result,
        diagnoses=tuple(one for one in public.diagnoses if one.target in wrong),
        notes=tuple(dict.fromkeys((*public.notes, *hidden.notes))),
        beside=public.beside,
    )


def with_checks(result: ExerciseResult, checks: Iterable[CheckResult]) -> ExerciseResult:
    """Return a result with other checks in the place of its own, and the status that follows."""
    made = tuple(checks)
    return replace(result, checks=made, status=Status.worst(check.status for check in made))


def _silent(check: CheckResult) -> CheckResult:
    bare = CheckResult(check.id, check.status, check.score, check.max_score)
    if check.waits:
        return check  # it says the same of all
    if check.status in (Status.PASSED, Status.ERROR):
        return bare
    return replace(bare, status=Status.FAILED, message=_MESSAGE, next_step=_STEP)


def _worded(hidden: CheckResult, public: CheckResult | None) -> CheckResult:
    """Return a check in public words, where it passed or failed on both kinds of cases."""
    if public is None or public.waits or Status.ERROR in (hidden.status, public.status):
        return hidden
    if (hidden.status is Status.PASSED) is not (public.status is Status.PASSED):
        return hidden
    return replace(public, score=hidden.score, max_score=hidden.max_score)
