"""What the gradebook knows of an assignment's cells, as plain records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


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
