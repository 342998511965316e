"""Grades one submission: runs it, compares, and adds up. Plain data in, plain data out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from grader.checks.deviations import Deviation, calls_to_try, find_deviations, look_aside, tell
from grader.checks.judge import (
    check_target,
    is_of_values,
    list_checks,
    name_causes,
    point_to_hint,
)
from grader.compare.diagnosis import Aside, checks_failed_by, diagnose
from grader.compare.evidence import Evidence
from grader.compare.known_partly import known_partly
from grader.compare.known_steps import known_step
from grader.compare.known_structure import known_structure
from grader.compare.retry import same_outputs
from grader.compare.signature import step_calls
from grader.compare.steps import calls_to_record, find_steps
from grader.compare.wording import drawn, first_wrong_call, located
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.execute.launch import WarmProcess
from grader.execute.session import Shared
from grader.grading.arrangements import shown_guesses
from grader.grading.discretion import without_words
from grader.grading.jobs import Standins, job_kinds, job_of
from grader.grading.notes import notes_of
from grader.grading.rounds import Rounds
from grader.handin.forbidden import find_forbidden
from grader.handin.read import Source, Submission
from grader.handin.syntax import names_used
from grader.records.answers import AnswerStatus
from grader.records.calls import PLAIN, PUBLIC
from grader.records.ids import BIASES
from grader.records.key import AnswerKey
from grader.records.results import (
    RIGHT_PLAIN,
    RIGHT_USUAL,
    RIGHT_VALUES,
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Kind,
    Status,
)
from grader.records.signatures import Suspects
from grader.records.text import clean


@dataclass(frozen=True)
class Run:
    """A graded exercise, with what stands behind the result: nothing where no file was read."""

    result: ExerciseResult  # on hidden cases without a word, see `discretion`
    evidence: Mapping[str, Evidence] = field(default_factory=dict)  # by target
    rounds: Rounds | None = None
    silent: bool = False  # something is to be told of it, and it says nothing


@np.errstate(all="ignore")  # what a submission returns may overflow anything made of it
def run_exercise(
    folder: CourseFolder,
    exercise: Exercise,
    key: AnswerKey,
    standins: Standins,
    submission: Submission,
    warm: WarmProcess,
    pairs: Callable[[], Mapping[str, Suspects]],
    shared: Shared,
    *,
    quick: bool = False,
    trains: bool = False,
) -> Run:
    """Grade one exercise of a submission; trainings are run where it `trains`.

    `pairs` gives the signatures of two bugs at once; they are asked for on first need. `quick`
    leaves out the search for the smallest input that breaks a property; verdicts are the same.
    """
    limits = folder.course.limits_of(exercise)
    shared.clock.begin(exercise.id, limits)
    source = submission.source(exercise)
    if source.problem:
        return Run(_without_file(folder, exercise, key, source))
    jobs = {kind: job_of(folder, exercise, kind, standins, submission) for kind in job_kinds(key)}
    rounds = Rounds(folder.course, limits, key, warm, jobs, shared.clock, trains)
    rounds.run(shared.child(key.plan.split))
    evidence = _evidence_of(exercise, source, rounds)
    if key.plan.split != PUBLIC:
        return _run_without_words(exercise, source, evidence)
    causes = partial(_causes_of, exercise, source)
    every = [_judge(evidence[t.name], rounds, pairs) for t in exercise.targets]
    judged = _without_echoes(every, causes)
    shown = rounds.output.decode(errors="replace")
    found = [check for one in judged for check in one.checks]
    if not quick:  # last, for on a busy machine it may take all the time that is left
        found = _with_small_inputs(found, evidence, rounds)
    told = {one.evidence.target.name: one.evidence for one in judged}
    checks = name_causes(found, causes, lambda check: is_of_values(told[check.target], check))
    return Run(_sum_up(exercise, source, checks, judged, shown), told, rounds)


def _run_without_words(exercise: Exercise, source: Source, evidence: Mapping[str, Evidence]) -> Run:
    checks = [c for t in exercise.targets for c in check_target(evidence[t.name])]
    result = without_words(_sum_up(exercise, source, checks))
    noted = any(notes_of(one, wrong=False) for one in evidence.values())
    return Run(result, silent=noted or any(c.status is not Status.PASSED for c in checks))


def _evidence_of(exercise: Exercise, source: Source, rounds: Rounds) -> dict[str, Evidence]:
    """Return what the checks of each target look at."""
    answers = rounds.answers
    return {
        target.name: Evidence(
            rounds.course,
            exercise,
            target,
            rounds.key,
            source,
            answers,
            rounds.answers32,
            rounds.firsts[target.earlier].greeting,
            find_forbidden(source, exercise.forbidden_for(target), [target.name]),
        )
        for target in exercise.targets
    }


def _causes_of(exercise: Exercise, source: Source, target: str) -> list[str]:
    """Return the targets that one may use and that its text does name."""
    read = names_used([text for _, text in source.units], target)
    return [other for other in exercise.target(target).uses if other in read]


@dataclass(frozen=True)
class _Judged:
    """What the answers of one target come to."""

    evidence: Evidence  # with the layers taken as they fit best
    checks: Sequence[CheckResult]
    diagnosis: Diagnosis | None
    notes: Sequence[str]


def _without_echoes(
    judged: Sequence[_Judged], causes: Callable[[str], Sequence[str]]
) -> list[_Judged]:
    """Where a target uses one that is wrong, send there first, and leave out where it went wrong.

    What its answers equal may come from either, but for a mistake that both share.
    """
    wrong = {one.evidence.target.name: one.diagnosis for one in judged if _is_wrong(one.checks)}
    told = []
    for one in judged:
        used = [] if one.diagnosis is None else causes(one.diagnosis.target)
        cause = next((target for target in used if target in wrong), "")
        behind = _behind(cause, wrong[cause], one.diagnosis) if cause else one.diagnosis
        told.append(replace(one, diagnosis=behind))
    return told


def _behind(cause: str, first: Diagnosis | None, found: Diagnosis | None) -> Diagnosis | None:
    """Return what is told of a target beside one that it uses and that is wrong."""
    if found is None or not (found.bugs or found.deviations):
        return None
    if first and first.bugs == found.bugs:
        return found
    after = f"Mend `{cause}` first. If this is told again after that: {found.hint}"
    return replace(found, hint=after) if found.hint else found


def _judge(
    evidence: Evidence,
    rounds: Rounds,
    pairs: Callable[[], Mapping[str, Suspects]],
) -> _Judged:
    results = check_target(evidence)
    known = _diagnose(evidence, results, rounds, pairs)
    if known.by_step and (other := _rearranged(evidence, results, rounds)):
        again = _diagnose(other, check_target(other), rounds, pairs)
        if not known.names or again.names:
            evidence, known = other, again
    found = known.diagnosis
    results = _told_by_name(evidence, tell(evidence, known.deviations, results), found)
    checks = point_to_hint(evidence, results) if known.names else results
    return _Judged(evidence, checks, found, notes_of(evidence, wrong=_is_wrong(results)))


def _is_wrong(results: Sequence[CheckResult]) -> bool:
    """Whether values are wrong where no option is given."""
    return any(r.kind is Kind.NUMERIC and not r.id.name and r.failed for r in results)


def _rearranged(
    evidence: Evidence, results: Sequence[CheckResult], rounds: Rounds
) -> Evidence | None:
    """The evidence with layers taken as they fit best, where no name tells which is which.

    None where they are taken so already, or values are right.
    """
    if not _is_wrong(results) or not _is_guessed(evidence) or first_wrong_call(evidence) is None:
        return None
    answers = rounds.arrange_by_steps(evidence.first_call, evidence.target.step_names)
    return None if answers is None else replace(evidence, answers=answers)


def _with_small_inputs(
    results: Sequence[CheckResult], evidence: Mapping[str, Evidence], rounds: Rounds
) -> list[CheckResult]:
    """Return results in which a failed property has the smallest input that shows it."""
    from grader.grading.shrink import shrunk  # Hypothesis, which a class does not need

    with rounds.running():
        return [
            shrunk(own, result, rounds.warm, rounds.jobs[own.target.earlier], rounds.end)
            for result in results
            for own in (evidence[result.target],)
        ]


def _told_by_name(
    evidence: Evidence, results: Sequence[CheckResult], found: Diagnosis | None
) -> list[CheckResult]:
    """Mark that a named mistake says what an option does to shapes."""
    covered = checks_failed_by(evidence.key.suspects, evidence, results, found)
    return [
        replace(r, told=True)
        if r.id in covered and r.failed and r.kind is Kind.SHAPE and r.id.name
        else r
        for r in results
    ]


@dataclass(frozen=True)
class _Known:
    """What is known of a target's mistakes, and the deviations that are told with it."""

    diagnosis: Diagnosis | None
    deviations: Sequence[Deviation] = ()
    by_step: bool = False  # it says how far the code is right: no bug explains it whole

    @property
    def names(self) -> bool:
        """Whether a mistake is named."""
        return self.diagnosis is not None and bool(self.diagnosis.bugs)


