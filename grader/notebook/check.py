"""`check` in a notebook: grades what the cells that were run define."""

import atexit
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from grader.course.load import CourseFolder, find_course, load_course
from grader.course.models import Exercise
from grader.course.questions import Question
from grader.errors import GraderError, UsageError
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.grading.exercise import Run
from grader.grading.exhibits import Exhibit, exhibits_of
from grader.grading.tried import Bench, Outcome, try_question
from grader.handin.choose import chosen_exercises
from grader.handin.read import Source, Submission, bounded, read_submission
from grader.notebook.cells import LABEL, defined_names, definitions
from grader.notebook.finding import course_of_notebook
from grader.records.results import Document, Status
from grader.report.layout import wrapped
from grader.report.pages import render_fragment
from grader.report.terminal import render_document
from grader.student.beside import achieved
from grader.student.progress import remember_result, standing_of
from grader.student.tries import reminder

T = TypeVar("T")
COMMAND = "%"  # how a command begins here
_NAMED = re.compile(r"""^(?:%%?\w+ +|check\(["'])(\w*\d+\w*|\w+_\w+)""", re.MULTILINE)  # in a cell
RESTART = "restart the kernel, run the cells that you need, and check again"


@dataclass(frozen=True)
class Report:
    """A graded exercise, as text in a console and with its pictures in a notebook."""

    document: Document
    exhibits: dict[str, tuple[Exhibit, ...]]
    said: tuple[str, ...] = ()  # questions to try now; where all is right, what is next

    def __repr__(self) -> str:
        """Return the report as in a terminal, without colours."""
        import click

        text = click.unstyle(render_document(self.document, command=COMMAND)).rstrip("\n")
        below = [line for one in self.said for line in wrapped(one, 80, first="  ", hang=2)]
        return "\n".join([text, *below])

    def _repr_html_(self) -> str:
        return render_fragment(self.document, self.exhibits, self.said, command=COMMAND)


@dataclass(frozen=True)
class Said:
    """Words alone: an answer, or what is wrong with the question."""

    text: str

    def __repr__(self) -> str:
        """Return the words."""
        return self.text


def check(
    exercise: str, *, course: str | Path | None = None, history: Sequence[str] | None = None
) -> Report | Said:
    """Grade an exercise by what the cells run so far define, and show the report.

    `course` is the course's folder, else the nearest one, else the one that grader carries.
    `history` are the cells' texts, else IPython's. A mistake in the question is said in a line.
    """
    return answered(lambda: _report(grade_cells(exercise, course, history)))


def answered(ask: Callable[[], T]) -> T | Said:
    """Return an answer, or a line on what is wrong with the question."""
    try:
        return ask()
    except GraderError as error:
        return Said(f"grade: {error}")


@dataclass(frozen=True)
class Graded:
    """What grading the cells that were run came to."""

    engine: Engine
    exercise: Exercise
    source: Source  # the cells
    run: Run


def grade_cells(
    typed: str, course: str | Path | None = None, history: Sequence[str] | None = None
) -> Graded:
    """Grade an exercise as `check` does; raises GraderError.

    Its points are remembered, but where those of its file are, which is as it was checked.
    """
    folder = load_course(find_course(Path(course).expanduser())) if course else own_course()
    (exercise,) = chosen_exercises(folder, [typed])
    cells = executed_cells() if history is None else list(history)
    engine = kernel_engine(folder.root, exercise.id)
    submission = _submission(folder, exercise, cells)
    run = engine.run(exercise, submission, quick=True)
    source = submission.source(exercise)
    (file,) = (e for e in standing_of(folder).exercises if e.exercise == exercise.id)
    if file.score is None or file.changed:
        remember_result(folder, run.result, source)
    return Graded(engine, exercise, source, run)


def _report(graded: Graded) -> Report:
    shown = {graded.exercise.id: exhibits_of(graded.exercise, graded.run)}
    right = graded.run.result.status is Status.PASSED
    folder, exercise = graded.engine.folder, graded.exercise
    said = [reminder(folder, exercise, graded.run.result, COMMAND)]
    said += [achieved(folder, exercise, COMMAND)] if right else []
    return Report(graded.engine.sum_up([graded.run.result]), shown, tuple(filter(None, said)))


@cache
def _warm() -> WarmProcess:
    """One warm process a kernel; it ends with it."""
    warm = WarmProcess()
    atexit.register(warm.close)
    return warm


@cache
def kernel_engine(root: Path, exercise: str) -> Engine:
    """Return what grades an exercise of the course in `root`, kept as long as the kernel lives."""
    warm = _warm()  # torch loads there while the key is read here
    folder = load_course(root)
    return open_engine(folder, [folder.course.exercise(exercise)], warm)


def own_course() -> CourseFolder:
    """Return the course that this notebook belongs to; raises GraderError."""
    return course_of_notebook(Path.cwd())


def executed_cells() -> list[str]:
    """Return the texts of the cells that this kernel has run, from cell 1 at index 1.

    The running one is the last.
    """
    try:
        from IPython import get_ipython
    except ImportError:
        shell = None  # no notebook's kernel, then
    else:
        shell = get_ipython()
    if shell is None:
        raise UsageError("this grades a notebook's cells; for a file use: grade check exercise3")
    return [str(cell) for cell in shell.history_manager.input_hist_raw]


def exercise_meant(folder: CourseFolder, example: str) -> str:
    """Return the exercise that was last named or written in the cells; raises UsageError.

    `example` is a line that names it.
    """
    for cell in reversed(executed_cells()):
        if named := _NAMED.search(cell):
            return named[1]
        defined = set(defined_names([cell]))
        for exercise in folder.course.exercises:
            if defined & {target.name for target in exercise.targets}:
                return exercise.id
    raise UsageError(f"name the exercise as in: {example}")


def _submission(folder: CourseFolder, exercise: Exercise, cells: Sequence[str]) -> Submission:
    """The cells as this exercise; earlier exercises from their files."""
    limit = folder.course.limits.source_kib * 1024
    targets = [target.name for target in exercise.targets]
    step = "run the cells that define it, and check again"
    source = Source(LABEL, definitions(cells, targets), notebook=True, next_step=step)
    source = bounded(source, RESTART)
    others = {e.id: Source(e.file, problem="not here") for e in folder.course.exercises}
    if folder.exercises.is_dir():
        others |= read_submission(folder.exercises, folder.course, [exercise], limit).sources
    return Submission({**others, exercise.id: source})


def try_in_kernel(folder: CourseFolder, exercise: Exercise, question: Question) -> Outcome:
    """Run a question's lines on the cells that were run; raises UsageError outside a notebook."""
    submission = _submission(folder, exercise, executed_cells())
    return try_question(Bench(folder, exercise, submission, _warm()), question)
