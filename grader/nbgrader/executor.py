"""The executor: fills test cells from grader's sandbox in place of nbgrader's kernel."""

import atexit
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from traitlets import Bool, Enum

from grader.errors import UsageError
from grader.execute.isolation import Level, choose_for_class
from grader.execute.launch import WarmProcess
from grader.grading.engine import open_engine
from grader.handin.read import read_submission
from grader.nbgrader.fill import Filled, fill_notebook
from grader.nbgrader.place import (
    course_directory,
    course_of_directory,
    exercise_of,
    submitted_folder,
)
from grader.nbgrader.verdicts import NotebookGrader
from grader.notebook.finding import course_near

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
