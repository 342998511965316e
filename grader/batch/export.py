"""Scores for other systems: CSV, Canvas, Moodle and Gradescope.

Readers make score rows, writers turn rows into files; neither knows the other.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

_FORMULA = ("=", "+", "-", "@")  # what a spreadsheet takes for the beginning of a formula


class Format(StrEnum):
    """Where the scores go."""

    CSV = "csv"
    CANVAS = "canvas"
    MOODLE = "moodle"
    GRADESCOPE = "gradescope"


@dataclass(frozen=True)
class ScoreRow:
    """One student's score in one exercise."""

    student: str
    assignment: str
    exercise: str
    score: float  # late penalty already taken off
    max_score: float
    penalty: float = 0.0
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    comment: str = ""  # text for the student


@dataclass(frozen=True)
class Scores:
    """What a reader found."""

    rows: tuple[ScoreRow, ...]
    notes: tuple[str, ...] = ()  # what whoever exports them should know: scores not final, say


@dataclass(frozen=True)
class ExportedFile:
    """A file to write; `name` is "" for the one that was asked for."""

    name: str
    text: str


def export_rows(rows: Iterable[ScoreRow], to: Format) -> list[ExportedFile]:
    """Return the files of a format; only Gradescope has one a student."""
    listed = list(rows)
    if to is Format.GRADESCOPE:
        return _gradescope(listed)
    table = {Format.CSV: _plain, Format.CANVAS: _canvas, Format.MOODLE: _moodle}[to]
    return [ExportedFile("", _as_csv(table(listed)))]


def _plain(rows: Sequence[ScoreRow]) -> list[list[object]]:
    exercises = _exercises(rows)
    columns = ["student", "last_name", "first_name", "email", "assignment", *exercises]
    table: list[list[object]] = [[*columns, "late_penalty", "total", "max_total"]]
    for own in _by_student(rows):
        scores = {row.exercise: row.score for row in own}
        first = own[0]
        who = [first.student, first.last_name, first.first_name, first.email, first.assignment]
        points = [scores.get(exercise, "") for exercise in exercises]
        penalty = _sum(row.penalty for row in own)
        table.append([*who, *points, penalty, _total(own), _sum(r.max_score for r in own)])
    return table


def _canvas(rows: Sequence[ScoreRow]) -> list[list[object]]:
    """Canvas's gradebook import: it finds students by SIS id or login."""
    assignment = rows[0].assignment if rows else "assignment"
    possible = max((_sum(r.max_score for r in own) for own in _by_student(rows)), default=0.0)
    table: list[list[object]] = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", assignment],
        ["    Points Possible", "", "", "", "", possible],
    ]
    for own in _by_student(rows):
        first = own[0]
        table.append([_full_name(first), "", first.student, first.student, "", _total(own)])
    return table


def _moodle(rows: Sequence[ScoreRow]) -> list[list[object]]:
    """Moodle's grade import from CSV: students are mapped by ID number or email address."""
    assignment = rows[0].assignment if rows else "assignment"
    table: list[list[object]] = [
        ["ID number", "First name", "Surname", "Email address", assignment, "Feedback comments"]
    ]
    for own in _by_student(rows):
        first = own[0]
        said = " ".join(f"{row.exercise}: {row.comment}" for row in own if row.comment)
        who = [first.student, first.first_name, first.last_name, first.email]
        table.append([*who, _total(own), said])
    return table


def _gradescope(rows: Sequence[ScoreRow]) -> list[ExportedFile]:
    return [
        ExportedFile(f"{_file_name(own[0].student, number)}/results.json", _results_json(own))
        for number, own in enumerate(_by_student(rows), start=1)
    ]


def _results_json(own: Sequence[ScoreRow]) -> str:
    tests = [
        {
            "name": row.exercise,
            "score": row.score,
            "max_score": row.max_score,
            "output": row.comment,
            "output_format": "text",
        }
        for row in own
    ]
    return json.dumps({"score": _total(own), "tests": tests}, indent=2, ensure_ascii=False) + "\n"


def _by_student(rows: Sequence[ScoreRow]) -> list[list[ScoreRow]]:
    found: dict[tuple[str, str], list[ScoreRow]] = {}
    for row in rows:
        found.setdefault((row.student, row.assignment), []).append(row)
    return list(found.values())


def _exercises(rows: Sequence[ScoreRow]) -> list[str]:
    return list(dict.fromkeys(row.exercise for row in rows))


def _total(own: Sequence[ScoreRow]) -> float:
    return _sum(row.score for row in own)


def _sum(values: Iterable[float]) -> float:
    return round(sum(values), 4)


def _full_name(row: ScoreRow) -> str:
    names = [name for name in (row.last_name, row.first_name) if name]
    return ", ".join(names) or row.student


def _file_name(student: str, number: int) -> str:
    """A name that stays in its folder and clashes with no other, whatever the student is called."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in student)[:60]
    return plain if plain == student else f"{plain or 'student'}-{number}"


def _as_csv(table: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_cell(value) for value in row] for row in table)
    return out.getvalue()


def _cell(value: object) -> object:
    """Return a number as it is, and text so that no spreadsheet takes it for a formula."""
    if isinstance(value, int | float):
        return f"{round(value, 4):.12g}"
    lines = str(value).splitlines()
    text = "\n".join("".join(c if c.isprintable() else " " for c in line) for line in lines)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
