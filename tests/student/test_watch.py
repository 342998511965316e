"""`grade check --watch`: every save is graded by a warm worker, and passing goes on."""

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest
from support import SUBMISSIONS, RunGrade, Shown

from grader.course.load import load_course
from grader.grading.engine import Engine
from grader.records.ids import CheckId
from grader.records.results import CheckResult, ExerciseResult, Status
from grader.report.runs import render_turn
from grader.student.findings import Findings
from grader.student.watch import Change, FileEvents, Turn, Watch, compare_results

_FILE = "exercise3_multi_head.py"


class Saves:
    """Puts sample submissions in place, one at each wait, and tells what was saved."""

    def __init__(self, place: Path, steps: list[tuple[str, str]]) -> None:
        self.place = place
        self.steps: Iterator[tuple[str, str]] = iter(steps)

    def wait(self) -> frozenset[str] | None:
        step = next(self.steps, None)
        if step is None:
            return None
        sample, file = step
        (self.place / file).write_bytes((SUBMISSIONS / sample / file).read_bytes())
        return frozenset({file.split("_")[0]})


def _findings(engine: Engine) -> Findings:
    return Findings(engine.folder, lambda: engine, own=False, fresh=True)


def _watch(engine: Engine, place: Path, steps: list[tuple[str, str]], first: str) -> list[Turn]:
    course = engine.folder.course
    turns: list[Turn] = []
    watch = Watch(_findings(engine), course.exercises, place, Saves(place, steps), turns.append)
    watch.run(course.exercise(first))
    return turns


def test_watch_grades_each_save_and_goes_on_when_passed(
    shipped_engine: Engine, course: Path
) -> None:
    steps = [("keys-from-queries", _FILE), ("perfect", _FILE)]
    turns = _watch(shipped_engine, course / "exercises", steps, "exercise3")
    assert [t.result.exercise for t in turns] == ["exercise3"] * 3 + ["exercise4"]
    assert [t.result.score for t in turns] == [0, 7.5, 20, 0]
    assert turns[0].change is None
    assert turns[1].change is not None
    assert turns[1].change.points == 7.5
    assert turns[-1].finished == "exercise3"


def test_watch_turns_to_the_exercise_that_was_saved(shipped_engine: Engine, course: Path) -> None:
    steps = [("missing-scale", "exercise1_attention.py")]
    turns = _watch(shipped_engine, course / "exercises", steps, "exercise3")
    assert [t.result.exercise for t in turns] == ["exercise3", "exercise1"]


def test_watch_ends_when_all_is_passed(shipped_engine: Engine, course: Path) -> None:
    place = course / "exercises"
    exercise = shipped_engine.folder.course.exercise("exercise3")
    turns: list[Turn] = []
    saves = Saves(place, [("perfect", _FILE), ("stub", _FILE)])
    assert Watch(_findings(shipped_engine), [exercise], place, saves, turns.append).run(exercise)
    assert turns[-1].last
    assert next(saves.steps) == ("stub", _FILE)  # nobody waited for it


def test_watch_survives_a_file_that_goes_and_comes(shipped_engine: Engine, course: Path) -> None:
    class Removal(Saves):
        def wait(self) -> frozenset[str] | None:
            (self.place / _FILE).unlink(missing_ok=True)
            return super().wait() and frozenset({"exercise3"})

    place = course / "exercises"
    exercise = shipped_engine.folder.course.exercise("exercise3")
    turns: list[Turn] = []
    saves = Removal(place, [("stub", "exercise1_attention.py"), ("keys-from-queries", _FILE)])
    Watch(_findings(shipped_engine), [exercise], place, saves, turns.append).run(exercise)
    assert "is not there" in turns[1].result.checks[0].message
    assert turns[2].result.score == 7.5


def test_watch_answers_within_its_share_of_importing_torch(
    shipped_engine: Engine, course: Path
) -> None:
    place = course / "exercises"
    begun = {}

    class Timed(Saves):
        def wait(self) -> frozenset[str] | None:
            saved = super().wait()
            begun["at"] = time.perf_counter()
            return saved

    spent = []
    steps = [("keys-from-queries", _FILE)] * 6
    exercise = shipped_engine.folder.course.exercise("exercise3")

    def show(_: Turn) -> None:
        if begun:
            spent.append(time.perf_counter() - begun["at"])

    Watch(_findings(shipped_engine), [exercise], place, Timed(place, steps), show).run(exercise)
    before = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    imported = time.perf_counter() - before
    assert min(spent) + 0.04 <= 0.15 * imported  # 0.04: two looks at the files


# --- events ------------------------------------------------------------------------------------


def _events(place: Path) -> FileEvents:
    return FileEvents(place, load_course(place.parent).course.exercises)


