"""Reads scores out of a results folder."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from grader.batch.adjustments import FILE
from grader.batch.graded import (
    graded_scores,
    mixed,
    origin,
    read_graded,
    read_judge,
    read_keys,
    read_possible,
)
from grader.batch.people import NOTHING, UNGRADED, WITHDRAWN, Member
from grader.batch.register import read_members
from grader.batch.results import reading
from grader.batch.scored import Scores, StudentScores
from grader.records.calls import PUBLIC
from grader.records.results import Status
from grader.records.text import counted

_FAULTS = "SELECT student, exercise FROM results WHERE status = ? ORDER BY student"
_STAY = "their scores stay"


def read_results(folder: Path, assignment: str = "") -> Scores:
    """Return the scores in a results folder as they count, one record a person.

    What somebody handed in nothing for has no points, in the exercises that anybody has results of.
    Who has a result that is missing by grader's own fault is left out, which a note says: it must
    cost nobody a point. `assignment` is the name in the export, else the course's title. Raises
    UsageError.
    """
    with reading(folder) as database:
        about = dict(database.execute("SELECT name, value FROM about"))
        faults = dict(database.execute(_FAULTS, (Status.ERROR.value,)))
        members = read_members(database)
        keys = read_keys(database)
        possible, graded = read_possible(database), read_graded(database)
        judge = read_judge(folder, database, members)
        students = tuple(
            StudentScores(m, judge.scores(m, graded_scores(graded.get(m.submission, {}), possible)))
            for m in members
            if m.submission not in faults
        )
        notes = (*_warnings(about, keys), *_notes(members, faults), *_judged(students))
        return Scores(
            assignment or about.get("course", ""),
            students,
            round(sum(possible.values()), 4),
            notes,
            origin(about, keys),
            bool(assignment),
            json.loads(about.get("parts", "{}")),
        )


def _warnings(about: Mapping[str, str], keys: tuple[str, ...]) -> Iterator[str]:
    yield from mixed(keys)
    if about.get("split") == PUBLIC:
        yield "scores are on the public cases, which students have"


def _notes(members: tuple[Member, ...], faults: Mapping[str, str]) -> Iterator[str]:
    for member in members:
        if member.submission in faults:
            yield (
                f"{member.label!r} is left out: {faults[member.submission]} was not graded, by a "
                "fault of grader's own; run grade batch again"
            )
    blank = "their scores are left blank"
    told = ((NOTHING, blank), (UNGRADED, f"{blank}; run grade batch again"), (WITHDRAWN, _STAY))
    for mark, then in told:
        number = sum(mark in member.marks for member in members)
        if number:
            yield f"{mark}: {number}; {then}"


def _judged(students: Sequence[StudentScores]) -> Iterator[str]:
    """Say that scores are not all as graded."""
    late = sum(any(one.penalty for one in s.scores) for s in students)
    changed = sum(any(one.points for one in s.scores) for s in students)
    excused = sum(any(one.excused for one in s.scores) for s in students)
    told = [
        f"{counted(number, 'student')} {what}"
        for number, what in (
            (late, "with points off for lateness"),
            (changed, "with points by hand"),
            (excused, "excused"),
        )
        if number
    ]
    if told:
        yield f"scores are adjusted by {FILE}: {', '.join(told)}"
