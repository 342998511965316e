"""The pytest plugin: a course's checks as items, and nothing anywhere else."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from support import ROOT, SUBMISSIONS, RunGrade

_FILE = "exercise3_multi_head.py"


class Ran(NamedTuple):
    status: int
    out: str


def _pytest(cwd: Path, *arguments: str) -> Ran:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout + done.stderr)


def test_every_check_is_an_item_and_junit_has_them(course: Path) -> None:
    (course / "exercises" / _FILE).write_bytes(
        (SUBMISSIONS / "keys-from-queries" / _FILE).read_bytes()
    )
    ran = _pytest(course, "-k", "exercise3", "--junitxml", "out.xml")
    assert ran.status == 1
    (suite,) = ElementTree.parse(course / "out.xml").getroot()
    assert suite.get("tests") == "102"
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert "MultiHeadSelfAttention/numeric" in failed
    assert "fold_heads/numeric" not in failed
    assert [name for name in failed if name and "/bug/" in name] == [
        "MultiHeadSelfAttention/bug/keys-from-queries"
    ]
    assert "▸ Your output equals, to 1e-12, what comes out when the keys are made" in ran.out
    hint, following = (ran.out.index(f"\n{one}  ") for one in ("hint", "next"))
    assert hint < following
    assert "next  follow the hint above" in ran.out
    assert "by hand" not in ran.out
    assert "Traceback" not in ran.out


def test_what_is_not_written_is_skipped(course: Path) -> None:
    ran = _pytest(course, "-k", "exercise3 and fold_heads", "-rs")
    assert ran.status == 0, ran.out
    assert "failed" not in ran.out
    assert "not written yet" in ran.out


def test_mistake_that_two_targets_share_fails_once(course: Path) -> None:
    name = "exercise1_attention.py"
    (course / "exercises" / name).write_bytes((SUBMISSIONS / "missing-scale" / name).read_bytes())
    ran = _pytest(course, "-k", "exercise1_attention", "-rf")
    failed = [line.split("::")[1] for line in ran.out.splitlines() if line.startswith("FAILED")]
    assert [one.partition(" ")[0] for one in failed] == [
        "attention_weights/numeric",
        "attention_weights/bug/missing-scale",
    ]


def test_file_named_on_the_command_line_is_graded_and_not_imported(course: Path) -> None:
    text = (SUBMISSIONS / "perfect" / _FILE).read_text("utf-8")
    (course / "exercises" / _FILE).write_text(f"{text}\nassert __package__ == 'exercises'\n")
    ran = _pytest(course, f"exercises/{_FILE}", "-q")
    assert ran.status == 0, ran.out
    assert "102 passed" in ran.out


def test_course_that_is_damaged_is_a_collection_error(course: Path) -> None:
    (course / "key" / "exercise3.public.json").unlink()
    ran = _pytest(course, "exercises", "-q")
    assert ran.status == 2
    assert "exercise3.public.json is missing" in ran.out


_NO_TORCH = """
import sys
import grader.execute.launch as launch

def refuse():
    raise AssertionError("torch begins to load")

launch.WarmProcess = refuse

def pytest_sessionfinish():
    assert "torch" not in sys.modules
"""


def test_collecting_loads_no_torch(course: Path) -> None:
    (course / "conftest.py").write_text(_NO_TORCH)
    ran = _pytest(course, "exercises", "--collect-only", "-q")
    assert ran.status == 0, ran.out
    assert "exercises/exercise3_multi_head.py" in ran.out


@pytest.mark.long
def test_what_was_checked_is_not_graded_again(course: Path, run_grade: RunGrade) -> None:
    (course / "exercises" / _FILE).write_bytes((SUBMISSIONS / "perfect" / _FILE).read_bytes())
    (course / "conftest.py").write_text(_NO_TORCH)
    assert "torch begins to load" in _pytest(course, "-k", "exercise3", "-q").out
    assert run_grade("check", "exercise3", cwd=course)[0] == 0
    ran = _pytest(course, "-k", "exercise3", "-q")
    assert ran.status == 0, ran.out
    assert "102 passed" in ran.out


def test_other_projects_are_not_disturbed(tmp_path: Path) -> None:
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "exercise1_attention.py").write_text("raise SystemExit")
    (tmp_path / "test_own.py").write_text(
        "import sys\ndef test_light(): assert 'pydantic' not in sys.modules\n"
    )
    ran = _pytest(tmp_path, "-q")
    assert ran.status == 0, ran.out
    assert "1 passed" in ran.out


@pytest.mark.parametrize("place", ["tests/courses", "exercises"])
def test_source_trees_are_not_collected(place: str) -> None:
    ran = _pytest(ROOT, place, "-q", "--collect-only", "-c", "/dev/null", "--rootdir", str(ROOT))
    assert "no tests collected" in ran.out
