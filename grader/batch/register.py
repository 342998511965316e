"""Who is in a folder of results: whose submissions they are, from where, and who is gone."""

import json
import shlex
import sqlite3
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grader.batch.entries import Entry
from grader.batch.people import KeptSubmission, Member, members_of, owners_of
from grader.errors import UsageError
from grader.records.people import Identity, Person

SCHEMA = """
CREATE TABLE IF NOT EXISTS handed (
    student TEXT PRIMARY KEY, identity TEXT NOT NULL, source TEXT NOT NULL,
    here INTEGER NOT NULL, before TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS origins (
    student TEXT NOT NULL, exercise TEXT NOT NULL, source TEXT NOT NULL, time TEXT NOT NULL,
    PRIMARY KEY (student, exercise)
);
"""
_HERE = "SELECT student, source FROM handed WHERE here ORDER BY student"


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
class Renamed:
    """A student whom a platform gives another name than before."""

    before: str
    now: str


@dataclass(frozen=True)
class Place:
    """Where a submission was handed in."""

    student: str
    folder: Path  # of the class's submissions
    people: frozenset[Hashable]  # whose it is: the same key, one person
    elsewhere: frozenset[str]  # exercises that were handed in to another folder
    names: Mapping[str, str]  # other names of files, by exercise


def refuse_other_folder(database: sqlite3.Connection, results: Path, given: ClassList) -> None:
    """Raise UsageError where the results are of another folder, and none is to be added."""
    folders = _folders(database)
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
    if not database.execute("SELECT 1 FROM about WHERE name = 'running'").fetchone():
        database.execute(
            "DELETE FROM before WHERE student IN (SELECT student FROM handed WHERE source = ?)",
            (source,),
        )
    _tell(database, "running", source)
    database.execute("UPDATE handed SET here = 0 WHERE source = ?", (source,))
    database.executemany(
        "INSERT INTO handed VALUES (?, ?, ?, 1, '') ON CONFLICT (student) "
        "DO UPDATE SET identity = excluded.identity, source = excluded.source, here = 1",
        [(entry.student, entry.known.to_json(), source) for entry in given.entries],
    )
    folders = dict.fromkeys([*_folders(database), source])
    _tell(database, "folders", json.dumps(list(folders)))
    _tell(database, "exercises", json.dumps(given.exercises))
    _tell(database, "parts", json.dumps(given.parts))
    _tell(database, "names", json.dumps({**_all_names(database), source: dict(given.names)}))
    if given.roster is not None:
        people = [asdict(person) for person in given.roster]
        _tell(database, "roster", json.dumps(people, ensure_ascii=False))


def _folders(database: sqlite3.Connection) -> list[str]:
    """Return the folders whose submissions the results are of."""
    told = database.execute("SELECT value FROM about WHERE name = 'folders'").fetchone()
    return list(json.loads(told[0])) if told else []


def read_names(database: sqlite3.Connection, folder: Path) -> dict[str, str]:
    """Return by what other names the files of a folder were graded, by exercise."""
    return _all_names(database).get(str(folder.resolve()), {})


def _all_names(database: sqlite3.Connection) -> dict[str, dict[str, str]]:
    told = database.execute("SELECT value FROM about WHERE name = 'names'").fetchone()
    return dict(json.loads(told[0])) if told else {}


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


def read_times(database: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return when exercises were handed in, by submission and exercise."""
    if not _has_origins(database):
        return {}
    rows = database.execute("SELECT student, exercise, time FROM origins")
    return {(student, exercise): time for student, exercise, time in rows}


def _has_origins(database: sqlite3.Connection) -> bool:
    """Whether results are new enough to say where each exercise was handed in."""
    return bool(database.execute("SELECT 1 FROM sqlite_master WHERE name = 'origins'").fetchone())


def _tell(database: sqlite3.Connection, name: str, value: str) -> None:
    database.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))


def read_members(database: sqlite3.Connection) -> tuple[Member, ...]:
    """Return the people of a class, those of its roster first."""
    return members_of(_kept(database), _roster(database))


def read_places(database: sqlite3.Connection) -> list[Place]:
    """Return where each submission is, and whose; one of several folders has a place in each."""
    owners, names = owners_of(_kept(database), _roster(database)), _all_names(database)
    origins: defaultdict[str, dict[str, str]] = defaultdict(dict)
    if _has_origins(database):
        for student, *origin in database.execute("SELECT student, exercise, source FROM origins"):
            origins[student].update([origin])
    found = []
    for student, last in database.execute(_HERE):
        own = origins[student]
        for source in sorted({last, *own.values()}):
            others = frozenset(exercise for exercise, where in own.items() if where != source)
            known = names.get(source, {})
            found.append(Place(student, Path(source), owners[student], others, known))
    return found


def _roster(database: sqlite3.Connection) -> list[Person]:
    told = database.execute("SELECT value FROM about WHERE name = 'roster'").fetchone()
    return [Person(**person) for person in json.loads(told[0])] if told else []


def _kept(database: sqlite3.Connection) -> list[KeptSubmission]:
    rows = database.execute(
        "SELECT s.student, h.identity, COALESCE(h.here, 1), COALESCE(h.before, ''), "
        "(SELECT SUM(score) FROM results r WHERE r.student = s.student) "
        "FROM (SELECT student FROM students UNION SELECT student FROM handed WHERE here) s "
        "LEFT JOIN handed h ON h.student = s.student ORDER BY s.student"
    )
    return [
        KeptSubmission(
            student,
            Identity.parse(text) if text else Identity((Person(student),)),
            bool(here),
            score,
            before,
        )
        for student, text, here, before, score in rows
    ]
