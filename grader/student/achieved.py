"""What a student hears beside a check: what an exercise was for, and what it was checked with."""

from grader.bundle.solutions import released_solution
from grader.course.lesson import find_passage, read_lesson
from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.handin.read import Source
from grader.student.progress import load_progress
from grader.student.stubs import untouched_stub

_GOAL = "You learn to"  # begins the lesson's passage that says what an exercise is for


def achieved(folder: CourseFolder, exercise: Exercise) -> str:
    """Return both in two sentences; "" where the lesson does not say what one learns."""
    passage = find_passage(read_lesson(untouched_stub(folder, exercise)), _GOAL)
    if passage is None:
        return ""
    return f"You can now{passage.text.removeprefix(_GOAL)} Next: {_next_command(folder, exercise)}"


def borrowed(folder: CourseFolder, exercise: Exercise, source: Source) -> str:
    """Say which exercises a check took from the course that the student has not completed.

    "" where there are none, or where some part of the exercise is checked with the student's own.
    """
    if exercise.builds_on_earlier:
        return ""
    text, progress = "".join(text for _, text in source.units), load_progress(folder)
    earlier = [e for e in folder.course.earlier(exercise) if e.stem in text]
    names = [one.id for one in earlier if not progress.of(one.id).passed]
    if not names:
        return ""
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return (
        f"This check takes {listed} from the course, as no check has found yours complete: "
        f"grade check {names[0]}"
    )


def _next_command(folder: CourseFolder, exercise: Exercise) -> str:
    if folder.shipped and released_solution(folder, exercise) is not None:
        return f"grade compare {exercise.id}"
    progress = load_progress(folder)
    exercises = list(folder.course.exercises)
    after = exercises.index(exercise) + 1
    open_ = [e for e in exercises[after:] + exercises[:after] if not progress.of(e.id).passed]
    waiting = [e for e in open_ if e != exercise]
    return f"grade read {waiting[0].id}" if waiting else "grade pack"
