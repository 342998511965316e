"""The cells of a course's notebooks: names, test cells and their points, what is graded."""

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal

from grader.course.models import Exercise
from grader.handin.notebooks import neutralize_magics
from grader.handin.syntax import parse
from grader.notebook.cells import defined_names
from grader.records.results import CellScore, ExerciseResult, Kind, Status

Unit = tuple[str, str]  # label that messages show, source text
SCHEMA = 3  # of nbgrader's cell metadata
_PLACES = Decimal("0.000001")  # of a score that nbgrader reads
SETUP = "%load_ext grader.nbgrader"


@dataclass(frozen=True)
class TestCell:
    """What a test cell asks for."""

    __test__ = False  # no test of pytest's

    exercise: str
    kind: Kind
    points: float | None = None  # what the cell says that it is worth


def setup_id(exercise: Exercise) -> str:
    """Return the grade id of a notebook's first code cell."""
    return f"{exercise.id}-setup"


def test_id(exercise: Exercise, kind: Kind) -> str:
    """Return the grade id of a test cell."""
    return f"{exercise.id}-{kind.value}"


def solution_id(exercise: Exercise, name: str) -> str:
    """Return the grade id of the solution cell that defines `name`."""
    return f"{exercise.id}-{name}"


def test_source(exercise: Exercise, kind: Kind) -> str:
    """Return the source of a test cell."""
    points = kind_points(exercise)[kind]
    call = f'grade_cell("{exercise.id}", "{kind.value}", points={points:g})'
    return f"from grader.nbgrader import grade_cell\n\n{call}"


def kind_points(exercise: Exercise) -> dict[Kind, float]:
    """Return an exercise's points by kind of check, kinds without points left out."""
    sums = {
        kind: round(sum(float(getattr(t.points, kind.value)) for t in exercise.targets), 6)
        for kind in Kind
    }
    return {kind: points for kind, points in sums.items() if points > 0}


def parse_test(source: str) -> TestCell | None:
    """Return what a test cell asks for, None where it is not one of ours."""
    tree = parse(source)
    if tree is None:
        return None
    body = tree.body
    calls = [n.value for n in body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]
    others = [n for n in body if not isinstance(n, ast.Expr | ast.ImportFrom)]
    if len(calls) != 1 or others or _name(calls[0].func) != "grade_cell":
        return None
    values = [a.value for a in calls[0].args if isinstance(a, ast.Constant)]
    if len(values) != 2 or values[1] not in list(Kind):
        return None
    said = {k.arg: k.value.value for k in calls[0].keywords if isinstance(k.value, ast.Constant)}
    points = said.get("points")
    worth = float(points) if isinstance(points, int | float) else None
    return TestCell(str(values[0]), Kind(str(values[1])), worth)


def _name(function: ast.expr) -> str:
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def kind_score(result: ExerciseResult, test: TestCell) -> CellScore:
    """Return a result's points for one kind of check, in the cell's measure.

    Never below 0, never above what the cell is worth, never NaN: nbgrader would give full marks.
    """
    checks = tuple(c for c in result.checks if c.kind is test.kind)
    possible = sum(c.max_score for c in checks)
    worth = round(possible, 6) if test.points is None else max(test.points, 0.0)
    share = sum(c.score for c in checks) / possible if possible > 0 else 0.0
    score = round(worth * min(share, 1.0), 4) if share > 0 else 0.0  # NaN is not above 0
    status = Status.worst(c.status for c in checks)
    return CellScore(test.kind, min(score, worth), worth, status, checks)


def marks(cell: Mapping[str, object]) -> Mapping[str, object]:
    """Return a cell's nbgrader metadata, empty where there is none or it is nonsense."""
    metadata = cell.get("metadata")
    found = metadata.get("nbgrader") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def grade_id(cell: Mapping[str, object]) -> str:
    """Return a marked cell's name, "" where it has none."""
    return str(marks(cell).get("grade_id", ""))


def is_test(cell: Mapping[str, object]) -> bool:
    """Whether a cell holds tests and no work of the student's."""
    return bool(marks(cell).get("grade")) and not marks(cell).get("solution")


def code_units(cells: Sequence[Mapping[str, object]], name: str) -> tuple[Unit, ...]:
    """Return the code of some cells as it stands there, test cells left out."""
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    sources = [(number, str(cell["source"]), is_test(cell)) for number, cell in enumerate(code, 1)]
    return tuple(
        (f"{name}, cell {number}", source)
        for number, source, test in sources
        if not test and source.strip()
    )


def units_above(cells: Sequence[Mapping[str, object]], index: int, name: str) -> tuple[Unit, ...]:
    """Return the code above cell `index` as a kernel would have run it."""
    units = code_units(cells[:index], name)
    return tuple((label, neutralize_magics(source)) for label, source in units)


def magic_notes(cells: Iterable[Mapping[str, object]]) -> tuple[str, ...]:
    """Return one sentence for each magic or shell line of the student's that is left out."""
    lines = []
    for cell in cells:
        source = str(cell["source"])
        if cell["cell_type"] == "code" and not is_test(cell) and source.strip() != SETUP:
            kept = neutralize_magics(source).splitlines()
            lines += [b for b, a in zip(source.splitlines(), kept, strict=False) if a != b]
    return tuple(f"not run, for it is no Python: {line.strip()[:80]}" for line in lines[:5])


def defining_cell(cells: Sequence[Mapping[str, object]], name: str) -> int | None:
    """Return the index of the last solution cell that defines a function or class `name`."""
    found = None
    for index, cell in enumerate(cells):
        if cell["cell_type"] != "code" or not marks(cell).get("solution"):
            continue
        if name in defined_names([str(cell["source"])]):
            found = index
    return found


def points_text(score: float) -> str:
    """Return a score as nbgrader reads it: a plain number, never rounded up above the maximum."""
    return f"{Decimal(repr(float(score))).quantize(_PLACES, ROUND_DOWN).normalize():f}"
