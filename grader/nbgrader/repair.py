"""Repairs the cells of a submitted notebook, so that damage costs no more than itself.

nbgrader stops a whole class at one duplicated cell. Here a copy is put in order before nbgrader
looks at it, and each repair is a sentence for the instructor.
"""

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from grader.course.models import Course
from grader.errors import UsageError
from grader.handin.aside import ask
from grader.handin.files import read_regular
from grader.handin.notebooks import without_outputs
from grader.handin.refused import Refused
from grader.nbgrader.cells import grade_id, is_test, marks, parse_test
from grader.nbgrader.gradebook import KnownCell, Sheet, read_sheet
from grader.nbgrader.handin import (
    course_directory,
    course_of_directory,
    exercise_of,
    submitted_folder,
)
from grader.records.results import Kind


def repair_notebook(notebook: Any, sheet: Sheet) -> tuple[str, ...]:
    """Put a notebook's cells in order, in place; returns one sentence a repair."""
    notes = [*_drop_copies(notebook, sheet), *_restore_marks(notebook, sheet)]
    notes += _add_missing(notebook, sheet)
    return (*notes, *_tests_last(notebook))


def _drop_copies(notebook: Any, sheet: Sheet) -> list[str]:
    """Take nbgrader's marks from cells that it does not know, and from all copies but the last."""
    notes = []
    seen: set[str] = set()
    for cell in reversed(notebook.cells):
        metadata = cell.metadata
        if "nbgrader" not in metadata:
            continue
        name = marks(cell).get("grade_id")
        if not isinstance(name, str) or name not in sheet.cells:
            if marks(cell).get("grade") or marks(cell).get("solution"):
                notes.append(f"a cell of an unknown name, {str(name)[:60]!r}, is not graded")
            del metadata["nbgrader"]
        elif name in seen:
            notes.append(f"the cell {name} was there twice; its marks were taken from the first")
            del metadata["nbgrader"]
            metadata.pop("deletable", None)
            metadata.pop("editable", None)
        else:
            seen.add(name)
    return notes[::-1]


def _restore_marks(notebook: Any, sheet: Sheet) -> list[str]:
    """Give every known cell the type, the marks and the points that it was released with."""
    notes = []
    for cell in notebook.cells:
        if not marks(cell):
            continue
        known = sheet.cells[grade_id(cell)]
        if cell.cell_type != known.cell_type:
            notes.append(f"the cell {known.grade_id} was of type {cell.cell_type}")
            _retype(cell, known.cell_type)
        told = [
            key for key in ("grade", "solution", "locked", "points") if _differs(cell, known, key)
        ]
        if told:
            notes.append(f"the cell {known.grade_id} had changed marks: {', '.join(told)}")
        cell.metadata["nbgrader"] = NotebookNode(known.marks())
    return notes


def _differs(cell: Any, known: KnownCell, key: str) -> bool:
    was = known.marks().get(key)
    return bool(marks(cell).get(key, was) != was)


def _retype(cell: Any, cell_type: str) -> None:
    cell.cell_type = cell_type
    cell.pop("attachments", None)
    if cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    else:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)


def _add_missing(notebook: Any, sheet: Sheet) -> list[str]:
    """Put back test cells that were deleted; of deleted work nothing can be put back."""
    present = {marks(cell).get("grade_id") for cell in notebook.cells}
    notes = []
    for name, known in sheet.cells.items():
        if name in present:
            continue
        if known.grade and not known.solution:
            notebook.cells.append(_new_cell(notebook, known))
            notes.append(f"the test cell {name} was missing and was put back")
        elif known.solution:
            notes.append(f"the cell {name} is missing")
    return notes


def _new_cell(notebook: Any, known: KnownCell) -> Any:
    cell = NotebookNode(cell_type=known.cell_type, source=known.source, metadata=NotebookNode())
    cell.metadata["nbgrader"] = NotebookNode(known.marks())
    if known.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    if (notebook.nbformat, notebook.nbformat_minor) >= (4, 5):
        cell.id = known.grade_id.replace("_", "-")[:64]
        if any(other.get("id") == cell.id for other in notebook.cells):
            cell.id = f"back-{len(notebook.cells)}"
    return cell


def _tests_last(notebook: Any) -> list[str]:
    """Move our test cells behind the work where some stand above it: they grade what is above."""
    ours = {id(c): t for c in notebook.cells if is_test(c) and (t := parse_test(str(c.source)))}
    work = [i for i, c in enumerate(notebook.cells) if marks(c).get("solution")]
    tests = [i for i, c in enumerate(notebook.cells) if id(c) in ours]
    if not work or not tests or tests[0] > work[-1]:
        return []
    order = list(Kind)
    moved = sorted((notebook.cells[i] for i in tests), key=lambda c: order.index(ours[id(c)].kind))
    notebook.cells = [c for c in notebook.cells if id(c) not in ours] + moved
    return ["test cells stood above the work and were moved to the end"]


class RepairCells(NbGraderPreprocessor):  # type: ignore[misc]
    """Repairs a submitted notebook of the course before nbgrader's own checks."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Repair a notebook with what the gradebook knows; each repair goes to the log.

        Raises UsageError where the file is one that the bulk command does not read either.
        """
        place = resources["nbgrader"]
        directory = course_directory(self)
        folder = course_of_directory(directory)
        if folder is None or exercise_of(place["notebook"], folder) is None:
            return nb, resources  # what damage to other notebooks means, nbgrader says
        path = submitted_folder(directory, place) / f"{place['notebook']}.ipynb"
        _check_file(path, folder.course)
        with Gradebook(place["db_url"]) as gradebook:
            sheet = read_sheet(gradebook.find_notebook(place["notebook"], place["assignment"]))
        for note in repair_notebook(nb, sheet):
            self.log.warning("%s, %s: %s", place["student"], place["notebook"], note)
        return nb, resources


def _check_file(path: Path, course: Course) -> None:
    """Refuse links, which lead nbgrader to files of the instructor's, and what is too large."""
    try:
        data = read_regular(path, course.limits.source_kib * 1024)
        ask(without_outputs, data.decode("utf-8-sig", "replace"))
    except Refused as refused:
        raise UsageError(f"{path} {refused}: {refused.next_step}") from None
