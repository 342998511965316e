"""Lessons are plain English, by a figure that tells plain English from a paper's."""

import pytest
from reading_ease import ease_of, ease_of_hints, ease_of_lesson, ease_of_questions, syllables
from support import EXERCISES

from grader.course.load import CourseFolder

LEAST = 60


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_lesson_is_plain_english(folder: CourseFolder, exercise_id: str) -> None:
    assert ease_of_lesson(folder, folder.course.exercise(exercise_id)).flesch >= LEAST


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_questions_are_plain_english(folder: CourseFolder, exercise_id: str) -> None:
    ease = ease_of_questions(folder, folder.course.exercise(exercise_id))
    assert ease is None or ease.flesch >= LEAST


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_hints_are_plain_english(folder: CourseFolder, exercise_id: str) -> None:
    assert ease_of_hints(folder, folder.course.exercise(exercise_id)).flesch >= LEAST


@pytest.mark.parametrize(
    ("word", "count"),
    [
        ("table", 2),
        ("scale", 1),
        ("attention", 3),
        ("the", 1),
        ("masked", 1),
        ("padded", 2),
        ("queries", 2),
        ("probability", 5),
    ],
)
def test_syllables_are_about_those_that_one_speaks(word: str, count: int) -> None:
    assert syllables(word) == count


def test_long_sentences_of_long_words_are_hard() -> None:
    hard = (
        "Multiplicative interactions necessitate normalization preceding probabilistic evaluation."
    )
    assert (
        ease_of([hard]).flesch < 0 < 60 < ease_of(["Each row has a sum of one. Look at it."]).flesch
    )
