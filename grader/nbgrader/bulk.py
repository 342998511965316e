"""Grades one student's notebooks for the gradebook: plain data in, plain data out.

nbgrader's own preprocessors clean and check the notebooks, as `nbgrader autograde` does; those
that would read the gradebook read the sheets instead, and what they would write there is returned.
"""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import ValidationError
from nbformat.reader import NotJSONError
from nbgrader.preprocessors import (
    AssignLatePenalties,
    NbGraderPreprocessor,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution
from traitlets.config import Config

from grader.course.models import Exercise
from grader.errors import GraderError
from grader.handin.aside import ask
from grader.handin.notebooks import without_outputs
from grader.handin.refused import Refused
from grader.nbgrader.cells import grade_id, marks
from grader.nbgrader.executor import Filled, SandboxExecute, SaveDiagnoses, fill_notebook
from grader.nbgrader.gradebook import KnownCell, Sheet
from grader.nbgrader.handin import Handin, exercise_of
from grader.nbgrader.repair import RepairCells, repair_notebook
from grader.nbgrader.verdicts import NotebookGrader
from grader.records.text import clean

# what hostile or broken files make nbformat raise, and what it means
_TROUBLES: dict[tuple[type[Exception], ...], str] = {
    (NotJSONError, UnicodeDecodeError): "it is not valid JSON",
    (UnicodeEncodeError,): "it holds half a character, which cannot be saved",
    (RecursionError,): "it is nested too deeply",
    (AttributeError, KeyError, TypeError, IndexError, ValidationError): (
        "it is JSON, but not that of a notebook"
    ),
}
# what these would write is left to the one writer of the gradebook
_WRITERS = (SaveAutoGrades, SaveDiagnoses, AssignLatePenalties)


@dataclass(frozen=True)
class GradedNotebook:
    """What one notebook came to."""

    name: str
    text: str = ""  # the autograded notebook, "" where there is none
    scores: Mapping[str, float | None] = field(default_factory=dict)  # grade id -> automatic score
    comments: Mapping[str, str | None] = field(default_factory=dict)  # grade id -> comment
    notes: tuple[str, ...] = ()  # repairs, and lines that were left out
    problem: str = ""  # why a person should look at it
    ours: bool = True  # else its scores are nbgrader's business, and stay as they are


@dataclass(frozen=True)
class GradedHandin:
    """What one student's submission came to."""

    handin: Handin
    notebooks: tuple[GradedNotebook, ...]


@dataclass(frozen=True)
class Steps:
    """nbgrader's preprocessors for the two passes over a submitted notebook, and their options."""

    sanitize: tuple[type, ...]
    autograde: tuple[type, ...]
    config: Config


class StudentGrader:
    """Grades submissions of one assignment; reads neither the gradebook nor any folder."""

    def __init__(self, sheets: Mapping[str, Sheet], grader: NotebookGrader, steps: Steps) -> None:
        """`sheets` are those of the assignment's notebooks, by name."""
        self._sheets = sheets
        self._grader = grader
        self._steps = steps

    def grade(self, handin: Handin) -> GradedHandin:
        """Grade every notebook of the assignment; damage costs at most the damaged notebook."""
        with self._grader.one_submission(len(self._sheets)):
            notebooks = tuple(self._notebook(handin, name) for name in sorted(self._sheets))
        return GradedHandin(handin, notebooks)

    def _notebook(self, handin: Handin, name: str) -> GradedNotebook:
        exercise = exercise_of(name, self._grader.engine.folder)
        if exercise is None:
            problem = f"{name}.ipynb is no exercise of the course: use nbgrader autograde"
            return GradedNotebook(name, problem=problem, ours=False)
        if name in handin.problems:
            return GradedNotebook(name, problem=handin.problems[name])
        if name not in handin.notebooks:
            return GradedNotebook(name, notes=(f"{name}.ipynb was not handed in",))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # nbformat's, of what students' files lack
                graded = _Passes(self._sheets[name], self._steps).run(
                    handin, exercise, self._grader
                )
        except GraderError:
            raise  # our own fault
        except Refused as refused:
            problem = f"{name}.ipynb {refused}: {refused.next_step}"
            return GradedNotebook(name, problem=problem)
        except Exception as error:  # noqa: BLE001 - hostile notebooks; nbgrader raises many kinds
            return GradedNotebook(name, problem=f"{name}.ipynb cannot be graded: {_said(error)}")
        chosen = [handin.notes[name]] if name in handin.notes else []
        return replace(graded, notes=(*chosen, *graded.notes))


def _said(error: Exception) -> str:
    """Say in one line why a notebook could not be graded."""
    for kinds, sentence in _TROUBLES.items():
        if isinstance(error, kinds):
            return sentence
    lines = str(error).strip().splitlines()
    return clean(f"{type(error).__name__}: {lines[0] if lines else ''}", 160)


class _Passes:
    """nbgrader's two passes over one notebook; what would read the gradebook reads the sheet."""

    def __init__(self, sheet: Sheet, steps: Steps) -> None:
        self.sheet = sheet
        self.steps = steps
        self.notes: tuple[str, ...] = ()
        self.filled = Filled()

    def run(self, handin: Handin, exercise: Exercise, grader: NotebookGrader) -> GradedNotebook:
        name = self.sheet.notebook
        # nbgrader clears outputs, but only after it has read them all, which can take hours
        text = ask(without_outputs, handin.notebooks[name].decode("utf-8-sig"))

        def fill(nb: Any, resources: Any) -> tuple[Any, Any]:
            self.filled = fill_notebook(nb, exercise, grader, handin.sources)
            return nb, resources

        own: dict[type[Any], Any] = {RepairCells: self._repair, SandboxExecute: fill}
        for steps in (self.steps.sanitize, self.steps.autograde):
            exporter = NotebookExporter(config=self.steps.config)
            for step in steps:
                if step not in _WRITERS:
                    exporter.register_preprocessor(own.get(step) or self._step(step))
            notebook = nbformat.reads(text, as_version=4)
            text, _ = exporter.from_notebook_node(notebook, {"nbgrader": {"notebook": name}})
            text.encode()  # raises where it could not be written
        return self._collect(nbformat.reads(text, as_version=4), text)

    def _repair(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        self.notes = repair_notebook(nb, self.sheet)
        return nb, resources

    def _step(self, step: type) -> Any:
        if issubclass(step, OverwriteKernelspec):
            return self._set_kernel
        part = step(config=self.steps.config)
        if isinstance(part, OverwriteCells):
            part.gradebook, part.notebook_id, part.assignment_id = self, self.sheet.notebook, ""
            return lambda nb, resources: NbGraderPreprocessor.preprocess(part, nb, resources)
        return part

    def _set_kernel(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        if self.sheet.kernelspec and (kernelspec := json.loads(self.sheet.kernelspec)):
            nb.metadata["kernelspec"] = kernelspec
        return nb, resources

    def find_source_cell(self, name: str, *_: str) -> KnownCell:
        """Answer OverwriteCells in the gradebook's place."""
        return self.sheet.cells[name]

    find_graded_cell = find_source_cell

    def _collect(self, notebook: Any, text: str) -> GradedNotebook:
        """Take from an autograded notebook what SaveAutoGrades and SaveDiagnoses would save."""
        scores: dict[str, float | None] = {}
        comments: dict[str, str | None] = {}
        for cell in notebook.cells:
            name = grade_id(cell)
            if is_grade(cell):
                scores[name] = None if name in self.filled.manual else determine_grade(cell)[0]
            if is_solution(cell):
                untouched = marks(cell).get("checksum") == compute_checksum(cell)
                said = "No response." if untouched else None
                comments[name] = self.filled.comments.get(name, said)
        notes = (*self.notes, *self.filled.notes)
        return GradedNotebook(self.sheet.notebook, text, scores, comments, notes)
