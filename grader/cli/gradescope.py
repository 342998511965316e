"""The commands for Gradescope: the autograder's zip, and what it runs there."""

import time
from pathlib import Path

import click

from grader.bundle.gradescope import Settings, Visibility, make_autograder, read_settings
from grader.cli.progress import ProgressBar
from grader.course.load import find_course, load_course
from grader.errors import UsageError, writing
from grader.execute.isolation import Level, choose_for_class
from grader.execute.launch import WarmProcess
from grader.grading.engine import open_engine
from grader.handin.read import read_submission
from grader.report.gradescope import results_json


def run_build(
    into: Path,
    course: Path | None,
    part: str,
    visibility: str,
    isolation: str | None,
    torch_index: str,
) -> str:
    """Write the autograder's zip, and return what to say of it."""
    if into.suffix != ".zip":
        raise UsageError(f"{into}: name a file that ends in .zip")
    folder = load_course(find_course(course))
    settings = Settings(visibility=Visibility(visibility), part=part, isolation=isolation or "")
    progress = ProgressBar()
    progress.expect(len(folder.course.exercises))
    try:
        data = make_autograder(folder, settings, torch_index=torch_index, on_built=progress.advance)
    finally:
        progress.finish()
    with writing(into):
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_bytes(data)
    return _told(into, data, torch_index)


def _told(into: Path, data: bytes, torch_index: str) -> str:
    """Say what was written, and what to do with it."""
    lines = [
        f"{into}: {len(data) / 2**20:.1f} MiB, with the hidden cases and no line of a solution.",
        "Give it to Gradescope alone: whoever has it has the hidden cases.",
    ]
    if not torch_index:
        lines.append("torch will come with GPU libraries of several GB; --torch-index avoids that.")
    return "\n".join(lines)


def run_submission(root: Path) -> int:
    """Grade what a platform put below `root`, and write results.json there.

    Nothing is written where grading itself fails: the platform then tells the staff, and nobody
    has a score that is none.
    """
    begun = time.monotonic()
    results = root / "results" / "results.json"
    with writing(results):
        results.parent.mkdir(exist_ok=True)
        results.unlink(missing_ok=True)
    settings = read_settings(root / "source")
    level = choose_for_class(Level(settings.isolation) if settings.isolation else None)
    folder = load_course(root / "source" / "course")
    exercises = folder.course.part(settings.part).exercises
    limit = folder.course.limits.source_kib * 1024
    submission = read_submission(root / "submission", folder.course, list(exercises), limit)
    warm = WarmProcess(level)
    try:
        engine = open_engine(folder, exercises, warm, hidden=True, trains=True)
        document = engine.document(exercises, submission)
    finally:
        warm.close()
    seconds = time.monotonic() - begun
    text = results_json(document, settings.visibility, seconds=seconds, notes=submission.notes)
    with writing(results):
        results.write_text(text, encoding="utf-8")
    click.echo(f"{document.score:g} of {document.max_score:g} points; isolation: {level}")
    return 0
