"""Two courses, graded through real workers.

One is of masks, dicts, plain numbers and infinities, one of states, given models and draws.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support import TESTS, assert_full, edited, find_check

from grader.course.limits import OwnLimits
from grader.course.load import load_course
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.handin.read import Source, Submission
from grader.key.cache import load_keys
from grader.records.calls import PUBLIC
from grader.records.results import ExerciseResult, Status

COURSES = TESTS / "courses"
FILE = "exercise1_ragged.py"
STREAMS = "exercise1_streams.py"
RIGHT = (COURSES / "ragged" / "solutions" / FILE).read_text(encoding="utf-8")
RIGHT_STREAMS = (COURSES / "streams" / "solutions" / STREAMS).read_text(encoding="utf-8")
Grade = Callable[..., ExerciseResult]


def grader_of(name: str, warm: WarmProcess) -> Grade:
    """Return a function that grades a text as the only exercise of a course."""
    folder = load_course(COURSES / name)
    (exercise,) = folder.course.exercises
    keys = replace(load_keys(folder, [exercise.id], PUBLIC), pairs=lambda _: {})

    def graded(text: str, limits: OwnLimits = exercise.limits) -> ExerciseResult:
        submission = Submission({exercise.id: Source(exercise.file, ((exercise.file, text),))})
        limited = exercise.model_copy(update={"limits": limits})
        course = folder.course.model_copy(update={"exercises": [limited]})
        engine = Engine(replace(folder, course=course), keys, Standins({}), warm)
        return engine.run(limited, submission).result

    return graded


@pytest.fixture(scope="session")
def grade_ragged(warm: WarmProcess, key_cache: Path) -> Grade:  # noqa: ARG001 - keys are built
    """Return a function that grades a text in the course of rows."""
    return grader_of("ragged", warm)


@pytest.fixture(scope="session")
def grade_streams(warm: WarmProcess, key_cache: Path) -> Grade:  # noqa: ARG001 - keys are built
    """Return a function that grades a text in the course of streams."""
    return grader_of("streams", warm)


def test_reference_of_the_ragged_course_gets_every_point(grade_ragged: Grade) -> None:
    assert_full(grade_ragged(RIGHT))


def test_stub_of_the_ragged_course_gets_no_point(grade_ragged: Grade) -> None:
    text = (COURSES / "ragged" / "exercises" / FILE).read_text(encoding="utf-8")
    assert grade_ragged(text).score == 0


@pytest.mark.parametrize(
    ("old", "new", "check", "said"),
    [
        ("places < lengths", "places <= lengths", "valid/numeric", "False expected, True came"),
        ("return places <", "return places >=", "valid/numeric", "are wrong, the first at"),
        ("return places < lengths[:, None]", "return (places < lengths[:, None]).int()",
         "valid/shape", "the output is int32, where true and false are asked for"),
        (", device=lengths.device", "", "valid/property/device", "not made on the input's device"),
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
    old: str, new: str, check: str, said: str, grade_ragged: Grade
) -> None:
    found = find_check(grade_ragged(edited(RIGHT, (old, new))), check)
    assert found.status is Status.FAILED
    assert said in found.message


def test_causal_shows_the_smallest_input(grade_ragged: Grade) -> None:
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
    limits: OwnLimits, status: Status, grade_ragged: Grade
) -> None:
    first = "    places = torch.arange(width"
    slow = "    __import__('time').sleep(1 if lengths.dtype == torch.int32 else 0)\n"
    result = grade_ragged(edited(RIGHT, (first, slow + first)), limits)
    assert find_check(result, "valid/numeric").status is status


def test_reference_of_the_streams_course_gets_every_point(grade_streams: Grade) -> None:
    assert_full(grade_streams(RIGHT_STREAMS))


def test_stub_of_the_streams_course_gets_no_point(grade_streams: Grade) -> None:
    text = (COURSES / "streams" / "exercises" / STREAMS).read_text(encoding="utf-8")
    assert grade_streams(text).score == 0


@pytest.mark.parametrize(
    ("old", "new", "check", "said"),
    [
        ("if past is None else past", "if True else past", "Fading/property/incremental",
         "given piece by piece along t, it gives something else than at once"),
        ("if past is None else past", "if past is None else past.add_(past)",
         "Fading/property/incremental", "along t"),
        ("return torch.stack(faded, dim=1), last", "return torch.stack(faded, dim=1)",
         "Fading/shape", "should return 2 tensors (faded, past)"),
        ("model.train(training)", "model.train()", "follow/property/inputs-unchanged",
         "`model` comes in evaluation mode, and is left in training mode"),
        ("    model.train(training)", "    model.eval()", "follow/property/inputs-unchanged",
         "`model` comes in training mode, and is left in evaluation mode"),
        (", generator=generator", "", "follow/property/by-generator",
         "`generator` is not what draws"),
        ("chances, 1,", "chances.sqrt(), 1,", "follow/property/samples", "do not follow"),
        ("model(numbers)[:, -1]", "model(numbers)[:, 0]", "follow/numeric", "wrong"),
        ("= start\n", "= start + torch.zeros(start.shape, dtype=torch.long)\n",
         "follow/property/device", "not made on the input's device"),
    ],
    ids=["forgets", "changes", "no state", "left training", "left evaluation", "no generator",
         "flat", "first", "device"],
)  # fmt: skip
def test_streams_course_wrong_answer_fails_for_its_reason(
    old: str, new: str, check: str, said: str, grade_streams: Grade
) -> None:
    found = find_check(grade_streams(edited(RIGHT_STREAMS, (old, new))), check)
    assert found.status is Status.FAILED
    assert said in found.message


def test_code_that_insists_on_float32_is_given_pieces_in_it(grade_streams: Grade) -> None:
    first = "left = self.rate.sigmoid()"
    text = edited(RIGHT_STREAMS, (first, f"x = x @ torch.eye(x.size(2)).float()\n        {first}"))
    result = grade_streams(text)
    assert find_check(result, "Fading/property/incremental").status is Status.PASSED
    assert find_check(result, "Fading/property/dtype").status is Status.FAILED
