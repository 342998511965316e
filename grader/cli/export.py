"""The instructor's command that takes scores elsewhere."""

from pathlib import Path

import click

from grader.errors import UsageError
from grader.export import ExportedFile, Format, export_rows


def run_export(source: Path, assignment: str, to: str, output: Path) -> int:
    """Write a source's scores in a format; returns the exit status."""
    from grader.nbgrader.lazily import needs_nbgrader

    if not source.exists():
        raise UsageError(f"{source} is not there: name a gradebook.db or the folder with it")
    with needs_nbgrader():
        from grader.nbgrader.scores import read_scores

    rows = read_scores(source, assignment)
    files = export_rows(rows, Format(to))
    for file in files:
        _write(output / file.name if file.name else output, file)
    students = len({row.student for row in rows})
    click.echo(f"wrote {output}: {students} students, {to}")
    return 0


def _write(path: Path, file: ExportedFile) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
