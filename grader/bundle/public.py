"""The course.yml of a bundle: as the instructor wrote it, without the parts that are left out."""

from collections.abc import Collection

import yaml

from grader.course.load import COURSE_FILE, CourseFolder, parse_course
from grader.errors import CourseError

_SCHEMA = "# yaml-language-server:"  # names a file that only the grader's own tree has


def public_course(folder: CourseFolder, exercises: Collection[str]) -> str:
    """Return course.yml with some exercises, the first ones, and the parts that have any of them.

    All that stays is the student's to read, comments included; the line for editors goes. Raises
    CourseError.
    """
    text = (folder.root / COURSE_FILE).read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for start, end in _left_out(folder, text, exercises):
        lines[start:end] = [""] * (end - start)
    public = "".join(line for line in lines if not line.startswith(_SCHEMA))
    left = [exercise.id for exercise in parse_course(public, COURSE_FILE).exercises]
    if left != list(exercises):
        raise CourseError(f"{COURSE_FILE}: begin each exercise and part on a line of its own")
    return public


def _left_out(folder: CourseFolder, text: str, exercises: Collection[str]) -> list[tuple[int, int]]:
    """Return the ranges of lines that are of other exercises and parts."""
    course = folder.course
    kept = {
        "exercises": [exercise.id in exercises for exercise in course.exercises],
        "parts": [bool(set(part.exercises).intersection(exercises)) for part in course.parts],
    }
    top = yaml.compose(text)
    found = []
    for key, value in top.value if isinstance(top, yaml.MappingNode) else ():
        keeps = kept.get(key.value, [])
        starts = [one.start_mark.line for one in value.value] if keeps else []
        ends = [*starts[1:], value.end_mark.line]
        found += [
            (start, end) for start, end, keep in zip(starts, ends, keeps, strict=False) if not keep
        ]
    return found
