"""The instructor's command that audits a course."""

import json
from pathlib import Path

import click

from grader.audit.run import run_audit
from grader.cli.progress import Progress
from grader.course.load import find_course, load_course
from grader.errors import UsageError
from grader.execute.launch import WarmProcess
from grader.report.audit import audit_to_json, render_audit, render_html


def run_audit_command(
    course: Path | None, variants: Path | None, *, as_json: bool, html: Path | None
) -> int:
    """Audit, print, and return the exit status: 0 where nothing is wrong."""
    folder = load_course(find_course(course))
    beside = folder.root / "tests" / "variants"
    found = variants or (beside if beside.is_dir() else None)
    progress = Progress()
    warm = WarmProcess()
    try:
        audit = run_audit(folder, found, warm, progress.expect, progress.advance)
    finally:
        warm.close()
        progress.finish()
    if html is not None:
        try:
            html.write_text(render_html(audit), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{html} cannot be written: {error.strerror}") from None
    if as_json:
        click.echo(json.dumps(audit_to_json(audit), indent=2))
    else:
        click.echo(render_audit(audit))
    return 1 if audit.problems else 0
