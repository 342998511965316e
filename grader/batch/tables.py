"""Tables as CSV: reads them whatever stands between the columns, and writes cells that are safe."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError

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
