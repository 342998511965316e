"""`grade nbgrader init`: writes a course directory for nbgrader, and later updates it."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.course.derive import BEGIN, read_solution
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import CourseError, UsageError, writing
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
from grader.notebook.finding import INIT_MANIFEST, InitManifest, read_init_manifest
from grader.report.verdict import TITLES

# ---- source notebooks ----------------------------------------------------------------------------


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


# ---- the course directory ------------------------------------------------------------------------


CONFIG = "nbgrader_config.py"
CONFLICTS = "conflicts"
_CONFIG_TEXT = '''"""nbgrader's configuration for this course; what you add here is kept."""

from grader.nbgrader import configure

c = get_config()  # noqa: F821 - nbgrader's own
configure(c)
'''


@dataclass(frozen=True)
class Change:
    """What became of one file."""

    path: str  # below the directory
    what: str  # wrote, updated, unchanged, kept, removed or conflict


def init_directory(
    directory: Path, folder: CourseFolder, assignment: str, *, restore: bool = False
) -> list[Change]:
    """Write or update configuration and source notebooks; conflicts are left as they are.

    A file that only the course changed is updated; one that only the instructor changed is kept;
    one that the instructor removed stays away unless `restore` is given; one that both changed is a
    conflict: it stays, and the new text is put below `conflicts/`, where it is no danger to a
    release. Deleting it there says that the conflict is resolved.
    """
    _check_name(assignment)
    texts = {CONFIG: _CONFIG_TEXT, **_notebooks(folder, assignment)}
    written = dict(_manifest_before(directory).written)
    changes = [
        Change(name, _update(directory, name, text, written, restore=restore))
        for name, text in texts.items()
    ]
    course = os.path.relpath(folder.root.resolve(), directory.resolve())
    _write(directory / INIT_MANIFEST, InitManifest(Path(course).as_posix(), written).to_json())
    return changes


def _update(
    directory: Path, name: str, text: str, written: dict[str, str], *, restore: bool
) -> str:
    """Write one file if it is ours to write; returns what became of it, and notes what was written.

    `written` holds the digests of what was written, by name.
    """
    aside = f"{CONFLICTS}/{name}"
    resolved = written.get(aside) == _digest(text) and not (directory / aside).exists()
    last = _digest(text) if resolved else written.get(name, "")
    if last and name != CONFIG and not restore and not (directory / name).exists():
        return "removed"
    change = _place(directory / name, text, last)
    if change == "conflict":
        _write(directory / aside, text)
        written[aside] = _digest(text)
    else:
        (directory / aside).unlink(missing_ok=True)
        written.pop(aside, None)
        written[name] = _digest(text)
    return change


def _check_name(assignment: str) -> None:
    allowed = assignment.replace("-", "").replace("_", "").replace(" ", "")
    if not allowed.isalnum():
        raise UsageError(f"'{assignment}' is no name for an assignment: use letters and digits")


def _notebooks(folder: CourseFolder, assignment: str) -> dict[str, str]:
    texts = {}
    for exercise in folder.course.exercises:
        solution = read_solution(folder.solutions / exercise.file)
        texts[f"source/{assignment}/{exercise.id}.ipynb"] = source_notebook(exercise, solution)
    return texts


def _manifest_before(directory: Path) -> InitManifest:
    return (
        read_init_manifest(directory) if (directory / INIT_MANIFEST).exists() else InitManifest("")
    )


def _place(path: Path, text: str, last: str) -> str:
    """Write one file unless the instructor changed it; `last` is the digest written before."""
    try:
        present = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        _write(path, text)
        return "wrote"
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({type(error).__name__})") from None
    if _digest(present) == _digest(text):
        return "unchanged"
    if last == _digest(present):
        _write(path, text)
        return "updated"
    return "kept" if last == _digest(text) else "conflict"


def _write(path: Path, text: str) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _digest(text: str) -> str:
    """Digest a text; of a notebook only what an author writes, not what saving it changes."""
    try:
        meaning = json.dumps(_meaning(json.loads(text)), sort_keys=True)
    except (ValueError, TypeError, AttributeError, RecursionError):
        meaning = text
    return hashlib.sha256(meaning.encode()).hexdigest()


def _meaning(notebook: Any) -> list[object]:
    """What of a notebook's JSON an author writes; raises what Python does where it is none."""
    return [
        [cell["cell_type"], "".join(cell["source"]), cell["metadata"].get("nbgrader")]
        for cell in notebook.get("cells", [])
    ]
