"""The instructor's command that audits a course."""

import json
import os
from pathlib import Path

import click

from grader.audit.compose.run import run_compositions
from grader.audit.run import run_audit
from grader.cli.progress import ProgressBar
from grader.course.load import find_course, load_course
from grader.errors import writing
from grader.execute.launch import WarmProcess
from grader.report.audit import audit_to_json, render_audit, render_html
from grader.report.compositions import compositions_to_json, render_compositions


def run_audit_command(
    course: Path | None, variants: Path | None, *, all_pairs: bool, as_json: bool, html: Path | None
) -> int:
    """Audit, print, and return the exit status: 0 where nothing is wrong."""
    folder = load_course(find_course(course))
    beside = folder.root / "tests" / "variants"
    found = variants or (beside if beside.is_dir() else None)
    progress = ProgressBar()
    warm = WarmProcess()
    try:
        audit = run_audit(
            folder, found, warm, progress.expect, progress.advance, all_pairs=all_pairs
        )
    finally:
        warm.close()
        progress.finish()
    if html is not None:
        with writing(html):
            html.write_text(render_html(audit), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(audit_to_json(audit), indent=2))
    else:
        click.echo(render_audit(audit))
    return 1 if audit.problems else 0


def run_compose_command(
    course: Path | None, count: int, seed: int, jobs: int | None, *, as_json: bool
) -> int:
    """Judge random submissions, print, and return the exit status: 0 where nothing is wrong."""
    folder = load_course(find_course(course))
    progress = ProgressBar()
    try:
        heard = (progress.expect, progress.advance, progress.key_step)
        judged = run_compositions(folder, count, seed, jobs or os.cpu_count() or 1, *heard)
    finally:
        progress.finish()
    if as_json:
        click.echo(json.dumps(compositions_to_json(judged), indent=2))
    else:
        click.echo(render_compositions(judged))
    return 1 if judged.problems else 0
