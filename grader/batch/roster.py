"""Reads who is in a class: a table of one's own, or one that a platform lets download."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

from grader.batch.tables import read_table
from grader.errors import UsageError
from grader.records.people import Person, folded

# What a column may be called; several of one field are tried in this order.
_COLUMNS = {
    "id": ("id", "sid", "student id", "identifier", "id number"),
    "name": ("name", "full name", "student"),
    "email": ("email", "email address", "e-mail"),
    "login": ("login", "username", "sis login id", "github_username", "github username"),
    "group": ("group", "team"),
}
_FIRST = ("first name", "firstname", "first_name", "given name")
_LAST = ("last name", "lastname", "last_name", "surname", "family name")
_PARTICIPANT = re.compile(r"Participant (\d+)")  # how Moodle's worksheet writes a number
_NOBODY = ("points possible", "student, test")  # lines of a gradebook of Canvas's


def read_roster(path: Path) -> tuple[Person, ...]:
    """Return the people that a CSV file names, in its order; raises UsageError.

    Known columns are id, name (or first name and last name), email, login and group. Canvas's
    gradebook, Moodle's worksheet and the rosters of Gradescope and GitHub Classroom have them.
    """
    titles, *rows = read_table(path).rows
    columns = places_of(titles)
    if not any(name in columns for names in (*_COLUMNS.values(), _LAST) for name in names):
        raise UsageError(
            f"{path} has no column that is known: name some id, name, email, login or group"
        )
    found: dict[Person, int] = {}
    for number, row in enumerate(rows, start=2):
        person = person_of(columns, row)
        if any(astuple(person)) and not folded(person.name).startswith(_NOBODY):
            found.setdefault(person, number)
    _refuse_twice(path, found)
    return tuple(found)


def places_of(titles: Sequence[str]) -> Mapping[str, int]:
    """Return where each column stands, the first of those that are called alike."""
    return {folded(title): place for place, title in reversed(list(enumerate(titles)))}


def person_of(columns: Mapping[str, int], row: Sequence[str]) -> Person:
    """Return whom a line of a table names."""

    def cells(names: Sequence[str]) -> Iterator[str]:
        for name in names:
            if name in columns and columns[name] < len(row) and (text := row[columns[name]]):
                yield text.strip()

    told = {field: next(cells(names), "") for field, names in _COLUMNS.items()}
    parts = (next(cells(_FIRST), ""), next(cells(_LAST), ""))
    told["name"] = told["name"] or " ".join(filter(None, parts))
    if found := _PARTICIPANT.fullmatch(told["id"]):
        told["id"] = found[1]
    if "@" in told["id"] and not told["email"]:
        told["email"], told["id"] = told["id"], ""
    return Person(**told)


def _refuse_twice(path: Path, found: Mapping[Person, int]) -> None:
    """Refuse two people with one number, address or login: nobody could tell them apart."""
    for field in ("id", "email", "login"):
        lines: dict[str, int] = {}
        for person, line in found.items():
            text = folded(getattr(person, field))
            if text and lines.setdefault(text, line) != line:
                raise UsageError(
                    f"{path}, line {line}: the {field} is that of line {lines[text]} too"
                )
