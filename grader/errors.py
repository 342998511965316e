"""The one tree of errors that grader raises on purpose.

    GraderError
    ├── UsageError          the command line asks for something that is not there      exit 2
    │   ├── CourseError     course.yml, or a file that it lists, is wrong              exit 2
    │   └── SubmissionError a submission cannot be read                                exit 2
    └── InternalError       our own fault: a key that cannot be built, a lost worker   exit 3

A mistake of a student's is never an exception: it is a verdict.
"""

import contextlib
import os
import traceback
from collections.abc import Iterator
from pathlib import Path


class GraderError(Exception):
    """Base of every error below; its text is one line for a person."""

    exit_code = 3


class UsageError(GraderError):
    """What was asked for does not exist or does not fit."""

    exit_code = 2


class CourseError(UsageError):
    """A course file is wrong; the text names file, line, what, and the next step."""


class SubmissionError(UsageError):
    """The submission as a whole cannot be read."""


class InternalError(GraderError):
    """The grader's own fault, never the student's."""


def told_fault(error: BaseException) -> str:
    """Return what a fault of our own was, and where, as "KeyError at read.py:12".

    Its text is left out: it may hold what a submission was given. What the system says of a number
    (no space left, file too large) holds nothing of it.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    number = error.errno if isinstance(error, OSError) else None
    reason = f" ({os.strerror(number)})" if number else ""
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}{reason}"


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Write inside; raises UsageError where `path` cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
