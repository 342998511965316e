"""The document of some results, and what made it; for those too who graded nothing just now."""

from collections.abc import Sequence

from grader.course.models import Course
from grader.records.results import Document, ExerciseResult
from grader.version import VERSION

ENGINE = f"grader {VERSION}"


def sum_up(course: Course, key: str, results: Sequence[ExerciseResult]) -> Document:
    """Return the document of some results, which `key` is the digest of the answer key of."""
    parts = course.subtotals({one.exercise: (one.score, one.max_score) for one in results})
    return Document(course.title, ENGINE, key, tuple(results), parts)
