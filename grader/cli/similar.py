"""The instructor's command that lists submissions whose code is alike."""

import json
from pathlib import Path

import click

from grader.cli.batch import table_width
from grader.cli.progress import ProgressBar
from grader.course.load import find_course, load_course
from grader.errors import writing
from grader.likeness.classes import Request, compare_class
from grader.report.likeness import likeness_to_json, render_likeness, render_likeness_page


def run_similar(
    results: Path,
    course: Path | None,
    most: int,
    *,
    as_json: bool,
    html: Path | None,
) -> int:
    """Compare the submissions of a results folder and print the pairs that are alike."""
    folder = load_course(find_course(course))
    request = Request(folder, results, most)
    progress = ProgressBar(rate_of="submissions")
    try:
        found = compare_class(request, expect=progress.expect, advance=progress.advance)
    finally:
        progress.finish()
    if html is not None:
        with writing(html):
            html.write_text(render_likeness_page(found), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(likeness_to_json(found), indent=2, ensure_ascii=False))
    else:
        click.echo(render_likeness(found, width=table_width()))
    return 0
