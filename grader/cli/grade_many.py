"""Grades the exercises that a request names, and gathers the document."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from grader.cli.shared import CheckRequest, ProgressBar
from grader.course.load import CourseFolder, find_course, load_course
from grader.course.models import Exercise
from grader.errors import UsageError, writing
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.grading.summary import sum_up
from grader.handin.choose import chosen_exercises, read_work
from grader.handin.read import Submission
from grader.records.results import Document
from grader.student.findings import Finding, Findings
from grader.student.progress import remember_result


@dataclass(frozen=True)
class Checked:
    """What `grade check` found."""

    document: Document
    found: Sequence[Finding]
    findings: Findings
    submission: Submission


def grade_many(
    request: CheckRequest, warm: Callable[[], WarmProcess], progress: ProgressBar
) -> Checked:
    """Grade every exercise of the request; raises GraderError.

    A page takes what was found in the same text before.
    """
    folder = load_course(find_course(request.course))
    exercises = _chosen(request, folder)
    submission = read_work(folder, request.submission, exercises)
    progress.expect(len(exercises))
    opened = partial(_open, request, folder, exercises, warm, progress)
    own = request.submission is None and not request.hidden
    fresh = request.html is None or request.hidden or request.trains
    findings = Findings(folder, opened, own=own, fresh=fresh)
    if request.submission:
        _tell(submission.notes)
    found = []
    for one in findings.of(exercises, submission, whole=True):
        found.append(one)
        progress.advance(one.exercise.id)
        if own:
            remember_result(folder, one.result, submission.source(one.exercise))
    results = [one.result for one in found]
    document = sum_up(folder.course, findings.key_digest, results)
    if request.html is not None:
        _write_page(request.html, found, document)
    progress.finish()
    return Checked(document, found, findings, submission)


def _chosen(request: CheckRequest, folder: CourseFolder) -> list[Exercise]:
    """Return the exercises that are asked for: to train, of all those where something learns."""
    chosen = chosen_exercises(folder, request.exercises)
    if not request.trains:
        return chosen
    learning = [exercise for exercise in chosen if exercise.trains]
    if not learning:
        named = ", ".join(exercise.id for exercise in chosen)
        raise UsageError(f"nothing of {named} is trained: `grade check` grades it at once")
    _tell([f"{one.id} is trained, which takes a minute or two" for one in learning])
    return learning


def _open(
    request: CheckRequest,
    folder: CourseFolder,
    exercises: Sequence[Exercise],
    warm: Callable[[], WarmProcess],
    progress: ProgressBar,
) -> Engine:
    build = progress.key_step
    hidden, trains = request.hidden, request.trains or request.hidden
    engine = open_engine(folder, exercises, warm(), hidden=hidden, trains=trains, on_built=build)
    _tell(engine.keys.notes)
    return engine


def _tell(notes: Sequence[str]) -> None:
    for note in notes:
        click.echo(f"grade: {note}", err=True)


def _write_page(path: Path, found: Sequence[Finding], document: Document) -> None:
    """Write the report as a page; its pictures show public cases alone."""
    from grader.grading.exhibits import exhibit_training, exhibits_from
    from grader.report.pages import render_page

    exhibits = {
        one.exercise.id: (*exhibits_from(one.exercise, one.traces), *map(exhibit_training, learnt))
        for one, learnt in ((one, one.learnt) for one in found)
    }
    with writing(path):
        path.write_text(render_page(document, exhibits), encoding="utf-8")
