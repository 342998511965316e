"""nbgrader: notebooks with one test cell a kind of check, an executor, bulk grading.

nbgrader itself is imported only where instructors need it. What a student's notebook needs,
`grade_cell` and the extension, works without it.
"""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from grader.errors import UsageError

if TYPE_CHECKING:
    from traitlets.config import Config

    from grader.nbgrader.kernel import Points


@contextlib.contextmanager
def needs_nbgrader() -> Iterator[None]:
    """Import inside; raises UsageError where nbgrader, which is an extra, is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "grader":
            raise
        raise UsageError("nbgrader is not installed: pip install 'grader[nbgrader]'") from None


def configure(c: "Config") -> None:
    """Set nbgrader up for a course; the one call of `nbgrader_config.py`."""
    from grader.nbgrader.config import set_up

    set_up(c)


def grade_cell(exercise: str, kind: str, *, points: float | None = None) -> "Points":
    """Grade this notebook on the public cases; the value is the points for checks of one kind.

    `points` is what the cell is worth, the course's points for the kind if none is given.
    Example: grade_cell("exercise3", "numeric", points=7) shows a verdict and returns 7.0 at best.
    """
    from grader.nbgrader.kernel import grade_here

    return grade_here(exercise, kind, points)


def load_ipython_extension(shell: Any) -> None:  # noqa: ARG001 - IPython's signature
    """Let a notebook import earlier exercises from the notebooks beside it."""
    from grader.notebook.imports import install

    install()
