"""Grades one submission: runs it, compares, and adds up. Plain data in, plain data out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from grader.checks.deviations import Deviation, acting_beside, look_aside, tell, where_right
from grader.checks.finding import find_deviations, plain_deviations
from grader.checks.judge import (
    check_target,
    is_of_values,
    list_checks,
    name_causes,
    point_to_hint,
)
from grader.checks.told import told_by_name, without_comparisons
from grader.checks.unheard import calls_to_try
from grader.compare.covered import checks_failed_by
from grader.compare.diagnosis import diagnose
from grader.compare.evidence import Evidence
from grader.compare.known_partly import known_partly, known_split
from grader.compare.known_steps import known_step
from grader.compare.known_structure import known_structure
from grader.compare.left_aside import Aside
from grader.compare.lost import astray, led_by_text
from grader.compare.relation import related
from grader.compare.signature import step_calls
from grader.compare.steps import StepsFound, calls_to_record, find_steps
from grader.compare.wording import drawn, first_wrong_call, located
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.execute.clock import Clock
from grader.execute.launch import WarmProcess
from grader.execute.session import Shared
from grader.grading.arrangements import shown_guesses
from grader.grading.discretion import without_words
from grader.grading.echoes import (
    Behind,
    Judged,
    Pairs,
    causes_of,
    is_wrong,
    look_behind,
    may_explain,
    name_earlier,
)
from grader.grading.jobs import Standins, job_kinds, job_of
from grader.grading.notes import notes_of
from grader.grading.parts import Beside, Checked, beside_right_parts
from grader.grading.rounds import Rounds
from grader.handin.read import Source, Submission
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import PLAIN, PUBLIC, Call
from grader.records.key import AnswerKey
from grader.records.results import (
    MOST_PRINTED,
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Kind,
    Status,
)
from grader.records.text import clean, without_folder


@dataclass(frozen=True)
class Run:
    """A graded exercise, with what stands behind the result: nothing where no file was read."""

    result: ExerciseResult  # on hidden cases without a word, see `discretion`
    evidence: Mapping[str, Evidence] = field(default_factory=dict)  # by target
    rounds: Rounds | None = None
    beside: Mapping[str, Beside] = field(default_factory=dict)  # right parts, by target
    silent: bool = False  # something is to be told of it, and it says nothing

    def record(self, calls: Sequence[Call]) -> dict[str, Answer]:
        """Make calls once more, and return every tensor that they made."""
        if self.rounds is None:
            return {}
        made = self.rounds.record([call for call in calls if call.target not in self.beside])
        for target, one in self.beside.items():
            made |= one.rounds.record([call for call in calls if call.target == target])
        return made


@np.errstate(all="ignore")  # what a submission returns may overflow anything made of it
def run_exercise(
    folder: CourseFolder,
    exercise: Exercise,
    key: AnswerKey,
    standins: Standins,
    submission: Submission,
    warm: WarmProcess,
    pairs: Pairs,
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
    if (source := submission.source(exercise)).problem:
        return Run(_without_file(folder, exercise, key, source))
    jobs = {kind: job_of(folder, exercise, kind, standins, submission) for kind in job_kinds(key)}
    uses = {one.name: causes_of(exercise, source, one.name) for one in exercise.targets}
    rounds = Rounds(folder.course, limits, key, warm, jobs, shared.clock, uses, trains)
    rounds.run(shared.child(key.plan.split))
    checked, beside = beside_right_parts(exercise, source, rounds, standins)
    if key.plan.split != PUBLIC:
        return _run_without_words(exercise, source, checked)
    return _run_with_words(exercise, source, checked, rounds, beside, pairs, quick=quick)


def _run_with_words(
    exercise: Exercise,
    source: Source,
    checked: Mapping[str, Checked],
    rounds: Rounds,
    beside: Mapping[str, Beside],
    pairs: Pairs,
    *,
    quick: bool,
) -> Run:
    causes = partial(_causes_of, exercise, source, beside)
    runs = {name: one.rounds for name, one in beside.items()}
    told: dict[str, Judged] = {}
    for name, one in checked.items():
        behind = look_behind(one.evidence, [told[part] for part in causes(name) if part in told])
        told[name] = _judge(behind, one.checks, runs.get(name, rounds), pairs)
    judged = list(told.values())
    shown = rounds.output.decode(errors="replace")
    found = [check for one in judged for check in one.checks]
    if not quick:  # last, for it may take what is left of the submission's time
        first = {name: one.evidence for name, one in checked.items()}
        found = _with_small_inputs(found, first, rounds, runs)
    last = {name: one.evidence for name, one in told.items()}
    of_values = lambda check: is_of_values(last[check.target], check)  # noqa: E731
    checks = name_causes(found, causes, of_values, partial(may_explain, told))
    checks = name_earlier(last, found, checks)
    rounds.clock = Clock(rounds.limits, 1)  # what runs from here on shows, and takes nobody's time
    parts = {name: tuple(one.parts) for name, one in beside.items()}
    result = replace(_sum_up(exercise, source, checks, judged, shown), beside=parts)
    return Run(result, last, rounds, beside)


def _run_without_words(exercise: Exercise, source: Source, checked: Mapping[str, Checked]) -> Run:
    checks = [check for one in checked.values() for check in one.checks]
    result = without_words(_sum_up(exercise, source, checks))
    noted = any(notes_of(one.evidence, wrong=False) for one in checked.values())
    return Run(result, silent=noted or any(c.status is not Status.PASSED for c in checks))


def _causes_of(
    exercise: Exercise, source: Source, beside: Mapping[str, Beside], target: str
) -> list[str]:
    """Return the targets that one uses as the submission wrote them."""
    replaced = beside[target].parts if target in beside else ()
    return [name for name in causes_of(exercise, source, target) if name not in replaced]


def _judge(behind: Behind, results: Sequence[CheckResult], rounds: Rounds, pairs: Pairs) -> Judged:
    evidence = behind.evidence
    known = _diagnose(behind, results, rounds, pairs)
    if known.by_step and (other := _rearranged(evidence, results, rounds)):
        again = _diagnose(replace(behind, evidence=other), check_target(other), rounds, pairs)
        if not known.names or again.names:
            evidence, known = other, again
    found = led_by_text(evidence, known.diagnosis)
    covered = checks_failed_by(evidence, results, found.bugs if found else ())
    results = told_by_name(tell(evidence, known.deviations, results), covered)
    if found and replace(found, deviations=()) == drawn(evidence):
        results = without_comparisons(evidence, results, found.hint)
    if found and found.bugs:
        results = point_to_hint(evidence, results, found, behind.own(found.bugs))
    return Judged(evidence, results, found, notes_of(evidence, wrong=is_wrong(results)))


def _rearranged(
    evidence: Evidence, results: Sequence[CheckResult], rounds: Rounds
) -> Evidence | None:
    """The evidence with layers taken as they fit best, where no name tells which is which.

    None where they are taken so already, or values are right.
    """
    if not is_wrong(results) or not _is_guessed(evidence) or first_wrong_call(evidence) is None:
        return None
    answers = rounds.arrange_by_steps(evidence.first_call, evidence.target.step_names)
    return None if answers is None else replace(evidence, answers=answers)


def _with_small_inputs(
    results: Sequence[CheckResult],
    evidence: Mapping[str, Evidence],
    rounds: Rounds,
    runs: Mapping[str, Rounds],
) -> list[CheckResult]:
    """Return results in which a failed property has the smallest input that shows it.

    The search has a file's time of its own, within the submission's: a busy machine is to tell the
    same. `runs` are those of targets beside right parts.
    """
    from grader.grading.shrink import shrunk  # Hypothesis, which a class does not need

    asked, end = [(evidence[result.target], result) for result in results], rounds.clock.end()
    jobs = {name: runs.get(name, rounds).jobs[own.target.earlier] for name, own in evidence.items()}
    with rounds.clock.running():
        return [shrunk(o, r, rounds.warm, jobs[o.target.name], end) for o, r in asked]


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
    behind: Behind, results: Sequence[CheckResult], rounds: Rounds, pairs: Pairs
) -> _Known:
    evidence, suspects = behind.evidence, behind.evidence.key.suspects
    if all(r.status is Status.PASSED for r in results) or evidence.unwritten:
        return _Known(None)
    plain = plain_deviations(evidence, results)
    if echo := behind.echo(results, pairs, look_aside(evidence, plain, results)):
        return _beside(behind, results, echo, plain)
    nothing = Diagnosis(evidence.target.name, (), "", "")
    unbound = evidence.answers[evidence.first_call.id].status is AnswerStatus.UNBOUND
    if unbound and astray(evidence):  # the check says why nothing fits
        return _Known(_with(nothing, plain) if plain else None, plain)
    said = {check for one in plain for check in one.failed(evidence, results)}
    whole = Aside(said=said, allows=behind.allows, rank=behind.rank)
    known = behind.as_part(diagnose(evidence, results, suspects, pairs, whole, whole=True))
    covered = checks_failed_by(evidence, results, known.bugs if known else ())
    rest = {r.id for r in results if r.failed and r.kind is not Kind.BUG} - covered - said
    biases = any(one.of_biases for one in plain)
    if known and is_wrong(results) and not rest and not biases:
        return _beside(behind, results, known, plain)  # it explains all there is
    tries = calls_to_try(evidence, results)
    tried = rounds.make([one.call for some in tries.values() for one in some])
    deviations = find_deviations(evidence, results, tries, tried)
    aside = look_aside(evidence, deviations, results)
    aside = replace(aside, said=said, allows=behind.allows, rank=behind.rank)
    if deviations and all(_is_told(r, aside) for r in results):
        values = where_right(evidence, deviations)
        right = replace(known or nothing, step="", evidence=values, either=())
        return _Known(_with(right, deviations), deviations)
    found = diagnose(evidence, results, suspects, pairs, aside)
    least = not rest or not found or set(found.bugs) <= set(known.bugs if known else ())
    if known and least and not (biases and found):
        return _beside(behind, results, known, deviations)
    seen = found or _locate(behind, results, rounds, pairs, aside)
    others = acting_beside(evidence, found.bugs if found else (), deviations)
    told = _with(replace(behind.beyond(seen), whole=bool(found)) if seen else nothing, others)
    return _Known(told if seen or deviations else None, deviations, by_step=found is None)


def _with(found: Diagnosis, deviations: Sequence[Deviation]) -> Diagnosis:
    return replace(found, deviations=tuple(dict.fromkeys(one.sentence for one in deviations)))


def _beside(
    behind: Behind,
    results: Sequence[CheckResult],
    known: Diagnosis,
    deviations: Sequence[Deviation],
) -> _Known:
    """A diagnosis that explains all, with the deviations that no value of it shows."""
    evidence = behind.evidence
    ways = [evidence.key.book.by_key(way) for way in known.ways]
    shown = [way.id for way in ways if way.shown_by_values]
    covered = checks_failed_by(evidence, results, shown)
    beyond = acting_beside(evidence, known.bugs, deviations)
    others = [d for d in beyond if not d.failed(evidence, results) <= covered]
    return _Known(_with(behind.beyond(known), others), others)


def _is_told(result: CheckResult, aside: Aside) -> bool:
    """Whether a check fails for nothing but deviations, if it fails."""
    return not result.failed or result.id in aside.checks


def _locate(
    behind: Behind,
    results: Sequence[CheckResult],
    rounds: Rounds,
    pairs: Pairs,
    aside: Aside,
) -> Diagnosis | None:
    """For what no known bug explains whole: name one by a step, a structure or some cases.

    Where what is used spoils the steps in a way that nobody knows, they say nothing.
    """
    evidence = behind.evidence
    if not behind.used and (found := known_split(evidence, pairs, aside)):
        return found
    known = behind.named or not behind.used
    first = _first_wrong(evidence, results, rounds, aside) if known else None
    if isinstance(first, Diagnosis):
        return behind.in_part(first) or first
    by_structure = known_structure(evidence, results, pairs, aside)
    if behind.used:
        # bugs of its own may fit some cases by chance
        found = by_structure or known_partly(evidence, pairs, aside, None)
        return behind.in_part(found) or by_structure
    by_cases = by_structure or known_partly(evidence, pairs, aside, first)
    return by_cases or drawn(evidence) or related(evidence, located(evidence, first))


def _first_wrong(
    evidence: Evidence, results: Sequence[CheckResult], rounds: Rounds, aside: Aside
) -> Diagnosis | StepsFound | None:
    """Find the bug that made the first wrong step, or how far the steps are right."""
    numeric = [r for r in results if r.kind is Kind.NUMERIC and r.status is Status.FAILED]
    if not numeric or not evidence.target.steps:
        return None
    signed = step_calls(evidence.key.plan, evidence.target.name)
    ended = {evidence.answers[call.id].status for call in signed}
    if first_wrong_call(evidence) is None and AnswerStatus.OK not in ended:
        return None  # nothing is made that could be looked at
    calls = calls_to_record(evidence)
    every = [*signed, *(call for call in calls if call not in signed)]
    recorded = rounds.record(every)
    guessed = _is_guessed(evidence)
    plain = [call for call in signed if evidence.case(call).group == PLAIN]
    early = find_steps(evidence, {call.id: recorded[call.id] for call in plain})
    if early and (known := known_step(evidence, recorded, early, aside, guessed=guessed)):
        return known
    found = find_steps(evidence, {call.id: recorded[call.id] for call in calls})
    return found if first_wrong_call(evidence) else None


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
    judged: Sequence[Judged] = (),
    output: str = "",
) -> ExerciseResult:
    printed = without_folder(output).splitlines()
    return ExerciseResult(
        exercise=exercise.id,
        title=exercise.title,
        status=Status.worst(check.status for check in checks),
        score=round(sum(check.score for check in checks), 2),
        max_score=round(sum(check.max_score for check in checks), 2),
        checks=tuple(checks),
        diagnoses=tuple(one.diagnosis for one in judged if one.diagnosis),
        notes=(*source.notes, *(note for one in judged for note in one.notes)),
        output="\n".join(clean(line, 200) for line in printed[:MOST_PRINTED]),
    )
