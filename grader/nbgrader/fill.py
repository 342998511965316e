"""Fills a notebook's test cells with verdicts: a pure function of notebook and grader."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nbformat import v4

from grader.course.models import Exercise
from grader.handin.read import Source, bounded
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
from grader.nbgrader.verdicts import MarkedNotebook, NotebookGrader
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
