"""The database of a results folder: its tables, how it is opened, and what it notes of itself."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.errors import InternalError, UsageError

DATABASE = "results.sqlite"
RESULTS_VERSION = 2
_RESULT = """exercise TEXT NOT NULL,
    digest TEXT NOT NULL, status TEXT NOT NULL, score REAL NOT NULL, max_score REAL NOT NULL,
    absent INTEGER NOT NULL, remarks TEXT NOT NULL, result TEXT NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (student, exercise)"""  # of a result, and of the one before the last run
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS students (
    student TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, notes TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS results (
    student TEXT NOT NULL REFERENCES students (student), {_RESULT}
);
CREATE TABLE IF NOT EXISTS before (student TEXT NOT NULL, {_RESULT});
CREATE TABLE IF NOT EXISTS shown (
    student TEXT NOT NULL, exercise TEXT NOT NULL, page BLOB NOT NULL,
    PRIMARY KEY (student, exercise)
);
CREATE TABLE IF NOT EXISTS attempts (
    student TEXT NOT NULL, exercise TEXT NOT NULL, number INTEGER NOT NULL, time TEXT NOT NULL,
    digest TEXT NOT NULL, score REAL NOT NULL, max_score REAL NOT NULL, mistakes TEXT NOT NULL,
    PRIMARY KEY (student, exercise, number)
);
CREATE TABLE IF NOT EXISTS handed (
    student TEXT PRIMARY KEY, identity TEXT NOT NULL, source TEXT NOT NULL,
    here INTEGER NOT NULL, before TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS origins (
    student TEXT NOT NULL, exercise TEXT NOT NULL, source TEXT NOT NULL, time TEXT NOT NULL,
    PRIMARY KEY (student, exercise)
);
"""


def open_database(folder: Path) -> sqlite3.Connection:
    """Open the database of a folder to write, with all its tables, beginning one if need be."""
    database = sqlite3.connect(folder / DATABASE)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=NORMAL")  # safe against a killed process
    if has_table(database, "about") and read_about(database).get("results_version") == "1":
        database.executescript(  # the first version did not say what course results are of
            "ALTER TABLE results ADD COLUMN key TEXT NOT NULL DEFAULT '';"
            "UPDATE about SET name = 'secret' WHERE name = 'cases';"
            "UPDATE about SET value = '2' WHERE name = 'results_version';"
        )
    database.executescript(_SCHEMA)
    return database


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the results in a folder to read them; raises UsageError where there are none."""
    path = folder / DATABASE
    if not path.is_file():
        raise UsageError(f"{folder} holds no results: run grade batch -o {folder.name} first")
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            if read_about(database).get("results_version") != str(RESULTS_VERSION):
                raise UsageError(f"{folder} is of another version of grader: run grade batch again")
            yield database
    except sqlite3.DatabaseError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


@contextlib.contextmanager
def reported(folder: Path) -> Iterator[None]:
    """Turn what a disk or a database says while results are kept into one line."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise InternalError(f"results cannot be kept in {folder}: {error}") from None
    except OSError as error:
        raise InternalError(f"results cannot be kept in {folder}: {error.strerror}") from None


def has_table(database: sqlite3.Connection, name: str) -> bool:
    """Whether there is a table; results of before it was kept have none."""
    found = database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,))
    return found.fetchone() is not None


def read_about(database: sqlite3.Connection) -> dict[str, str]:
    """Return all that is noted of the results as a whole, as it was written."""
    return dict(database.execute("SELECT name, value FROM about"))


def noted(database: sqlite3.Connection, name: str) -> Any:
    """Return what `note` wrote under a name, None where that is nothing."""
    told = database.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
    return json.loads(told[0]) if told else None


def note(database: sqlite3.Connection, name: str, value: object) -> None:
    """Write something of the results as a whole, in place of what was there under the name."""
    values = (name, json.dumps(value))
    database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", values)
