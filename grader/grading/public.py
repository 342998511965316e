"""The key of the public cases by itself: what is told of them needs nothing that grades."""

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.key.cache import load_keys
from grader.records.calls import PUBLIC
from grader.records.key import AnswerKey


def public_key(folder: CourseFolder, exercise: Exercise) -> AnswerKey:
    """Return the key of an exercise's public cases, for which no process is needed."""
    return load_keys(folder, [exercise.id], PUBLIC).keys[exercise.id]
