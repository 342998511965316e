"""How tests are handed out: those that share a fixture of their file go to one worker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from program import run_script
from support import ROOT, SUBMISSIONS, TESTS, RunGrade

_CONFTEST = 'pytest_plugins = ["running"]\n'
_FILE = """
import os
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def made():
    Path(__file__).with_name(f"{os.getpid()}.made").touch()

@pytest.mark.parametrize("number", range(6))
def test_shares(made, number):
    pass
"""


def _made_by_two_workers(folder: Path) -> list[Path]:
    two = ["-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *two, "-q", "-p", "no:cacheprovider", folder],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(folder.glob("**/*.made"))


def test_running_makes_what_a_file_shares_once(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"test_{name}.py").write_text(_FILE, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    made = [path.parent.name for path in _made_by_two_workers(tmp_path)]
    assert made == ["first", "second"]  # one worker each


def test_running_keeps_a_marked_group_together_over_files(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    mark = 'pytestmark = pytest.mark.xdist_group("both")\n'
    for name in ("first", "second"):
        file = tmp_path / f"test_{name}.py"
        file.write_text(f"{_FILE}\n{mark}", encoding="utf-8")
    assert len(_made_by_two_workers(tmp_path)) == 1


def test_torch_has_one_thread_in_tests() -> None:
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "exercise4", "--submission", SUBMISSIONS / "activation-last", "--json"),
        ("chekc", "exercise4"),
    ],
    ids=["graded", "refused"],
)
def test_forks_of_grade_do_what_its_script_does(
    arguments: tuple[object, ...], run_grade: RunGrade
) -> None:
    assert run_grade(*arguments) == run_script([*map(str, arguments)], ROOT, os.environ)
