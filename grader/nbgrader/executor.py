"""The executor: fills test cells from grader's sandbox in place of nbgrader's kernel."""

import atexit
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbformat import v4
from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from traitlets import Bool, Enum

from grader.course.models import Exercise
from grader.errors import UsageError
from grader.execute.isolation import Level, choose_for_class
from grader.execute.launch import WarmProcess
from grader.grading.engine import open_engine
from grader.handin.read import Source, bounded, read_submission
from grader.nbgrader.cells import (
    code_units,
    defining_cell,
    grade_id,
    is_test,
    magic_notes,
    marks,
    parse_test,
    points_text,
    units_above,
)
from grader.nbgrader.handin import (
    course_directory,
    course_of_directory,
    exercise_of,
    submitted_folder,
)
from grader.nbgrader.verdicts import MarkedNotebook, NotebookGrader
from grader.notebook.finding import course_near
from grader.records.results import Status
from grader.report.verdict import Verdict


@dataclass(frozen=True)
class Filled:
    """What came of a notebook beside its outputs."""

    comments: Mapping[str, str] = field(default_factory=dict)  # grade id of the solution -> text
    manual: tuple[str, ...] = ()  # grade ids of cells that a person should grade
    notes: tuple[str, ...] = ()  # for the instructor


def fill_notebook(
    notebook: Any, exercise: Exercise, grader: NotebookGrader, beside: Mapping[str, Source]
) -> Filled:
    """Grade an exercise's notebook and write each test cell's outputs into it, in place."""
    name = f"{exercise.id}.ipynb"
    whole = bounded(Source(name, units=code_units(notebook.cells, name), notebook=True))
    notes = () if whole.problem else magic_notes(notebook.cells)
    graded: MarkedNotebook | None = None
    manual = []
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code" or not is_test(cell):
            continue
        test = parse_test(str(cell.source))
        if test is None or test.exercise != exercise.id:
            manual.append(grade_id(cell))
            cell.outputs = [_refusal()]
            continue
        above = () if whole.problem else units_above(notebook.cells, index, name)
        graded = grader.grade(exercise, replace(whole, units=above), beside)
        verdict = graded.verdict(test, notes)
        _fill(cell, index + 1, verdict)
        if verdict.status is Status.ERROR:
            manual.append(grade_id(cell))  # our own fault: it must not cost a point unseen
    comments = _comments(notebook.cells, graded) if graded else {}
    return Filled(comments, tuple(manual), notes)


def _fill(cell: Any, count: int, verdict: Verdict) -> None:
    """Write the verdict and, apart from it, the points: the number that nbgrader reads."""
    worth = marks(cell).get("points")
    limit = float(worth) if isinstance(worth, int | float) else verdict.max_points
    points = points_text(min(verdict.points, limit))
    shown = {"text/plain": verdict.text, "text/html": verdict.html}
    cell.execution_count = count
    cell.outputs = [
        v4.new_output("display_data", shown),
        v4.new_output("execute_result", {"text/plain": points}, execution_count=count),
    ]


def _refusal() -> Any:
    text = "This test cell is none of grader's: a person grades it."
    return v4.new_output("error", ename="NotGraded", evalue=text, traceback=[text])


def _comments(cells: list[Any], graded: MarkedNotebook) -> dict[str, str]:
    """Diagnoses by the solution cell whose function or class they are about."""
    found: dict[str, list[str]] = {}
    for diagnosis in graded.run.result.diagnoses:
        index = defining_cell(cells, diagnosis.target)
        if index is not None and diagnosis.told:
            found.setdefault(grade_id(cells[index]), []).append(diagnosis.told)
    return {name: "\n".join(texts) for name, texts in found.items()}


# ---- the preprocessors of nbgrader's -------------------------------------------------------------


_FILLED = "grader"  # the key in nbconvert's resources


class SandboxExecute(NbGraderPreprocessor):  # type: ignore[misc]
    """Grades the notebooks of the course in grader's sandbox; starts no kernel for them."""

    hidden = Bool(True, help="Grade on the hidden cases; else on the public ones.").tag(config=True)
    isolation = Enum(
        ("", *Level),
        default_value="",
        help="The level to isolate submissions at; else the best there is, not below landlock.",
    ).tag(config=True)
    other_notebooks = Enum(
        ("kernel", "refuse"),
        default_value="kernel",
        help="What to do with notebooks that are no exercise of the course: run them in nbgrader's "
        "own kernel, without a sandbox, or refuse them.",
    ).tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Fill the outputs of the test cells."""
        place = resources["nbgrader"]
        directory = course_directory(self)
        folder = course_of_directory(directory)
        exercise = exercise_of(place["notebook"], folder)
        if folder is None or exercise is None:
            return self._run_other(nb, resources)
        submitted = submitted_folder(directory, place)
        limit = folder.course.limits.source_kib * 1024
        beside = read_submission(submitted, folder.course, [exercise], limit).sources
        ids = tuple(one.id for one in folder.course.beside(exercise))
        grader = _grader(str(folder.root), ids, self.hidden, self.isolation)
        filled = fill_notebook(nb, exercise, grader, beside)
        resources[_FILLED] = filled
        return nb, resources

    def _run_other(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        name = resources["nbgrader"]["notebook"]
        if self.other_notebooks == "refuse":
            raise UsageError(f"{name}.ipynb is no exercise of the course")
        self.log.warning("%s is no exercise of the course: it runs in a kernel", name)
        found: tuple[Any, Any] = Execute(parent=self.parent)(nb, resources)
        return found


class SaveDiagnoses(NbGraderPreprocessor):  # type: ignore[misc]
    """Saves diagnoses as automatic comments, and what a person should grade."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Save what the executor found beside the points; SaveAutoGrades came before."""
        filled = resources.get(_FILLED)
        if isinstance(filled, Filled):
            place = resources["nbgrader"]
            where = (place["notebook"], place["assignment"], place["student"])
            with Gradebook(place["db_url"]) as gradebook:
                for grade_id, text in filled.comments.items():
                    gradebook.find_comment(grade_id, *where).auto_comment = text
                for grade_id in filled.manual:
                    grade = gradebook.find_grade(grade_id, *where)
                    grade.auto_score, grade.needs_manual_grade = None, True
                gradebook.db.commit()
        return nb, resources


@lru_cache(maxsize=2)
def _grader(root: str, ids: tuple[str, ...], hidden: bool, isolation: str) -> NotebookGrader:
    """Return one grader for all notebooks of a part in this process; raises GraderError."""
    folder = course_near(Path(root))
    warm = WarmProcess(choose_for_class(Level(isolation) if isolation else None))
    atexit.register(warm.close)
    exercises = [folder.course.exercise(one) for one in ids]
    return NotebookGrader(open_engine(folder, exercises, warm, hidden=hidden, trains=True))
