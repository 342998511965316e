"""Grades the exercises that a request names, and gathers the document."""

from collections.abc import Sequence

import click

from grader.cli.check import Request, resolve_exercises
from grader.cli.progress import Progress
from grader.course.load import CourseFolder, find_course, load_course
from grader.course.models import Exercise
from grader.engine import open_engine
from grader.execute.launch import WarmProcess
from grader.records import Document
from grader.submission import read_submission


def grade_many(request: Request, warm: WarmProcess, progress: Progress) -> Document:
    """Grade every exercise of the request; raises GraderError."""
    folder = load_course(find_course(request.course))
    exercises = chosen_exercises(folder, request.exercises)
    limit = folder.course.limits.source_kib * 1024
    submission = read_submission(
        request.submission or folder.exercises, folder.course, exercises, limit
    )
    progress.expect(len(exercises))
    engine = open_engine(
        folder, exercises, warm, hidden=request.hidden, on_built=progress.key_built
    )
    for note in engine.keys.notes:
        click.echo(f"grade: {note}", err=True)
    document = engine.document(exercises, submission, progress.advance)
    progress.finish()
    return document


def chosen_exercises(folder: CourseFolder, typed: Sequence[str]) -> list[Exercise]:
    """Return the exercises that were named, all where none was; raises UsageError."""
    known: dict[str, tuple[str, ...]] = {
        e.id: (e.id, e.id.lstrip("abcdefghijklmnopqrstuvwxyz"), e.name, e.stem)
        for e in folder.course.exercises
    }
    ids = resolve_exercises(typed, known) if typed else list(known)
    return [folder.course.exercise(i) for i in ids]
