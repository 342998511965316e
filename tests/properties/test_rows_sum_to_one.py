"""The kind rows-sum-to-one."""

from pathlib import Path

import pytest
from small import judged, small_course
from support import GradeText, find_check

from grader.records.results import Status

IN_FLOAT32 = """
import torch

def attention_weights(query, key, scale=None):
    if torch.get_default_dtype() == torch.float64:
        raise RuntimeError("expected Float but found Double")
    scores = query @ key.transpose(-1, -2)
    return (scores * (query.shape[-1] ** -0.5 if scale is None else scale)).softmax(-1)
"""


def test_code_that_insists_on_float32_is_judged_in_float32(grade_text: GradeText) -> None:
    result = grade_text({"exercise1": IN_FLOAT32})
    for check in ("numeric", "property/rows-sum-to-one", "property/device"):
        assert find_check(result, f"attention_weights/{check}").status is Status.PASSED, check


@pytest.mark.parametrize(
    "returned", ["weights.sum(1)", "weights[0, 0]", "weights.sum()", "weights * float('nan')", "7"]
)
def test_what_has_no_such_axis_is_left_to_the_other_checks(tmp_path: Path, returned: str) -> None:
    right = "def softmax(x):\n    weights = x.softmax(1)\n    return weights\n"
    course = small_course(tmp_path, "softmax", right, "{kind: rows-sum-to-one, axis: 1}")
    checks = judged(course, right.replace("return weights", f"return {returned}"))
    assert checks["softmax/property/rows-sum-to-one"].score == 0
