"""The instructor's command that takes scores elsewhere."""

from dataclasses import dataclass
from pathlib import Path

import click

from grader.batch.database import DATABASE
from grader.classes.export import ExportedFile, Format, export_scores
from grader.classes.scores import Scores
from grader.errors import UsageError, writing
from grader.records.text import counted, printable

_GRADEBOOK = "gradebook.db"


@dataclass(frozen=True)
class ExportRequest:
    """What `grade export` was asked for."""

    source: Path
    assignment: str
    to: str
    output: Path
    template: Path | None = None
    part: str = ""


def run_export(request: ExportRequest) -> int:
    """Write a source's scores in a format; returns the exit status."""
    scores = _read(request.source, request.assignment)
    if request.part:
        scores = scores.of_part(request.part)
    export = export_scores(scores, Format(request.to), request.template)
    for file in export.files:
        _write(request.output / file.name if file.name else request.output, file)
    students = counted(len(scores.students), "student")
    click.echo(f"wrote {request.output}: {students}, {request.to}")
    if scores.origin:
        click.echo(printable(scores.origin), err=True)
    for note in (*scores.notes, *export.notes):
        click.echo(f"note: {printable(note)}")
    return 0


def _read(source: Path, assignment: str) -> Scores:
    """Read a gradebook, a results folder, or a folder with one of them."""
    known = [source / name for name in (_GRADEBOOK, DATABASE)] if source.is_dir() else [source]
    found = [path for path in known if path.is_file()]
    if len(found) != 1:
        what = f"holds both {_GRADEBOOK} and {DATABASE}" if found else "is neither"
        raise UsageError(
            f"{source} {what}: name nbgrader's {_GRADEBOOK}, or the RESULTS folder of grade batch"
        )
    if found[0].name == DATABASE:
        from grader.classes.graded import read_results

        return read_results(found[0].parent, assignment)
    from grader.nbgrader.lazily import needs_nbgrader

    with needs_nbgrader():
        from grader.nbgrader.scores import read_scores

    return read_scores(found[0], assignment)


def _write(path: Path, file: ExportedFile) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
