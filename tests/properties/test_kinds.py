"""A kind of property is one module: a toy kind is added here with nothing but such a module."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small import judged, small_course

import grader.properties
from grader.course.kinds import course_model, find_kinds
from grader.course.load import CourseFolder, load_course
from grader.errors import CourseError
from grader.records.results import Status

TOY = '''
"""Outputs with no negative number."""

from typing import Literal

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind, outputs_of
from grader.records.results import Status
from grader.worker.protocol import Action


class NotNegative(Kind):
    """No output is below `least`."""

    kind: Literal["not-negative"]
    least: float = 0.0

    def misfit(self, exercise: Exercise, target: Target) -> str:
        return "it asks for nothing below 0" if self.least < 0 else ""

    def plan(self, planner: TargetPlanner) -> None:
        planner.add(planner.derived(self.name, Action.FORWARD))

    def judge(self, evidence: Evidence) -> Judgement:
        answer = evidence.answers[evidence.call_of(self.name).id]
        if all((array >= self.least).all() for array in outputs_of(answer).values()):
            return PASSED
        return Judgement(Status.FAILED, "a number is below the least", next_step="square it")
'''
PROPERTY = "{kind: not-negative, id: above, least: 0}"
RIGHT = "def square(x):\n    return x * x\n"
WRONG = "def square(x):\n    return x\n"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CourseFolder]:
    """Put one more module beside the kinds, and make a course that uses it."""
    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds" / "not_negative.py").write_text(TOY, encoding="utf-8")
    places = [*grader.properties.__path__, str(tmp_path / "kinds")]
    monkeypatch.setattr(grader.properties, "__path__", places)
    course_model.cache_clear()
    yield small_course(tmp_path, "square", RIGHT, PROPERTY)
    monkeypatch.undo()
    del sys.modules["grader.properties.not_negative"]
    course_model.cache_clear()


def test_a_new_kind_is_passed_by_the_reference(toy: CourseFolder) -> None:
    checks = judged(toy, RIGHT)
    assert checks["square/property/above"].status is Status.PASSED
    assert {check.status for check in checks.values()} == {Status.PASSED}


def test_a_new_kind_is_failed_by_a_wrong_answer_for_its_reason(toy: CourseFolder) -> None:
    check = judged(toy, WRONG)["square/property/above"]
    assert (check.status, check.score) == (Status.FAILED, 0)
    assert check.message == "a number is below the least"


def _replace(toy: CourseFolder, old: str, new: str) -> None:
    path = toy.root / "course.yml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_a_misspelt_new_kind_is_told_with_its_name(toy: CourseFolder) -> None:
    _replace(toy, "kind: not-negative", "kind: not-negatif")
    with pytest.raises(CourseError, match=r"course\.yml:18: .*did you mean 'not-negative'\?"):
        load_course(toy.root)


def test_a_misspelt_key_of_a_new_kind_is_told_with_its_line(toy: CourseFolder) -> None:
    _replace(toy, "least: 0", "leest: 0")
    with pytest.raises(CourseError, match=r"course\.yml:18: .*did you mean 'least'\?"):
        load_course(toy.root)


def test_a_new_kind_says_for_which_targets_it_means_nothing(toy: CourseFolder) -> None:
    path = toy.root / "course.yml"
    path.write_text(path.read_text("utf-8").replace("least: 0", "least: -1"), encoding="utf-8")
    with pytest.raises(CourseError) as caught:
        load_course(toy.root)
    assert str(caught.value).endswith(
        "course.yml:18: exercises[0].targets[0].properties[0]: the property 'above' means "
        "nothing for square: it asks for nothing below 0"
    )


def test_the_toy_is_gone_after_its_tests() -> None:
    assert "NotNegative" not in {kind.__name__ for kind in find_kinds()}


@pytest.mark.parametrize("kind", find_kinds(), ids=lambda kind: kind.__name__)
def test_every_kind_says_what_it_is_in_one_sentence(kind: Any) -> None:
    assert kind.__doc__.strip().splitlines()[0].endswith(".")
