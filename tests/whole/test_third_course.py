"""A course of masks, dicts, plain numbers and infinities, graded through real workers."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import TESTS, assert_full, edited, find_check

from grader.course.limits import OwnLimits
from grader.course.load import load_course
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.exercise import Standins
from grader.handin.read import Source, Submission
from grader.key.cache import load_keys
from grader.records.calls import PUBLIC
from grader.records.results import ExerciseResult, Status

COURSE = TESTS / "courses" / "ragged"
FILE = "exercise1_ragged.py"
RIGHT = (COURSE / "solutions" / FILE).read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def grade_ragged(
    warm: WarmProcess,
    key_cache: Path,  # noqa: ARG001 - keys are built
) -> Callable[..., ExerciseResult]:
    """Return a function that grades a text."""
    folder = load_course(COURSE)
    (exercise,) = folder.course.exercises
    keys = replace(load_keys(folder, [exercise.id], PUBLIC), pairs=lambda _: {})

    def graded(text: str, limits: OwnLimits = exercise.limits) -> ExerciseResult:
        submission = Submission({exercise.id: Source(FILE, units=((FILE, text),))})
        limited = exercise.model_copy(update={"limits": limits})
        course = folder.course.model_copy(update={"exercises": [limited]})
        engine = Engine(replace(folder, course=course), keys, Standins({}), warm)
        return engine.run(limited, submission).result

    return graded


def test_reference_of_the_ragged_course_gets_every_point(grade_ragged: Any) -> None:
    assert_full(grade_ragged(RIGHT))


def test_stub_of_the_ragged_course_gets_no_point(grade_ragged: Any) -> None:
    text = (COURSE / "exercises" / FILE).read_text(encoding="utf-8")
    assert grade_ragged(text).score == 0


@pytest.mark.parametrize(
    ("old", "new", "check", "said"),
    [
        ("places < lengths", "places <= lengths", "valid/numeric", "False expected, True came"),
        ("return places <", "return places >=", "valid/numeric", "are wrong, the first at"),
        ("return places < lengths[:, None]", "return (places < lengths[:, None]).int()",
         "valid/numeric", "the dtype should be bool, it is int32"),
        (", device=lengths.device", "", "valid/property/device", "made on a fixed device"),
        (".clamp(min=1)", "", "summary/numeric", "are NaN, the first at"),
        ('"share": mask.sum().item() / mask.numel()', '"share": mask.double().mean()',
         "summary/shape", "should return a number as `share`, it returned a Tensor"),
        ('"share": mask', '"extra": x, "share": mask',
         "summary/shape", "and no more: `extra` is there too"),
        ('float("inf")', "1e12", "summary/numeric", "the largest difference is inf"),
        ("x.masked_fill(~mask, 0).sum", "(x * mask.double().clamp(min=1e-14)).sum",
         "summary/property/padding", "what stands in padded places should change nothing"),
        ("mask: Tensor | None = None) -> dict", "mask: Tensor) -> dict",
         "summary/shape", "missing 1 required positional argument: 'mask'"),
        ("if mask is not None:", "if mask is not None and mask.dim() > 2:",
         "Smooth/property/causal", "what comes later along t should not change earlier outputs"),
        ("if mask is not None:", "if mask is not None and mask.dim() < 3:",
         "Smooth/numeric", "right shape but wrong values"),
        ("x.masked_fill(~mask.any(dim=-2), 0)", "x + 1e-9 * x.mean(dim=1, keepdim=True)",
         "Smooth/property/padding", "what stands in padded places should change nothing"),
        ("return self.dropout(", "return (", "Smooth/property/dropout", "dropout"),
    ],
    ids=["too many", "turned", "numbers", "device", "nothing", "tensor for number", "surplus key",
         "large for infinite", "small weight", "no default", "not causal", "no mask of rows",
         "leak", "no dropout"],
)  # fmt: skip
def test_ragged_course_wrong_answer_fails_for_its_reason(
    old: str, new: str, check: str, said: str, grade_ragged: Any
) -> None:
    found = find_check(grade_ragged(edited(RIGHT, (old, new))), check)
    assert found.status is Status.FAILED
    assert said in found.message


def test_causal_shows_the_smallest_input(grade_ragged: Any) -> None:
    wrong = edited(RIGHT, ("if mask is not None:", "if mask is not None and mask.dim() > 2:"))
    found = find_check(grade_ragged(wrong), "Smooth/property/causal")
    assert found.case is not None
    assert found.case.dims == {"n": 1, "t": 2}
    assert found.case.inputs is not None
    assert found.case.inputs["mask"] == [[True, False], [True, True]]


@pytest.mark.parametrize(
    ("limits", "status"),
    [(OwnLimits(), Status.PASSED), (OwnLimits(case_seconds=0.4), Status.TIMEOUT)],
    ids=["of the course", "of the exercise"],
)
def test_exercise_keeps_to_its_own_limits(
    limits: OwnLimits, status: Status, grade_ragged: Any
) -> None:
    first = "    places = torch.arange(width"
    slow = "    __import__('time').sleep(1 if lengths.dtype == torch.int32 else 0)\n"
    result = grade_ragged(edited(RIGHT, (first, slow + first)), limits)
    assert find_check(result, "valid/numeric").status is status
