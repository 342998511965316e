"""Grades one submission: runs it, compares, and adds up. Plain data in, plain data out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grader.checks.judge import check_target, list_checks, name_causes, point_to_hint
from grader.compare.diagnosis import diagnose, first_wrong_call, located
from grader.compare.evidence import Evidence
from grader.compare.outcomes import note_uncompared
from grader.compare.steps import find_progress
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.course.shipped import read_standins
from grader.execute.launch import WarmProcess
from grader.execute.session import Job, SharedChild, Units
from grader.grading.rounds import Rounds
from grader.handin.forbidden import find_forbidden
from grader.handin.read import Source, Submission
from grader.records.calls import PUBLIC
from grader.records.key import AnswerKey
from grader.records.results import CheckResult, Diagnosis, ExerciseResult, Kind, Status
from grader.records.signatures import Suspects
from grader.records.text import clean
from grader.worker.loading import STANDIN_LABEL
from grader.worker.protocol import Earlier


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
    """A graded exercise, with what stands behind the result: nothing where no file was read."""

    result: ExerciseResult
    evidence: Mapping[str, Evidence] = field(default_factory=dict)  # by target
    jobs: Mapping[Earlier, Job] = field(default_factory=dict)  # by what earlier exercises are


@np.errstate(all="ignore")  # what a submission returns may overflow anything made of it
def run_exercise(
    folder: CourseFolder,
    exercise: Exercise,
    key: AnswerKey,
    standins: Standins,
    submission: Submission,
    warm: WarmProcess,
    pairs: Callable[[], Mapping[str, Suspects]],
    kept: SharedChild | None,
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
    rounds = Rounds(folder.course, key, warm, jobs)
    rounds.run(kept)
    answers = rounds.answers
    evidence = {}
    for target in exercise.targets:
        greeting = rounds.firsts[target.earlier].greeting
        evidence[target.name] = Evidence(
            folder.course,
            exercise,
            target,
            key,
            source,
            answers,
            rounds.answers32,
            greeting,
            forbidden,
        )
    judged = [_judge(evidence[t.name], rounds, pairs, quick=quick) for t in exercise.targets]
    hidden = key.plan.split != PUBLIC
    shown = "" if hidden else rounds.output.decode(errors="replace")
    found = [check for one in judged for check in one.checks]
    checks = name_causes(found, lambda name: exercise.target(name).uses)
    return Run(_sum_up(exercise, source, checks, judged, shown), evidence, jobs)


@dataclass(frozen=True)
class _Judged:
    """What the answers of one target come to."""

    checks: Sequence[CheckResult]
    diagnosis: Diagnosis | None
    notes: Sequence[str]


def _judge(
    evidence: Evidence,
    rounds: Rounds,
    pairs: Callable[[], Mapping[str, Suspects]],
    *,
    quick: bool,
) -> _Judged:
    results = check_target(evidence)
    if not quick:
        from grader.grading.shrink import shrunk  # Hypothesis, which a class does not need

        job = rounds.jobs[evidence.target.earlier]
        results = [shrunk(evidence, r, rounds.warm, job) for r in results]
    found = diagnose(evidence, results, evidence.key.suspects, pairs)
    checks = point_to_hint(results) if found else results
    found = found or _locate(evidence, results, rounds)
    return _Judged(checks, found, note_uncompared(evidence))


def _locate(evidence: Evidence, results: Sequence[CheckResult], rounds: Rounds) -> Diagnosis | None:
    """For what no known bug explains: find the first step that went wrong."""
    call = first_wrong_call(evidence)
    numeric = [r for r in results if r.kind is Kind.NUMERIC and r.status is Status.FAILED]
    if call is None or not numeric or not evidence.target.steps:
        return None
    progress = find_progress(evidence, call, rounds.record(call))
    return located(evidence, progress) if progress else None


def job_kinds(key: AnswerKey) -> list[Earlier]:
    """Return what imports of earlier exercises find, a child each: stand-ins come first."""
    return sorted({call.earlier for call in key.plan.calls}, reverse=True)


def job_of(
    folder: CourseFolder,
    exercise: Exercise,
    kind: Earlier,
    standins: Standins,
    submission: Submission,
) -> Job:
    """Return what a child runs for some targets of an exercise."""
    before = folder.course.earlier(exercise)
    source = submission.source(exercise)
    earlier = standins.earlier(before)
    own: dict[str, Units] = {}
    if any(target.earlier is Earlier.OWN for target in exercise.targets):
        own = {
            e.stem: submission.source(e).units for e in before if not submission.source(e).problem
        }
    return Job(
        exercise.stem,
        source.units,
        source.notebook,
        own if kind is Earlier.OWN else earlier,
        own,
        exercise.forbids,
    )


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
