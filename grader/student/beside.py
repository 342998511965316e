"""What a student hears beside a check, and beside a run: what is next, and what is not known."""

from collections.abc import Sequence

from grader.course.lesson import find_passage, read_lesson
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.course.shipped import released_solution
from grader.handin.read import Submission
from grader.records.results import CheckResult, ExerciseResult, Kind, Status
from grader.records.text import listed
from grader.student.findings import recall
from grader.student.progress import digest_of, load_progress
from grader.student.start import untouched_stub

_GOAL = "You learn to"  # begins the lesson's passage that says what an exercise is for


def achieved(folder: CourseFolder, exercise: Exercise, command: str = "grade ") -> str:
    """Return both in two sentences; "" where the lesson does not say what one learns.

    `command` is how a command begins.
    """
    passage = find_passage(read_lesson(untouched_stub(folder, exercise)), _GOAL)
    if passage is None:
        return ""
    following = _next_command(folder, exercise, command)
    return f"You can now{passage.text.removeprefix(_GOAL)} Next: {following}"


def further(result: ExerciseResult, command: str = "grade ") -> str:
    """Return where more is told of what is not right, "" where all is, or nothing is begun."""
    failed = [check for check in result.checks if check.failed]
    if not failed or all(check.unwritten for check in failed):
        return ""
    return (
        f"More: {command}hint {result.exercise}, one more each time; "
        f"{command}explain {result.exercise}, the shapes of your run"
    )


def borrowed(folder: CourseFolder, exercise: Exercise, submission: Submission) -> str:
    """Say which exercises come from the course, since the student's own is not known to be right.

    "" where there are none, or where some part of the exercise runs with the student's own.
    """
    if exercise.builds_on_earlier:
        return ""
    progress = load_progress(folder)
    text = "".join(text for _, text in submission.source(exercise).units)
    names = []
    for one in (e for e in folder.course.earlier(exercise) if e.stem in text):
        if progress.of(one.id).right != digest_of(submission.source(one)):
            names.append(one.id)
    if not names:
        return ""
    alone = len(names) == 1
    are, they = ("is", "it is") if alone else ("are", "they are")
    return (
        f"Your {listed(names)} {are} not known to be right as {they} now, so the course's own "
        f"{are} used here. Run: grade check {names[0]}"
    )


def doubted(
    folder: CourseFolder, exercise: Exercise, submission: Submission, names: Sequence[str]
) -> str:
    """Say which of some targets are known to give wrong values, "" where none is.

    Nothing is graded: it is known where the same text was checked.
    """
    found = recall(folder, exercise, submission)
    if found is None:
        return ""
    checks = [c for c in found.result.checks if c.kind in (Kind.SHAPE, Kind.NUMERIC)]
    wrong = {check.target for check in checks if check.failed and not check.told}
    own = [f"`{name}`" for name in names if name in wrong]
    if not own:
        return ""
    return (
        f"But {listed(own)} {'is' if len(own) == 1 else 'are'} not right yet, whether it shows "
        f"here or not: grade check {exercise.id}"
    )


def changed(folder: CourseFolder, exercise: Exercise, submission: Submission) -> str:
    """Say that an exercise is another than when it was last checked, "" where it is the same."""
    known = load_progress(folder).of(exercise.id).graded
    if known in ("", digest_of(submission.source(exercise))):
        return ""
    return f"Your {exercise.id} has changed since its last check: grade check {exercise.id}"


def beside_run(
    given: str, result: ExerciseResult, target: str, command: str = "grade ", *, ran: bool = True
) -> tuple[str, ...]:
    """Return what is known of a target that is not right, and where to go on.

    Where it is right, no more than what it was judged with. `given` is what the command was given,
    as `words_given` has it; `ran` tells whether there is a run to say something of.
    """
    checks = [check for check in result.checks if check.target == target]
    parts = result.judged_with(target)
    with_parts = (f"Note: {parts}.",) if parts else ()
    if all(check.status is Status.PASSED for check in checks):
        return with_parts
    elsewhere = (*with_parts, *(_elsewhere(checks) if ran else ()))
    told = (d.sentence for d in result.diagnoses if d.target == target and d.sentence)
    known = tuple(f"▸ {sentence}" for sentence in told)[:1]
    return (*elsewhere, *known, f"What to do: {command}hint {given}")


def _elsewhere(checks: Sequence[CheckResult]) -> tuple[str, ...]:
    """Say where it shows that something is wrong though the values of every case are right."""
    of_values = [c for c in checks if c.kind in (Kind.SHAPE, Kind.NUMERIC)]
    numeric = any(check.kind is Kind.NUMERIC for check in of_values)
    if not numeric or any(check.status is not Status.PASSED for check in of_values):
        return ()
    failed: dict[str, str] = {}
    for check in checks:
        if check.failed and not check.told and check.kind is not Kind.BUG:
            failed.setdefault(check.message, f"`{check.id.shown}`")  # a report has each once, too
    names = listed([*failed.values()])
    where = f" What is wrong shows in {names}." if names else ""  # else deviations tell it
    return (f"The values of this run are right.{where}",)


def _next_command(folder: CourseFolder, exercise: Exercise, command: str) -> str:
    if folder.shipped and released_solution(folder, exercise) is not None:
        return f"{command}compare {exercise.id}"
    progress = load_progress(folder)
    exercises = list(folder.course.exercises)
    after = exercises.index(exercise) + 1
    open_ = [e for e in exercises[after:] + exercises[:after] if not progress.of(e.id).passed]
    waiting = [e for e in open_ if e != exercise]
    return f"{command}read {waiting[0].id}" if waiting else "grade pack"
