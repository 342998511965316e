"""Limits of a course."""

from pathlib import Path

import pytest
from small import small_course

from grader.course.limits import Limits
from grader.course.load import CourseFolder, load_course
from grader.errors import CourseError


def test_limits_are_positive(folder: CourseFolder) -> None:
    for name, value in folder.course.limits.model_dump().items():
        assert value > 0, name
    with pytest.raises(ValueError, match="greater than 0"):
        Limits.model_validate({**folder.course.limits.model_dump(), "case_seconds": 0})


def test_exercise_may_have_limits_of_its_own(tmp_path: Path) -> None:
    course = small_course(tmp_path, "same", "", "{kind: dtype}")
    path = tmp_path / "course.yml"
    text = path.read_text(encoding="utf-8")
    own = "    title: Small\n    limits: {case_seconds: 50, data_mib: 3000}\n"
    path.write_text(text.replace("    title: Small\n", own), encoding="utf-8")
    (plain,), (exercise,) = course.course.exercises, load_course(tmp_path).course.exercises
    found = load_course(tmp_path).course.limits_of(exercise)
    assert (found.case_seconds, found.data_mib, found.target_seconds) == (50, 3000, 15)
    assert load_course(tmp_path).course.widest_limits.data_mib == 3000
    assert course.course.limits_of(plain) is course.course.limits


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("{case_seconds: 0}", "12: exercises[0].limits.case_seconds: Input should be greater than"),
        ("{open_files: 9}", "12: exercises[0].limits: unknown key 'open_files'"),
        ("{data_mb: 9}", "unknown key 'data_mb'; did you mean 'data_mib'?"),
    ],
)
def test_bad_limit_of_an_exercise_is_one_line(tmp_path: Path, own: str, said: str) -> None:
    small_course(tmp_path, "same", "", "{kind: dtype}")
    path = tmp_path / "course.yml"
    text = path.read_text(encoding="utf-8")
    text = text.replace("    title: Small\n", f"    title: Small\n    limits: {own}\n")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CourseError) as caught:
        load_course(tmp_path)
    assert said in str(caught.value)
