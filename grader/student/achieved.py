"""What a student can do once an exercise is complete, and what comes next."""

from grader.bundle.solutions import released_solution
from grader.course.lesson import find_passage, read_lesson
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.student.progress import load_progress
from grader.student.stubs import untouched_stub

_GOAL = "You learn to"  # begins the lesson's passage that says what an exercise is for


def achieved(folder: CourseFolder, exercise: Exercise) -> str:
    """Return both in two sentences; "" where the lesson does not say what one learns."""
    passage = find_passage(read_lesson(untouched_stub(folder, exercise)), _GOAL)
    if passage is None:
        return ""
    return f"You can now{passage.text.removeprefix(_GOAL)} Next: {_next_command(folder, exercise)}"


def _next_command(folder: CourseFolder, exercise: Exercise) -> str:
    if folder.shipped and released_solution(folder, exercise) is not None:
        return f"grade compare {exercise.id}"
    progress = load_progress(folder)
    exercises = list(folder.course.exercises)
    after = exercises.index(exercise) + 1
    open_ = [e for e in exercises[after:] + exercises[:after] if not progress.of(e.id).passed]
    waiting = [e for e in open_ if e != exercise]
    return f"grade read {waiting[0].id}" if waiting else "grade pack"
