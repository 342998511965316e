"""Tables as CSV: read whatever stands between the columns, written safely; and rosters."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.records.people import Person, folded

# What a spreadsheet takes for the beginning of a formula, also where a semicolon or the end of a
# line ends a cell.
_FORMULA = re.compile(r"(^|[;\n])(\s*)([=+@\-\uff1d\uff0b\uff0d\uff20])")


@dataclass(frozen=True)
class Table:
    """The cells of a CSV file; its first line names the columns."""

    rows: list[list[str]]
    delimiter: str = ","

    def to_csv(self) -> str:
        """Return the file's text."""
        out = io.StringIO()
        csv.writer(out, delimiter=self.delimiter, lineterminator="\n").writerows(self.rows)
        return out.getvalue()


def read_table(path: Path) -> Table:
    """Read a CSV file with commas, semicolons or tabs; raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text: save it as CSV with UTF-8") from None
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise UsageError(f"{path} cannot be read as CSV: {error}") from None
    if not rows:
        raise UsageError(f"{path} is empty: its first line names the columns")
    return Table(rows, delimiter)


def cells(row: Iterable[object]) -> list[str]:
    """Return numbers and texts as cells."""
    return [cell(value) for value in row]


def cell(value: object) -> str:
    """Return a number as it is, and text so that no spreadsheet takes it for a formula."""
    if isinstance(value, int | float):
        return f"{round(value, 4):.12g}"
    lines = str(value).splitlines()
    text = "\n".join("".join(c if c.isprintable() else " " for c in line) for line in lines)
    return _FORMULA.sub(r"\1\2'\3", text)


def find_column(titles: Sequence[str], title: str) -> int:
    """Return the place of a column, -1 where there is none."""
    wanted = title.casefold()
    return next((n for n, text in enumerate(titles) if text.strip().casefold() == wanted), -1)


# ---- who is in a class ---------------------------------------------------------------------------


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
