"""Questions to a lesson: a file an exercise, with mistakes told by their line."""

from pathlib import Path

import pytest
from support import EXERCISES, edited

from grader.course.load import CourseFolder
from grader.course.questions import read_questions
from grader.errors import CourseError

_QUESTION = """
- title: A sum
  needs: [total]
  asks: What is the sum?
  choices: [one, two]
  lines: |
    x = total(torch.ones(2))
  shows: {the sum: x}
  draw: bars
  answer: 2
  when: x == 2
  because: One and one are two.
"""


def put(folder: CourseFolder, tmp_path: Path, *edits: tuple[str, str]) -> CourseFolder:
    """Return the course with the questions above, edited, to exercise 1."""
    text = edited(_QUESTION.replace("[total]", "[self_attention]"), *edits)
    (tmp_path / "questions").mkdir()
    (tmp_path / "questions" / "exercise1.yml").write_text(text, encoding="utf-8")
    return CourseFolder(folder.course, tmp_path)


def test_lines_become_a_function(folder: CourseFolder, tmp_path: Path) -> None:
    (question,) = read_questions(put(folder, tmp_path), folder.course.exercise("exercise1"))
    assert question.as_function("f") == (
        "import torch\n"
        "def f():\n"
        "    x = total(torch.ones(2))\n"
        '    return {"0": torch.as_tensor(x), "when": torch.as_tensor(bool(x == 2))}\n'
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("answer: 2", "answer: 3", r":10: \[0\]\.answer: there are 2 choices only"),
        ("x == 2", "x ==", r":11: \[0\]\.when: 'x ==' is no expression"),
        ("{the sum: x}", "{the sum: x +}", r":8: .* 'x \+' is no expression"),
        ("total(torch", "total((torch", r":6: \[0\]\.lines: line 1 is no Python"),
        ("[self_attention]", "[attend]", "A sum: 'attend' is no target of exercise1"),
        ("choices:", "choice:", r"unknown key 'choice'; did you mean 'choices'\?"),
        ("draw: bars", "draw: bar", r":9: \[0\]\.draw"),
    ],
)
def test_mistake_in_a_question_is_told_by_its_line(
    folder: CourseFolder, tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(CourseError, match=said):
        read_questions(put(folder, tmp_path, (old, new)), folder.course.exercise("exercise1"))


def test_exercise_without_a_file_has_no_questions(folder: CourseFolder, tmp_path: Path) -> None:
    bare = CourseFolder(folder.course, tmp_path)
    assert read_questions(bare, folder.course.exercise("exercise1")) == []


def test_question_files_are_those_of_listed_exercises(folder: CourseFolder) -> None:
    present = {path.stem for path in (folder.root / "questions").iterdir()}
    assert present == set(EXERCISES)


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_each_lesson_has_two_or_three_questions_and_says_so(
    folder: CourseFolder, exercise_id: str
) -> None:
    exercise = folder.course.exercise(exercise_id)
    lesson = (folder.exercises / exercise.file).read_text(encoding="utf-8")
    assert 2 <= len(read_questions(folder, exercise)) <= 3
    assert f"`grade try {exercise_id}`" in lesson


def test_reference_page_shows_a_question_as_it_stands(folder: CourseFolder) -> None:
    page = (folder.root / "docs" / "course-yml.md").read_text(encoding="utf-8")
    shown = page.partition("## Questions")[2].partition("```yaml\n")[2].partition("```")[0]
    asked = (folder.root / "questions" / "exercise3.yml").read_text(encoding="utf-8")
    assert asked.startswith(shown)
