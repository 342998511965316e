"""`grade nbgrader autograde`: reads a class, has a pool of processes grade it, and writes it."""

import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from nbgrader.api import MissingEntry
from nbgrader.apps import NbGrader
from nbgrader.converters import Autograde
from nbgrader.preprocessors import AssignLatePenalties

from grader.batch.pool import Lost, Pool
from grader.batch.workplace import Workplace, prepare_workplace
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import UsageError
from grader.execute.isolation import Level, choose_for_class
from grader.execute.memory import admit, control_group
from grader.nbgrader.bulk import GradedHandin, GradedNotebook, Steps, StudentGrader
from grader.nbgrader.executor import SandboxExecute
from grader.nbgrader.gradebook import Sheet, open_gradebook, read_sheets
from grader.nbgrader.handin import (
    Handin,
    course_of_directory,
    exercise_of,
    find_students,
    read_handin,
)
from grader.nbgrader.verdicts import NotebookGrader

# ---- the one writer of grades --------------------------------------------------------------------


class GradebookWriter:
    """Writes graded submissions of one assignment, a student at a time."""

    def __init__(self, gradebook: Any, assignment: str, late: AssignLatePenalties) -> None:
        """`gradebook` is nbgrader's, open; `late` decides on penalties, as configured."""
        self._gradebook = gradebook
        self._assignment = assignment
        self._late = late
        late.init_plugin()

    def write(self, graded: GradedHandin) -> None:
        """Write one student's automatic scores and comments in one transaction.

        Manual scores, extra credit and manual comments are not touched, so writing the same again
        changes nothing.
        """
        submission = self._submission(graded)
        notebooks = {notebook.name: notebook for notebook in submission.notebooks}
        for result in (r for r in graded.notebooks if r.ours):
            _set_scores(notebooks[result.name], result)
        self._gradebook.db.flush()
        for notebook in notebooks.values():
            self._set_penalty(submission, notebook, graded.handin.student)
        self._gradebook.db.commit()

    def _submission(self, graded: GradedHandin) -> Any:
        student = graded.handin.student
        try:
            self._gradebook.find_student(student)
        except MissingEntry:
            self._gradebook.add_student(student)
        stamp = graded.handin.timestamp
        more = {"timestamp": stamp} if stamp else {}
        with self._gradebook.db.no_autoflush:  # else nbgrader's own way of adding one warns
            return self._gradebook.update_or_create_submission(self._assignment, student, **more)

    def _set_penalty(self, submission: Any, notebook: Any, student: str) -> None:
        notebook.late_submission_penalty = None
        if submission.total_seconds_late <= 0:
            return
        self._gradebook.db.refresh(notebook)  # its score is computed by the database
        penalty = self._late.plugin_inst.late_submission_penalty(
            student, notebook.score, submission.total_seconds_late
        )
        if penalty is not None:
            notebook.late_submission_penalty = min(max(penalty, 0.0), notebook.score)


def _set_scores(notebook: Any, result: GradedNotebook) -> None:
    for grade in notebook.grades:
        # nothing to grade is worth nothing, and what could not be read is for a person
        grade.auto_score = result.scores.get(grade.name, None if result.text else 0.0)
        manual = grade.manual_score is not None or grade.auto_score is None or result.problem
        grade.needs_manual_grade = bool(manual)
    for comment in notebook.comments:
        comment.auto_comment = result.comments.get(comment.name)


