"""What a check found is taken again for the same text, and for nothing else."""

import contextlib
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from support import ROOT, SUBMISSIONS

from grader.cli import main as program
from grader.course.load import CourseFolder, load_course
from grader.grading.engine import Engine
from grader.handin.choose import read_work
from grader.records.results import Status
from grader.student import findings
from grader.student.findings import Finding, Findings, recall

_FILE = "exercise3_multi_head.py"
_KEPT = Path(".grade", "found", "exercise3.json")


@pytest.fixture(autouse=True)
def _seal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the seal out of the home of whoever runs the tests."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda _: tmp_path / "cache")


def _put(course: Path, sample: str, file: str = _FILE) -> None:
    (course / "exercises" / file).write_bytes((SUBMISSIONS / sample / file).read_bytes())


def _checked(course: Path, engine: Engine, exercise: str = "exercise3") -> Finding:
    """Return what a check finds, and keep it."""
    folder = load_course(course)
    chosen = folder.course.exercise(exercise)
    own = Findings(folder, lambda: engine, own=True, fresh=True)
    (found,) = own.of([chosen], read_work(folder, None, [chosen]))
    own.keep()
    return found


def _recalled(course: Path, exercise: str = "exercise3") -> Finding | None:
    folder = load_course(course)
    chosen = folder.course.exercise(exercise)
    return recall(folder, chosen, read_work(folder, None, [chosen]))


@pytest.mark.parametrize("sample", ["keys-from-queries", "perfect", "stub", "constant"])
def test_what_is_kept_is_what_was_found(course: Path, shipped_engine: Engine, sample: str) -> None:
    _put(course, sample)
    found = _checked(course, shipped_engine)
    kept = _recalled(course)
    assert kept is not None
    assert kept.result == found.result
    np.testing.assert_equal(_fields(kept), _fields(found))


def _fields(found: Finding) -> dict[str, object]:
    return {
        name: trace
        and {**vars(trace), "steps": [*map(vars, trace.steps)]} | {"made": [*map(vars, trace.made)]}
        for name, trace in found.traces.items()
    }


def _edit_text(course: Path) -> None:
    path = course / "exercises" / _FILE
    path.write_text(path.read_text("utf-8") + "\n# more\n", encoding="utf-8")


def _edit_course(course: Path) -> None:
    path = course / "course.yml"
    path.write_text(path.read_text("utf-8") + "\n# more\n", encoding="utf-8")


def _edit_points(course: Path) -> None:
    path = course / _KEPT
    seal, _, text = path.read_text("utf-8").partition("\n")
    kept = json.loads(text)
    kept["result"]["score"] = 20.0
    path.write_text(f"{seal}\n{json.dumps(kept)}", encoding="utf-8")


def _cut_short(course: Path) -> None:
    path = course / _KEPT
    path.write_bytes(path.read_bytes()[:1000])


def _take_exercise_for_another(course: Path) -> None:
    path = course / _KEPT
    path.write_bytes(path.with_name("exercise1.json").read_bytes())


def _lose_seal(course: Path) -> None:
    (course.parent / "cache" / "seal").unlink()


def _damage_seal(course: Path) -> None:
    (course.parent / "cache" / "seal").write_bytes(b"")


@pytest.mark.parametrize(
    "change",
    [
        _edit_text,
        _edit_course,
        _edit_points,
        _cut_short,
        _take_exercise_for_another,
        _lose_seal,
        _damage_seal,
    ],
)
def test_nothing_else_is_taken(
    course: Path, shipped_engine: Engine, change: Callable[[Path], None]
) -> None:
    _put(course, "keys-from-queries")
    _checked(course, shipped_engine, "exercise1")
    _checked(course, shipped_engine)
    change(course)
    assert _recalled(course) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("ENGINE", "grader 0"), ("_code_digest", lambda: "other"), ("version", lambda _: "0.0")],
)
def test_another_grader_grades_again(
    course: Path,
    shipped_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: object,
) -> None:
    _put(course, "perfect")
    _checked(course, shipped_engine)
    monkeypatch.setattr(findings, name, value)
    assert _recalled(course) is None