def _diagnose(
    evidence: Evidence,
    results: Sequence[CheckResult],
    rounds: Rounds,
    pairs: Callable[[], Mapping[str, Suspects]],
) -> _Known:
    suspects, nothing = evidence.key.suspects, Diagnosis(evidence.target.name, (), "", "")
    if all(r.status is Status.PASSED for r in results):
        return _Known(None)
    known = diagnose(evidence, results, suspects, pairs, whole=True)
    covered = checks_failed_by(suspects, evidence, results, known)
    rest = {r.id for r in results if r.failed and r.kind is not Kind.BUG} - covered
    if known and _is_wrong(results) and not rest:
        return _Known(known)  # it explains all there is
    tries = calls_to_try(evidence, results)
    tried = rounds.make([one.call for some in tries.values() for one in some])
    deviations = find_deviations(evidence, results, tries, tried)
    aside = look_aside(evidence, deviations, results)
    told = tuple(deviation.sentence for deviation in deviations)
    if deviations and all(_is_told(r, aside) for r in results):
        values = _where_right(evidence, deviations)
        right = replace(known or nothing, step="", evidence=values, deviations=told, either=())
        return _Known(right, deviations)
    found = diagnose(evidence, results, suspects, pairs, aside)
    if known and (not rest or not found or set(found.bugs) <= set(known.bugs)):
        beside = [d for d in deviations if not d.failed(evidence, results) <= covered]
        return _Known(replace(known, deviations=tuple(d.sentence for d in beside)), beside)
    seen = found or _locate(evidence, results, rounds, pairs, aside)
    said = replace(seen or nothing, deviations=told)
    return _Known(said if seen or told else None, deviations, by_step=found is None)