def _after(seconds: float, act: object) -> None:
    timer = threading.Timer(seconds, act)  # type: ignore[arg-type]
    timer.daemon = True
    timer.start()


def test_events_tell_a_plain_save(course: Path) -> None:
    events = _events(course / "exercises")
    _after(0.05, lambda: (course / "exercises" / _FILE).write_text("x = 1\n"))
    assert events.wait() == {"exercise3"}


def test_events_tell_an_editors_atomic_save_once_it_is_whole(course: Path) -> None:
    place = course / "exercises"
    events = _events(place)

    def save() -> None:
        (place / _FILE).rename(place / f"{_FILE}~")
        time.sleep(0.1)
        (place / ".new").write_text("x = 1\n")
        (place / ".new").rename(place / _FILE)

    _after(0.05, save)
    assert events.wait() == {"exercise3"}
    assert (place / _FILE).read_text() == "x = 1\n"


def test_events_wait_for_a_file_that_is_written_in_parts(course: Path) -> None:
    place = course / "exercises"
    events = _events(place)

    def save() -> None:
        with (place / _FILE).open("w") as file:
            time.sleep(0.1)  # truncated, and still empty
            file.write("x = 1\n")

    _after(0.05, save)
    assert events.wait() == {"exercise3"}
    assert (place / _FILE).read_text() == "x = 1\n"


def test_events_tell_a_file_that_is_gone_for_good(course: Path) -> None:
    place = course / "exercises"
    events = _events(place)
    _after(0.05, (place / _FILE).unlink)
    assert events.wait() == {"exercise3"}


# --- the command -------------------------------------------------------------------------------


def _watch_submission(course: Path, path: Path, run_grade: RunGrade, *typed: str) -> Shown:
    """Watch a submission of somebody else's, from a folder without work of one's own."""
    shutil.rmtree(course / "exercises")
    return run_grade("check", *typed, "--watch", "--submission", path, "--course", course)


def test_watch_of_a_submission_needs_no_exercises(course: Path, run_grade: RunGrade) -> None:
    named = ("exercise4", "exercise6")
    shown = _watch_submission(course, SUBMISSIONS / "perfect", run_grade, *named)
    assert (shown.status, shown.err) == (0, "")
    assert "exercise6" in shown.out


def test_watch_of_one_file_takes_it_for_the_exercise_that_it_is(
    course: Path, run_grade: RunGrade
) -> None:
    path = SUBMISSIONS / "perfect" / "exercise6_position_encoding.py"
    shown = _watch_submission(course, path, run_grade)
    assert (shown.status, shown.err) == (0, "")
    assert "exercise1" not in shown.out


# --- the screen --------------------------------------------------------------------------------


def _check(name: str, status: Status) -> CheckResult:
    check = CheckId.parse(f"exercise3/f/{name}")
    return CheckResult(check, status, 1.0, 1.0, "it differs")


def _result(score: float, *checks: CheckResult) -> ExerciseResult:
    status = Status.worst(check.status for check in checks)
    return ExerciseResult("exercise3", "A title of some length", status, score, 3.0, checks)


def test_change_tells_points_and_checks_both_ways() -> None:
    passed, failed = Status.PASSED, Status.FAILED
    before = _result(2.0, _check("shape", passed), _check("numeric", failed))
    after = _result(1.0, _check("shape", failed), _check("numeric", passed))
    assert compare_results(before, after) == Change(-1.0, ("f numeric",), ("f shape",))


def test_change_of_a_whole_target_is_one_word_and_names_no_known_mistake() -> None:
    passed, failed = Status.PASSED, Status.FAILED
    bug = _check("bug/detached", passed)
    nothing = _result(0.0, _check("shape", failed), replace(bug, status=failed))
    half, whole = (
        _result(1.0, _check("shape", failed), bug),
        _result(3.0, _check("shape", passed), bug),
    )
    assert compare_results(nothing, whole).passed == ("all of f",)
    assert compare_results(nothing, half).passed == ()
    assert compare_results(half, whole).passed == ("f shape",)


@pytest.mark.parametrize("width", [40, 80])
def test_screen_fits_its_width_without_colours(width: int) -> None:
    change = Change(-1.5, ("f numeric", "f trained"), ("f shape",))
    turn = Turn(
        _result(1.0, _check("shape", Status.FAILED)), change, "exercise2", False, "", 12, 100
    )
    shown = click.unstyle(render_turn(turn, width=width))
    assert max(len(line) for line in shown.splitlines()) <= width
    for said in ("exercise2 is complete", "1.5 points fewer", "f numeric", "no longer right"):
        assert said in " ".join(shown.split())
