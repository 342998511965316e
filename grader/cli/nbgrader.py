"""The instructor's commands for nbgrader: init and autograde."""

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.batch import cores
from grader.cli.progress import ProgressBar
from grader.course.load import find_course, load_course
from grader.execute.isolation import Level
from grader.nbgrader.lazily import needs_nbgrader
from grader.report.layout import columns

if TYPE_CHECKING:
    from grader.nbgrader.autograde import AutogradeSummary


def run_init(
    directory: Path, course: Path | None, assignment: str, *, part: str = "", restore: bool
) -> int:
    """Write or update a course directory; status 1 where something conflicts.

    An assignment without a name is called by the beginning of the course's title, and by its part.
    A directory that was made before knows its course.
    """
    with needs_nbgrader():
        import nbgrader  # noqa: F401 - asked for only to say early that it is missing

        from grader.nbgrader.init import init_directory
        from grader.notebook.finding import INIT_MANIFEST, course_near

    if course is None and (directory / INIT_MANIFEST).is_file():
        folder = course_near(directory)
    else:
        folder = load_course(find_course(course))
    assignment = assignment or "-".join(filter(None, [_short_name(folder.course.title), part]))
    changes = init_directory(directory, folder.of_part(part), assignment, restore=restore)
    told = [(change.what, change.path) for change in changes if change.what != "unchanged"]
    if told:
        click.echo("\n".join(columns(told, "<<")))
    return _say_next(directory, assignment, Counter(change.what for change in changes))


def _say_next(directory: Path, assignment: str, counts: Counter[str]) -> int:
    """Say what is to be done after `init`; returns the exit status."""
    from grader.nbgrader.init import CONFLICTS

    if counts["removed"]:
        click.echo("\nWhat you removed stays away; --restore writes it again.")
    if counts["conflict"]:
        files = "1 file was" if counts["conflict"] == 1 else f"{counts['conflict']} files were"
        click.echo(
            f"\n{files} changed both by the course and by you; yours stays. The course's is in "
            f"{directory / CONFLICTS}: take over what you want and delete it there."
        )
        return 1
    if counts["wrote"] or counts["updated"]:
        again = " --force" if counts["updated"] else ""  # else nbgrader leaves the old release
        click.echo(f"\nnext: cd {directory} && nbgrader generate_assignment {assignment}{again}")
    elif not counts["kept"]:
        click.echo("nothing to do")
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
    memory: int | None,
    isolation: str | None,
    force: bool,
    public: bool,
) -> int:
    """Grade a class into the gradebook; status 1 where a person is needed."""
    with needs_nbgrader():
        from grader.nbgrader.autograde import AutogradeRequest, autograde

    level = Level(isolation) if isolation else None
    request = AutogradeRequest(
        directory, assignment, student, force, public, jobs or cores(), level, memory
    )
    progress = ProgressBar(rate_of="students")
    try:
        outcome = autograde(request, progress)
    finally:
        progress.finish()
    _report(assignment, outcome)
    if outcome.admission:
        click.echo(outcome.admission, err=True)
    return int(bool(outcome.problems))


def _report(assignment: str, outcome: "AutogradeSummary") -> None:
    skipped = f", {len(outcome.skipped)} graded before" if outcome.skipped else ""
    click.echo(f"{assignment}: {len(outcome.graded)} graded{skipped}")
    for title, notes in (("Noted", outcome.notes), ("For a person", outcome.problems)):
        if notes:
            click.echo(f"\n{title}:")
            ordered = sorted(notes, key=lambda note: note.student)  # they came as they were done
            rows = [
                (n.student if n.student.isprintable() else ascii(n.student), n.text)
                for n in ordered
            ]
            click.echo("\n".join(columns(rows, "<<", indent=2)))
