"""What stands in platforms/: each file's own steps, run here as GitHub's runners run them."""

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import ROOT, TESTS

from grader.bundle.release import make_bundle
from grader.course.load import load_course
from grader.files import zipped

pytestmark = pytest.mark.long

PLATFORMS = ROOT / "platforms"
COURSE = TESTS / "courses" / "statistics"
SOLUTIONS = sorted((COURSE / "solutions").glob("exercise*.py"))
HOSTILE = 'raise ValueError("```\\n</details><script>alert(1)</script>\\n::error::owned\\n# big")\n'
IDENTITY = {
    "CLASSROOM": "autumn",
    "ASSIGNMENT": "statistics",
    "SUBMISSION_TAG": "submit/2026-11-22T10-00-00Z-abc1234",
    "COMMIT_URL": "https://example.org/commit/abc",
    "RELEASE_URL": "https://example.org/releases/tag/abc",
}


@pytest.fixture(scope="session")
def python(key_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A Python with grader as its wheel brings it: with a bundle, and without solutions."""
    place = tmp_path_factory.mktemp("runner")
    ignored = shutil.ignore_patterns("__pycache__", "bundle.zip")
    shutil.copytree(ROOT / "grader", place / "lib" / "grader", ignore=ignored)
    bundle = zipped(make_bundle(load_course(COURSE)))
    (place / "lib" / "grader" / "bundle.zip").write_bytes(bundle)
    venv.create(place / "env", with_pip=False, symlinks=True)
    (site,) = (place / "env").glob("lib/python*/site-packages")
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (site / "grader.pth").write_text("\n".join([str(place / "lib"), *lent]) + "\n")
    python = place / "env" / "bin" / "python"
    script = python.with_name("grade")
    script.write_text(f"#!{python} -sP\nfrom grader.cli.main import main\nmain()\n")
    script.chmod(0o755)
    return python


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A student's repository: one exercise is right, one is hostile."""
    folder = tmp_path / "checkout"
    (folder / "exercises").mkdir(parents=True)
    right, other = SOLUTIONS
    shutil.copy(right, folder / "exercises")
    (folder / "exercises" / other.name).write_text(HOSTILE)
    (folder / "json.py").write_text("raise SystemExit('a file of the student was imported')\n")
    return folder


# ---- Classroom 50 --------------------------------------------------------------------------------


def assert_contract(result: dict[str, Any]) -> None:
    """Assert what Classroom 50 says of result.json, but for what its runner stamps itself."""
    assert result["schema"] == "classroom50/result/v1"
    assert (result["classroom"], result["assignment"]) == ("autumn", "statistics")
    assert result["submission"].startswith("submit/")
    assert all(result[name] for name in ("commit", "release", "review"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", result["datetime"])
    for one in (result, *result["tests"]):
        assert type(one["score"]) is type(one["max-score"]) is int
        assert 0 <= one["score"] <= one["max-score"]
    assert all(test["test-name"] and type(test["passed"]) is bool for test in result["tests"])
    assert result["score"] == sum(test["score"] for test in result["tests"])


def test_autograder_keeps_classroom_50s_contract(python: Path, checkout: Path) -> None:
    script = PLATFORMS / "classroom50" / "autograder.py"
    done = subprocess.run(
        [sys.executable, script],
        cwd=checkout,
        env={**os.environ, **IDENTITY, "GRADER_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((checkout / "result.json").read_text("utf-8"))
    assert_contract(result)
    assert [test["passed"] for test in result["tests"]] == [True, False]
    assert (result["score"], result["max-score"]) == (1100, 2000)
    body = (checkout / "release-body.md").read_text("utf-8")
    assert "alert(1)" in body
    assert all(line.startswith("    ") for line in body.splitlines())


PLANTED = ("pip.py", "torch/__init__.py", "grader/__init__.py", "sitecustomize.py", "subprocess.py")


def make_wheel(folder: Path, name: str, files: dict[str, str]) -> None:
    """Write a wheel of nothing but some files."""
    about = f"{name}-9.0.dist-info"
    files = {
        **files,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{file},,\n" for file in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-9.0-py3-none-any.whl", "w") as wheel:
        for file, text in {**files, f"{about}/RECORD": record}.items():
            wheel.writestr(file, text)


def test_autograder_runs_and_overwrites_nothing_that_a_student_put_beside_the_work(
    python: Path, checkout: Path, tmp_path: Path
) -> None:
    ours, house = tmp_path / "autograder", tmp_path / "wheels"
    ours.mkdir()
    house.mkdir()
    shutil.copy(PLATFORMS / "classroom50" / "autograder.py", ours)
    (found,) = python.parents[1].glob("lib/python*/site-packages/grader.pth")
    make_wheel(ours, "grader", {"grader.pth": found.read_text()})
    make_wheel(house, "torch", {})
    for name in PLANTED:
        (checkout / name).parent.mkdir(exist_ok=True)
        (checkout / name).write_text("raise SystemExit('OUCH')\n")
    aimed = tmp_path / "aimed"
    aimed.write_text("kept")
    for name in ("result.json", "release-body.md"):
        (checkout / name).symlink_to(aimed)
    real = {n: value for n, value in os.environ.items() if not n.startswith(("GRADER_", "PIP_"))}
    pip = {"CONFIG_FILE": os.devnull, "NO_INDEX": "1", "FIND_LINKS": str(house)}
    done = subprocess.run(
        [sys.executable, ours / "autograder.py"],
        cwd=checkout,
        env={**real, **IDENTITY, **{f"PIP_{name}": value for name, value in pip.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "OUCH" in done.stdout + done.stderr) == (0, False), done.stderr
    assert json.loads((checkout / "result.json").read_text("utf-8"))["score"] == 1100
    assert aimed.read_text() == "kept"


def test_autograder_that_cannot_grade_ends_with_a_fault(python: Path, checkout: Path) -> None:
    script = PLATFORMS / "classroom50" / "autograder.py"
    broken = {**os.environ, **IDENTITY, "GRADER_PYTHON": str(python.with_name("none"))}
    done = subprocess.run(
        [sys.executable, script], cwd=checkout, env=broken, capture_output=True, check=False
    )
    assert done.returncode != 0
    assert not (checkout / "result.json").exists()


# ---- GitHub Actions ------------------------------------------------------------------------------


def workflow() -> dict[str, Any]:
    text = (PLATFORMS / "github" / "classroom.yml").read_text("utf-8")
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def run_step(step: dict[str, Any], checkout: Path, python: Path, scratch: Path) -> None:
    """Run a step's own text as GitHub's runner does."""
    program = scratch / "step"
    program.write_text(step["run"])
    shell = [python] if step.get("shell") == "python" else ["bash", "-e", "-o", "pipefail"]
    named = ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
    done = subprocess.run(
        [*shell, program],
        cwd=checkout,
        env={
            **os.environ,
            "PATH": f"{python.parent}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(scratch),
            **{name: str(scratch / name) for name in named},
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_workflow_is_named_as_github_classroom_asks_for() -> None:
    assert workflow()["name"] == "Autograding Tests"
    assert list(workflow()["jobs"]) == ["run-autograding-tests"]


def test_workflows_steps_report_points_to_classroom(
    python: Path, checkout: Path, tmp_path: Path
) -> None:
    steps = workflow()["jobs"]["run-autograding-tests"]["steps"]
    run = [step for step in steps if "run" in step and step["name"] != "Install"]
    for step in run:
        run_step(step, checkout, python, tmp_path)
    (line,) = (tmp_path / "GITHUB_OUTPUT").read_text().splitlines()
    document = json.loads(base64.b64decode(line.removeprefix("result=")))
    assert document["status"] == "fail"
    assert document["max_score"] == 20
    assert [test["score"] for test in document["tests"]] == [11, 0]
    summary = (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    assert "alert(1)" in summary
    assert all(line.startswith("    ") for line in summary.splitlines())
    reporter = steps[-1]
    assert reporter["with"]["runners"] == "grader"
    assert list(reporter["env"]) == ["GRADER_RESULTS"]


# ---- Docker --------------------------------------------------------------------------------------


def test_dockerfile_copies_what_there_is() -> None:
    text = (PLATFORMS / "Dockerfile").read_text("utf-8")
    copied = [name for line in re.findall(r"^COPY (.+)$", text, re.M) for name in line.split()[:-1]]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []
