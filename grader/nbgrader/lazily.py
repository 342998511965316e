"""nbgrader is an extra: whoever lacks it is told how to install it, in one line."""

import contextlib
from collections.abc import Iterator

from grader.errors import UsageError


@contextlib.contextmanager
def needs_nbgrader() -> Iterator[None]:
    """Import inside; raises UsageError where the extra is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "grader":
            raise
        raise UsageError("nbgrader is not installed: pip install 'grader[nbgrader]'") from None
