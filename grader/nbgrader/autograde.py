"""`grade nbgrader autograde`: a whole class: read, grade, write, one student after another."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from nbgrader.apps import NbGrader
from nbgrader.converters import Autograde
from nbgrader.preprocessors import AssignLatePenalties

from grader.engine import open_engine
from grader.errors import UsageError
from grader.execute.launch import WarmProcess
from grader.nbgrader.bulk import GradedHandin, Steps, StudentGrader
from grader.nbgrader.gradebook import open_gradebook, read_sheets
from grader.nbgrader.handin import find_students, read_handin
from grader.nbgrader.place import course_near
from grader.nbgrader.verdicts import NotebookGrader
from grader.nbgrader.writer import GradebookWriter, write_folder


@dataclass(frozen=True)
class Request:
    """What `grade nbgrader autograde` was asked for."""

    directory: Path  # with nbgrader_config.py
    assignment: str
    student: str = ""  # one student; all where it is empty
    force: bool = False  # grade again what was graded
    public: bool = False  # on the public cases


@dataclass
class Outcome:
    """What a run came to."""

    graded: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)  # student, sentence
    problems: list[tuple[str, str]] = field(default_factory=list)  # for a person


class Progress(Protocol):
    """Hears how far a run is."""

    def expect(self, steps: int) -> None:
        """Hear of more steps to come."""

    def advance(self, label: str) -> None:
        """Hear that a step is done."""

    def key_built(self, exercise: str) -> None:
        """Hear of an answer key that was built."""


def autograde(request: Request, warm: WarmProcess, progress: Progress) -> Outcome:
    """Grade the submissions of an assignment into the gradebook; raises GraderError.

    A student's grades are written before the autograded folder appears, and the folder tells that
    the student is done: a run that was stopped goes on where it was.
    """
    app = open_app(request.directory)
    folder = course_near(request.directory)
    converter = Autograde(coursedir=app.coursedir, parent=app)
    with open_gradebook(app.coursedir.db_url, app.coursedir.course_id) as gradebook:
        sheets = read_sheets(gradebook, request.assignment)
        students = _chosen(app.coursedir, request)
        outcome = Outcome()
        for student in [s for s in students if not _writable(s)]:
            del students[student]
            outcome.problems.append((ascii(student), "the folder's name is not UTF-8: rename it"))
        waiting = {s: p for s, p in students.items() if request.force or _is_new(app, request, s)}
        outcome.skipped += [s for s in students if s not in waiting]
        if not waiting:
            return outcome
        progress.expect(len(waiting))
        engine = open_engine(
            folder,
            folder.course.exercises,
            warm,
            hidden=not request.public,
            on_built=progress.key_built,
        )
        grader = StudentGrader(sheets, NotebookGrader(engine), _steps(converter))
        late = AssignLatePenalties(config=app.config)
        writer = GradebookWriter(gradebook, request.assignment, late)
        handins = (read_handin(s, path, folder.course) for s, path in waiting.items())
        for graded in _grade_all(grader, handins):
            writer.write(graded)
            write_folder(graded, *_places(app, converter, request, graded.handin.student))
            _tell(outcome, graded)
            progress.advance(graded.handin.student)
    return outcome


def _grade_all(grader: StudentGrader, handins: Iterator[Any]) -> Iterator[GradedHandin]:
    """Grade one after another; the place where a pool of sandboxes fits."""
    return map(grader.grade, handins)


def open_app(directory: Path) -> Any:
    """Read nbgrader's configuration for a directory, as nbgrader does."""
    if not (directory / "nbgrader_config.py").is_file():
        raise UsageError(f"{directory} has no nbgrader_config.py: run grade nbgrader init there")
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    app = NbGrader(log_level=logging.CRITICAL)
    app.initialize([], root=str(directory.resolve()))
    return app


def _chosen(coursedir: Any, request: Request) -> dict[str, Path]:
    students = find_students(coursedir, request.assignment)
    if not request.student:
        return students
    if request.student not in students:
        raise UsageError(f"{request.student} handed in nothing for {request.assignment}")
    return {request.student: students[request.student]}


def _writable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_new(app: Any, request: Request, student: str) -> bool:
    """Whether a submission was not graded yet, or is newer than what was; nbgrader's rule."""
    done, handed = (
        app.coursedir.format_path(step, student, request.assignment)
        for step in (app.coursedir.autograded_directory, app.coursedir.submitted_directory)
    )
    if not Path(done).is_dir():
        return True
    before, now = (app.coursedir.get_existing_timestamp(path) for path in (done, handed))
    return bool(before and now and now > before)


def _places(app: Any, converter: Any, request: Request, student: str) -> tuple[Path, Path, int]:
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


def _tell(outcome: Outcome, graded: GradedHandin) -> None:
    student = graded.handin.student
    outcome.graded.append(student)
    for notebook in graded.notebooks:
        outcome.notes += [(student, f"{notebook.name}: {note}") for note in notebook.notes]
        if notebook.problem:
            outcome.problems.append((student, notebook.problem))
        waiting = [name for name, score in notebook.scores.items() if score is None]
        if waiting:
            outcome.problems.append((student, f"to be graded by hand: {', '.join(waiting)}"))
