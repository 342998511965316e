"""Scores for other systems: CSV, Canvas, Moodle and Gradescope.

Readers make scores, writers turn them into files; neither knows the other.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from grader.classes.scores import Scores, StudentScores
from grader.classes.sheets import fill_sheet
from grader.classes.tables import Table, cells
from grader.errors import UsageError
from grader.records.people import Platform
from grader.records.text import listed, printable


class Format(StrEnum):
    """Where the scores go."""

    CSV = "csv"
    CANVAS = "canvas"
    MOODLE = "moodle"
    GRADESCOPE = "gradescope"


@dataclass(frozen=True)
class ExportedFile:
    """A file to write; `name` is "" for the one that was asked for."""

    name: str
    text: str


@dataclass(frozen=True)
class Export:
    """What is written, and what a person should know of it."""

    files: tuple[ExportedFile, ...]
    notes: tuple[str, ...] = ()


def export_scores(scores: Scores, to: Format, template: Path | None = None) -> Export:
    """Return the files of a format; only Gradescope has one a submission.

    `template` is a table that Canvas or Moodle let download, to be filled. Raises UsageError.
    """
    if to in (Format.CANVAS, Format.MOODLE):
        filled = fill_sheet(scores, Platform(to.value), template)
        return Export((ExportedFile("", filled.table.to_csv()),), filled.notes)
    if template is not None:
        raise UsageError("--template is for canvas and moodle: the others have no table to fill")
    if to is Format.GRADESCOPE:
        return _gradescope(scores.students)
    return Export((ExportedFile("", _plain(scores).to_csv()),))


def _plain(scores: Scores) -> Table:
    """A table of one's own: who, when, each exercise, and what is unusual."""
    students = scores.students
    exercises = list(dict.fromkeys(one.exercise for s in students for one in s.scores))
    who = ["student", "id", "name", "email", "login", "group"]
    when = ["attempt", "time", "late", "note", "assignment"]
    parts = _parts_of(scores, exercises)
    totals = [f"{part}_total" for part in parts]
    sums = ["late_penalty", "by_hand", "graded_total", *totals, "total", "max_total"]
    table = [cells([*who, *when, *exercises, *sums])]
    for student in students:
        member, person = student.member, student.member.person
        told = member.identity
        handed = (told.attempt or "", told.time, "late" if told.late else "") if told else ("",) * 3
        row: list[object] = [member.label, person.id, person.name, person.email, person.login]
        judged = [f"{one.exercise}: {said}" for one in student.scores for said in one.judged]
        row += [person.group, *handed, "; ".join([*member.marks, *judged]), scores.assignment]
        points = {one.exercise: "excused" if one.excused else one.score for one in student.scores}
        row += [points.get(exercise, "") for exercise in exercises]
        row += [
            sum(one.penalty for one in student.scores),
            sum(one.points for one in student.scores),
        ]
        of_parts = [_points_of(student, own) for own in parts.values()]
        told_sums = [student.graded, *of_parts, student.total]
        row += ["" if one is None else one for one in told_sums]
        row.append(student.possible if student.scores else scores.possible)
        table.append(cells(row))
    return Table(table)


def _parts_of(scores: Scores, exercises: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the parts that some exercises are of, none where that is one."""
    found = {name: own for name, own in scores.parts.items() if set(own).intersection(exercises)}
    return found if len(found) > 1 else {}


def _points_of(student: StudentScores, exercises: Sequence[str]) -> float | None:
    """Return the points of some exercises that count, None where none of them does."""
    return replace(
        student, scores=tuple(one for one in student.scores if one.exercise in exercises)
    ).total


def _gradescope(students: Sequence[StudentScores]) -> Export:
    """Results as Gradescope takes them of an autograder, in folders called as its submissions."""
    groups: dict[str, list[StudentScores]] = {}
    for student in students:
        if student.scores and student.member.submission:  # else there is nothing to score
            groups.setdefault(student.member.submission, []).append(student)
    files = [
        ExportedFile(f"{_folder_of(group[0], number)}/results.json", _results_json(group))
        for number, group in enumerate(groups.values(), start=1)
    ]
    differ = [group for group in groups.values() if len({_points(one) for one in group}) > 1]
    labels = [one.member.label for group in differ for one in group]
    what = "differ within a group, and Gradescope has one score for it: the first's is written"
    return Export(tuple(files), (f"{what}; {listed(labels)}",) if labels else ())


def _points(student: StudentScores) -> tuple[float, ...]:
    return tuple(-1.0 if one.excused else one.score for one in student.scores)


def _results_json(group: Sequence[StudentScores]) -> str:
    tests = [
        {
            "name": one.exercise,
            "score": one.score,
            "max_score": 0.0 if one.excused else one.max_score,
            "output": one.comment,
            "output_format": "text",
        }
        for one in group[0].scores
    ]
    people = [
        {field: printable(text) for field, text in asdict(student.member.person).items()}
        for student in group
    ]
    document = {"score": group[0].total or 0.0, "tests": tests, "extra_data": {"people": people}}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _folder_of(student: StudentScores, number: int) -> str:
    """A name that stays in its folder and clashes with no other, whatever the student is called."""
    told = student.member.identity
    name = told.name if told and told.platform is Platform.GRADESCOPE else student.member.submission
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name)[:60]
    return plain if plain == name else f"{plain or 'student'}-{number}"
