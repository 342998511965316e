"""Grades one submission: runs it, compares, and adds up. Plain data in, plain data out."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grader.bundle import read_standins
from grader.compare.checks import check_target, name_causes, point_to_hint
from grader.compare.diagnosis import diagnose, first_wrong_call, located
from grader.compare.evidence import Evidence, clean
from grader.compare.forbidden import find_forbidden
from grader.compare.outcomes import note_uncompared
from grader.compare.retry import agrees, calls_to_mix, calls_to_retry
from grader.compare.signature import Suspects
from grader.compare.steps import find_progress
from grader.course.load import CourseFolder
from grader.course.models import Course, Exercise, Limits
from grader.execute.answers import Answer
from grader.execute.launch import WarmProcess
from grader.execute.session import Collected, Job, Kept, Units, collect
from grader.key.store import AnswerKey
from grader.plan.records import PUBLIC, Call
from grader.records import CheckResult, Diagnosis, ExerciseResult, Kind, Status
from grader.submission import Source, Submission
from grader.worker.loading import STANDIN_LABEL


@dataclass(frozen=True)
class Standins:
    """The correct replacements that later exercises import, by file stem."""

    sources: Mapping[str, str]

    @staticmethod
    def of(folder: CourseFolder) -> "Standins":
        """Read a course's stand-ins."""
        return Standins(read_standins(folder))

    def earlier(self, exercises: Iterable[Exercise]) -> dict[str, Units]:
        """Return the units that importing these exercises runs."""
        return {
            e.stem: [(f"{STANDIN_LABEL}{e.stem}", self.sources[e.stem])]
            for e in exercises
            if e.stem in self.sources
        }


@dataclass(frozen=True)
class Run:
    """A graded exercise, with the answers behind the result."""

    result: ExerciseResult
    answers: Mapping[str, Answer] = field(default_factory=dict)
    answers32: Mapping[str, Answer] = field(default_factory=dict)


@np.errstate(all="ignore")  # what a submission returns may overflow anything made of it
def run_exercise(
    folder: CourseFolder,
    exercise: Exercise,
    key: AnswerKey,
    standins: Standins,
    submission: Submission,
    warm: WarmProcess,
    pairs: Callable[[], Mapping[str, Suspects]],
    kept: Kept | None,
    *,
    quick: bool = False,
) -> Run:
    """Grade one exercise of a submission.

    `pairs` gives the signatures of two bugs at once; they are asked for on first need. `kept` has
    the child of the exercise before, if it is of use, and gets that of this one. `quick` leaves out
    the search for the smallest input that breaks a property; verdicts are the same.
    """
    source = submission.source(exercise)
    if source.problem:
        return Run(_without_file(folder, exercise, key, source))
    forbidden = find_forbidden(source, exercise.forbids, [t.name for t in exercise.targets])
    jobs = {kind: job_of(folder, exercise, kind, standins, submission) for kind in job_kinds(key)}
    firsts, end = _collect(warm, jobs, key, folder.course.limits, kept)
    runs: dict[str, tuple[Collected, Collected]] = {}
    for kind, job in jobs.items():
        jobs[kind], runs[kind] = _again(warm, job, key, folder, kind, firsts[kind], end)
    answers = {k: a for first, _ in runs.values() for k, a in first.answers.items()}
    answers32 = {k: a for _, again in runs.values() for k, a in again.answers.items()}
    judged = []
    for target in exercise.targets:
        greeting = runs[target.earlier][0].greeting
        evidence = Evidence(
            folder.course, exercise, target, key, source, answers, answers32, greeting, forbidden
        )
        judged.append(_judge(evidence, jobs[target.earlier], warm, pairs, end, quick=quick))
    hidden = key.plan.split != PUBLIC
    output = b"".join(collected.output for collected, _ in runs.values())
    shown = "" if hidden else output.decode(errors="replace")
    found = [check for one in judged for check in one.checks]
    checks = name_causes(found, lambda name: exercise.target(name).uses)
    return Run(_sum_up(exercise, source, checks, judged, shown), answers, answers32)


@dataclass(frozen=True)
class _Judged:
    """What the answers of one target come to."""

    checks: Sequence[CheckResult]
    diagnosis: Diagnosis | None
    notes: Sequence[str]


def _judge(
    evidence: Evidence,
    job: Job,
    warm: WarmProcess,
    pairs: Callable[[], Mapping[str, Suspects]],
    end: float,
    *,
    quick: bool,
) -> _Judged:
    results = check_target(evidence)
    if not quick:
        from grader.shrink import shrunk  # Hypothesis, which a class does not need

        results = [shrunk(evidence, r, warm, job) for r in results]
    found = diagnose(evidence, results, evidence.key.suspects, pairs)
    checks = point_to_hint(results) if found else results
    found = found or _locate(evidence, results, warm, job, end)
    return _Judged(checks, found, note_uncompared(evidence))


def job_kinds(key: AnswerKey) -> list[str]:
    """Return what imports of earlier exercises find, a child each: stand-ins come first."""
    return sorted({call.earlier for call in key.plan.calls}, reverse=True)


def job_of(
    folder: CourseFolder,
    exercise: Exercise,
    kind: str,
    standins: Standins,
    submission: Submission,
) -> Job:
    """Return what a child runs for some targets of an exercise."""
    before = folder.course.earlier(exercise)
    source = submission.source(exercise)
    earlier = standins.earlier(before)
    own: dict[str, Units] = {}
    if any(target.earlier == "own" for target in exercise.targets):
        own = {
            e.stem: submission.source(e).units for e in before if not submission.source(e).problem
        }
    return Job(
        exercise.stem,
        source.units,
        source.notebook,
        own if kind == "own" else earlier,
        own,
        exercise.forbids,
    )


