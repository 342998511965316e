"""What asks for a property asks for its kind: an `id:` in course.yml changes no verdict."""

from pathlib import Path

import pytest
from small import course_text

from grader.batch.entries import Entry
from grader.batch.unit import GradedSubmission, Unit, grade_unit
from grader.classes.graded import StoredResult
from grader.course.load import load_course
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.handin.gather import Part
from grader.key.build import build_answer_key
from grader.key.cache import Keys
from grader.records.calls import PUBLIC
from grader.records.results import Status

_KINDS = ("inputs-unchanged", "device", "dtype", "allowed")
_RIGHT = """import torch


def scale(x):
    ### BEGIN SOLUTION
    centred = x - x.mean(-1, keepdim=True)
    room = torch.full_like(x, 1e-6)
    variance = centred.square().mean(-1, keepdim=True)
    scaled = centred / (variance + room).sqrt()
    return scaled
    ### END SOLUTION
"""
_BUGS = """- id: variance-detached
  title: The variance has no gradient
  target: scale
  when: the variance has no gradient
  change: [{old: "(variance + room)", new: "(variance.detach() + room)"}]
  hints: [Follow the gradient., What does detach do?]
  seen: here
- id: centred-detached-on-a-fixed-device
  title: Two at once
  target: scale
  when: the numerator has no gradient, and a tensor is on a fixed device
  change:
    - {old: "centred / ", new: "centred.detach() / "}
    - {old: "torch.full_like(x, 1e-6)", new: "torch.full(x.shape, 1e-6, device='cpu')"}
  hints: [Follow the gradient., Look at the devices.]
  seen: here
"""


@pytest.fixture(scope="module", params=["default ids", "given ids"])
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, warm: WarmProcess
) -> Engine:
    """Open one course, once with the kinds' own names and once with an id for each property."""
    root: Path = tmp_path_factory.mktemp("course")
    given = request.param == "given ids"
    named = [f"{{kind: {kind}{f', id: no-{i}' if given else ''}}}" for i, kind in enumerate(_KINDS)]
    text = course_text("scale", ", ".join(named))
    text = text.replace(
        "    targets:", "    forbids: [torch.nn.functional.layer_norm]\n    targets:"
    )
    text = text.replace("numeric: 2", "numeric: 2, gradient: 1")
    (root / "course.yml").write_text(text)
    (root / "solutions" / "bugs").mkdir(parents=True)
    (root / "solutions" / "exercise1_small.py").write_text(_RIGHT)
    (root / "solutions" / "bugs" / "exercise1.yml").write_text(_BUGS)
    folder = load_course(root)
    (exercise,) = folder.course.exercises
    key = build_answer_key(folder, exercise, PUBLIC, b"public")
    keys = Keys("-", {exercise.id: key}, root, pairs=lambda _: {})
    return Engine(folder, keys, Standins({}), warm)


def _graded(engine: Engine, tmp_path: Path, *edits: tuple[str, str]) -> GradedSubmission:
    """Grade the reference with some edits as a submission of a class."""
    text = _RIGHT
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "exercise1_small.py"
    path.write_text(text)
    return grade_unit(engine, Unit(Entry("ada", (Part(path, path.name),)), ("exercise1",), {}))


def _bugs(graded: GradedSubmission) -> list[tuple[str, ...]]:
    found = StoredResult.parse(graded.results["exercise1"].text).diagnoses
    return [diagnosis.bugs for diagnosis in found if diagnosis.bugs]


def test_forbidden_name_is_on_the_list_for_a_person(engine: Engine, tmp_path: Path) -> None:
    use = ("    room =", "    torch.nn.functional.layer_norm(x, x.shape)\n    room =")
    remarks = _graded(engine, tmp_path, use).remarks["exercise1"]
    assert [remark.split(" does what")[0] for remark in remarks] == [
        "`torch.nn.functional.layer_norm`"
    ]


def test_known_bug_is_named_where_the_code_computes_in_float32(
    engine: Engine, tmp_path: Path
) -> None:
    edits = (
        ("    centred =", "    x = x.float()\n    centred ="),
        ("(variance + room)", "(variance.detach() + room)"),
        ("return scaled", "return scaled.double()"),
    )
    assert _bugs(_graded(engine, tmp_path, *edits)) == [("variance-detached",)]


def test_bug_that_a_passed_claim_contradicts_is_not_named(engine: Engine, tmp_path: Path) -> None:
    graded = _graded(engine, tmp_path, ("centred / ", "centred.detach() / "))
    assert graded.results["exercise1"].status is Status.FAILED
    assert _bugs(graded) == []
