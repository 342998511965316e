"""Hints by degrees, from gentle to plain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.compare.evidence import NO_IDEA, UNKNOWN, makes_tensors
from grader.course.lesson import Passage, find_passages, find_section, read_lesson
from grader.course.load import CourseFolder
from grader.course.models import Exercise, Target
from grader.errors import UsageError
from grader.records.calls import PLAIN
from grader.records.ids import BIASES, CallId
from grader.records.key import AnswerKey, CheckProof, KnownBug
from grader.records.results import CheckResult, Diagnosis, ExerciseResult, Kind, Status
from grader.records.text import as_arguments, ended
from grader.student.progress import load_progress, remember_hint
from grader.student.start import untouched_stub

_SHAPES = "Compare the shapes of your run with those expected: grade explain shows both."
_ENDED = "grade explain shows your run, tensor by tensor, as far as it came."
_RUN = "grade explain shows your run, tensor by tensor: look for one that you did not expect."
_ARGUMENTS = "Read the docstring again, argument by argument, and follow each through your code."
_BESIDE = (
    "Compare with the docstring what there is beside values: biases, types, dropout, exceptions."
)
_FORM = "Compare with the docstring in which form the output is due."
_FORMULAS = "The formulas"  # a section of every lesson
_DOCSTRING = (
    "Read the docstring once more: it says what goes in, what comes out and what is raised."
)


@dataclass(frozen=True)
class Advice:
    """All that can be told about one target's trouble, from gentle to plain."""

    target: str
    topic: str  # what the hints are about: a known bug, a step, a check
    finding: str  # what is known, one sentence; may be ""
    hints: tuple[str, ...]  # there is always one
    lesson: tuple[Passage, ...]  # where it speaks of this, the nearest first
    ran: bool = True  # whether there is a run to look at


@dataclass(frozen=True)
class Told:
    """How much of an advice a student has been told."""

    advice: Advice
    degree: int  # how many of its hints, from 1
    others: tuple[str, ...] = ()  # targets that there is advice on as well


def take_hint(
    folder: CourseFolder,
    exercise: Exercise,
    key: AnswerKey,
    result: ExerciseResult,
    *,
    named: str = "",
    every: bool = False,
) -> Told | None:
    """Return the advice on a result, or on the target that is named; None where that is right.

    It has one hint more than last time, or `every` one. Raises UsageError where the exercise has no
    target of that name.
    """
    _check_name(exercise, named)
    lesson = read_lesson(untouched_stub(folder, exercise))
    advice = next_hint(exercise, key, result, lesson, named)
    if advice is None:
        return None
    topic = f"{advice.target}/{advice.topic}"
    before = load_progress(folder).of(exercise.id).hints.get(topic, 0)
    degree = len(advice.hints) if every else min(before + 1, len(advice.hints))
    remember_hint(folder, exercise.id, topic, degree)
    own = {check.message for check in result.checks if check.target == advice.target}
    failed = (check for check in result.checks if check.failed and not check.unwritten)
    begun = {check.target for check in failed if check.message not in own}  # not of the same cause
    others = (one.name for one in _to_mend(exercise, result) if one.name in begun)
    return Told(advice, degree, tuple(name for name in others if name != advice.target))


def target_to_explain(exercise: Exercise, result: ExerciseResult, named: str = "") -> str:
    """Return the target that is named, else the first that is to be mended, else the last.

    Raises UsageError where the exercise has none of that name.
    """
    _check_name(exercise, named)
    last = exercise.targets[-1].name
    return named or next((target.name for target in _to_mend(exercise, result)), last)


def _check_name(exercise: Exercise, named: str) -> None:
    names = [target.name for target in exercise.targets]
    if named and named not in names:
        raise UsageError(f"{exercise.id} has no '{named}'; it has {', '.join(names)}")


def words_given(exercise: str, target: str = "", handed: str = "") -> str:
    """Return what a command is given: an exercise, its target and where the work is, if any."""
    return " ".join(filter(None, (exercise, target, handed)))