def test_assembly_is_graded_again_where_a_part_of_it_changes(
    course: Path, shipped_engine: Engine
) -> None:
    _checked(course, shipped_engine, "exercise7")
    _checked(course, shipped_engine, "exercise4")
    _put(course, "perfect")
    assert _recalled(course, "exercise7") is None
    assert _recalled(course, "exercise4") is not None


def test_what_took_too_long_is_graded_again(course: Path, shipped_engine: Engine) -> None:
    _put(course, "perfect")
    found = _checked(course, shipped_engine)
    (course / _KEPT).unlink()
    late = tuple(replace(check, status=Status.TIMEOUT) for check in found.result.checks)
    folder = load_course(course)
    again = Finding(found.exercise, replace(found.result, checks=late), None, whole=True)
    findings.keep(folder, read_work(folder, None, [found.exercise]), again)
    assert not (course / _KEPT).exists()


def test_files_elsewhere_are_not_kept(course: Path, shipped_findings: Findings) -> None:
    folder = load_course(course)
    chosen = folder.course.exercise("exercise3")
    elsewhere = Findings(folder, shipped_findings.open, own=False)
    (found,) = elsewhere.of([chosen], read_work(folder, SUBMISSIONS / "perfect", [chosen]))
    elsewhere.keep()
    assert found.run is not None
    assert not (course / ".grade").exists()


@pytest.fixture
def no_torch(course: Path, shipped_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> CourseFolder:
    """Return a course whose exercises are checked, on a machine where torch cannot begin."""
    folder = load_course(course)
    for exercise in folder.course.exercises[:7]:
        wrong = exercise.file == _FILE
        _put(course, "keys-from-queries" if wrong else "perfect", exercise.file)
    own = Findings(folder, lambda: shipped_engine, own=True)
    exercises = folder.course.exercises
    assert len(list(own.of(exercises, read_work(folder, None, exercises), whole=True)))
    own.keep()

    def refuse() -> None:
        raise AssertionError("torch begins to load")

    monkeypatch.setattr("grader.execute.launch.WarmProcess", refuse)
    monkeypatch.setattr("grader.cli.check.WarmProcess", refuse)
    monkeypatch.chdir(course)
    return folder


@pytest.mark.parametrize(
    "command", ["hint 3", "explain 3", "explain 3 fold_heads", "check --all --html a.html"]
)
def test_after_a_check_torch_is_not_loaded(
    no_torch: CourseFolder,  # noqa: ARG001
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["grade", *command.split()])
    with contextlib.suppress(SystemExit):  # check ends so
        program.main()
    assert "exercise3" in click.unstyle(capsys.readouterr().out)


def test_what_shows_what_was_found_imports_nothing_that_grades() -> None:
    """Imports are most of the time that a hint takes; the kinds of property come with a course."""
    code = (
        "import sys; from pathlib import Path; from grader.course.load import load_course; "
        "import grader.cli.study, grader.grading.public, grader.report.explained, "
        "grader.report.student, grader.student.hints; "
        "load_course(Path(sys.argv[1])); print(*sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code, ROOT], capture_output=True, check=True)
    grades = {
        "torch", "numpy.random", "grader.grading.engine", "grader.grading.exercise",
        "grader.checks.judge", "grader.compare.diagnosis", "grader.execute.session",
    }  # fmt: skip
    assert grades.isdisjoint(ran.stdout.decode().split())


def test_pack_after_checks_loads_no_torch_and_hands_in_nothing_kept(
    no_torch: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["grade", "pack", "--part", "part1", "-o", "mine.zip"])
    program.main()
    with zipfile.ZipFile(io.BytesIO(Path("mine.zip").read_bytes())) as packed:
        names = set(packed.namelist())
        receipt = json.loads(packed.read("receipt.json"))
    assert names == {*(e.file for e in no_torch.course.exercises[:7]), "receipt.json"}
    assert (receipt["score"], receipt["max_score"]) == (86.87, 100)
