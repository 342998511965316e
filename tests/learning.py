"""Courses of one model that learns within a second."""

from pathlib import Path

from small import course_of

from grader.course.load import CourseFolder

SIGNS = """
name: build
kind: factory
dims: {b: 3..5}
inputs: {x: "float[b, 6]"}
outputs: {logits: "float[b, 4]"}
properties:
  - kind: learns
    data: signs
    case: {name: points that it has not seen, dims: {b: 200}}
    samples: 400
    steps: 150
    batch: 20
    learning_rate: 0.03
    seconds: 20
    usual_seconds: 50
    measure: right
    bar: 0.85
points: {shape: 1, property: 3}
"""
LETTERS = """
name: build
kind: factory
dims: {b: 3..5, t: 2..3, v: 5}
constructor: {vocab_size: v}
inputs: {x: "int[b, t] < v"}
outputs: {logits: "float[b, t, v]"}
properties:
  - kind: learns
    data: letters
    case: {name: words that it has not seen, dims: {b: 100, t: 6}}
    samples: 300
    steps: 60
    batch: 20
    learning_rate: 0.03
    seconds: 20
    usual_seconds: 50
    measure: bits
    bar: 0.7
    lacking: {the last letter: 2.3}
points: {shape: 1, property: 3}
"""
DRAWING = """
import numpy as np

def signs(count, shape, generator):
    def draw(n):
        x = generator.normal(size=(n, shape[1]))
        return x, (x[:, 0] > 0) * 2 + (x[:, 1] > 0)
    return *draw(count), *draw(shape[0]), ""

def letters(count, shape, generator):
    def draw(n):
        begin = generator.integers(0, 5, (n, 1))
        return (begin + 2 * np.arange(shape[1] + 1)) % 5
    seen, new = draw(count), draw(shape[0])
    return seen[:, :-1], seen[:, 1:], new[:, :-1], new[:, -1], "abcde"
"""
RIGHT = """
from torch import nn
def build():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 4))
"""
WRITES = """
from torch import nn
def build(vocab_size):
    return nn.Sequential(nn.Embedding(vocab_size, 12), nn.Linear(12, vocab_size))
"""


def made(folder: Path, target: str = SIGNS, text: str = RIGHT) -> CourseFolder:
    """Make a course of one model that learns."""
    (folder / "solutions").mkdir()
    (folder / "solutions" / "drawing.py").write_text(DRAWING, encoding="utf-8")
    return course_of(folder, target, text)
