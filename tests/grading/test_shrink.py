"""The smallest input that shows a failure is one on which a value is due."""

from pathlib import Path

import pytest
from small import course_of

from grader.execute.launch import WarmProcess
from grader.grading.engine import open_engine
from grader.handin.read import Source, Submission
from grader.records.results import Status

TARGET = """
name: Shift
kind: module
dims: {b: 2..4, t: 3..5, m: 7..9}
constructor: {max_len: m}
inputs: {x: "float[b, t]"}
outputs: {output: "float[b, t]"}
properties: [{kind: independent, dim: b}]
points: {shape: 1, property: 3}
"""
RIGHT = """
from torch import nn


class Shift(nn.Module):
    def __init__(self, max_len):
        super().__init__()
        self.max_len = max_len

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        return x + 1
"""
LIMIT = '        if x.size(1) > self.max_len:\n            raise ValueError("too long")\n'
MIXED = "        return x + (x[:, 1:2].mean() if x.size(1) > 1 else 1)\n"


@pytest.mark.usefixtures("key_cache")
def test_a_greatest_length_is_kept(tmp_path: Path, warm: WarmProcess) -> None:
    folder = course_of(tmp_path, TARGET, RIGHT)
    (exercise,) = folder.course.exercises
    engine = open_engine(folder, folder.course.exercises, warm)
    text = RIGHT.replace(LIMIT, "").replace("        return x + 1\n", MIXED)
    source = Source(exercise.file, ((exercise.file, text),))
    result = engine.run(exercise, Submission({exercise.id: source})).result
    (check,) = (c for c in result.checks if c.id.name == "independent")
    assert check.status is Status.FAILED
    assert check.case is not None
    sizes = check.case.dims
    assert sizes["t"] == 2  # a shorter one is not mixed
    assert sizes["m"] == 2  # or a ValueError would be due
