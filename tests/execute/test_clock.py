"""The time of a submission: of a file, and of all files together."""

import time

import pytest

from grader.course.limits import Limits
from grader.course.load import CourseFolder
from grader.execute import clock
from grader.execute.clock import Clock


@pytest.fixture
def limits(folder: CourseFolder) -> Limits:
    """Give a file a minute, and all files two."""
    times = {"submission_seconds": 60, "total_seconds": 120}
    return folder.course.limits.model_copy(update=times)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Give the time by hand."""
    times = [1000.0]
    monkeypatch.setattr(clock, "time", type("", (), {"monotonic": lambda: times[0]}))
    return times


def _all_hang(limits: Limits, exercises: int, now: list[float]) -> list[float]:
    """Return how long each of some exercises that hang may take."""
    mine = Clock(limits, exercises)
    taken = []
    for number in range(exercises):
        mine.begin(f"exercise{number}")
        with mine.running():
            taken.append(mine.end().at - now[0])
            now[0] += taken[-1]
    return taken


def test_all_files_together_take_no_longer_than_they_may(limits: Limits, now: list[float]) -> None:
    taken = _all_hang(limits, 7, now)
    assert sum(taken) <= 120.001
    assert taken[0] == 60
    assert min(taken) >= 120 / 14 - 0.001


def test_what_one_file_does_not_need_is_there_for_the_last(
    limits: Limits, now: list[float]
) -> None:
    mine = Clock(limits, 7)
    for number in range(6):
        mine.begin(f"exercise{number}")
        with mine.running():
            now[0] += 1
    mine.begin("last")
    assert mine.end().at - now[0] == 60


def test_the_limit_that_is_hit_is_told(limits: Limits, now: list[float]) -> None:
    mine = Clock(limits, 1)
    mine.begin("last")
    assert mine.end().told == "the whole file took more than 60 seconds"
    with mine.running():
        now[0] += 100
    assert mine.end().told == "all files of the submission together may take 120 seconds"


def test_exercise_with_more_time_takes_none_of_the_others(limits: Limits, now: list[float]) -> None:
    mine = Clock(limits, 2)
    slow = limits.model_copy(update={"submission_seconds": 300})
    for _ in range(2):  # once more is no more
        mine.begin("slow", slow)
    with mine.running():
        now[0] += 300
    mine.begin("next", limits)
    assert mine.end().at - now[0] == 60
    with mine.running():
        now[0] += 50
    assert mine.end().told == "all files of the submission together may take 360 seconds"


def test_time_of_graders_own_costs_nothing(limits: Limits, now: list[float]) -> None:
    mine = Clock(limits, 2)
    mine.begin("last")
    now[0] += 1000
    assert mine.end().at - now[0] == 60


def test_limit_is_twice_that_of_a_file_where_none_is_given(limits: Limits) -> None:
    assert limits.model_copy(update={"total_seconds": None}).together_seconds == 120
    assert time.monotonic() < Clock(limits, 0).end().at
