"""The kind varies: dropout in training mode, and none in evaluation mode."""

from pathlib import Path

import pytest
from small import course_of, judged

from grader.records.results import Status

TARGET = """
name: build
kind: factory
dims: {b: 3..4, k: 5..6}
constructor: {width: k}
defaults: {dropout: 0.0}
inputs: {x: "float[b, k]"}
outputs: {output: "float[b, k]"}
properties:
  - kind: varies
    id: dropout-acts
    case: {name: dropout 0.5, options: {dropout: 0.5}}
without: [defaults, trained]
points: {shape: 1, numeric: 0, gradient: 1, property: 1, bug: 0}
"""
RIGHT = """from torch import nn


class Dropped(nn.Module):
    def __init__(self, width, share):
        super().__init__()
        self.linear, self.dropout = nn.Linear(width, width), nn.Dropout(share)

    def forward(self, x):
        return self.dropout(self.linear(x))


def build(width, *, dropout=0.0):
    return Dropped(width, dropout)
"""
ALWAYS = RIGHT.replace("self.dropout(self", "nn.functional.dropout(self").replace(
    "linear(x))", "linear(x), self.dropout.p)"
)
NEVER = RIGHT.replace("self.dropout(self.linear(x))", "self.linear(x)")


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        (RIGHT, Status.PASSED, ""),
        (ALWAYS, Status.FAILED, "dropout acts in evaluation mode too"),
        (NEVER, Status.FAILED, "in training mode dropout changes nothing"),
    ],
)
def test_dropout_acts_in_training_mode_alone(
    tmp_path: Path, text: str, status: Status, words: str
) -> None:
    check = judged(course_of(tmp_path, TARGET, RIGHT), text)["build/property/dropout-acts"]
    assert (check.status, check.message) == (status, words)
