"""What an answer key depends on: every module that building it imports, and no other."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small import small_course
from support import ROOT

from grader.key.digest import building_modules, engine_digest

_LOADED = """
import json, sys
from pathlib import Path
from grader.course.load import load_course
from grader.key.build import build_answer_key
folder = load_course(Path(sys.argv[1]))
build_answer_key(folder, folder.course.exercises[0], "public", b"public")
print(json.dumps(sorted(name for name in sys.modules if name.split(".")[0] == "grader")))
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Copy the package to where it may be changed."""
    shutil.copytree(ROOT / "grader", tmp_path / "grader", ignore=lambda *_: {"__pycache__"})
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "__init__.py",
        "checks/judge.py",
        "compare/arrays.py",
        "handin/read.py",
        "handin/syntax.py",
        "key/build_bugs.py",
        "key/store.py",
        "plan/draw.py",
        "properties/base.py",
        "properties/equivariant.py",
        "records/answers.py",
        "records/ids.py",
        "worker/loading.py",
    ],
)
def test_a_change_of_what_builds_keys_changes_the_digest(top: Path, name: str) -> None:
    before = engine_digest(top)
    with (top / "grader" / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    engine_digest.cache_clear()
    assert engine_digest(top) != before


def test_a_new_kind_of_property_changes_the_digest(top: Path) -> None:
    before = engine_digest(top)
    (top / "grader" / "properties" / "another.py").write_text("")
    engine_digest.cache_clear()
    assert engine_digest(top) != before


@pytest.mark.parametrize("name", ["report/terminal.py", "cli/main.py", "grading/exercise.py"])
def test_a_change_of_what_only_grades_or_shows_keeps_the_digest(top: Path, name: str) -> None:
    before = engine_digest(top)
    with (top / "grader" / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    engine_digest.cache_clear()
    assert engine_digest(top) == before


def test_a_module_that_moves_is_still_part_of_it(top: Path) -> None:
    room = top / "grader" / "elsewhere"
    room.mkdir()
    (room / "__init__.py").write_text("")
    shutil.move(top / "grader" / "compare" / "arrays.py", room / "numbers.py")
    for path in (top / "grader").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("grader.compare.arrays", "grader.elsewhere.numbers"))
    assert "grader.elsewhere.numbers" in building_modules(top)


def test_everything_that_is_loaded_when_a_key_is_built_is_part_of_it(tmp_path: Path) -> None:
    reference = "def double(x):\n    return x * 2\n"
    small_course(tmp_path, "double", reference, "{kind: equivariant, dim: t}")
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert "grader.properties.equivariant" in loaded
    assert set(loaded) <= building_modules(ROOT).keys()
