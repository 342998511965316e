"""Makes nbgrader's source notebooks from a course's solutions."""

from collections.abc import Mapping
from typing import Any

from grader.course.derive import BEGIN
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.nbgrader.cells import (
    SCHEMA,
    SETUP,
    kind_points,
    setup_id,
    solution_id,
    test_id,
    test_source,
)
from grader.notebook.cells import defined_names
from grader.report.verdict import TITLES

_KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def source_notebook(exercise: Exercise, solution: str) -> str:
    """Return the text of an exercise's source notebook.

    Every id follows from the exercise and the names that it defines, so a second run changes
    nothing. Raises CourseError where the solution's marked cells cannot be told apart.
    """
    import jupytext
    import nbformat

    lesson = jupytext.reads(solution, fmt="py:percent")
    cells = [_setup(exercise)]
    texts = 0
    for cell in lesson.cells:
        if cell.cell_type == "code" and BEGIN in cell.source:
            cells.append(_solution(exercise, cell))
        else:
            texts += 1
            cell.metadata = nbformat.NotebookNode()
            cell.id = f"{exercise.id}-{cell.cell_type}-{texts}"
            cells.append(cell)
    cells = [cells[1], cells[0], *cells[2:]]  # the lesson comes first
    cells.append(_explanation(exercise))
    cells += [_test(exercise, kind) for kind in kind_points(exercise)]
    metadata = {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    _check_ids(exercise, notebook)
    return str(nbformat.writes(notebook, version=4)) + "\n"


def _marked(grade_id: str, *, grade: bool, solution: bool, **more: object) -> dict[str, object]:
    found = {"schema_version": SCHEMA, "grade_id": grade_id, "grade": grade, "solution": solution}
    return {"nbgrader": {**found, "locked": not solution, "task": False, **more}}


def _code(cell_id: str, source: str, metadata: Mapping[str, object]) -> Any:
    import nbformat

    cell = nbformat.v4.new_code_cell(source, metadata=metadata)
    cell.id = cell_id.replace("_", "-")[:64]
    return cell


def _setup(exercise: Exercise) -> Any:
    name = setup_id(exercise)
    return _code(name, SETUP, _marked(name, grade=False, solution=False))


def _solution(exercise: Exercise, cell: Any) -> Any:
    names = defined_names([cell.source])
    if not names:
        raise CourseError(f"{exercise.file}: a cell with '{BEGIN}' defines no function or class")
    name = solution_id(exercise, names[0])
    return _code(name, cell.source, _marked(name, grade=False, solution=True))


def _explanation(exercise: Exercise) -> Any:
    import nbformat

    rows = "\n".join(f"| {TITLES[k]} | {p:g} |" for k, p in kind_points(exercise).items())
    text = (
        "## Check your work\n\nRun these cells as often as you like: they tell what is right and "
        f"what to do next, and cost nothing.\n\n| checks | points |\n| --- | --- |\n{rows}"
    )
    cell = nbformat.v4.new_markdown_cell(text)
    cell.id = f"{exercise.id}-check"
    return cell


def _test(exercise: Exercise, kind: Any) -> Any:
    name = test_id(exercise, kind)
    points = kind_points(exercise)[kind]
    marked = _marked(name, grade=True, solution=False, points=points)
    return _code(name, test_source(exercise, kind), marked)


def _check_ids(exercise: Exercise, notebook: Any) -> None:
    ids = [cell.id for cell in notebook.cells]
    twice = [name for name in ids if ids.count(name) > 1]
    if twice:
        raise CourseError(f"{exercise.file}: two marked cells define {twice[0]}: rename one")