def write_folder(graded: GradedHandin, folder: Path, copied: Path, permissions: int) -> None:
    """Write a student's autograded folder as nbgrader does; it appears whole or not at all.

    `copied` is the assignment's source folder, whose other files replace the student's.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for name, data in graded.handin.files.items():
        (partial / name).write_bytes(data)
    if copied.is_dir():
        ignored = shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints", "__pycache__", "*.pyc")
        shutil.copytree(copied, partial, ignore=ignored, dirs_exist_ok=True)
    for notebook in graded.notebooks:
        if notebook.text:
            path = partial / f"{notebook.name}.ipynb"
            path.write_text(notebook.text, encoding="utf-8")
    for path in partial.rglob("*"):
        if path.is_file():
            path.chmod(permissions)
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)


# ---- a run ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AutogradeRequest:
    """What `grade nbgrader autograde` was asked for."""

    directory: Path  # with nbgrader_config.py
    assignment: str
    student: str = ""  # one student; all where it is empty
    force: bool = False  # grade again what was graded
    public: bool = False  # on the public cases, whatever nbgrader_config.py says
    jobs: int = 1  # processes
    isolation: Level | None = None  # else as nbgrader_config.py says
    memory: int | None = None  # MiB for all together; nine tenths of what is free where None


@dataclass(frozen=True)
class StudentNote:
    """One sentence about a student's submission."""

    student: str
    text: str


@dataclass
class AutogradeSummary:
    """What a run came to."""

    graded: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: list[StudentNote] = field(default_factory=list)
    problems: list[StudentNote] = field(default_factory=list)  # for a person
    admission: str = ""  # where fewer were graded at once than asked for


class AutogradeProgress(Protocol):
    """Hears how far a run is."""

    def expect(self, steps: int) -> None:
        """Hear of more steps to come."""

    def advance(self, label: str) -> None:
        """Hear that a step is done."""

    def key_step(self, what: str) -> None:
        """Hear what of the answer keys is being built."""


def autograde(request: AutogradeRequest, progress: AutogradeProgress) -> AutogradeSummary:
    """Grade the submissions of an assignment into the gradebook; raises GraderError.

    A student's grades are written before the autograded folder appears, and the folder tells that
    the student is done: a run that was stopped goes on where it was.
    """
    app = open_app(request.directory)
    folder = _course(app, request.directory)
    converter = Autograde(coursedir=app.coursedir, parent=app)
    with open_gradebook(app.coursedir.db_url, app.coursedir.course_id) as gradebook:
        sheets = read_sheets(gradebook, request.assignment)
        outcome = AutogradeSummary()
        waiting = _waiting(app, request, outcome)
        outcome.problems += _still_waiting(gradebook, request.assignment, outcome.skipped)
        if not waiting:
            return outcome
        progress.expect(len(waiting))
        admission = admit(
            min(request.jobs, len(waiting)), request.memory, folder.course.widest_limits
        )
        outcome.admission = admission.note
        own = [e for name in sheets if (e := exercise_of(name, folder)) is not None]
        workplace = _workplace(folder, own, request, SandboxExecute(parent=converter), progress)
        begin = partial(_student_grader, request.directory.resolve(), sheets)
        late = AssignLatePenalties(config=app.config)
        writer = GradebookWriter(gradebook, request.assignment, late)
        handins = (read_handin(s, path, folder.course) for s, path in waiting.items())
        with (
            control_group(admission.memory) as group,
            Pool(partial(begin, replace(workplace, group=group)), admission.jobs) as pool,
        ):
            for graded in pool.map(handins):
                if not isinstance(graded, Lost):
                    writer.write(graded)
                    write_folder(graded, *_places(app, converter, request, graded.handin.student))
                    progress.advance(graded.handin.student)
                _tell(outcome, graded)
    return outcome


def _course(app: Any, directory: Path) -> CourseFolder:
    folder = course_of_directory(app.coursedir)
    if folder is None:
        raise UsageError(
            f"{directory} belongs to no course of ours: in the course, run "
            f"grade nbgrader init {directory}"
        )
    return folder


def _waiting(app: Any, request: AutogradeRequest, outcome: AutogradeSummary) -> dict[str, Path]:
    """Return whom to grade; who was graded before and who cannot be goes into the outcome."""
    students = _chosen(app.coursedir, request)
    waiting = {}
    for student, path in students.items():
        if not student.isprintable():  # which bytes that are no UTF-8 are not either
            said = "the folder's name is no plain text: rename it"
            outcome.problems.append(StudentNote(student, said))
        elif request.force or _is_new(app, request, student):
            waiting[student] = path
        else:
            outcome.skipped.append(student)
    return waiting


