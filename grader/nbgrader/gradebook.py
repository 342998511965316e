"""nbgrader's gradebook: what it knows of an assignment's cells, and the scores in it."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbgrader
import sqlalchemy.exc
from alembic.config import Config as AlembicConfig
from alembic.script import ScriptDirectory
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.engine import make_url

from grader.classes.people import Member
from grader.classes.scores import ExerciseScore, Scores, StudentScores
from grader.errors import UsageError
from grader.notebook.finding import read_course, root_near
from grader.records.people import Person


@dataclass(frozen=True)
class KnownCell:
    """A cell of the released notebook."""

    grade_id: str
    cell_type: str  # code or markdown
    source: str
    checksum: str | None
    locked: bool
    grade: bool
    solution: bool
    task: bool
    max_score: float  # 0 where the cell has no points

    @property
    def name(self) -> str:
        """The grade id, as nbgrader's gradebook calls it."""
        return self.grade_id

    def marks(self) -> dict[str, object]:
        """Return the nbgrader metadata that the cell was released with."""
        found: dict[str, object] = {
            "schema_version": 3,
            "grade_id": self.grade_id,
            "grade": self.grade,
            "solution": self.solution,
            "locked": self.locked,
            "task": self.task,
            "cell_type": self.cell_type,
        }
        if self.checksum:
            found["checksum"] = self.checksum
        if self.grade or self.task:
            found["points"] = self.max_score
        return found


@dataclass(frozen=True)
class Sheet:
    """The cells of one notebook by grade id, in the order of the release."""

    notebook: str
    kernelspec: str  # JSON, "" where none is known
    cells: Mapping[str, KnownCell]


def read_sheet(notebook: Any) -> Sheet:
    """Return the sheet of a notebook of nbgrader's gradebook."""
    graded = {cell.name: cell for cell in (*notebook.grade_cells, *notebook.task_cells)}
    grades = {cell.name for cell in notebook.grade_cells}
    solutions = {cell.name for cell in notebook.solution_cells}
    tasks = {cell.name for cell in notebook.task_cells}
    cells = {
        source.name: KnownCell(
            source.name,
            str(source.cell_type),
            source.source or "",
            source.checksum,
            bool(source.locked),
            source.name in grades,
            source.name in solutions,
            source.name in tasks,
            float(graded[source.name].max_score or 0) if source.name in graded else 0.0,
        )
        for source in notebook.source_cells
    }
    return Sheet(notebook.name, notebook.kernelspec or "", cells)


# ---- opening it ----------------------------------------------------------------------------------


_PATIENCE = 2  # seconds to wait for another writer before anything was done


@contextlib.contextmanager
def open_gradebook(db_url: str, course_id: str = "") -> Iterator[Any]:
    """Open an existing gradebook of this nbgrader's version; raises UsageError in one line."""
    url = make_url(db_url)
    path = url.database or ""
    if url.get_backend_name() == "sqlite":
        _check_version(Path(path))
    try:
        with Gradebook(db_url, course_id) as gradebook:
            yield gradebook
    except sqlalchemy.exc.OperationalError as error:
        raise UsageError(f"{path}: {_said(error)}") from None


def read_sheets(gradebook: Any, assignment: str) -> dict[str, Sheet]:
    """Return an assignment's sheets by notebook; raises UsageError where it is unknown."""
    try:
        found = gradebook.find_assignment(assignment)
    except MissingEntry:
        known = ", ".join(a.name for a in gradebook.assignments) or "none yet"
        raise UsageError(
            f"no assignment '{assignment}' in the gradebook (known: {known}): "
            f"run nbgrader generate_assignment {assignment}"
        ) from None
    if not found.notebooks:
        raise UsageError(f"the gradebook knows no notebook of {assignment}")
    return {notebook.name: read_sheet(notebook) for notebook in found.notebooks}


