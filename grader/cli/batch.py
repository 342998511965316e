"""The instructor's commands for a class: batch and report."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from grader.batch.run import Batch, BatchRequest, Graders, run_batch
from grader.classes.insight import read_insight
from grader.classes.summary import Summary, summarise
from grader.classes.tables import read_roster
from grader.cli.progress import ProgressBar
from grader.course.load import CourseFolder, find_course, load_course
from grader.errors import UsageError
from grader.execute.isolation import Level
from grader.handin.choose import chosen_exercises
from grader.handin.pick import SUFFIXES
from grader.records.text import printable
from grader.report.batch import (
    insight_to_json,
    render_students,
    render_summary,
    summary_to_json,
)


@dataclass(frozen=True)
class ClusterChoice:
    """Which cluster grades a class, if any."""

    scheduler: str | None = None  # None for processes of this machine
    wait: bool = False  # whether to wait for a first worker


@dataclass(frozen=True)
class ClassFiles:
    """Which files a class is read from and written to."""

    submissions: Path
    results: Path
    roster: Path | None
    files: tuple[str, ...]  # EXERCISE=NAME
    merge: bool  # whether the results may be of other folders, too


def run_batch_command(
    given: ClassFiles,
    course: Path | None,
    only: Sequence[str],
    jobs: int | None,
    *,
    part: str,
    isolation: str | None,
    public: bool,
    force: bool,
    trains: bool,
    memory: int | None,
    cluster: ClusterChoice,
) -> int:
    """Grade a class and print its table."""
    folder = load_course(find_course(course))
    chosen = chosen_exercises(folder, only, part) if only or part else ()
    places = (given.submissions, given.results)
    request = BatchRequest(
        folder,
        chosen,
        *places,
        jobs or cores(),
        hidden=not public,
        isolation=Level(isolation) if isolation else None,
        force=force,
        trains=trains,
        memory=memory,
        roster=read_roster(given.roster) if given.roster else None,
        merge=given.merge,
        names=names_of(folder, given.files),
    )
    batch = _graded(request, cluster)
    _tell(batch, summarise(given.results, folder.course), given.results)
    return 0


def _graded(request: BatchRequest, cluster: ClusterChoice) -> Batch:
    """Grade a class under a progress bar."""
    progress = ProgressBar(rate_of="students")
    heard = (progress.expect, progress.advance, progress.key_step)
    try:
        with _graders(cluster, progress) as graders:
            return run_batch(request, *heard, graders, progress.tell)
    finally:
        progress.finish()


@contextlib.contextmanager
def _graders(cluster: ClusterChoice, progress: ProgressBar) -> Iterator[Graders | None]:
    """Give who grades: a cluster's workers, or None for processes of this machine."""
    if cluster.scheduler is None:
        yield None
        return
    from grader.cluster.connect import connected

    with connected(cluster.scheduler) as client:
        from grader.cluster.grading import ClusterGraders, Heard

        heard = Heard(progress.tell, progress.count_workers)
        yield ClusterGraders(client, wait=cluster.wait, heard=heard)


def names_of(folder: CourseFolder, files: Sequence[str]) -> dict[str, str]:
    """Return other names of files by exercise; raises UsageError."""
    names = {}
    for text in files:
        typed, _, name = text.partition("=")
        if not name.endswith(SUFFIXES) or "/" in name:
            raise UsageError(f"--file {text}: give it as exercise3=hw1.py, or with a notebook")
        (exercise,) = chosen_exercises(folder, [typed])
        names[exercise.id] = name
    return names


def _tell(batch: Batch, summary: Summary, results: Path) -> None:
    """Print the table; what is only so now goes beside it, so that the table stays the same."""
    click.echo(render_summary(summary, width=table_width()))
    told = (
        f"{batch.graded} graded now, {batch.unchanged} unchanged; results in {results}; "
        f"isolation: {batch.reach.isolation}"
    )
    for line in (told, *batch.left_out):
        click.echo(line, err=True)
    click.echo(printable(summary.origin), err=True)
    if batch.reach.admission.note:
        click.echo(batch.reach.admission.note, err=True)


def run_report(
    results: Path,
    course: Path | None,
    part: str = "",
    *,
    students: bool,
    as_json: bool,
    html: Path | None,
) -> int:
    """Print the table of a results folder, or write its pages."""
    folder = load_course(find_course(course)).of_part(part)
    summary = summarise(results, folder.course)
    if as_json or html is not None:
        insight = read_insight(results, folder, summary)
        if html is not None:
            from grader.cli.feedback import write_feedback  # Jinja2 takes long to load

            write_feedback(results, folder, summary, insight, html, quiet=as_json)
        if as_json:
            plain = {**summary_to_json(summary), **insight_to_json(insight)}
            click.echo(json.dumps(plain, indent=2, ensure_ascii=False))
        return 0
    render = render_students if students else render_summary
    click.echo(render(summary, width=table_width()))
    click.echo(printable(summary.origin), err=True)
    return 0


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def table_width() -> int:
    """Return how many columns a table of a class may have."""
    return max(80, shutil.get_terminal_size((120, 24)).columns)
