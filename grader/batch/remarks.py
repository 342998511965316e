"""What a person should look at in a class, each with a mark by which it can be ticked off."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.batch.judging import Judge
from grader.batch.people import NOTHING, Member, labels_by_submission
from grader.records.text import listed


@dataclass(frozen=True)
class Remark:
    """Why a person should look at a submission."""

    student: str  # "" for the class as a whole
    exercise: str  # "" for the submission as a whole
    text: str
    mark: str = ""  # the same on every run for the same words of the same submission


def of_the_class(text: str) -> Remark:
    """Return a remark on the class as a whole."""
    return _remark("", "", text)


def find_remarks(
    database: sqlite3.Connection, members: Sequence[Member], exercises: Sequence[str], judge: Judge
) -> list[Remark]:
    """Return what a person should know, first of the class's folder as a whole."""
    told = database.execute("SELECT value FROM about WHERE name = 'notes'").fetchone()
    found = [of_the_class(note) for note in json.loads(told[0] if told else "[]")]
    found += [of_the_class(text) for text in _absent(members)]
    for member in members:
        found += [_remark(member.label, "", mark) for mark in member.marks if mark != NOTHING]
    found += [_remark(label, "", text) for label, text in judge.remarks(members)]
    found += _of_submissions(database, members, exercises)
    return sorted(found, key=lambda remark: (remark.student, remark.exercise, remark.text))


def _of_submissions(
    database: sqlite3.Connection, members: Sequence[Member], exercises: Sequence[str]
) -> Iterator[Remark]:
    labels = labels_by_submission(members)
    for student, text in database.execute("SELECT student, notes FROM students"):
        for note in json.loads(text):
            yield _remark(labels.get(student, student), "", note, student)
    for student, exercise, text in database.execute(
        "SELECT student, exercise, remarks FROM results"
    ):
        for note in json.loads(text) if exercise in exercises else ():
            yield _remark(labels.get(student, student), exercise, note, student)


def _remark(label: str, exercise: str, text: str, submission: str = "") -> Remark:
    words = json.dumps([submission or label, exercise, text])
    return Remark(label, exercise, text, hashlib.sha256(words.encode()).hexdigest()[:8])


def _absent(members: Sequence[Member]) -> list[str]:
    """Say who handed in nothing, in one line."""
    names = [member.label for member in members if NOTHING in member.marks]
    return [f"handed in nothing ({len(names)}): {listed(names)}"] if names else []
