"""What a report on hidden cases tells: statuses and points, and words that public cases gave.

Whatever a run on hidden cases says could carry hidden inputs: a submission chooses the line that
it fails on, the exception's type, and which known mistake it looks like. So of that run nothing
counts but each check's status. All words come of a run on the public cases, which everybody has,
in children that never saw a hidden one.
"""

from dataclasses import replace

from grader.records.results import CheckResult, ExerciseResult, Status

# by what a check came to on hidden cases, where the public ones tell nothing of it
_MESSAGES = {
    Status.FAILED: "it is right on the public cases, and wrong on hidden ones",
    Status.TIMEOUT: "it does not finish on the hidden cases",
    Status.SKIPPED: "it counts once what it rests on is right on the hidden cases",
}
_STEP = "look for what fits the public cases alone: a fixed size, a fixed number, a sign of values"


def without_words(check: CheckResult) -> CheckResult:
    """Return nothing of a check but its status and its points."""
    silent = CheckResult(check.id, check.status, check.score, check.max_score)
    message = _MESSAGES.get(check.status, "")
    return replace(silent, message=message, next_step=_STEP if message else "")


def in_public_words(hidden: ExerciseResult, public: ExerciseResult) -> ExerciseResult:
    """Return a result on hidden cases, told in the words of the same work's on public cases."""
    told = {check.id: check for check in public.checks}
    checks = tuple(_worded(check, told.get(check.id)) for check in hidden.checks)
    wrong = {check.target for check in checks if check.status is not Status.PASSED}
    return replace(
        hidden,
        checks=checks,
        diagnoses=tuple(one for one in public.diagnoses if one.target in wrong),
        notes=public.notes,
    )


def _worded(hidden: CheckResult, public: CheckResult | None) -> CheckResult:
    if public is None or public.status is not hidden.status:
        return hidden
    return replace(public, score=hidden.score, max_score=hidden.max_score)
