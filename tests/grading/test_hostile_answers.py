"""Answers and names that are made to hold up, or to fool, the process that judges."""

import time

import numpy as np
import pytest
from support import ROOT, GradeText, call_with, find_check

from grader.checks.finding import _surplus
from grader.course.load import load_course
from grader.grading.arrangements import Arrangement, Rows, arrangements_of
from grader.records.answers import Answer, AnswerStatus, Bound, Info, ParameterShape
from grader.records.results import Status
from grader.worker.protocol import Role, RoleKind, Told

LAYERS = [f"layer{number}" for number in range(14)]
ROLES = tuple(Role(f"{name}.weight", (4, 3), RoleKind.LINEAR) for name in LAYERS)
CALL = call_with(ROLES)


def test_names_of_many_stars_are_matched_at_once() -> None:
    name = "1" * 60 + "bias"
    info = Info(
        names=[ParameterShape(name=name, shape=[3])],
        bound=[Bound(name="*" * 40, roles=["queries.weight"], told=Told.ORDER)],
    )
    begun = time.process_time()
    assert [one.name for one in _surplus(info)] == [name]
    assert time.process_time() - begun < 5  # 2 ** 40 steps take days


@pytest.mark.parametrize("fused", [False, True])
def test_many_layers_alike_do_not_make_every_order(fused: bool) -> None:
    roles = [role.name for role in ROLES]
    alone = [Bound(name=f"own{i}.weight", roles=[r], told=Told.ORDER) for i, r in enumerate(roles)]
    together = [Bound(name="all.weight", roles=roles, told=Told.ORDER)]
    assert len(arrangements_of(CALL, together if fused else alone)) <= 150


def test_gradients_of_other_shapes_stay_as_they_came() -> None:
    way = Arrangement({}, (Rows(("layer0", "layer1"), 1, (1, 0, 2)),))
    odd = {"grad/layer0.weight": np.zeros(3), "grad/layer1.weight": np.zeros(4)}
    restored = way.restored(CALL, Answer(AnswerStatus.OK, odd))
    assert {name: value.shape for name, value in restored.tensors.items()} == {
        name: value.shape for name, value in odd.items()
    }


ZEROS_IN_FLOAT32 = """
import torch
def self_attention(x):
    if torch.get_default_dtype() == torch.float32:
        return x * 0
    if len(x) == 1 and RAISES:
        raise RuntimeError("expected Float")
    return torch.softmax(x @ x.transpose(1, 2) / x.shape[-1] ** 0.5, -1) @ x.roll(MOVED, 0)
"""


def test_a_property_is_not_judged_in_float32_where_float64_answers(grade_text: GradeText) -> None:
    """Samples are mixed; where a single one raises, zeros in float32 would look independent."""
    wrong = ZEROS_IN_FLOAT32.replace("MOVED", "1")
    for raises in ("False", "True"):
        result = grade_text({"exercise1": wrong.replace("RAISES", raises)})
        check = find_check(result, "self_attention/property/batch-independent")
        assert check.status is not Status.PASSED


@pytest.mark.long
def test_a_loss_that_is_no_number_has_not_fallen(grade_text: GradeText) -> None:
    texts = {f"exercise{n}": _solution(n) for n in range(1, 7)}
    right = "        return log_probabilities\n"
    given = _solution(7)
    assert given.count(right) == 1
    line = "log_probabilities = log_probabilities * float('nan')"
    spoilt = f"        if len(tokens) == 8:\n            {line}\n"
    result = grade_text({"exercise7": given.replace(right, spoilt + right), **texts})
    fits = [check for check in result.checks if check.id.name in _fits()]
    assert fits
    assert {check.status for check in fits} == {Status.FAILED}


def _solution(number: int) -> str:
    (path,) = (ROOT / "solutions").glob(f"exercise{number}_*.py")
    return path.read_text(encoding="utf-8")


def _fits() -> set[str]:
    course = load_course(ROOT).course
    exercise = course.exercise("exercise7")
    kinds = [p for t in exercise.targets for p in course.properties(exercise, t)]
    return {one.name for one in kinds if one.kind == "fits"}
