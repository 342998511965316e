"""The bundle and the wheel: all that a student needs, and nothing that a student must not see."""

import base64
import json
import os
import re
import subprocess
import sys
import venv
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

import pytest
from support import ROOT, SUBMISSIONS, find_check

from grader.bundle.leaks import Secrets, find_leaks
from grader.course.derive import solution_lines
from grader.course.load import CourseFolder
from grader.course.shipped import MANIFEST, STANDINS, unseal
from grader.files import zipped
from grader.grading.engine import Engine
from grader.handin.read import read_submission
from grader.records.calls import HIDDEN
from grader.records.results import Status


class Installed(NamedTuple):
    """A fresh environment that holds the wheel."""

    python: Path
    package: Path  # the installed grader/


@pytest.fixture(scope="session")
def installed(bundle: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel as `make wheel` does, and install it; torch and the rest are lent."""
    tree = tmp_path_factory.mktemp("wheel")
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "grader"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split("\0")
    listed = [n for n in names if n] or [
        p.relative_to(ROOT).as_posix() for p in (ROOT / "grader").rglob("*") if p.is_file()
    ]
    for name in [*listed, "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"]:
        if "__pycache__" not in name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    (tree / "grader" / "bundle.zip").write_bytes(zipped(bundle))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-deps", "--no-index"]
    _run([*pip, "wheel", *offline, "--no-build-isolation", "--wheel-dir", "dist", "."], tree)
    (wheel,) = (tree / "dist").glob("*.whl")
    venv.create(tree / "env", with_pip=False, symlinks=True)
    python = tree / "env" / "bin" / "python"
    (site,) = (tree / "env").glob("lib/python*/site-packages")
    lent = [path for path in sys.path if path.endswith("site-packages")]
    (site / "lent.pth").write_text("\n".join(lent) + "\n")
    _run([*pip, "--python", str(python), "install", *offline, "--no-compile", str(wheel)], tree)
    return Installed(python, site / "grader")


def _run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def secrets(folder: CourseFolder) -> Secrets:
    return Secrets.of(folder)


def test_secrets_hold_solutions_and_known_bugs(secrets: Secrets, folder: CourseFolder) -> None:
    lines = solution_lines((folder.solutions / "exercise3_multi_head.py").read_text("utf-8"))
    told = {line.split("#")[0].strip() for line in lines}
    assert "folded = heads_first.reshape(b * num_heads, t, d)" in told & secrets.lines
    assert "folded = x.reshape(b * num_heads, t, d)" in secrets.lines  # of a known bug
    assert len(secrets.lines) > 400


@pytest.mark.long
def test_installed_wheel_holds_no_solution_bug_or_hidden_case(
    installed: Installed, secrets: Secrets
) -> None:
    root = installed.package.parent
    paths = [path for path in root.rglob("*") if path.is_file()]
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
    assert "grader/bundle.zip" in files
    assert find_leaks(files, secrets) == []


def test_installed_wheel_holds_every_template(installed: Installed) -> None:
    folder = "report/templates"
    held = {path.name for path in (installed.package / folder).iterdir()}
    assert held == {path.name for path in (ROOT / "grader" / folder).iterdir()}
    assert "page.html.j2" in held


def test_installed_wheel_is_what_runs(installed: Installed) -> None:
    code = "import grader; print(grader.__file__)"
    done = subprocess.run([installed.python, "-c", code], capture_output=True, text=True, cwd="/")
    assert done.stdout.strip() == str(installed.package / "__init__.py")


def test_bundle_holds_no_solution_bug_or_hidden_case(
    bundle: dict[str, bytes], secrets: Secrets
) -> None:
    assert find_leaks(bundle, secrets) == []
    assert not [name for name in bundle if HIDDEN in name]


_LINE = "folded = heads_first.reshape(b * num_heads, t, d)"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(f"x = 1\n    {_LINE}  # why\n".encode(), id="plain"),
        pytest.param(json.dumps({"a": [f'"{_LINE}"']}).encode(), id="json"),
        pytest.param(base64.b64encode(f"# a comment\n{_LINE}\n".encode()), id="base64"),
        pytest.param(zlib.compress(_LINE.encode()), id="zlib"),
        pytest.param(base64.b85encode(zlib.compress((_LINE * 3).encode())), id="base85 of zlib"),
        pytest.param(zipped({"a.py": _LINE.encode()}), id="zip"),
    ],
)
def test_leaks_are_found_in_every_wrapping(data: bytes, secrets: Secrets) -> None:
    assert {leak.line for leak in find_leaks({"a": data}, secrets)} >= {_LINE}


def test_leaks_include_hidden_keys(secrets: Secrets) -> None:
    assert find_leaks({"key/exercise1.hidden.json": b"{}"}, secrets)


def test_standins_share_no_line_with_solutions(bundle: dict[str, bytes], secrets: Secrets) -> None:
    text = "\n".join(unseal(bundle[STANDINS]).values()).encode()
    assert b"scaled_dot_product_attention" in text
    assert find_leaks({"standins": text}, secrets) == []


def test_key_does_not_tell_the_words_of_the_references_errors(bundle: dict[str, bytes]) -> None:
    answers = json.loads(bundle["key/exercise3.public.json"])["answers"]
    errors = [answer["error"] for answer in answers.values() if answer["error"]]
    assert errors
    assert {error["message"] for error in errors} == {""}


def test_bundle_is_the_same_bytes_each_time(bundle: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(bundle))
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        again = {name: archive.read(name) for name in reversed(archive.namelist())}
    assert zipped(again) == zipped(bundle)


@pytest.mark.parametrize(
    ("sample", "exercise", "bug"),
    [
        ("keys-from-queries", "exercise3", "keys-from-queries"),
        ("missing-scale", "exercise1", "missing-scale"),
        ("notebook-keys-from-queries", "exercise3", "keys-from-queries"),
        ("activation-last", "exercise4", "activation-last"),
    ],
)
def test_bundle_names_the_mistake(
    shipped_engine: Engine, sample: str, exercise: str, bug: str
) -> None:
    course = shipped_engine.folder.course
    chosen = course.exercise(exercise)
    submission = read_submission(SUBMISSIONS / sample, course, [chosen], 2**21)
    result = shipped_engine.run(chosen, submission, quick=True).result
    assert bug in {name for diagnosis in result.diagnoses for name in diagnosis.bugs}


def test_bundle_gives_right_work_all_points(shipped_engine: Engine) -> None:
    course = shipped_engine.folder.course
    exercises = course.part("part1").exercises
    submission = read_submission(SUBMISSIONS / "perfect", course, exercises, 2**21)
    document = shipped_engine.document(exercises, submission)
    assert {result.status for result in document.results} == {Status.PASSED}
    assert sum(result.score for result in document.results) == 100


def test_bundle_grades_a_stub_as_unwritten(shipped_engine: Engine) -> None:
    course = shipped_engine.folder.course
    submission = read_submission(shipped_engine.folder.exercises, course, course.exercises, 2**21)
    result = shipped_engine.run(course.exercise("exercise3"), submission, quick=True).result
    assert result.score == 0
    assert "not written yet" in find_check(result, "fold_heads/numeric").message


def test_manifest_does_not_name_a_version_of_torch(bundle: dict[str, bytes]) -> None:
    assert b"torch" not in bundle[MANIFEST]


# --- the story, in the environment of the wheel ------------------------------------------------


@pytest.mark.long
def test_story_from_nothing_to_a_passed_exercise(installed: Installed, tmp_path: Path) -> None:
    told = []

    def grade(*arguments: str, expected: int, cwd: Path = tmp_path / "my-transformer") -> str:
        done = subprocess.run(
            [installed.python.with_name("grade"), *arguments],
            cwd=cwd,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "XDG_CACHE_HOME": str(tmp_path / "cache"),
                "https_proxy": "http://127.0.0.1:9",  # whoever asks the network gets no answer
                "http_proxy": "http://127.0.0.1:9",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        told.append(f"$ grade {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        assert done.returncode == expected, "\n".join(told)
        return done.stdout

    assert "cd my-transformer" in grade("start", "my-transformer", expected=0, cwd=tmp_path)
    assert "not written yet" in grade("check", "exercise3", expected=1)
    own = tmp_path / "my-transformer" / "exercises" / "exercise3_multi_head.py"
    own.write_bytes((SUBMISSIONS / "keys-from-queries" / own.name).read_bytes())
    assert "the keys are made from" in grade("check", "3", expected=1)
    assert "hint 1 of 3" in grade("hint", "exercise3", expected=0)
    assert "hint 2 of 3" in grade("hint", "exercise3", expected=0)
    own.write_bytes((SUBMISSIONS / "perfect" / own.name).read_bytes())
    assert "All 102 checks pass" in grade("check", "exercise3", expected=0)
    assert re.search("✓ exercise3 +20 / 20", grade("list", expected=0))
    assert "ready to hand in" in grade("pack", expected=0)
    with zipfile.ZipFile(tmp_path / "my-transformer" / "transformers-part-by-part.zip") as archive:
        receipt = json.loads(archive.read("receipt.json"))
        assert archive.read(own.name) == own.read_bytes()
    assert receipt["score"] == 20
    kept = [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert kept == ["seal"]  # no key was built: all came with the wheel