def _to_mend(exercise: Exercise, result: ExerciseResult) -> list[Target]:
    """Return the targets that are not right: first those that are wrong where nothing is given.

    Behind them come those whose mistake has a name, and last what deviates in form alone. What
    others use comes before them.
    """
    failed = [check for check in result.checks if check.status is not Status.PASSED]
    plain = [c for c in failed if c.kind in (Kind.SHAPE, Kind.NUMERIC) and not c.id.name]
    wrong = {check.target for check in plain if check.failed and not check.unwritten}
    names = {check.target for check in failed}
    own = [target for target in exercise.targets if target.name in names]
    named = {one.target for one in result.diagnoses if one.bugs and not one.deviations}
    failing = {check.target for check in failed if check.failed}  # others wait for something
    ranks = {
        one.name: (one.name not in wrong, one.name not in named, one.name not in failing)
        for one in own
    }

    def rank(one: Target) -> tuple[bool, ...]:
        users = [other.name for other in own if one.name in failing and one.name in other.uses]
        return min(ranks[name] for name in (one.name, *users))

    return sorted(own, key=rank)


def next_hint(
    exercise: Exercise,
    key: AnswerKey,
    result: ExerciseResult,
    lesson: Sequence[Passage],
    named: str = "",
) -> Advice | None:
    """Return advice on the first target to mend, or on the named one; None where it is right."""
    for target in (one for one in _to_mend(exercise, result) if named in ("", one.name)):
        found = _advise(target, key, result, lesson)
        return replace(found, ran=found.ran and makes_tensors(target))
    return None


def _advise(
    target: Target, key: AnswerKey, result: ExerciseResult, lesson: Sequence[Passage]
) -> Advice:
    checks = [check for check in result.checks if check.target == target.name]
    failed = [check for check in checks if check.status is not Status.PASSED]
    found = [d for d in result.diagnoses if d.target == target.name]
    if found and found[0].bugs:
        return _of_bug(target, key, found[0], failed, lesson)
    if found and (found[0].step or found[0].hint):
        return _of_step(target, key, found[0], failed, lesson)
    told = [check for check in failed if check.told]
    wrong = [c for c in failed if c.status is not Status.SKIPPED and not c.told] or failed
    if told and all(c.told or c.kind not in (Kind.SHAPE, Kind.NUMERIC) for c in wrong):
        return _of_deviations(target, key, found[0], failed, lesson)
    first = next((c for c in wrong if c.kind is not Kind.BUG and c.message), failed[0])
    if first.unwritten and first.status is Status.FAILED:  # else what it needs is not
        return _unwritten(target, key, lesson)
    advice = _of_check(target, key, first, failed, lesson)
    if not found:
        return advice
    hints = _ladder(*advice.hints, *_of_told(told, found[0]))  # of the deviations beside it
    return replace(advice, finding=f"{advice.finding} {found[0].sentence}".strip(), hints=hints)


def _of_bug(
    target: Target,
    key: AnswerKey,
    diagnosis: Diagnosis,
    failed: Sequence[CheckResult],
    lesson: Sequence[Passage],
) -> Advice:
    bugs = [key.book.by_key(name) for name in diagnosis.ways]
    hints = list(bugs[0].hints)
    if diagnosis.either:  # none may say more than is known
        alike = [key.book.by_key(name) for name in diagnosis.either]
        hints = [hint for place in (0, -1) for hint in _of_either(alike, place)]
    else:
        others = [one for one in bugs[1:] if one.hints[-1] not in hints]
        hints += [f"Where {one.when}: {one.hints[-1]}" for one in others]
    if not any(diagnosis.hint in bug.hints for bug in key.book.bugs):
        hints.append(diagnosis.hint)  # of this code alone
    shown = {p.check for bug in bugs for p in bug.proofs if isinstance(p, CheckProof)}
    beside = [check for check in failed if check.id not in shown]  # which their hints do not tell
    if diagnosis.where:  # elsewhere it is not so
        hints = [f"Where your output is wrong ({diagnosis.where}): {hint}" for hint in hints]
    if not diagnosis.whole:
        hints = _of_form(failed) + hints
    return Advice(
        target.name,
        "+".join(diagnosis.bugs),
        diagnosis.sentence,
        _ladder(*hints, *_of_told(beside, diagnosis), *_of_gradients(failed)),
        _passages(target, lesson, bugs),
    )


