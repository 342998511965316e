"""Who is in a folder of results: whose submissions they are, from where, and who is gone."""

import shlex
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grader.batch.database import has_table, note, noted, read_about
from grader.batch.entries import Entry
from grader.errors import UsageError
from grader.records.people import Identity, Person


@dataclass(frozen=True)
class ClassList:
    """What is known of a class before it is graded."""

    folder: Path  # of the submissions
    entries: Sequence[Entry]
    exercises: Sequence[str] = ()  # of the course, graded or not
    roster: Sequence[Person] | None = None  # None keeps the one of before
    merge: bool = False  # whether another folder may come into the same results
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)  # exercises of each part
    names: Mapping[str, str] = field(default_factory=dict)  # other names of files, by exercise


@dataclass(frozen=True)
class Origin:
    """Where an exercise of a submission was handed in."""

    student: str
    exercise: str
    source: str  # the class's folder
    time: str  # as a platform tells


@dataclass(frozen=True)
class Renamed:
    """A student whom a platform gives another name than before."""

    before: str
    now: str


def refuse_other_folder(database: sqlite3.Connection, results: Path, given: ClassList) -> None:
    """Raise UsageError where the results are of another folder, and none is to be added."""
    folders = noted(database, "folders")
    if folders and str(given.folder.resolve()) not in folders and not given.merge:
        command = f"grade batch {shlex.quote(str(given.folder))} -o {shlex.quote(str(results))}"
        raise UsageError(
            f"{results} holds the results of {folders[0]}: `{command} --merge` adds those of "
            f"{given.folder}; for a class of its own name another folder"
        )


def renamed(database: sqlite3.Connection, entries: Sequence[Entry]) -> Iterator[Renamed]:
    """Yield who has results under another name: a platform's number stays, a name may change."""
    stored = dict(database.execute("SELECT student, identity FROM handed"))
    by_number = {
        number: student
        for student, text in stored.items()
        if (number := _number(Identity.parse(text)))
    }
    now = {entry.student for entry in entries}
    for entry in entries:
        before = by_number.get(_number(entry.known))
        if before and before not in now and entry.student not in stored:
            yield Renamed(before, entry.student)


def _number(identity: Identity) -> tuple[str, ...]:
    """Return what is the same for all submissions of one person; () where it is not known."""
    (first, *others) = identity.people or (Person(),)
    return (identity.platform, first.id) if first.id and not others else ()


def enter(database: sqlite3.Connection, given: ClassList) -> None:
    """Write who is in the class's folder now; who was there before and is not is gone."""
    source = str(given.folder.resolve())
    if "running" not in read_about(database):
        database.execute(
            "DELETE FROM before WHERE student IN (SELECT student FROM handed WHERE source = ?)",
            (source,),
        )
    note(database, "running", source)
    database.execute("UPDATE handed SET here = 0 WHERE source = ?", (source,))
    database.executemany(
        "INSERT INTO handed VALUES (?, ?, ?, 1, '') ON CONFLICT (student) "
        "DO UPDATE SET identity = excluded.identity, source = excluded.source, here = 1",
        [(entry.student, entry.known.to_json(), source) for entry in given.entries],
    )
    note(database, "folders", list(dict.fromkeys([*(noted(database, "folders") or ()), source])))
    note(database, "exercises", given.exercises)
    note(database, "parts", given.parts)
    note(database, "names", {**read_names(database), source: dict(given.names)})
    if given.roster is not None:
        note(database, "roster", [asdict(person) for person in given.roster])


def read_names(database: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Return by what other names the files of each folder were graded, by exercise."""
    return noted(database, "names") or {}


def handed_in_elsewhere(database: sqlite3.Connection, student: str) -> set[str]:
    """Return the exercises that a student handed in, in another folder than the last one's."""
    found = database.execute(
        "SELECT exercise FROM origins o JOIN handed h USING (student) "
        "WHERE student = ? AND o.source != h.source",
        (student,),
    )
    return {exercise for (exercise,) in found}


def keep_origins(
    database: sqlite3.Connection, student: str, time: str, graded: Mapping[str, bool]
) -> None:
    """Write where exercises were handed in, and when as a platform tells.

    `graded` says of each exercise whether it was handed in.
    """
    database.executemany(
        "DELETE FROM origins WHERE student = ? AND exercise = ?",
        [(student, exercise) for exercise in graded],
    )
    database.executemany(
        "INSERT INTO origins SELECT student, ?, source, ? FROM handed WHERE student = ?",
        [(exercise, time, student) for exercise, there in graded.items() if there],
    )


def read_origins(database: sqlite3.Connection) -> Iterator[Origin]:
    """Yield where and when exercises were handed in; nothing of results of before it was kept."""
    if has_table(database, "origins"):
        rows = database.execute("SELECT student, exercise, source, time FROM origins")
        yield from (Origin(*row) for row in rows)


def read_times(database: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return when exercises were handed in, by submission and exercise."""
    return {(one.student, one.exercise): one.time for one in read_origins(database)}
