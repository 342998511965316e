"""After full points: what a student can do now, and what comes next."""

import shutil
from pathlib import Path

import pytest
from support import SUBMISSIONS, RunGrade

from grader.course.load import load_course
from grader.student.beside import achieved
from grader.student.progress import CourseProgress, ExerciseProgress

_FILE = "exercise3_multi_head.py"
_FIRST = "exercise1_attention.py"


def test_full_points_tell_what_is_learnt_and_what_is_next(
    run_grade: RunGrade, course: Path
) -> None:
    shutil.copy(SUBMISSIONS / "perfect" / _FILE, course / "exercises" / _FILE)
    shown = run_grade("check", "3", "--course", course)
    text = " ".join(shown.out.split())
    assert "Questions 1, 2, 3 wait for your guess: grade try exercise3 You can now run many" in text
    assert text.endswith("Next: grade read exercise4")


@pytest.mark.parametrize("option", [["--json"], ["--submission", SUBMISSIONS / "perfect"]])
def test_only_the_report_of_own_work_tells_it(
    run_grade: RunGrade, course: Path, option: list[str]
) -> None:
    shutil.copy(SUBMISSIONS / "perfect" / _FILE, course / "exercises" / _FILE)
    assert "You can now" not in run_grade("check", "3", "--course", course, *option).out


def test_a_check_tells_which_exercises_it_took_from_the_course(
    run_grade: RunGrade, course: Path
) -> None:
    shown = " ".join(run_grade("check", "2", "--course", course).out.split())
    said = "Your exercise1 is not known to be right as it is now, so the course's own is used here."
    assert shown.endswith(f"{said} Run: grade check exercise1")
    shutil.copy(SUBMISSIONS / "perfect" / _FIRST, course / "exercises" / _FIRST)
    run_grade("check", "1", "--course", course)
    assert "the course's own" not in run_grade("check", "2", "--course", course).out
    with (course / "exercises" / _FIRST).open("a", encoding="utf-8") as file:
        file.write("def oops(\n")
    assert "the course's own" in run_grade("explain", "2", "--course", course).out
    run_grade("check", "1", "--course", course)
    shutil.copy(SUBMISSIONS / "perfect" / _FIRST, course / "exercises" / _FIRST)  # known since
    assert "the course's own" not in run_grade("check", "2", "--course", course).out


def test_after_the_last_open_exercise_comes_the_zip(course: Path) -> None:
    folder = load_course(course)
    *_, last = folder.course.exercises
    assert achieved(folder, last).endswith("Next: grade read exercise1")
    passed = {e.id: ExerciseProgress(passed=True) for e in folder.course.exercises}
    kept = course / ".grade" / "progress.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(CourseProgress(exercises=passed).model_dump_json(), encoding="utf-8")
    assert achieved(folder, last).endswith("Next: grade pack")
