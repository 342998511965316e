"""What `grader.nbgrader.configure(c)` sets: only nbgrader's own options, nothing is patched."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traitlets.config import Config

_SECONDS = 600  # for a cell of the stock kernel: a first test cell may build the answer key
_IGNORED = (".ipynb_checkpoints", "*.pyc", "__pycache__", ".pytest_cache", ".grade-nbgrader.json")


def set_up(c: "Config") -> None:
    """Put grader's parts into nbgrader's pipelines and pages."""
    from grader.nbgrader.markup import FILTERS
    from grader.nbgrader.pipeline import (
        autograde_preprocessors,
        generate_preprocessors,
        sanitize_preprocessors,
    )

    c.GenerateAssignment.preprocessors = generate_preprocessors()
    c.Autograde.sanitize_preprocessors = sanitize_preprocessors()
    c.Autograde.autograde_preprocessors = autograde_preprocessors()
    c.HTMLExporter.filters = dict(FILTERS)
    c.CourseDirectory.ignore = list(_IGNORED)
    c.Execute.timeout = _SECONDS