def _of_form(failed: Sequence[CheckResult]) -> list[str]:
    """What to do where nothing came that has the right form: no value can be right before that."""
    plain = [c for c in failed if c.kind is Kind.SHAPE and not c.id.name and not c.told]
    return _first_step(plain)


def _of_gradients(failed: Sequence[CheckResult]) -> list[str]:
    """What cuts a gradient off, where that is no part of what is named."""
    return _first_step([c for c in failed if c.kind is Kind.GRADIENT and c.failed and not c.told])


def _first_step(checks: Sequence[CheckResult]) -> list[str]:
    """The first next step of some checks that tells something of this code, if there is one."""
    return [_sentence(check.next_step) for check in checks if _leads(check)][:1]


def _of_claims(failed: Sequence[CheckResult]) -> list[str]:
    """What a property says by itself of the code, where nothing else leads to it."""
    own = [c for c in failed if c.kind is Kind.PROPERTY and c.failed and not c.told]
    return [_sentence(f"{c.message}: {c.next_step}") for c in own if _leads(c)][:1]


def _leads(check: CheckResult) -> bool:
    """Whether its next step tells something of this code."""
    return check.next_step not in ("", *NO_IDEA)


def _of_either(alike: Sequence[KnownBug], place: int) -> list[str]:
    """The hints at a place of some bugs, of which it is one; once where they are the same."""
    hints = dict.fromkeys(bug.hints[place] for bug in alike)
    return list(hints) if len(hints) == 1 else [f"If {b.when}: {b.hints[place]}" for b in alike]


def _passages(
    target: Target, lesson: Sequence[Passage], bugs: Sequence[KnownBug], trap: str = ""
) -> tuple[Passage, ...]:
    """Where the lesson speaks of an exception's cause or of known bugs, else of the target."""
    named = find_passages(lesson, [trap, *(bug.lesson for bug in bugs)])
    return named or find_section(lesson, target.name)


def _of_step(
    target: Target,
    key: AnswerKey,
    diagnosis: Diagnosis,
    failed: Sequence[CheckResult],
    lesson: Sequence[Passage],
) -> Advice:
    step = diagnosis.step
    what = f"`{step}`" if step else "what comes back"
    by_hand = f"Print {what} for the smallest case, and work the same numbers out by hand."
    about = f"step {step}" if step else "the output"
    own = [bug for bug in key.book.bugs if bug.target == target.name]
    begins = [bug.lesson for bug in own if step and bug.step == step]
    # which trap it is nobody knows: what explains the formula fits whatever is wrong
    passages = tuple(p for p in find_passages(lesson, begins) if p.section == _FORMULAS)
    beside = (*_of_claims(failed), *_of_told(failed, diagnosis))
    hints = _ladder(*_of_form(failed), diagnosis.hint, *beside, by_hand, _run(target, failed))
    return Advice(target.name, about, diagnosis.sentence, hints, passages)


def _of_deviations(
    target: Target,
    key: AnswerKey,
    found: Diagnosis,
    failed: Sequence[CheckResult],
    lesson: Sequence[Passage],
) -> Advice:
    """Hints for what leaves the values right: one for each deviation, and for what fails beside."""
    told = [check for check in failed if check.told]
    beside = [c for c in failed if c.failed and not c.told and c.kind is not Kind.BUG]
    groups = {c.id.name for c in told if c.kind in (Kind.SHAPE, Kind.NUMERIC)}
    of_arguments = PLAIN not in groups and groups - {BIASES}  # else all is in another form
    first = _ARGUMENTS if of_arguments else _FORM if PLAIN in groups else _BESIDE
    steps = [_sentence(c.next_step) for c in beside if _leads(c)]
    hints = (first, *_of_told(told, found), *dict.fromkeys(steps))
    checks = [check for check in told if check.kind is Kind.BUG]
    alike = [key.book.by_key(f"{check.target}/{check.id.name}") for check in checks]
    passages = _passages(target, lesson, alike)
    return Advice(target.name, found.sentence, found.sentence, hints, passages)


