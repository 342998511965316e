"""Derives the student's stub from a solution: marked regions become NotImplementedError."""

import re
from pathlib import Path

from grader.errors import CourseError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
_REGION = re.compile(
    rf"^(?P<indent>[ \t]*){re.escape(BEGIN)}[ \t]*\n(?P<body>.*?)^[ \t]*{re.escape(END)}[ \t]*\n",
    re.MULTILINE | re.DOTALL,
)


def derive_stub(solution: str) -> str:
    """Return the stub of a solution; raises ValueError where the markers do not pair."""
    begins, ends = solution.count(BEGIN), solution.count(END)
    stub, replaced = _REGION.subn(r"\g<indent>raise NotImplementedError\n", solution)
    if not begins == ends == replaced:
        raise ValueError(f"{begins} '{BEGIN}' and {ends} '{END}' do not pair line by line")
    if not replaced:
        raise ValueError(f"no '{BEGIN}': nothing is left for the student to do")
    return stub


def read_solution(path: Path) -> str:
    """Return a solution's text; raises CourseError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CourseError(f"{path}: is not UTF-8 (byte {error.start})") from None


def read_stub(path: Path) -> str:
    """Return the stub of the solution at `path`; raises CourseError where there is none."""
    try:
        return derive_stub(read_solution(path))
    except ValueError as error:
        raise CourseError(f"{path}: {error}") from None


def solution_lines(solution: str) -> list[str]:
    """Return the lines inside the marked regions, stripped, in order."""
    bodies = [found["body"] for found in _REGION.finditer(solution)]
    return [line.strip() for body in bodies for line in body.splitlines() if line.strip()]
