"""Limits of a course."""

import pytest

from grader.course.load import CourseFolder
from grader.course.models import Limits


def test_limits_are_positive(folder: CourseFolder) -> None:
    for name, value in folder.course.limits.model_dump().items():
        assert value > 0, name
    with pytest.raises(ValueError, match="greater than 0"):
        Limits.model_validate({**folder.course.limits.model_dump(), "case_seconds": 0})