def _calls(key: AnswerKey, kind: str) -> list[Call]:
    return [call for call in key.plan.calls if call.earlier == kind]


def _collect(
    warm: WarmProcess, jobs: Mapping[str, Job], key: AnswerKey, limits: Limits, kept: Kept | None
) -> tuple[dict[str, Collected], float]:
    """Make every call, by kind; tells, too, when all that follows has to end."""
    begun = time.monotonic()
    tried: dict[str, Collected | None] = {}
    if kept is not None:
        for kind, job in jobs.items():
            tried[kind] = kept.collect(job, _calls(key, kind), key.payload, limits)
    if not any(tried.values()):
        begun = time.monotonic()  # what was tried in vain costs no time
    end = begun + limits.submission_seconds
    return {
        kind: tried.get(kind)
        or collect(warm, job, _calls(key, kind), key.payload, limits, end=end, kept=kept)
        for kind, job in jobs.items()
    }, end


def _again(
    warm: WarmProcess,
    job: Job,
    key: AnswerKey,
    folder: CourseFolder,
    kind: str,
    first: Collected,
    end: float,
) -> tuple[Job, tuple[Collected, Collected]]:
    """Make calls again: in float32 those of targets that may insist on it.

    Where the rows of fused layers are found to lie in another order, all are made anew; the job
    that is returned tells it.
    """
    limits = folder.course.limits
    mixing = _mixing(warm, job, key, folder, first, end)
    if mixing:
        job = replace(job, mixing=mixing)
        first = collect(warm, job, _calls(key, kind), key.payload, limits, "float64", end=end)
    retried = calls_to_retry(key, first.answers)
    again = [call for call in retried if call.earlier == kind]
    if not again:
        return job, (first, Collected())
    return job, (first, collect(warm, job, again, key.payload, limits, "float32", end=end))


def _mixing(
    warm: WarmProcess, job: Job, key: AnswerKey, folder: CourseFolder, first: Collected, end: float
) -> int:
    """Return the order of a fused layer's rows in which the values are right, 0 where none is."""
    limits, tolerances = folder.course.limits, folder.course.tolerances
    calls = calls_to_mix(key, first.answers, tolerances)
    for mixing in range(
        1, 1 + max((first.answers[call.id].info.mixes for call in calls), default=0)
    ):
        tried = replace(job, mixing=mixing)
        answers = collect(warm, tried, calls, key.payload, limits, end=end).answers
        if all(agrees(call, key, answers, tolerances) for call in calls):
            return mixing
    return 0


def _locate(
    evidence: Evidence,
    results: Sequence[CheckResult],
    warm: WarmProcess,
    job: Job,
    end: float,
) -> Diagnosis | None:
    """For what no known bug explains: run once more, and find the first step that went wrong."""
    call = first_wrong_call(evidence)
    numeric = [r for r in results if r.kind is Kind.NUMERIC and r.status is Status.FAILED]
    if call is None or not numeric or not evidence.target.steps:
        return None
    record = replace(call, action="record", watch=False)
    limits = evidence.course.limits
    answers = collect(warm, job, [record], evidence.key.payload, limits, end=end).answers
    progress = find_progress(evidence, call, answers[call.id])
    return located(evidence, progress) if progress else None


def list_checks(course: Course, exercise: Exercise, key: AnswerKey) -> list[CheckResult]:
    """Return every check of an exercise with its points, none of them run."""
    checks = []
    for target in exercise.targets:
        points = target.points
        properties = course.properties(exercise, target)
        parts = [
            ("shape", points.shape),
            ("numeric", points.numeric),
            ("gradient", points.gradient),
        ]
        parts += [(f"property/{p.name}", points.property / len(properties)) for p in properties]
        bugs = key.book.checked(target.name)
        parts += [(f"bug/{bug.id}", points.bug / len(bugs)) for bug in bugs]
        checks += [
            CheckResult(
                id=f"{exercise.id}/{target.name}/{name}",
                kind=Kind(name.partition("/")[0]),
                target=target.name,
                status=Status.SKIPPED,
                score=0.0,
                max_score=round(worth, 6),
            )
            for name, worth in parts
            if worth
        ]
    return checks


def _without_file(
    folder: CourseFolder, exercise: Exercise, key: AnswerKey, source: Source
) -> ExerciseResult:
    """All checks failed for the one reason that the file cannot be graded."""
    listed = list_checks(folder.course, exercise, key)
    why, step = source.problem, source.next_step
    checks = [replace(c, status=Status.FAILED, message=why, next_step=step) for c in listed]
    return _sum_up(exercise, source, checks)


def _sum_up(
    exercise: Exercise,
    source: Source,
    checks: Sequence[CheckResult],
    judged: Sequence[_Judged] = (),
    output: str = "",
) -> ExerciseResult:
    return ExerciseResult(
        exercise=exercise.id,
        title=exercise.title,
        status=Status.worst(check.status for check in checks),
        score=round(sum(check.score for check in checks), 2),
        max_score=round(sum(check.max_score for check in checks), 2),
        checks=tuple(checks),
        diagnoses=tuple(one.diagnosis for one in judged if one.diagnosis),
        notes=(*source.notes, *(note for one in judged for note in one.notes)),
        output="\n".join(clean(line, 200) for line in output.splitlines()[:40]),
    )
