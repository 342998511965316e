"""Where a lesson speaks of what went wrong: for a student's page, and for what to teach again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.course.bugs import load_bugs
from grader.course.lesson import Passage, find_passages, find_section, read_lesson
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.records.results import Diagnosis


@dataclass(frozen=True)
class Lesson:
    """A lesson's passages, and which of them is on which known bug."""

    passages: Sequence[Passage]
    of_bugs: Mapping[str, str]  # how the passage begins, by bug, and by target and bug

    def on_target(self, target: str) -> tuple[Passage, ...]:
        """Return where the lesson begins to speak of a target."""
        return find_section(self.passages, target)

    def on_diagnosis(self, diagnosis: Diagnosis) -> tuple[Passage, ...]:
        """Return where the lesson speaks of a mistake, else of its target."""
        keys = [(f"{diagnosis.target}/{bug}", bug) for bug in diagnosis.bugs]
        begins = [self.of_bugs.get(own) or self.of_bugs.get(bug, "") for own, bug in keys]
        return find_passages(self.passages, begins) or self.on_target(diagnosis.target)

    def on_trap(self, begins: str) -> tuple[Passage, ...]:
        """Return the passage on a trap of exceptions."""
        return find_passages(self.passages, [begins])


def read_lessons(folder: CourseFolder) -> dict[str, Lesson]:
    """Return the lessons of a course by exercise; raises CourseError."""
    return {exercise.id: _lesson(folder, exercise) for exercise in folder.course.exercises}


def _lesson(folder: CourseFolder, exercise: Exercise) -> Lesson:
    for place in (folder.solutions, folder.exercises):
        path = place / exercise.file
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            bugs = load_bugs(folder, exercise, text) if place == folder.solutions else []
            begins = {name: bug.lesson for bug in bugs for name in (bug.key, bug.id)}
            return Lesson(read_lesson(text), begins)
    return Lesson((), {})