def _where_right(evidence: Evidence, deviations: Sequence[Deviation]) -> str:
    """Say where values are right beside deviations that leave them so in ordinary cases."""
    groups = {group for d in deviations for group in d.groups} - {BIASES}
    cases = evidence.key.plan.numeric_cases(evidence.target.name)
    edges = {case.group for case in cases if case.group in groups and not case.gives}
    return RIGHT_USUAL if edges else RIGHT_PLAIN if groups else RIGHT_VALUES


def _is_told(result: CheckResult, aside: Aside) -> bool:
    """Whether a check fails for nothing but deviations, if it fails."""
    return not result.failed or result.id in aside.checks


def _locate(
    evidence: Evidence,
    results: Sequence[CheckResult],
    rounds: Rounds,
    pairs: Callable[[], Mapping[str, Suspects]],
    aside: Aside,
) -> Diagnosis | None:
    """For what no known bug explains whole: name one by a step, a structure or some cases."""
    located = _first_wrong(evidence, results, rounds)
    if located and located.bugs:
        return located
    by_structure = known_structure(evidence, pairs, aside)
    by_cases = by_structure or known_partly(evidence, pairs, aside, located)
    return by_cases or _drawn(evidence, rounds) or located


def _drawn(evidence: Evidence, rounds: Rounds) -> Diagnosis | None:
    """Say that a wrong output is drawn at random, if a second call makes another one."""
    call = first_wrong_call(evidence)
    if call is None or same_outputs(evidence.answers[call.id], rounds.draw_again(call)):
        return None
    return drawn(evidence)


def _first_wrong(
    evidence: Evidence, results: Sequence[CheckResult], rounds: Rounds
) -> Diagnosis | None:
    """Find the first step that went wrong, and its bug where that is known."""
    numeric = [r for r in results if r.kind is Kind.NUMERIC and r.status is Status.FAILED]
    if not numeric or not evidence.target.steps:
        return None
    signed = step_calls(evidence.key.plan, evidence.target.name)
    ended = {evidence.answers[call.id].status for call in signed}
    if first_wrong_call(evidence) is None and AnswerStatus.OK not in ended:
        return None  # nothing is made that could be looked at
    calls = calls_to_record(evidence)
    every = [*signed, *(call for call in calls if call not in signed)]
    recorded = rounds.record(every, rounds.kept)
    guessed = _is_guessed(evidence)
    plain = [call for call in signed if evidence.case(call).group == PLAIN]
    early = find_steps(evidence, {call.id: recorded[call.id] for call in plain})
    if early and (known := known_step(evidence, recorded, early, guessed=guessed)):
        return known
    found = find_steps(evidence, {call.id: recorded[call.id] for call in calls})
    return located(evidence, found) if found and first_wrong_call(evidence) else None


def _is_guessed(evidence: Evidence) -> bool:
    """Whether no name tells which layer, or which rows of one, play a part."""
    call = evidence.first_call
    bound = evidence.answers[call.id].info.bound
    return bool(shown_guesses(call, bound)) or any(len(one.roles) > 1 for one in bound)


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
