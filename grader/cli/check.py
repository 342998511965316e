"""The commands of students: list and check."""

import json
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.shared import CheckRequest, ProgressBar, screen_width
from grader.execute.launch import WarmProcess

if TYPE_CHECKING:
    from grader.cli.grade_many import Checked
    from grader.records.results import Document


def run_check(request: CheckRequest) -> int:
    """Grade, print the report, and return the exit status."""
    with ExitStack() as ending:

        @cache
        def warm() -> WarmProcess:
            process = WarmProcess()
            ending.callback(process.close)
            return process

        if request.html is None or request.hidden or request.trains:
            warm()  # torch takes a second to load: it begins before anything else is imported
        from grader.cli.grade_many import grade_many

        checked = grade_many(request, warm, ProgressBar())
        status = _show(request, checked.document)
        if request.trains:
            from grader.report.runs import render_learnt

            learnt = [learnt for one in checked.found for learnt in one.learnt]
            click.echo(render_learnt(learnt, screen_width()), nl=False)
        if not request.as_json and (text := _said_beside(checked)):
            click.echo(text)
        checked.findings.keep()  # last, since nobody waits for it
    return status


def _said_beside(checked: "Checked") -> str:
    """Return what a student can do now and what is next, or what is the course's in this check."""
    from grader.records.results import Status
    from grader.report.layout import wrapped
    from grader.student.beside import achieved, borrowed, further
    from grader.student.tries import reminder

    (result, *others), findings = checked.document.results, checked.findings
    if others or not findings.own:
        return ""
    folder, exercise = findings.folder, findings.folder.course.exercise(result.exercise)
    done = achieved(folder, exercise) if result.status is Status.PASSED else ""
    beside = borrowed(folder, exercise, checked.submission), reminder(folder, exercise, result)
    told = filter(None, [*beside, further(result), done])
    lines = [wrapped(said, screen_width(), first="  ", hang=2) for said in told]
    return "\n".join(line for some in lines for line in some)


def _show(request: CheckRequest, document: "Document") -> int:
    """Print what was asked for, and return the exit status."""
    from grader.records.results import Status
    from grader.report.terminal import render_document

    if request.html is not None:
        click.echo(f"grade: the report is in {click.format_filename(request.html)}", err=True)
    if request.as_json:
        click.echo(json.dumps(document.to_json(), indent=2, ensure_ascii=False))
    else:
        click.echo(render_document(document, width=screen_width()), nl=False)
    worst = Status.worst(result.status for result in document.results)
    return {Status.PASSED: 0, Status.ERROR: 3}.get(worst, 1)


def list_course(course: Path | None, part: str = "") -> str:
    """Return the table of exercises, in a student's own course with how far each is."""
    from grader.course.load import find_course, load_course
    from grader.report.layout import columns

    folder = load_course(find_course(course)).of_part(part)
    if folder.shipped:
        from grader.report.student import render_standing
        from grader.student.progress import standing_of

        return render_standing(standing_of(folder), width=screen_width())
    known = folder.course
    rows = [(e.id, e.name, f"{e.points:g}", e.title) for e in known.exercises]
    lines = columns(rows, "<<><")
    for one in known.subtotals({e.id: (0, e.points) for e in known.exercises}):
        first = known.exercises.index(known.part(one.part).exercises[0])
        heading = f"{one.part}  {one.title}, {one.max_score:g} points"
        lines[first] = "\n".join([*([""] if first else []), heading, lines[first]])
    return "\n".join([known.title, "", *lines])