def _workplace(
    folder: CourseFolder,
    exercises: Sequence[Exercise],
    request: AutogradeRequest,
    chosen: SandboxExecute,
    progress: AutogradeProgress,
) -> Workplace:
    """Prepare what to grade with; `chosen` is what nbgrader_config.py says to the executor."""
    level = Level(chosen.isolation) if chosen.isolation else None
    level = choose_for_class(request.isolation or level)
    hidden = chosen.hidden and not request.public
    return prepare_workplace(folder, exercises, level, progress.key_step, hidden=hidden)


@contextlib.contextmanager
def _student_grader(
    directory: Path, sheets: Mapping[str, Sheet], workplace: Workplace
) -> Iterator[Callable[[Handin], GradedHandin]]:
    """Give what grades submissions, in a process of its own."""
    app = open_app(directory)
    steps = _steps(Autograde(coursedir=app.coursedir, parent=app))
    with workplace.opened() as engine:
        yield StudentGrader(sheets, NotebookGrader(engine), steps).grade


def open_app(directory: Path) -> Any:
    """Read nbgrader's configuration for a directory, as nbgrader does."""
    if not (directory / "nbgrader_config.py").is_file():
        raise UsageError(f"{directory} has no nbgrader_config.py: run grade nbgrader init there")
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    app = NbGrader(log_level=logging.CRITICAL)
    app.initialize([], root=str(directory.resolve()))
    return app


def _chosen(coursedir: Any, request: AutogradeRequest) -> dict[str, Path]:
    students = find_students(coursedir, request.assignment)
    if not students:
        place = f"{coursedir.submitted_directory}/STUDENT/{request.assignment}"
        raise UsageError(
            f"nobody handed in {request.assignment}: collect it, or put it into {place}"
        )
    if not request.student:
        return students
    if request.student not in students:
        raise UsageError(f"{request.student} handed in nothing for {request.assignment}")
    return {request.student: students[request.student]}


def _is_new(app: Any, request: AutogradeRequest, student: str) -> bool:
    """Whether a submission was not graded yet, or is newer than what was; nbgrader's rule."""
    done, handed = (
        app.coursedir.format_path(step, student, request.assignment)
        for step in (app.coursedir.autograded_directory, app.coursedir.submitted_directory)
    )
    if not Path(done).is_dir():
        return True
    before, now = (app.coursedir.get_existing_timestamp(path) for path in (done, handed))
    return bool(before and now and now > before)


def _still_waiting(gradebook: Any, assignment: str, students: list[str]) -> list[StudentNote]:
    """Those graded before of whom something is left to a person."""
    submissions = {s.student_id: s for s in gradebook.assignment_submissions(assignment)}
    left = [s for s in students if s in submissions and submissions[s].needs_manual_grade]
    return [StudentNote(s, "still to be graded by hand, in formgrader") for s in left]


def _places(
    app: Any, converter: Any, request: AutogradeRequest, student: str
) -> tuple[Path, Path, int]:
    coursedir = app.coursedir
    autograded = coursedir.format_path(coursedir.autograded_directory, student, request.assignment)
    source = coursedir.format_path(coursedir.source_directory, ".", request.assignment)
    return Path(autograded), Path(source), int(str(converter.permissions), 8)


def _steps(converter: Any) -> Steps:
    return Steps(
        tuple(converter.sanitize_preprocessors),
        tuple(converter.autograde_preprocessors),
        converter.config,
    )


def _tell(outcome: AutogradeSummary, graded: GradedHandin | Lost[Handin]) -> None:
    if isinstance(graded, Lost):
        said = f"not graded: {graded.reason}"
        outcome.problems.append(StudentNote(graded.unit.student, said))
        return
    student = graded.handin.student
    outcome.graded.append(student)
    for notebook in graded.notebooks:
        notes = [StudentNote(student, f"{notebook.name}: {note}") for note in notebook.notes]
        outcome.notes += notes
        if notebook.problem:
            outcome.problems.append(StudentNote(student, notebook.problem))
        waiting = [name for name, score in notebook.scores.items() if score is None]
        if waiting:
            said = f"to be graded by hand: {', '.join(waiting)}"
            outcome.problems.append(StudentNote(student, said))
