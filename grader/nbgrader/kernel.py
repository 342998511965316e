"""The test cell in a student's own kernel: grades the session's cells, and returns points.

nbgrader reads points from the cell's outputs, and gives full marks where it finds none and none
where anything stands on standard error. So a test cell always ends in a number from 0 to its
points, raises nothing and writes nothing on standard error.
"""

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.errors import GraderError, UsageError
from grader.handin.notebooks import neutralize_magics
from grader.handin.read import Source, bounded, read_submission
from grader.nbgrader.cells import TestCell, Unit, parse_test, points_text
from grader.nbgrader.verdicts import NotebookGrader
from grader.notebook.check import RESTART, executed_cells, kernel_engine
from grader.notebook.finding import course_of_notebook
from grader.records.results import Kind
from grader.report.verdict import Verdict, render_trouble


class Points(float):
    """A cell's points; its text is the number alone, from which nbgrader takes the score."""

    def __repr__(self) -> str:
        """Return a plain decimal number."""
        return points_text(float(self))

    __str__ = __repr__

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Keep IPython's float format, which a student may set, away from the number."""
        return {"text/plain": repr(self)}


def grade_here(exercise: str, kind: str, points: float | None) -> Points:
    """Grade the running notebook, show the verdict and return the cell's points."""
    try:
        with _quiet():
            verdict = _verdict(exercise, kind, points)
    except GraderError as error:
        verdict = render_trouble(str(error))
    except Exception as error:  # noqa: BLE001 - whatever happens, the cell's value is a number
        verdict = render_trouble(f"a fault of grader's own, please report it: {error!r}")
    _show(verdict)
    return Points(verdict.points)


def units_of_history(executed: Sequence[str]) -> tuple[Unit, ...]:
    """Return the cells of a session, as executed and in order, as units; test cells are left out.

    `executed` begins with cell 1. Magics and shell lines become comments.
    """
    return tuple(
        (f"cell {number}", neutralize_magics(source))
        for number, source in enumerate(executed, start=1)
        if source.strip() and parse_test(source) is None
    )


def _verdict(exercise_id: str, kind: str, points: float | None) -> Verdict:
    here = Path.cwd()
    folder = course_of_notebook(here)
    exercise = _named(folder, exercise_id)
    if kind not in list(Kind):
        raise UsageError(f"no kind of check '{kind}': known are {', '.join(Kind)}")
    limit = folder.course.limits.source_kib * 1024
    beside = read_submission(here, folder.course, [exercise], limit).sources
    units = units_of_history(executed_cells()[1:])
    own = bounded(Source(f"{exercise.id}.ipynb", units=units, notebook=True), RESTART)
    graded = _grader(folder.root, exercise.id).grade(exercise, own, beside)
    return graded.verdict(TestCell(exercise.id, Kind(kind), points))


def _named(folder: CourseFolder, exercise_id: str) -> Exercise:
    for exercise in folder.course.exercises:
        if exercise.id == exercise_id:
            return exercise
    known = ", ".join(e.id for e in folder.course.exercises)
    raise UsageError(f"no exercise '{exercise_id}': known are {known}")


@lru_cache(maxsize=8)
def _grader(root: Path, exercise_id: str) -> NotebookGrader:
    """Return the grader of an exercise, kept as long as the kernel lives."""
    return NotebookGrader(kernel_engine(root, exercise_id))


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


@contextlib.contextmanager
def _quiet() -> Any:
    """Keep warnings and messages off standard error, which would cost the cell its points."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _show(verdict: Verdict) -> None:
    shell = _shell()
    if shell is None:
        sys.stdout.write(f"{verdict.text}\n")
        return
    shell.display_pub.publish(data={"text/plain": verdict.text, "text/html": verdict.html})
    if _validating() and verdict.points < verdict.max_points:
        # no score is read from a validation, and standard error is all that it quotes
        sys.stderr.write(f"{verdict.text}\n")


def _validating() -> bool:
    """Whether `nbgrader validate` runs this notebook."""
    return os.environ.get("NBGRADER_EXECUTION") == "validate"
