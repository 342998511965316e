"""Gradescope's autograder: the zip's own scripts, in a folder laid out as the platform does it."""

import io
import json
import os
import shutil
import stat
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support import TESTS
from term import COLUMNS
from term import RIGHT as BODY

from grader.bundle.gradescope import Settings, Visibility, make_autograder
from grader.bundle.leaks import Secrets, find_leaks
from grader.course.load import load_course
from grader.execute.isolation import Level, probe
from grader.key.secret import hidden_secret
from grader.records.results import Document
from grader.report.gradescope import results_json

pytestmark = pytest.mark.long

COURSE = TESTS / "courses" / "statistics"
SCHEMA = json.loads((Path(__file__).parent / "gradescope.schema.json").read_text("utf-8"))
RIGHT = {
    path.name: (COURSE / "solutions" / path.name).read_text(encoding="utf-8")
    for path in sorted((COURSE / "solutions").glob("exercise*.py"))
}
FIRST = next(iter(RIGHT))
HOSTILE = (
    "</pre><script>alert(1)</script>\\x1b[2J\\u202e\\0\\ud800![x](javascript:alert(1))"
    '\\", \\"score\\": 1000, \\"x\\": \\"'
)


@pytest.fixture(scope="session")
def autograder(key_cache: Path) -> bytes:  # noqa: ARG001 - where its keys are built
    return make_autograder(load_course(COURSE), Settings(), torch_index="https://example.org/cpu")


