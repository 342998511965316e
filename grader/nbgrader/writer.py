"""The one writer: grades into nbgrader's gradebook, notebooks into `autograded/`."""

import os
import shutil
from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry
from nbgrader.preprocessors import AssignLatePenalties

from grader.nbgrader.bulk import GradedHandin, GradedNotebook


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
