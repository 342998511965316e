"""A lesson calls sizes by the letters of course.yml, as reports do."""

import re

import pytest
from support import EXERCISES, solution

from grader.course.load import CourseFolder

_SHAPE = re.compile(r"\(((?:[\w·*/]+, ?)+[\w·*/]*)\)")
_LETTERS = re.compile(r"[a-z](?:_[a-z]+)?")


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_lesson_has_the_letters_of_the_course(folder: CourseFolder, exercise_id: str) -> None:
    exercise = folder.course.exercise(exercise_id)
    known = {name for target in exercise.targets for name in target.dims}
    known |= {name for t in exercise.targets for case in t.cases for name in case.dims}
    rows = [line for line in solution(exercise.id).splitlines() if line.startswith("# |")]
    shapes = [found[1] for line in rows for found in _SHAPE.finditer(line)]
    used = {letter for shape in shapes for letter in _LETTERS.findall(shape)}
    assert shapes or exercise.id in ("exercise5", "exercise7", "exercise10", "exercise12")
    assert used <= known
