"""Adds the results in a folder to those in another: of a class graded in shards."""

import contextlib
import json
import sqlite3
from dataclasses import fields
from pathlib import Path

from grader.batch.database import DATABASE, has_table, note, noted, read_about, reading, reported
from grader.batch.register import read_names
from grader.batch.results import OF_STUDENTS, STUDENTS, About, Results
from grader.errors import UsageError
from grader.files import replace_file
from grader.records.text import clean, listed

_TABLES = ("handed", "students", *OF_STUDENTS)
_OF_FOLDER = "student IN (SELECT student FROM handed WHERE source = ?)"


def holds_results(folder: Path) -> bool:
    """Whether `grade batch` has kept results in a folder."""
    return (folder / DATABASE).is_file()


def merge_results(shard: Path, into: Path) -> int:
    """Add the results in `shard` to those in `into`, and return of how many submissions they are.

    What came before from the same folders of submissions is replaced. Raises UsageError where they
    are of another kind, of a run that was stopped, or of submissions that both have.
    """
    if shard.resolve() == into.resolve():
        raise UsageError(f"{shard} is to be added to itself: name another folder with -o")
    with reading(shard) as theirs:
        told = read_about(theirs)
        if "running" in told:
            raise UsageError(f"{shard}: its run was stopped; the same command goes on with it")
        about = About(**{one.name: told.get(one.name, "") for one in fields(About)})
        with contextlib.closing(Results(into, about)) as results, reported(into):
            ours = results.database
            _refuse_both(ours, theirs, shard, into)
            with ours:
                return _copy(theirs, shard, ours, into)


def _refuse_both(
    ours: sqlite3.Connection, theirs: sqlite3.Connection, shard: Path, into: Path
) -> None:
    """Raise UsageError where somebody handed in to two folders."""
    known = dict(ours.execute("SELECT student, source FROM handed"))
    came = theirs.execute("SELECT student, source FROM handed ORDER BY student")
    if both := [clean(name, 60) for name, source in came if known.get(name, source) != source]:
        raise UsageError(
            f"{shard} and {into} have results of the same: {listed(both)}. `grade batch` with "
            "--merge and the folder of the submissions grades them together"
        )


def _copy(theirs: sqlite3.Connection, shard: Path, ours: sqlite3.Connection, into: Path) -> int:
    """Copy the files before the rows, so that a row never lacks its file."""
    folders = noted(theirs, "folders") or []
    files = {file for (file,) in theirs.execute("SELECT file FROM students")}
    for file in files:
        replace_file(into / STUDENTS / file, (shard / STUDENTS / file).read_bytes())
    for folder in folders:
        before = ours.execute(f"SELECT file FROM students WHERE {_OF_FOLDER}", (folder,))  # noqa: S608
        for (file,) in before.fetchall():
            if file not in files:  # it was renamed there
                (into / STUDENTS / file).unlink(missing_ok=True)
        for table in reversed(_TABLES):
            ours.execute(f"DELETE FROM {table} WHERE {_OF_FOLDER}", (folder,))  # noqa: S608
    for table in _TABLES:
        if has_table(theirs, table):
            for row in theirs.execute(f"SELECT * FROM {table}"):  # noqa: S608 - our own
                marks = ", ".join("?" * len(row))
                ours.execute(f"INSERT INTO {table} VALUES ({marks})", row)  # noqa: S608
    _note_all(theirs, ours)
    return len(files)


def _note_all(theirs: sqlite3.Connection, ours: sqlite3.Connection) -> None:
    """Note of both what is told of them as a whole."""
    for name in ("exercises", "parts"):  # of the course, which is one
        note(ours, name, noted(theirs, name))
    for name in ("folders", "notes", "roster"):
        both = [*(noted(ours, name) or ()), *(noted(theirs, name) or ())]
        note(ours, name, list({json.dumps(one): one for one in both}.values()))
    note(ours, "names", {**read_names(ours), **read_names(theirs)})
