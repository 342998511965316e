"""The instructor's command that writes what is derived from the solutions."""

from pathlib import Path

import click

from grader.course.derive import read_stub
from grader.course.load import find_course, load_course


def run_derive(course: Path | None, *, only_check: bool) -> int:
    """Write the stubs, or say which would change; returns the exit status."""
    folder = load_course(find_course(course))
    changed = 0
    for exercise in folder.course.exercises:
        stub = read_stub(folder.solutions / exercise.file)
        path = folder.exercises / exercise.file
        if path.is_file() and path.read_text(encoding="utf-8") == stub:
            continue
        changed += 1
        click.echo(f"{'would write' if only_check else 'wrote'} {path}")
        if not only_check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(stub, encoding="utf-8")
    return int(bool(changed and only_check))
