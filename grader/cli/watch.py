"""`grade check --watch`: grades again on each save."""

from collections.abc import Sequence
from pathlib import Path

import click

from grader.cli.check import screen_width
from grader.cli.course import open_desk
from grader.cli.grade_many import chosen_exercises
from grader.errors import UsageError
from grader.progress import load_progress, remember_result
from grader.records import ExerciseResult
from grader.report.watch import render_turn
from grader.submission import Source
from grader.watch import FileEvents, Turn, Watch


def run_watch(typed: Sequence[str], course: Path | None, submission: Path | None) -> int:
    """Watch until all exercises are complete or the student stops; returns the exit status."""
    with open_desk([], course) as desk:
        folder, place = desk.folder, submission or desk.folder.exercises
        if not place.exists():
            raise UsageError(f"{place} is not there: name a folder, a .py file or a notebook")
        named = chosen_exercises(folder, typed)
        order = named if len(typed) > 1 or place.is_file() else folder.course.exercises
        progress = load_progress(folder)
        first = named[0] if typed else None

        def remember(result: ExerciseResult, source: Source) -> None:
            if submission is None:
                remember_result(folder, result, source)

        watch = Watch(
            desk.engine,
            order,
            place,
            FileEvents(place, order),
            _show,
            remember,
            {i: e.score for i, e in progress.exercises.items()},
        )
        unfinished = [e for e in order if not progress.of(e.id).passed]
        try:
            done = watch.run(first or next(iter(unfinished), order[0]))
        except KeyboardInterrupt:
            click.echo("\nUntil next time; grade list shows how far you are.")
            return 0
    return 0 if done else 1


def _show(turn: Turn) -> None:
    click.clear()
    click.echo(render_turn(turn, width=screen_width()), nl=False)
