"""Whose score the last run changed, and why: each result is compared with the one of before."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.batch.people import Member, labels_by_submission
from grader.batch.unit import text_digest
from grader.records.text import listed

_CHECKS = 3  # that are named
_CHANGED = """
SELECT student, exercise, b.score, r.score, b.absent, b.key != r.key, b.digest, r.digest,
    b.result, r.result
FROM before b JOIN results r USING (student, exercise)
WHERE b.score != r.score ORDER BY student, exercise
"""


@dataclass(frozen=True)
class Change:
    """A score that the last run changed."""

    student: str  # the label of who handed in
    exercise: str
    before: float
    now: float
    why: str


def find_changes(
    database: sqlite3.Connection, members: Sequence[Member], exercises: Sequence[str]
) -> Iterator[Change]:
    """Yield whose score is not as before the last run."""
    if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'before'").fetchone():
        return
    labels = labels_by_submission(members)
    for student, exercise, score, now, absent, course, *rest in database.execute(_CHANGED):
        digest, digest_now, result, result_now = rest
        if exercise in exercises:
            text = text_digest(digest) != text_digest(digest_now)
            why = "handed in since" if absent else _cause(course=bool(course), text=text)
            why += _checks(_passed(result), _passed(result_now))
            yield Change(labels.get(student, student), exercise, score, now, why)


def _cause(*, course: bool, text: bool) -> str:
    found = [what for what, so in (("course or grader", course), ("submission", text)) if so]
    return f"{' and '.join(found)} changed" if found else "graded again"


def _passed(result: str) -> Mapping[str, float]:
    checks = json.loads(result)["checks"]
    return {check["id"].partition("/")[2]: check["score"] for check in checks}


def _checks(before: Mapping[str, float], now: Mapping[str, float]) -> str:
    """Say which checks give other points."""
    names = [
        f"{check} {before.get(check, 0.0):g} → {now.get(check, 0.0):g}"
        for check in dict.fromkeys([*before, *now])
        if before.get(check, 0.0) != now.get(check, 0.0)
    ]
    return f": {listed(names, _CHECKS)}" if names else ""
