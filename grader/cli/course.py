"""What commands share that grade a student's own work in a course folder."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from grader.cli.progress import ProgressBar
from grader.course.load import CourseFolder, find_course, load_course
from grader.course.models import Exercise
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.handin.choose import chosen_exercises, place_of_work, read_work
from grader.handin.read import Submission
from grader.student.findings import Findings


@dataclass(frozen=True)
class Desk:
    """A student's course, one or more exercises of it, and what grades them."""

    folder: CourseFolder
    exercises: Sequence[Exercise]
    place: Path  # where the work is: a folder or one file
    submission: Submission
    findings: Findings

    @property
    def engine(self) -> Engine:
        """What grades; torch begins to load with the first need of it."""
        return self.findings.engine


@contextmanager
def open_desk(
    typed: Sequence[str], course: Path | None, submission: Path | None = None, part: str = ""
) -> Iterator[Desk]:
    """Open the exercises that were named, all of a part or course where none was."""
    folder = load_course(find_course(course))
    exercises = chosen_exercises(folder, typed, part)
    place = place_of_work(folder, submission)
    read = read_work(folder, submission, exercises)
    with ExitStack() as ending:

        def open_it() -> Engine:
            warm = WarmProcess()
            ending.callback(warm.close)
            return _noted(folder, exercises, warm)

        findings = Findings(folder, open_it, own=submission is None)
        yield Desk(folder, exercises, place, read, findings)
        findings.keep()


def _noted(folder: CourseFolder, exercises: Sequence[Exercise], warm: WarmProcess) -> Engine:
    """Open an engine, and tell what is to be said of its keys."""
    progress = ProgressBar()
    engine = open_engine(folder, exercises, warm, on_built=progress.key_step)
    progress.finish()
    for note in engine.keys.notes:
        click.echo(f"grade: {note}", err=True)
    return engine
