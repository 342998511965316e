"""The commands of students: list and check."""

import json
from pathlib import Path

import click

from grader.cli.progress import ProgressBar
from grader.cli.request import CheckRequest, screen_width
from grader.execute.launch import WarmProcess


def run_check(request: CheckRequest) -> int:
    """Grade, print the report, and return the exit status."""
    # torch takes a second to load: the worker begins before anything else is imported.
    warm = WarmProcess()
    try:
        from grader.cli.grade_many import grade_many
        from grader.records.results import Status
        from grader.report.terminal import render_document

        document = grade_many(request, warm, ProgressBar())
    finally:
        warm.close()
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
        from grader.report.standing import render_standing
        from grader.student.standing import standing_of

        return render_standing(standing_of(folder), width=screen_width())
    known = folder.course
    rows = [(e.id, e.name, f"{e.points:g}", e.title) for e in known.exercises]
    lines = columns(rows, "<<><")
    for one in known.subtotals({e.id: (0, e.points) for e in known.exercises}):
        first = known.exercises.index(known.part(one.part).exercises[0])
        heading = f"{one.part}  {one.title}, {one.max_score:g} points"
        lines[first] = "\n".join([*([""] if first else []), heading, lines[first]])
    return "\n".join([known.title, "", *lines])
