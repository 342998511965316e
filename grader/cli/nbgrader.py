"""The instructor's commands for nbgrader: init and autograde."""

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.batch import cores
from grader.cli.progress import Progress
from grader.course.load import find_course, load_course
from grader.execute.isolation import Level
from grader.nbgrader.lazily import needs_nbgrader

if TYPE_CHECKING:
    from grader.nbgrader.autograde import Outcome


def run_init(directory: Path, course: Path | None, assignment: str) -> int:
    """Write or update a course directory; status 1 where something conflicts.

    An assignment without a name is called by the beginning of the course's title.
    """
    with needs_nbgrader():
        import nbgrader  # noqa: F401 - asked for only to say early that it is missing

        from grader.nbgrader.init import CONFLICTS, init_directory

    folder = load_course(find_course(course))
    assignment = assignment or _short_name(folder.course.title)
    changes = init_directory(directory, folder, assignment)
    for change in changes:
        if change.what != "unchanged":
            click.echo(f"{change.what:<9} {change.path}")
    counts = Counter(change.what for change in changes)
    if counts["conflict"]:
        click.echo(
            f"\n{counts['conflict']} changed both in the course and by you; yours stays. The "
            f"course's is in {directory / CONFLICTS}: take over what you want and delete it there."
        )
        return 1
    if counts["unchanged"] == len(changes):
        click.echo("nothing to do")
    elif counts["wrote"]:
        click.echo(f"\nnext: cd {directory} && nbgrader generate_assignment {assignment}")
    return 0


def _short_name(title: str) -> str:
    words = re.split(r"[,:;.(]", title)[0].lower()
    return "-".join(re.findall(r"[a-z0-9]+", words)) or "assignment"


def run_autograde(
    directory: Path,
    assignment: str,
    student: str,
    jobs: int | None,
    *,
    isolation: str | None,
    force: bool,
    public: bool,
) -> int:
    """Grade a class into the gradebook; status 1 where a person is needed."""
    with needs_nbgrader():
        from grader.nbgrader.autograde import Request, autograde

    level = Level(isolation) if isolation else None
    request = Request(directory, assignment, student, force, public, jobs or cores(), level)
    progress = Progress(rate_of="students")
    try:
        outcome = autograde(request, progress)
    finally:
        progress.finish()
    _report(assignment, outcome)
    return int(bool(outcome.problems))


def _report(assignment: str, outcome: "Outcome") -> None:
    skipped = f", {len(outcome.skipped)} graded before" if outcome.skipped else ""
    click.echo(f"{assignment}: {len(outcome.graded)} graded{skipped}")
    for title, lines in (("Noted", outcome.notes), ("For a person", outcome.problems)):
        if lines:
            click.echo(f"\n{title}:")
            width = max(len(student) for student, _ in lines)
            for student, text in lines:
                click.echo(f"  {student:<{width}}  {text}")
