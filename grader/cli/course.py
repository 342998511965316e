"""The commands for a course itself: audit, derive and release."""

import json
import os
from pathlib import Path

import click

from grader.audit.compose.run import run_compositions
from grader.audit.run import run_audit
from grader.cli.shared import ProgressBar
from grader.course.derive import read_stub
from grader.course.load import find_course, load_course
from grader.errors import writing
from grader.execute.launch import WarmProcess
from grader.report.audit import (
    audit_to_json,
    compositions_to_json,
    render_audit,
    render_compositions,
    render_html,
)


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
    with ProgressBar() as progress:
        heard = (progress.expect, progress.advance, progress.key_step)
        judged = run_compositions(folder, count, seed, jobs or os.cpu_count() or 1, *heard)
    if as_json:
        click.echo(json.dumps(compositions_to_json(judged), indent=2))
    else:
        click.echo(render_compositions(judged))
    return 1 if judged.problems else 0


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


def run_release(into: Path, course: Path | None, part: str, *, solutions: bool) -> str:
    """Write the student bundle, and return what to say of it."""
    from grader.bundle.release import make_bundle, write_bundle

    folder = load_course(find_course(course))
    with ProgressBar() as progress:
        files = make_bundle(folder, part=part, solutions=solutions, on_built=progress.key_step)
    write_bundle(files, into)
    size = sum(map(len, files.values())) / 2**20
    told = f"{into}: {len(files)} files, {size:.1f} MiB, with"
    if solutions:
        return (
            f"{told} the solutions in them: for after the deadline.\n"
            f"Students take it with: grade start . --renew --bundle {into}"
        )
    return (
        f"{told} no line of a solution in them.\n"
        f"Students unpack it, or: grade start my-folder --bundle {into}"
    )