def _check_version(path: Path) -> None:
    """Look before nbgrader opens the file, which would add tables to an older one."""
    if not path.is_file():
        raise UsageError(f"{path} is not there: run nbgrader generate_assignment first")
    try:
        place = f"{path.resolve().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(place, uri=True, timeout=_PATIENCE)) as db:
            (version,) = db.execute("SELECT version_num FROM alembic_version").fetchone()
    except (sqlite3.Error, TypeError) as error:
        if "locked" in str(error):
            raise UsageError(f"{path}: {_said(error)}") from None
        raise UsageError(f"{path} is no gradebook of nbgrader's, or of a very old one") from None
    if version != _head():
        raise UsageError(
            f"{path} is of another version of nbgrader: back it up, then run nbgrader db upgrade"
        )


def _head() -> str:
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(nbgrader.__file__).parent / "alembic"))
    return str(ScriptDirectory.from_config(config).get_current_head())


def _said(error: Exception) -> str:
    if "locked" in str(error):
        return "another program is writing to the gradebook: try again when it is done"
    return f"the gradebook cannot be used ({str(error).splitlines()[0][:200]})"


# ---- scores --------------------------------------------------------------------------------------


def _chosen_assignment(names: Sequence[str], assignment: str, path: Path) -> str:
    """The assignment that is meant; raises UsageError."""
    if not names:
        raise UsageError(f"{path} has no assignment yet: run nbgrader generate_assignment first")
    known = ", ".join(names)
    if not assignment and len(names) > 1:
        raise UsageError(f"{path} has several assignments, {known}: --assignment NAME")
    if assignment and assignment not in names:
        raise UsageError(f"no assignment '{assignment}' in {path}: known are {known}")
    return assignment or names[0]


def read_scores(path: Path, assignment: str = "") -> Scores:
    """Return the scores of an assignment in a gradebook, one record a student.

    Where the gradebook has one assignment, it need not be named. Raises UsageError.
    """
    with open_gradebook(f"sqlite:///{path.resolve()}") as gradebook:
        names = [a.name for a in gradebook.assignments]
        found = gradebook.find_assignment(_chosen_assignment(names, assignment, path))
        waiting = sorted(s.student_id for s in found.submissions if s.needs_manual_grade)
        notes = [f"not final, to be graded by hand: {', '.join(waiting)}"] if waiting else []
        notebooks = sorted(found.notebooks, key=lambda n: n.name)
        handed_in = {submission.student_id: submission for submission in found.submissions}
        students = sorted(gradebook.students, key=lambda s: s.id)
        return Scores(
            found.name,
            tuple(_student(s, notebooks, handed_in.get(s.id)) for s in students),
            round(sum(float(n.max_score or 0) for n in notebooks), 4),
            tuple(notes),
            named=bool(assignment),
            parts=_parts(path.resolve().parent),
        )


def _parts(directory: Path) -> dict[str, list[str]]:
    """Return the notebooks of each part of the course that a directory belongs to."""
    root = root_near(directory)
    return {part.name: part.exercises for part in read_course(root).course.parts} if root else {}


def _student(student: Any, notebooks: Sequence[Any], submission: Any) -> StudentScores:
    """Return what a student has in each notebook; who handed in nothing has zeros."""
    mine = {n.name: n for n in submission.notebooks} if submission else {}
    name = " ".join(filter(None, (student.first_name, student.last_name)))
    person = Person(name, student.id, student.email or "", student.id)
    scores = tuple(_score(notebook, mine.get(notebook.name)) for notebook in notebooks)
    return StudentScores(Member(person, student.id, student.id, told=person), scores)


def _score(notebook: Any, own: Any) -> ExerciseScore:
    penalty = float(own.late_submission_penalty or 0) if own else 0.0
    score = float(own.score or 0) if own else 0.0
    comments = [c.comment for c in own.comments if c.comment] if own else []
    return ExerciseScore(
        notebook.name,
        score,
        float(notebook.max_score or 0),
        "\n".join(dict.fromkeys(comments)),
        min(penalty, score),
    )
