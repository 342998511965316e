"""Each lesson begins with what a reader wants to know first, in one form, and it is true."""

import re

import pytest
from support import EXERCISES, solution

from grader.course.derive import solution_lines
from grader.course.load import CourseFolder

_SENTENCE = r"[^*]+\.\n"
_HEADER = re.compile(
    r"## Before you begin\n\n"
    rf"- \*\*You learn to\*\* {_SENTENCE}"
    rf"- \*\*You need\*\* {_SENTENCE}"
    r"- \*\*Time:\*\* (?P<least>\d+) to (?P<most>\d+) minutes, "
    r"estimated from (?P<parts>\w+) parts? and about (?P<lines>\d+) lines\.\n"
    r"- \*\*Difficulty:\*\* [1-4] of 4\.\n"
    r"(?:- \*\*Not allowed:\*\* (?P<banned>(?:.|\n(?!\n))+)\.\n)?\n"
    r"Calls that help:\n\n(?:- (?:`|A |With |Without )(?:.|\n(?!\n))+\n){3,5}\n## What it is for\n"
)
_PARTS = {1: "one", 2: "two", 3: "three", 4: "four"}
_READING, _PART, _LINE = 10, 3, 1  # minutes of the quickest: the lesson, each part, each line
_STEP = 5  # figures are rounded to it


def last_name(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def lesson(exercise_id: str) -> str:
    """Return the text that an exercise begins with."""
    return re.sub(r"^# ?", "", solution(exercise_id), flags=re.MULTILINE)


def rounded(figure: float) -> int:
    return _STEP * round(figure / _STEP)


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_lesson_begins_with_its_title_and_header(folder: CourseFolder, exercise_id: str) -> None:
    title, _, header = lesson(exercise_id).partition("\n\n")
    named, known = title.splitlines()[-1], folder.course.exercise(exercise_id).title
    assert named == f"# Exercise {exercise_id[8:]}: {known[0].lower()}{known[1:]}"
    assert _HEADER.match(header), header[:900]


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_header_tells_the_size_of_the_work(folder: CourseFolder, exercise_id: str) -> None:
    header = _HEADER.search(lesson(exercise_id))
    assert header is not None
    parts = len(folder.course.exercise(exercise_id).targets)
    lines = sum(not line.startswith("#") for line in solution_lines(solution(exercise_id)))
    least = rounded(_READING + _PART * parts + _LINE * lines)
    told = [header[name] for name in ("parts", "lines", "least", "most")]
    assert told == [_PARTS[parts], str(rounded(lines)), str(least), str(2 * least)]


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_header_tells_what_is_forbidden(folder: CourseFolder, exercise_id: str) -> None:
    header, exercise = _HEADER.search(lesson(exercise_id)), folder.course.exercise(exercise_id)
    assert header is not None
    told = {last_name(code) for code in re.findall(r"`(.+?)`", header["banned"] or "")}
    banned = {last_name(name) for name in exercise.forbidden_for(*exercise.targets)}
    parts = {target.name for target in exercise.targets}  # may bear the name of what is forbidden
    assert told - parts <= banned, told
    assert bool(told) == bool(banned)
