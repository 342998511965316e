"""Data files of a course: read by solutions and by submissions, shipped, and never written."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from small import course_of
from support import RunGrade

from grader.cluster.parcel import pack, unpack
from grader.course.data import read_data
from grader.course.load import CourseFolder, load_course
from grader.errors import CourseError
from grader.execute.isolation import Level
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.handin.read import Source, Submission
from grader.records.results import ExerciseResult, Status

pytestmark = pytest.mark.usefixtures("key_cache")

_TARGET = """
name: weighted
kind: function
dims: {t: 3..6, k: 7..9}
inputs: {x: "float[t, k]"}
outputs: {output: "float[t, k]"}
points: {shape: 1, numeric: 3}
"""
_RIGHT = """\
import torch


def weighted(x):
    ### BEGIN SOLUTION
    with open("data/tables/weights.txt", encoding="utf-8") as file:
        weights = torch.tensor([float(line) for line in file], dtype=x.dtype)
    return x * weights[: x.size(1)]
    ### END SOLUTION
"""
_WEIGHTS = "".join(f"{n / 7}\n" for n in range(9))


@pytest.fixture
def lending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CourseFolder:
    """Make a course with a data file, and a secret of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    root = tmp_path / "course"
    (root / "data" / "tables").mkdir(parents=True)
    (root / "data" / "tables" / "weights.txt").write_text(_WEIGHTS, encoding="utf-8")
    return course_of(root, _TARGET, _RIGHT)


@contextlib.contextmanager
def _engine(folder: CourseFolder, level: Level) -> Iterator[Engine]:
    with contextlib.closing(WarmProcess(level)) as warm:
        yield open_engine(folder, folder.course.exercises, warm)


def _graded(engine: Engine, text: str) -> ExerciseResult:
    (exercise,) = engine.folder.course.exercises
    source = Source(exercise.file, units=((exercise.file, text),))
    return engine.run(exercise, Submission({exercise.id: source}), quick=True).result


@pytest.mark.long
def test_submission_reads_what_it_cannot_change(lending: CourseFolder) -> None:
    path = '"data/tables/weights.txt"'
    looking = "import os\nassert os.listdir('.') == ['data']\n"
    above = "try:\n    os.listdir('..')\nexcept OSError:\n    pass\nelse:\n    raise ValueError\n"
    tries = [f"os.chmod({path}, 0o666)", f'open({path}, "w").write("5")', f"os.remove({path})"]
    attack = "import contextlib, os\nfor act in ({}):\n".format(
        ", ".join(f"lambda: {one}" for one in tries)
    )
    attack += "    with contextlib.suppress(OSError):\n        act()\n"
    for level in Level:
        with _engine(lending, level) as engine:
            shut = above if level is not Level.PROCESS else ""
            assert _graded(engine, looking + shut + _RIGHT).status is Status.PASSED
            _graded(engine, attack + _RIGHT)
            assert _graded(engine, _RIGHT).status is Status.PASSED
    assert (lending.root / "data" / "tables" / "weights.txt").read_text("utf-8") == _WEIGHTS


@pytest.mark.long
def test_a_course_without_data_shows_an_empty_folder(lending: CourseFolder, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = course_of(tmp_path / "other", _TARGET, "def weighted(x):\n    return x * 2\n")
    looking = "import os\n\ndef weighted(x):\n    return x * (2 if not os.listdir('.') else 3)\n"
    with contextlib.closing(WarmProcess()) as warm:
        first, second = (open_engine(f, f.course.exercises, warm) for f in (lending, other))
        assert _graded(first, _RIGHT).status is Status.PASSED
        assert _graded(second, looking).status is Status.PASSED


@pytest.mark.long
def test_data_travels_with_the_bundle_and_is_checked(
    lending: CourseFolder, tmp_path: Path, run_grade: RunGrade
) -> None:
    bundle, mine = tmp_path / "bundle.zip", tmp_path / "mine"
    assert run_grade("derive", "--course", lending.root).status == 0
    assert run_grade("release", bundle, "--course", lending.root).status == 0
    assert run_grade("start", mine, "--bundle", bundle).status == 0
    table = mine / "data" / "tables" / "weights.txt"
    assert table.read_text("utf-8") == _WEIGHTS
    solution = lending.solutions / "exercise1_small.py"
    shutil.copyfile(solution, mine / "exercises" / "exercise1_small.py")
    done = run_grade("check", "1", cwd=mine)
    assert done.status == 0, done.err
    table.write_text("1\n", encoding="utf-8")
    done = run_grade("check", "1", cwd=mine)
    assert done.status == 2
    assert "weights.txt was changed" in done.err
    table.unlink()
    assert "weights.txt is missing" in run_grade("check", "1", cwd=mine).err
    assert run_grade("start", mine, "--bundle", bundle, "--renew").status == 0
    assert run_grade("check", "1", cwd=mine).status == 0


@pytest.mark.long
def test_workers_of_a_cluster_get_data_and_other_data_makes_another_key(
    lending: CourseFolder,
) -> None:
    with _engine(lending, Level.PROCESS) as engine:
        parcel = pack(lending, engine.keys, None)
        files = {name: part for one in parcel.parts.values() for name, part in one.items()}
        with contextlib.closing(WarmProcess(Level.PROCESS)) as warm:
            there = unpack(parcel.contents, files, warm)
            assert _graded(there, _RIGHT).status is Status.PASSED
    (lending.root / "data" / "tables" / "weights.txt").write_text("3\n" * 9, encoding="utf-8")
    with _engine(load_course(lending.root), Level.PROCESS) as engine:
        assert _graded(engine, _RIGHT).status is Status.PASSED
        assert _graded(engine, "def weighted(x):\n    return 3 * x\n").status is Status.PASSED


def test_links_and_heaps_are_refused(
    lending: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.course.data._LARGEST_MIB", 0)
    with pytest.raises(CourseError, match="has 0 MiB, and 0 are the most"):
        read_data(lending)
    (lending.root / "data" / "link.txt").symlink_to("/etc/hostname")
    with pytest.raises(CourseError, match="is a link"):
        read_data(lending)
