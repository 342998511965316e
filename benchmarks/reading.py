"""Prints the reading ease of lessons and hints, 60 or more of each lesson: `make reading`."""

import sys

from figures import ROOT

sys.path.insert(0, str(ROOT / "tests"))  # what measures it is shared with a test

from reading_ease import ease_of_hints, ease_of_lesson

from grader.course.load import load_course

LEAST = 60  # plain English


def main() -> int:
    """Print a line an exercise; returns the exit status."""
    folder = load_course(ROOT)
    print(f"{'Flesch':<12}  {'lesson':>6}  {'hints':>6}")
    hard = 0
    for exercise in folder.course.exercises:
        lesson = ease_of_lesson(folder, exercise).flesch
        hard += lesson < LEAST
        print(f"{exercise.id:<12}  {lesson:6.1f}  {ease_of_hints(folder, exercise).flesch:6.1f}")
    return int(hard > 0)


if __name__ == "__main__":
    sys.exit(main())
