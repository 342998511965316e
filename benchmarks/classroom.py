"""A class made up for measuring: a third right, a third with bugs, a third stubs."""

from pathlib import Path

from grader.course.bugs import load_bugs, mutants_of
from grader.course.load import CourseFolder


def make_class(folder: CourseFolder, into: Path, size: int) -> None:
    """Write `size` submissions, all different, one folder each."""
    texts = {e.id: texts_of(folder, e.id) for e in folder.course.exercises}
    for index in range(size):
        place = into / f"student{index:04}"
        place.mkdir(parents=True)
        for exercise in folder.course.exercises:
            right, wrong, stub = texts[exercise.id]
            text = (right, wrong[index // 3 % len(wrong)], stub)[index % 3]
            (place / exercise.file).write_text(f"{text}\n# {index}\n", encoding="utf-8")


def texts_of(folder: CourseFolder, exercise_id: str) -> tuple[str, list[str], str]:
    """Return the reference, it with each known bug, and the stub."""
    exercise = folder.course.exercise(exercise_id)
    right = (folder.solutions / exercise.file).read_text("utf-8")
    wrong = [
        mutant.source
        for bug in load_bugs(folder, exercise, right)
        for mutant in mutants_of(folder, exercise, bug, right)[:1]
    ]
    return right, wrong, (folder.exercises / exercise.file).read_text("utf-8")
