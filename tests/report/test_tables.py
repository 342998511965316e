"""Tables of a class and of a course stay aligned whatever the students are called."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from wcwidth import wcswidth

from grader.classes.people import Member
from grader.classes.summary import BugSummary, ExerciseSummary, Remark, StudentSummary, Summary
from grader.records.people import Person
from grader.report.classes import render_students, render_summary
from grader.report.layout import width_of
from grader.report.student import render_standing
from grader.student.progress import ExerciseStanding, Standing

NAMES = [
    "ada",
    "007",
    "张伟",
    "Rene\u0301",  # an accent of its own
    "\N{FACE WITH TEARS OF JOY}",
    "a\tb",
    "\x1b[31mred\x1b[0m",
    "\u202eada",
    "王" * 60,
    "long " * 40,
]


def _summary(name: str) -> Summary:
    students = tuple(
        StudentSummary(
            student,
            {"exercise1": 10.5, "exercise2": None},
            10.5,
            "ex1: a finding",
            Member(Person(student), student),
        )
        for student in ("somebody", name)
    )
    exercises = tuple(
        ExerciseSummary(f"exercise{n}", f"ex{n}", 20.0, 2, 10.5, 10.5, 0, 0) for n in (1, 2)
    )
    remarks = tuple(Remark(student, "", "late", "0a1b2c3d") for student in ("somebody", name))
    bugs = (BugSummary("exercise1", ("a", "b"), 12), BugSummary("exercise2", ("c",), 1))
    return Summary("Course", "", "hidden", "", (), 2, exercises, students, bugs, remarks)


def _columns_before(text: str, word: str) -> set[int]:
    """At which columns of the screen a word begins."""
    lines = [line for line in text.splitlines() if word in line]
    assert len(lines) > 1
    return {wcswidth(line[: line.index(word)]) for line in lines}


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_students_align(name: str) -> None:
    shown = render_students(_summary(name), width=100)
    assert len(_columns_before(shown, "ex1: a finding")) == 1
    assert len(_columns_before(shown, "10.5")) == 1


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_remarks_align(name: str) -> None:
    shown = render_summary(_summary(name), width=100)
    assert len(_columns_before(shown, "late")) == 1


@pytest.mark.parametrize("render", [render_students, render_summary])
@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_line_is_wider_than_the_screen(
    render: Callable[..., str], width: int, name: str
) -> None:
    lines = render(_summary(name), width=width).splitlines()
    assert max(map(wcswidth, lines)) <= width
    assert min(map(wcswidth, lines)) >= 0  # which is -1 where a control character is left


def test_names_stand_on_the_left_even_if_they_are_numbers() -> None:
    lines = render_summary(_summary("007"), width=100).splitlines()
    assert "  0a1b2c3d  007       –  late" in lines


def test_class_of_one_is_one_student() -> None:
    one = replace(_summary("ada"), students=1)
    assert render_summary(one, width=100).startswith("Course: 1 student\n")


def test_counts_stand_on_the_right() -> None:
    lines = render_summary(_summary("ada"), width=100).splitlines()
    assert "  12×  exercise1  a + b" in lines
    assert "   1×  exercise2  c" in lines


@pytest.mark.parametrize("width", [40, 80])
def test_standing_fits_a_title_in_chinese(width: int) -> None:
    rows = tuple(
        ExerciseStanding(f"exercise{n}", "多头注意力机制的实现与测试" * 2, None, n, False, False)
        for n in (9, 10)
    )
    lines = render_standing(Standing("深度学习", rows), width=width).splitlines()
    assert max(map(width_of, lines)) <= width
    assert width_of(lines[0]) == width  # the points end at the edge