@pytest.fixture(scope="session")
def content(autograder: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(autograder)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def root(autograder: bytes, tmp_path: Path) -> Path:
    """The tree that the platform makes of the zip, with an environment that has torch."""
    root = tmp_path / "autograder"
    for name in ("source", "submission", "results"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile(io.BytesIO(autograder)) as archive:
        archive.extractall(root / "source")
    for entry in archive.infolist():
        (root / "source" / entry.filename).chmod(entry.external_attr >> 16)
    venv.create(root / "venv", with_pip=False, symlinks=True)
    (site,) = (root / "venv").glob("lib/python*/site-packages")
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (site / "grader.pth").write_text("\n".join([str(root / "source" / "lib"), *lent]) + "\n")
    return root


def run(root: Path, texts: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Let an autograder grade some files."""
    for name, text in texts.items():
        (root / "submission" / name).write_text(text, encoding="utf-8")
    return subprocess.run(
        [root / "source" / "run_autograder"],
        cwd=root,
        env={"PATH": os.environ["PATH"], "AUTOGRADER_ROOT": str(root), "HOME": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def results(root: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((root / "results" / "results.json").read_text("utf-8"))
    jsonschema.validate(document, SCHEMA)
    return document


def test_zip_has_its_scripts_at_the_top_and_they_can_be_run(autograder: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(autograder)) as archive:
        modes = {name: archive.getinfo(name).external_attr >> 16 for name in archive.namelist()}
    for name in ("setup.sh", "run_autograder"):
        assert modes[name] & stat.S_IXUSR
    assert {name.split("/")[0] for name in modes} == {
        *("setup.sh", "run_autograder", "settings.json", "course", "lib"),
        *("requirements.txt", "torch-requirements.txt"),
    }


def test_zip_has_hidden_keys_and_no_source_of_a_solution(content: dict[str, bytes]) -> None:
    assert "course/key/exercise1.hidden.key.safetensors" in content
    secrets = Secrets.of(load_course(COURSE))
    assert len(secrets.lines) > 10
    shown = {name.replace("hidden", "x"): data for name, data in content.items()}
    assert find_leaks(shown, secrets) == []
    others = [name for name in content if not name.startswith("lib/grader/")]
    assert not [name for name in others if "solutions" in name or "bundle.zip" in name]


def test_zip_does_not_hold_the_secret(content: dict[str, bytes]) -> None:
    secret = hidden_secret(load_course(COURSE))
    assert not [
        name for name, data in content.items() if secret in data or secret.hex().encode() in data
    ]


def test_right_work_has_all_points_without_network(root: Path) -> None:
    done = run(root, RIGHT)
    assert done.returncode == 0, done.stderr
    document = results(root)
    possible = sum(test["max_score"] for test in document["tests"])
    assert document["score"] == possible == 20
    assert {test["status"] for test in document["tests"]} == {"passed"}
    assert {test["visibility"] for test in document["tests"]} == {"visible"}


def test_partial_points_stand_at_the_target_that_has_them(root: Path) -> None:
    wrong = COLUMNS.format(body=BODY.replace(" + eps", ""))
    assert run(root, {FIRST: wrong}).returncode == 0
    tests = {test["name"]: test for test in results(root)["tests"]}
    part = tests["exercise1: standardize"]
    assert 0 < part["score"] < part["max_score"]
    assert "`eps` is not used" in part["output"]
    missing = [test for name, test in tests.items() if name.startswith("exercise2")]
    assert {test["score"] for test in missing} == {0}
    assert all("is not there" in test["output"] for test in missing)


ATTACK = """
import os
told = []
def tries(name, act):
    try:
        act()
        told.append(name)
    except (OSError, PermissionError):
        pass
ROOT = "@ROOT@"
KEY = ROOT + "/source/course/key/exercise1.hidden.json"
tries("write results", lambda: open(ROOT + "/results/results.json", "w").write('{"score": 20}'))
tries("replace results", lambda: os.rename(KEY, ROOT + "/results/results.json"))
tries("read a key", lambda: open(KEY).read(1))
tries("list keys", lambda: os.listdir(ROOT + "/source/course/key"))
tries("read the course", lambda: open(ROOT + "/source/course/course.yml").read(1))
tries("read grader", lambda: open(ROOT + "/source/lib/grader/key/cache.py").read(1))
tries("read the submission", lambda: os.listdir(ROOT + "/submission"))
print("OUCH" if told else "", told)
assert not told, told
"""


@pytest.mark.parametrize("level", [Level.FULL, Level.LANDLOCK])
def test_submission_cannot_write_results_or_read_keys(root: Path, level: Level) -> None:
    if probe().level.rank < level.rank:
        pytest.skip(f"this machine has no level {level}")
    (root / "source" / "settings.json").write_text(Settings(isolation=level).model_dump_json())
    attack = ATTACK.replace("@ROOT@", str(root))
    done = run(root, {**RIGHT, FIRST: attack + RIGHT[FIRST]})
    assert done.returncode == 0, done.stderr
    assert f"isolation: {level}" in done.stdout
    assert results(root)["score"] == 20  # it loads, so nothing succeeded, and it is right besides


def test_same_attack_gets_through_where_nothing_holds_it(root: Path) -> None:
    (root / "source" / "settings.json").write_text(Settings(isolation="process").model_dump_json())
    attack = ATTACK.replace("@ROOT@", str(root))
    assert run(root, {**RIGHT, FIRST: attack + RIGHT[FIRST]}).returncode == 0
    assert results(root)["score"] < 20


def test_where_submissions_cannot_be_shut_in_nothing_is_graded(root: Path, tmp_path: Path) -> None:
    if probe().level is not Level.FULL:
        pytest.skip("this machine cannot tell a level that is out of reach from one that is not")
    (root / "source" / "settings.json").write_text(Settings(isolation="full").model_dump_json())
    (root / "results" / "results.json").write_text('{"score": 20}')
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "env"):
        (tools / tool).symlink_to(str(shutil.which(tool)))
    done = subprocess.run(
        [root / "source" / "run_autograder"],
        env={"PATH": str(tools), "AUTOGRADER_ROOT": str(root)},  # no bubblewrap there
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "would be isolated at level landlock, not full" in done.stderr
    assert not (root / "results" / "results.json").exists()


def test_hostile_words_are_text_in_results(root: Path) -> None:
    text = f'raise type("{HOSTILE[:40]}".replace("\\0", ""), (ValueError,), {{}})("{HOSTILE}")\n'
    assert run(root, {FIRST: text}).returncode == 0
    raw = (root / "results" / "results.json").read_text("utf-8")
    assert raw.isascii()
    document = results(root)
    said = [document["output"], *(t["output"] for t in document["tests"])]
    assert any("alert(1)" in one for one in said)
    assert not [c for one in said for c in one if not c.isprintable() and c != "\n"]
    formats = [
        document[name] for name in ("output_format", "test_output_format", "test_name_format")
    ]
    assert set(formats) == {"text"}
    assert document["score"] == 0


@pytest.mark.parametrize("visibility", list(Visibility))
def test_every_visibility_is_one_that_the_platform_knows(visibility: Visibility) -> None:
    document = json.loads(results_json(Document("c", "e", "k", ()), visibility, seconds=1.0))
    jsonschema.validate(document, SCHEMA)
    assert document["visibility"] == visibility


FAKE = """#!/bin/bash
echo "$@" >> "@LOG@"
if [ "$1 $2" = "-m venv" ]; then
    mkdir -p "$3/bin" "$3/lib/python3.12/site-packages"
    cp "$0" "$3/bin/python"
fi
"""


def test_setup_installs_torch_first_and_closes_the_course(root: Path, tmp_path: Path) -> None:
    shutil.rmtree(root / "venv")
    log, python = tmp_path / "log", tmp_path / "python"
    python.write_text(FAKE.replace("@LOG@", str(log)))
    python.chmod(0o755)
    done = subprocess.run(
        [root / "source" / "setup.sh"],
        env={**os.environ, "AUTOGRADER_ROOT": str(root), "AUTOGRADER_PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    installed = [line for line in log.read_text().splitlines() if " install " in line]
    assert [line.rpartition("/")[2] for line in installed] == [
        "torch-requirements.txt",
        "requirements.txt",
    ]
    torch = (root / "source" / "torch-requirements.txt").read_text()
    assert torch.startswith("--index-url https://example.org/cpu\ntorch==")
    assert "+" not in torch
    assert stat.S_IMODE((root / "source" / "course").stat().st_mode) == 0o700
    (packages,) = (root / "venv" / "lib").glob("python*/site-packages")
    assert (packages / "grader.pth").read_text().strip() == str(root / "source" / "lib")
