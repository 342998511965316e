"""Grades the exercises that a request names, and gathers the document."""

from collections.abc import Sequence
from pathlib import Path

import click

from grader.cli.progress import ProgressBar
from grader.cli.request import CheckRequest
from grader.course.load import find_course, load_course
from grader.course.models import Exercise
from grader.errors import writing
from grader.execute.launch import WarmProcess
from grader.grading.engine import open_engine
from grader.grading.exercise import Run
from grader.handin.choose import chosen_exercises, read_work
from grader.records.results import Document
from grader.student.progress import remember_result


def grade_many(request: CheckRequest, warm: WarmProcess, progress: ProgressBar) -> Document:
    """Grade every exercise of the request; raises GraderError."""
    folder = load_course(find_course(request.course))
    exercises = chosen_exercises(folder, request.exercises)
    submission = read_work(folder, request.submission, exercises)
    progress.expect(len(exercises))
    engine = open_engine(folder, exercises, warm, hidden=request.hidden, on_built=progress.key_step)
    for note in (*engine.keys.notes, *(submission.notes if request.submission else ())):
        click.echo(f"grade: {note}", err=True)
    runs = []
    for exercise, run in zip(exercises, engine.runs(exercises, submission), strict=True):
        runs.append(run)
        progress.advance(exercise.id)
        if request.submission is None and not request.hidden:
            remember_result(folder, run.result, submission.source(exercise))
    document = engine.sum_up([run.result for run in runs])
    if request.html is not None:
        _write_page(request.html, exercises, runs, document)
    progress.finish()
    return document


def _write_page(
    path: Path,
    exercises: Sequence[Exercise],
    runs: Sequence[Run],
    document: Document,
) -> None:
    """Write the report as a page; its pictures show public cases alone."""
    from grader.grading.exhibits import exhibits_of
    from grader.report.html import render_page

    exhibits = {
        exercise.id: exhibits_of(exercise, run)
        for exercise, run in zip(exercises, runs, strict=True)
    }
    with writing(path):
        path.write_text(render_page(document, exhibits), encoding="utf-8")
