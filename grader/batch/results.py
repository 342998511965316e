"""Keeps results: a SQLite file, one transaction a submission, and a JSON file a student.

The database says what is done. A JSON file is written before its row, so a row never lacks its
file; a file without its row is written again.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path

import filelock

from grader.batch import history, shown
from grader.batch.history import Graded, keep_attempts
from grader.batch.register import (
    SCHEMA,
    ClassList,
    Renamed,
    enter,
    handed_in_elsewhere,
    keep_origins,
    refuse_other_folder,
    renamed,
)
from grader.batch.shown import keep_shown
from grader.batch.unit import GradedSubmission, text_digest
from grader.errors import InternalError, UsageError
from grader.files import replace_file
from grader.grading.engine import ENGINE
from grader.records.text import file_stem

DATABASE = "results.sqlite"
STUDENTS = "students"
RESULTS_VERSION = 2
_RESULT = """exercise TEXT NOT NULL,
    digest TEXT NOT NULL, status TEXT NOT NULL, score REAL NOT NULL, max_score REAL NOT NULL,
    absent INTEGER NOT NULL, remarks TEXT NOT NULL, result TEXT NOT NULL, key TEXT NOT NULL,
    PRIMARY KEY (student, exercise)"""  # of a result, and of the one before the last run
_OF_STUDENTS = ("results", "before", "shown", "attempts", "origins")  # tables by a student's name
_SCHEMA = f"""{SCHEMA}{history.SCHEMA}{shown.SCHEMA}
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS students (
    student TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, notes TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS results (
    student TEXT NOT NULL REFERENCES students (student), {_RESULT}
);
CREATE TABLE IF NOT EXISTS before (student TEXT NOT NULL, {_RESULT});
"""


@dataclass(frozen=True)
class About:
    """What the results in a folder are of."""

    course: str  # its title
    split: str
    secret: str = ""  # the mark of the one that hidden cases are drawn from


@dataclass(frozen=True)
class _Row:
    """A row of the table `results`, in the order of its columns."""

    student: str
    exercise: str
    digest: str
    status: str
    score: float
    max_score: float
    absent: bool
    remarks: str  # JSON
    result: str  # JSON
    key: str  # a digest of the course and the secret


class Results:
    """The results of one course in one folder; only one process at a time writes them."""

    def __init__(self, folder: Path, about: About) -> None:
        """Open or begin a folder; raises UsageError where it holds something else."""
        self.folder = folder
        self._about = about
        with _reported(folder):
            (folder / STUDENTS).mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(folder / ".lock")
            try:
                self._lock.acquire(timeout=0)
            except filelock.Timeout:
                raise UsageError(f"{folder}: another `grade batch` is writing there now") from None
        try:
            with _reported(folder):
                self._database = _open(folder / DATABASE)
                self._check()
        except BaseException:
            self._lock.release()
            raise

    def close(self) -> None:
        """Close the database and let others write."""
        self._database.close()
        self._lock.release()

    def enter(self, given: ClassList) -> None:
        """Keep who is in a class; raises UsageError where the results are of another folder."""
        refuse_other_folder(self._database, self.folder, given)
        with _reported(self.folder):
            for one in list(renamed(self._database, given.entries)):
                self._rename(one)
            with self._database:
                enter(self._database, given)

    def digests(self) -> dict[str, dict[str, str]]:
        """Return the digest of each result, by student and exercise."""
        found: dict[str, dict[str, str]] = {}
        with _reported(self.folder):
            for student, exercise, digest in self._database.execute(
                "SELECT student, exercise, digest FROM results WHERE status != 'error'"
            ):
                if (self.folder / STUDENTS / f"{file_stem(student)}.json").is_file():
                    found.setdefault(student, {})[exercise] = digest
        return found

    def _document(self, graded: GradedSubmission, key: str, rows: Mapping[str, _Row]) -> str:
        """What is written of a submission beside the database."""
        document = {
            "format_version": RESULTS_VERSION,
            "student": graded.student,
            **asdict(self._about),
            "engine": ENGINE,
            "key": key,
            "score": round(sum(row.score for row in rows.values()), 2),
            "max_score": round(sum(row.max_score for row in rows.values()), 2),
            "notes": list(graded.notes),
        }
        told = json.dumps(document, ensure_ascii=False).removesuffix("}")
        results = ", ".join(rows[exercise].result for exercise in sorted(rows))  # JSON as they are
        return f'{told}, "results": [{results}]}}\n'

    def keep(self, graded: GradedSubmission, key: str) -> None:
        """Write what a submission came to; raises InternalError where that cannot be done.

        What is missing here and was handed in to another folder keeps its result.
        """
        with _reported(self.folder):
            others = handed_in_elsewhere(self._database, graded.student)
            graded = graded.without(graded.absent & others)
            rows = self._rows_before(graded.student) | {
                exercise: _row(graded, exercise, key) for exercise in graded.results
            }
            file = f"{file_stem(graded.student)}.json"
            replace_file(self.folder / STUDENTS / file, self._document(graded, key, rows).encode())
            with self._database:
                self._database.executemany(  # a run that goes on where one was stopped keeps its
                    "INSERT OR IGNORE INTO before SELECT * FROM results "
                    "WHERE student = ? AND exercise = ?",
                    [(graded.student, exercise) for exercise in graded.results],
                )
                self._database.execute(
                    "INSERT OR REPLACE INTO students VALUES (?, ?, ?)",
                    (graded.student, file, json.dumps(graded.notes)),
                )
                self._database.executemany(
                    "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [astuple(rows[exercise]) for exercise in sorted(graded.results)],
                )
                keep_shown(self._database, graded.student, graded.shown)
                keep_attempts(self._database, graded.student, graded.time, _attempts(graded))
                keep_origins(self._database, graded.student, graded.time, graded.there)

    def finish(self) -> None:
        """Tell that a run is complete: the next one compares with what is here now."""
        with _reported(self.folder), self._database:
            self._database.execute("DELETE FROM about WHERE name = 'running'")

    def note(self, notes: Sequence[str]) -> None:
        """Keep what is to be said of the class's folder as a whole, in place of what was."""
        with _reported(self.folder), self._database:
            self._database.execute(
                "INSERT OR REPLACE INTO about VALUES ('notes', ?)", (json.dumps(notes),)
            )

    def _rename(self, one: Renamed) -> None:
        """Give results the name that their student has now."""
        old, new = (self.folder / STUDENTS / f"{file_stem(s)}.json" for s in (one.before, one.now))
        if old.is_file():
            document = {**json.loads(old.read_text("utf-8")), "student": one.now}
            replace_file(new, (json.dumps(document, ensure_ascii=False) + "\n").encode())
        with self._database:
            values = (one.now, one.before)
            for table in _OF_STUDENTS:
                self._database.execute(
                    f"UPDATE {table} SET student = ? WHERE student = ?",  # noqa: S608 - our own
                    values,
                )
            self._database.execute(
                "UPDATE students SET student = ?, file = ? WHERE student = ?",
                (one.now, new.name, one.before),
            )
            self._database.execute(
                "UPDATE handed SET student = ?, before = ? WHERE student = ?",
                (one.now, one.before, one.before),
            )
        old.unlink(missing_ok=True)

    def _rows_before(self, student: str) -> dict[str, _Row]:
        """Return what is stored of a student, by exercise."""
        found = self._database.execute("SELECT * FROM results WHERE student = ?", (student,))
        return {row.exercise: row for row in (_Row(*values) for values in found)}

    def _check(self) -> None:
        _bring_up_to_date(self._database)
        self._database.executescript(_SCHEMA)
        wanted = {"results_version": str(RESULTS_VERSION), **asdict(self._about)}
        found = dict(self._database.execute("SELECT name, value FROM about"))
        for name, value in wanted.items():
            if name == "secret" and found.get(name, value) != value:
                raise UsageError(
                    f"{self.folder} holds results on the hidden cases of another secret: put that "
                    "one back from a backup, or name another folder"
                )
            if found.get(name, value) != value:
                what = name.replace("_", " ")
                raise UsageError(
                    f"{self.folder} holds results of another kind ({what}: {found[name]}, not "
                    f"{value}): name another folder"
                )
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", wanted.items())


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the results in a folder to read them; raises UsageError where there are none."""
    path = folder / DATABASE
    if not path.is_file():
        raise UsageError(f"{folder} holds no results: run grade batch -o {folder.name} first")
    try:
        with contextlib.closing(sqlite3.connect(path)) as database:
            about = dict(database.execute("SELECT name, value FROM about"))
            if about.get("results_version") != str(RESULTS_VERSION):
                raise UsageError(f"{folder} is of another version of grader: run grade batch again")
            yield database
    except sqlite3.DatabaseError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def _bring_up_to_date(database: sqlite3.Connection) -> None:
    """Take over results of the first version, which did not say what course they are of."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
    told = dict(database.execute("SELECT name, value FROM about")) if "about" in tables else {}
    if told.get("results_version") == "1":
        database.executescript(
            "ALTER TABLE results ADD COLUMN key TEXT NOT NULL DEFAULT '';"
            "UPDATE about SET name = 'secret' WHERE name = 'cases';"
            "UPDATE about SET value = '2' WHERE name = 'results_version';"
        )


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=NORMAL")  # safe against a killed process
    return database


def _row(graded: GradedSubmission, exercise: str, key: str) -> _Row:
    result = graded.results[exercise]
    return _Row(
        graded.student,
        exercise,
        graded.digests[exercise],
        result.status.value,
        result.score,
        result.max_score,
        exercise in graded.absent,
        json.dumps(graded.remarks[exercise]),
        result.text,
        key,
    )


def _attempts(graded: GradedSubmission) -> list[Graded]:
    """Return what was graded of what was handed in."""
    return [
        Graded(
            exercise,
            text_digest(graded.digests[exercise]),
            result.score,
            result.max_score,
            result.mistakes,
        )
        for exercise, result in graded.results.items()
        if exercise not in graded.absent
    ]


@contextlib.contextmanager
def _reported(folder: Path) -> Iterator[None]:
    """Turn what a disk or a database says into one line."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise InternalError(f"results cannot be kept in {folder}: {error}") from None
    except OSError as error:
        raise InternalError(f"results cannot be kept in {folder}: {error.strerror}") from None
