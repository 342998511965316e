"""What course.yml declares is held against torch and the reference as the key is built."""

from pathlib import Path

import pytest

from grader.course.load import CourseFolder, load_course
from grader.errors import CourseError
from grader.key.build import build_answer_key

_COURSE = """format_version: 1
title: Small
tolerances: {float64: {rtol: 1.0e-9, atol: 1.0e-9}, float32: {rtol: 1.0e-4, atol: 1.0e-4}}
limits: {case_seconds: 5, target_seconds: 9, submission_seconds: 20, cpu_seconds: 20, data_mib: 512,
  answer_mib: 1, output_kib: 8, message_kib: 8, source_kib: 64, open_files: 32, restarts: 1}
exercises:
  - file: exercise1_order.py
    title: Order
    forbids: [torch.sort, torch.nn.functional.relu, torch.nn.LayerNorm, torch.Tensor.sort]
    targets:
      - name: order
        kind: function
        dims: {b: 2..4, k: 5..6}
        inputs: {x: "float[b, k]"}
        outputs: {largest: "float[b]", places: "int[b, k] < k"}
        points: {shape: 1, numeric: 2}
"""
_REFERENCE = "def order(x):\n    return x.amax(-1), x.argsort()\n"


def _folder(root: Path, old: str = "", new: str = "") -> CourseFolder:
    """Write the course with one change."""
    assert old in _COURSE
    (root / "solutions").mkdir()
    (root / "course.yml").write_text(_COURSE.replace(old, new) if old else _COURSE)
    (root / "solutions" / "exercise1_order.py").write_text(_REFERENCE)
    return load_course(root)


def _build(folder: CourseFolder) -> None:
    build_answer_key(folder, folder.course.exercises[0], "public", b"public")


def test_what_is_declared_rightly_makes_a_key(tmp_path: Path) -> None:
    _build(_folder(tmp_path))


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("torch.nn.LayerNorm", "torch.nn.LayerNrm", "; did you mean 'torch.nn.LayerNorm'?"),
        ("torch.nn.LayerNorm", "torch.nnn.LayerNorm", "; did you mean 'torch.nn.LayerNorm'?"),
        ("torch.sort", "trch.sort", "; did you mean 'torch.sort'?"),
        ("torch.sort", "sort", ""),
        ("torch.sort", "torch.qqqqqqqq", ""),
    ],
    ids=["last part", "middle part", "first part", "no package", "nothing near"],
)
def test_forbidden_name_that_does_not_exist_is_refused(
    tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    folder = _folder(tmp_path, right, wrong)
    with pytest.raises(CourseError) as caught:
        _build(folder)
    file = folder.root / "course.yml"
    assert str(caught.value) == (f"{file}: exercise1 forbids '{wrong}', which does not exist{said}")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        (
            'places: "int[b, k] < k"',
            'places: "float[b, k]"',
            "`places` is of dtype int64; course.yml declares float",
        ),
        (
            'largest: "float[b]"',
            'largest: "int[b] < k"',
            "`largest` is of dtype float64; course.yml declares int",
        ),
        (
            'largest: "float[b]"',
            'largest: "float[b, 1]"',
            "`largest` has the shape (2,); course.yml declares (2, 1)",
        ),
    ],
    ids=["int, declared float", "float, declared int", "shape"],
)
def test_output_of_another_form_than_declared_is_refused(
    tmp_path: Path, right: str, wrong: str, said: str
) -> None:
    folder = _folder(tmp_path, right, wrong)
    with pytest.raises(CourseError) as caught:
        _build(folder)
    file = folder.solutions / "exercise1_order.py"
    assert str(caught.value) == f"{file}: on order/main-1/forward the reference's {said}"
