"""`grade check --watch`: grades again on each save."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from grader.cli.course import open_desk
from grader.cli.request import screen_width
from grader.handin.choose import chosen_exercises
from grader.handin.read import Source, exercise_of
from grader.records.results import ExerciseResult
from grader.report.watch import render_turn
from grader.student.progress import load_progress, remember_result
from grader.student.watch import FileEvents, Turn, Watch


def run_watch(typed: Sequence[str], course: Path | None, submission: Path | None) -> int:
    """Watch until all exercises are complete or the student stops; returns the exit status."""
    one_file = submission is not None and submission.is_file()
    with open_desk(typed if one_file else [], course, submission) as desk:
        folder, place = desk.folder, desk.place
        named = chosen_exercises(folder, typed)
        if one_file:
            named = [exercise_of(place, named)]
        order = named if len(typed) > 1 or one_file else folder.course.exercises
        progress = load_progress(folder)
        remember = partial(remember_result, folder) if submission is None else _forget
        scores = {i: e.score for i, e in progress.exercises.items()}
        events = FileEvents(place, order)
        findings = replace(desk.findings, fresh=True)
        watch = Watch(findings, order, place, events, _show, remember, scores)
        unfinished = [e for e in order if not progress.of(e.id).passed]
        first = named[0] if typed or one_file else next(iter(unfinished), order[0])
        try:
            done = watch.run(first)
        except KeyboardInterrupt:
            click.echo("\nUntil next time; grade list shows how far you are.")
            return 0
    return 0 if done else 1


def _forget(_: ExerciseResult, __: Source) -> None:
    """A file elsewhere is not the student's progress."""


def _show(turn: Turn) -> None:
    click.clear()
    click.echo(render_turn(turn, width=screen_width()), nl=False)
