"""Grades the exercises that a request names, and gathers the document."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from grader.cli.check import Request, resolve_exercises
from grader.cli.progress import Progress
from grader.course.load import CourseFolder, find_course, load_course, renewal
from grader.course.models import Exercise
from grader.engine import Engine, open_engine
from grader.errors import UsageError
from grader.execute.launch import WarmProcess
from grader.grading import Run
from grader.progress import remember_result
from grader.records import Document
from grader.submission import SUFFIXES, Submission, read_submission


def grade_many(request: Request, warm: WarmProcess, progress: Progress) -> Document:
    """Grade every exercise of the request; raises GraderError."""
    folder = load_course(find_course(request.course))
    exercises = chosen_exercises(folder, request.exercises)
    submission = read_work(folder, request.submission, exercises)
    progress.expect(len(exercises))
    engine = open_engine(
        folder, exercises, warm, hidden=request.hidden, on_built=progress.key_built
    )
    for note in engine.keys.notes:
        click.echo(f"grade: {note}", err=True)
    runs = []
    for exercise, run in zip(exercises, engine.runs(exercises, submission), strict=True):
        runs.append(run)
        progress.advance(exercise.id)
        if request.submission is None and not request.hidden:
            remember_result(folder, run.result, submission.source(exercise))
    document = engine.sum_up([run.result for run in runs])
    if request.html is not None:
        _write_page(request.html, engine, exercises, submission, runs, document)
    progress.finish()
    return document


def _write_page(
    path: Path,
    engine: Engine,
    exercises: Sequence[Exercise],
    submission: Submission,
    runs: Sequence[Run],
    document: Document,
) -> None:
    """Write the report as a page; its pictures show public cases alone."""
    from grader.exhibits import exhibits_of
    from grader.report.html import render_page

    exhibits = {
        exercise.id: exhibits_of(engine, exercise, submission, run)
        for exercise, run in zip(exercises, runs, strict=True)
    }
    try:
        path.write_text(render_page(document, exhibits), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def chosen_exercises(folder: CourseFolder, typed: Sequence[str]) -> list[Exercise]:
    """Return the exercises that were named, all where none was; raises UsageError."""
    known: dict[str, tuple[str, ...]] = {
        e.id: (e.id, e.id.lstrip("abcdefghijklmnopqrstuvwxyz"), e.name, e.stem)
        for e in folder.course.exercises
    }
    meant = [_name_of(folder, text) for text in typed]
    ids = resolve_exercises(meant, known) if typed else list(known)
    return [folder.course.exercise(i) for i in ids]


def _name_of(folder: CourseFolder, typed: str) -> str:
    """The exercise that a typed path means; raises UsageError for a file of another place."""
    path = Path(typed)
    if path.suffix not in SUFFIXES:
        return typed
    if path.is_file() and path.parent.resolve() != folder.exercises.resolve():
        raise UsageError(
            f"{typed} is not in {folder.exercises}: name the exercise, and give the file "
            f"with --submission {shlex.quote(typed)}"
        )
    return path.stem


def read_work(
    folder: CourseFolder, submission: Path | None, exercises: Sequence[Exercise]
) -> Submission:
    """Read a submission, else the student's own work, of which a lost file can be begun anew."""
    place = place_of_work(folder, submission)
    limit = folder.course.limits.source_kib * 1024
    read = read_submission(place, folder.course, list(exercises), limit)
    if submission is not None or not folder.shipped:
        return read
    return Submission(
        {
            i: replace(source, next_step=f"`grade reset {i}` begins it anew")
            if source.absent
            else source
            for i, source in read.sources.items()
        }
    )


def place_of_work(folder: CourseFolder, submission: Path | None) -> Path:
    """Return what is graded: a submission, else the student's own; raises UsageError."""
    if submission is None and folder.shipped and not folder.exercises.is_dir():
        raise UsageError(f"{folder.exercises} is missing; {renewal(folder.root)}")
    return submission or folder.exercises
