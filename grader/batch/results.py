"""Keeps results: a SQLite file, one transaction a submission, and a JSON file a student.

The database says what is done. A JSON file is written before its row, so a row never lacks its
file; a file without its row is written again.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path

import filelock

from grader.batch.database import RESULTS_VERSION, note, open_database, read_about, reported
from grader.batch.platforms import told_moment
from grader.batch.register import (
    ClassList,
    Renamed,
    enter,
    handed_in_elsewhere,
    keep_origins,
    refuse_other_folder,
    renamed,
)
from grader.batch.unit import GradedSubmission, text_digest
from grader.errors import UsageError
from grader.files import replace_file
from grader.grading.summary import ENGINE
from grader.records.text import file_stem

STUDENTS = "students"
OF_STUDENTS = ("results", "before", "shown", "attempts", "origins")  # tables by a student's name
_LAST = """
SELECT number, digest FROM attempts WHERE student = ? AND exercise = ?
ORDER BY number DESC LIMIT 1
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
        with reported(folder):
            (folder / STUDENTS).mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(folder / ".lock")
            try:
                self._lock.acquire(timeout=0)
            except filelock.Timeout:
                raise UsageError(f"{folder}: another `grade batch` is writing there now") from None
        try:
            with reported(folder):
                self._database = open_database(folder)
                self._check()
        except BaseException:
            self._lock.release()
            raise

    @property
    def database(self) -> sqlite3.Connection:
        """Where rows are written."""
        return self._database

    def close(self) -> None:
        """Close the database and let others write."""
        self._database.close()
        self._lock.release()

    def enter(self, given: ClassList) -> None:
        """Keep who is in a class; raises UsageError where the results are of another folder."""
        refuse_other_folder(self._database, self.folder, given)
        with reported(self.folder):
            for one in list(renamed(self._database, given.entries)):
                self._rename(one)
            with self._database:
                enter(self._database, given)

    def digests(self) -> dict[str, dict[str, str]]:
        """Return the digest of each result, by student and exercise."""
        found: dict[str, dict[str, str]] = {}
        with reported(self.folder):
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
        with reported(self.folder):
            others = handed_in_elsewhere(self._database, graded.student)
            graded = graded.without(graded.absent & others)
            rows = self._rows_before(graded.student) | {
                exercise: _row(graded, exercise, key) for exercise in graded.results
            }
            file = f"{file_stem(graded.student)}.json"
            replace_file(self.folder / STUDENTS / file, self._document(graded, key, rows).encode())
            with self._database:
                self._database.execute(
                    "INSERT OR REPLACE INTO students VALUES (?, ?, ?)",
                    (graded.student, file, json.dumps(graded.notes)),
                )
                for exercise in sorted(graded.results):
                    self._keep_result(rows[exercise])
                    if exercise not in graded.absent:
                        self._keep_attempt(graded, exercise)
                self._database.executemany(
                    "INSERT OR REPLACE INTO shown VALUES (?, ?, ?)",
                    [(graded.student, exercise, page) for exercise, page in graded.shown.items()],
                )
                keep_origins(self._database, graded.student, graded.time, graded.there)

    def _keep_result(self, row: _Row) -> None:
        """Write a result; a run that goes on where one was stopped keeps the one of before both."""
        self._database.execute(
            "INSERT OR IGNORE INTO before SELECT * FROM results WHERE student = ? AND exercise = ?",
            (row.student, row.exercise),
        )
        self._database.execute(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", astuple(row)
        )

    def _keep_attempt(self, graded: GradedSubmission, exercise: str) -> None:
        """Keep what a text came to; the same text graded again takes its own attempt's place."""
        result, digest = graded.results[exercise], text_digest(graded.digests[exercise])
        came_to = (result.score, result.max_score, json.dumps(result.mistakes))
        last = self._database.execute(_LAST, (graded.student, exercise)).fetchone()
        number, before = last or (0, "")
        if digest == before:
            self._database.execute(
                "UPDATE attempts SET score = ?, max_score = ?, mistakes = ? "
                "WHERE student = ? AND exercise = ? AND number = ?",
                (*came_to, graded.student, exercise, number),
            )
        else:
            told = told_moment(graded.time, UTC) is not None
            time = graded.time if told else datetime.now(UTC).isoformat(timespec="seconds")
            self._database.execute(
                "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (graded.student, exercise, number + 1, time, digest, *came_to),
            )

    def finish(self) -> None:
        """Tell that a run is complete: the next one compares with what is here now."""
        with reported(self.folder), self._database:
            self._database.execute("DELETE FROM about WHERE name = 'running'")

    def note(self, notes: Sequence[str]) -> None:
        """Keep what is to be said of the class's folder as a whole, in place of what was."""
        with reported(self.folder), self._database:
            note(self._database, "notes", notes)

    def _rename(self, one: Renamed) -> None:
        """Give results the name that their student has now."""
        old, new = (self.folder / STUDENTS / f"{file_stem(s)}.json" for s in (one.before, one.now))
        if old.is_file():
            document = {**json.loads(old.read_text("utf-8")), "student": one.now}
            replace_file(new, (json.dumps(document, ensure_ascii=False) + "\n").encode())
        with self._database:
            values = (one.now, one.before)
            for table in OF_STUDENTS:
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
        wanted = {"results_version": str(RESULTS_VERSION), **asdict(self._about)}
        found = read_about(self._database)
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
