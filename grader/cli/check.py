"""The commands of students: list and check."""

import difflib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from grader.cli.progress import Progress
from grader.errors import UsageError
from grader.execute.launch import WarmProcess


@dataclass(frozen=True)
class Request:
    """What `grade check` was asked for."""

    exercises: Sequence[str]  # as typed; empty for all
    submission: Path | None
    course: Path | None
    hidden: bool
    as_json: bool
    html: Path | None = None  # where to write a page


def run_check(request: Request) -> int:
    """Grade, print the report, and return the exit status."""
    # torch takes a second to load: the worker begins before anything else is imported.
    warm = WarmProcess()
    try:
        from grader.cli.grade_many import grade_many
        from grader.records import Status
        from grader.report.terminal import render_document

        document = grade_many(request, warm, Progress())
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


def screen_width() -> int:
    """Return how many columns a report may take."""
    return min(shutil.get_terminal_size().columns, 100)


def list_course(course: Path | None) -> str:
    """Return the table of exercises, in a student's own course with how far each is."""
    from grader.course.load import find_course, load_course
    from grader.report.terminal import render_list

    folder = load_course(find_course(course))
    if folder.shipped:
        from grader.cli.standing import standing_of
        from grader.report.standing import render_standing

        return render_standing(folder.course.title, standing_of(folder), width=screen_width())
    rows = [(e.id, e.name, f"{e.points:g}", e.title) for e in folder.course.exercises]
    return f"{folder.course.title}\n\n{render_list(rows)}"


def resolve_exercises(typed: Sequence[str], known: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the ids meant by `typed`, each once; raises UsageError with close matches.

    `known` maps an id to every way of writing it.
    """
    ids = []
    for text in typed:
        found = [i for i, names in known.items() if text in names]
        if not found:
            names = [name for ways in known.values() for name in ways if not name.isdigit()]
            near = difflib.get_close_matches(text, names, 3, cutoff=0.5)
            if text.rstrip("0123456789") in {i.rstrip("0123456789") for i in known}:
                near = [n for n in near if text.startswith(n)]  # 33 is like 3, 9 like none
            hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}"
            raise UsageError(f"no exercise '{text}'; {hint}")
        ids.append(found[0])
    return list(dict.fromkeys(ids))
