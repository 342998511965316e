"""Moodle's grading worksheet in any language, known by its form.

Its titles are in the language of whoever downloads it, and Moodle takes it back in that language
alone. The order of its columns is fixed (mod/assign/gradingtable.php): a participant's number, full
name, other fields of a person, status, grade, maximum grade, what can be changed, what was handed
in, the time of the grade, and the feedback.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grader.batch.tables import Table

_NUMBERED = re.compile(r"[^\d]*(\d+)")  # "Participant 11", "Teilnehmer/in11"
_POINTS = re.compile(r"\d+[.,]\d+")
_GRADE = re.compile(r"(\d+([.,]\d+)?|-)?")


@dataclass(frozen=True)
class WorksheetForm:
    """Where in a worksheet what stands; -1 where it is not there."""

    identifier: int
    grade: int
    most: int
    time: int = -1
    comment: int = -1
    people: Mapping[str, int] = field(default_factory=dict)  # columns of name and address

    def participant(self, row: Sequence[str]) -> str:
        """Return the number of a line's participant, "" where it has none."""
        found = _NUMBERED.fullmatch(row[self.identifier])
        return found[1] if found else ""

    @property
    def last_of_others(self) -> int:
        """The column before which text is others' and is not read back."""
        return self.time if self.time >= 0 else self.grade


def read_by_form(table: Table) -> WorksheetForm | None:
    """Return a worksheet's form, whatever its columns are called; None where it has another."""
    rows = table.rows[1:]
    width = len(table.rows[0])
    if not rows or any(len(row) != width or not _NUMBERED.fullmatch(row[0]) for row in rows):
        return None
    found = [n for n in range(2, width) if _is_most(rows, n)]
    if len(found) != 1:
        return None
    addresses = (n for n in range(2, found[0] - 1) if any("@" in row[n] for row in rows))
    people = {"full name": 1}
    if address := next(addresses, 0):
        people["email"] = address
    last = width - 1
    comment = last if last > found[0] + 1 and not any(row[last] for row in rows) else -1
    return WorksheetForm(0, found[0] - 1, found[0], comment=comment, people=people)


def _is_most(rows: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a column has the same points in each line, behind one of grades."""
    points = {row[column] for row in rows}
    grades = all(_GRADE.fullmatch(row[column - 1].strip()) for row in rows)
    return grades and len(points) == 1 and bool(_POINTS.fullmatch(points.pop()))