def _of_told(checks: Sequence[CheckResult], diagnosis: Diagnosis) -> list[str]:
    """A hint for each deviation, with what to do about it; then for what else comes of them."""
    said = diagnosis.deviations
    told = [check for check in checks if said and check.told]
    named = [check for check in told if check.message in said]
    known = {check.next_step for check in named}
    others = [c for c in told if c.kind is Kind.PROPERTY and c.next_step not in known]
    steps = dict.fromkeys(f"{c.message}: {c.next_step}" for c in (*named, *others))
    return [_sentence(step) for step in steps]


def _unwritten(target: Target, key: AnswerKey, lesson: Sequence[Passage]) -> Advice:
    """For a blank: where the lesson speaks of it, then its steps, then their shapes."""
    hints = ["Begin with the docstring: it says what goes in and what comes out."]
    levels = [" and ".join(level) for level in target.step_levels]
    if levels:
        hints.append(f"Go step by step: {', then '.join(levels)}.")
    if shapes := _step_shapes(target, key):
        hints.append(shapes)
    passages = find_section(lesson, target.name)
    return Advice(target.name, "not written yet", "", tuple(hints), passages, ran=False)


def _step_shapes(target: Target, key: AnswerKey) -> str:
    case = key.plan.first_case(target.name)
    sizes = as_arguments(case.dims)
    steps = key.steps(str(CallId.first(target.name)))
    shapes = ", ".join(f"{n} {steps[n].shape}" for n in target.step_names if n in steps)
    return f"For {sizes} the shapes are: {shapes}." if shapes else ""


def _of_check(
    target: Target,
    key: AnswerKey,
    check: CheckResult,
    failed: Sequence[CheckResult],
    lesson: Sequence[Passage],
) -> Advice:
    ran = check.case is not None and not _never_ran(check)
    bugs = [key.book.by_key(f"{c.target}/{c.id.name}") for c in failed if c.kind is Kind.BUG]
    alike = bugs if len(bugs) == 1 else []  # of several it is not known which trap it is
    given = check.case.options if check.case and check.kind is Kind.PROPERTY else {}
    where = f", in the case '{check.case.name}'" if check.case and given else ""
    run = _run(target, failed) if ran else ""
    step = "" if run and check.next_step in UNKNOWN else check.next_step  # `run` says the same
    return Advice(
        target.name,
        f"{check.id.in_target}: {_mistake(check)}",
        _sentence(f"{check.message}{where}"),
        _ladder(
            _sentence(step) if step else "",
            *_of_claims([c for c in failed if c.next_step != check.next_step]),
            run,
        ),
        () if _is_of_file(check) else _passages(target, lesson, alike, check.trap),
        ran=ran,
    )


def _never_ran(check: CheckResult) -> bool:
    """Whether nothing came of a call that could be looked at: no layer fitted, or time was up."""
    return check.actual.parameters is not None or check.status is Status.TIMEOUT


def _is_of_file(check: CheckResult) -> bool:
    """Whether the file could not be loaded: no part of the lesson speaks of that."""
    return check.place is not None and check.case is None and not check.trap


def _run(target: Target, failed: Sequence[CheckResult]) -> str:
    """What the student's own run can tell: of shapes only where some are wrong."""
    if not makes_tensors(target):
        return ""
    ordinary = [check for check in failed if check.kind in (Kind.SHAPE, Kind.NUMERIC)]
    if not ordinary:
        return ""  # the run of an ordinary case shows nothing of it
    if any(check.place for check in ordinary):
        return _ENDED
    shapes = [check.actual.shape for check in ordinary if check.kind is Kind.SHAPE]
    if None in shapes:
        return ""  # nothing that can be compared came of it, or it was not run
    return _SHAPES if shapes else _RUN


def _mistake(check: CheckResult) -> str:
    """What tells one failure of a check from another: an exception's words, else what to do."""
    said, place = check.message, check.place
    return said.partition(f" at {place.label}")[0] if place else check.next_step


def _ladder(*hints: str) -> tuple[str, ...]:
    """Those hints that say something, each once; the docstring is the last resort."""
    return tuple(dict.fromkeys(filter(None, hints))) or (_DOCSTRING,)


def _sentence(text: str) -> str:
    """A text with a capital, unless it begins with a name, and with its full stop."""
    first = text.split(maxsplit=1)[0] if text else ""
    begun = f"{text[:1].upper()}{text[1:]}" if first.isalpha() else text
    return ended(begun)
