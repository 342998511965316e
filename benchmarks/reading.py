"""Prints the reading ease of lessons, hints and questions, 60 or more each: `make reading`."""

import sys

from figures import ROOT

sys.path.insert(0, str(ROOT / "tests"))  # what measures it is shared with a test

from reading_ease import ease_of_hints, ease_of_lesson, ease_of_questions

from grader.course.load import load_course

LEAST = 60  # plain English


def main() -> int:
    """Print a line an exercise; returns the exit status."""
    folder = load_course(ROOT)
    print(f"{'Flesch':<12}  {'lesson':>6}  {'hints':>6}  {'questions':>9}")
    hard = 0
    for exercise in folder.course.exercises:
        lesson = ease_of_lesson(folder, exercise).flesch
        hard += lesson < LEAST
        hints, asked = ease_of_hints(folder, exercise).flesch, ease_of_questions(folder, exercise)
        questions = f"{asked.flesch:9.1f}" if asked else ""
        print(f"{exercise.id:<12}  {lesson:6.1f}  {hints:6.1f}  {questions}".rstrip())
    return int(hard > 0)


if __name__ == "__main__":
    sys.exit(main())
