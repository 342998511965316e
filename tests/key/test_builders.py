"""Processes that build keys: what a solution does in one never harms the process that grades."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import edited

from grader.course.load import load_course
from grader.errors import CourseError, InternalError
from grader.execute.launch import WarmProcess
from grader.grading.engine import open_engine
from grader.handin.read import Source, Submission
from grader.key import build_bugs
from grader.key.builders import KeyOrder
from grader.key.cache import build_missing_pairs, load_keys
from grader.key.store import alone
from grader.key.tasks import build_key, build_pairs
from grader.records.calls import PUBLIC

COURSE = """format_version: 1
title: Small
draws: 2
tolerances: {float64: {rtol: 1.0e-9, atol: 1.0e-9}, float32: {rtol: 1.0e-4, atol: 1.0e-4}}
limits: {case_seconds: 5, target_seconds: 9, submission_seconds: 20, cpu_seconds: 20, data_mib: 512,
  answer_mib: 1, output_kib: 8, message_kib: 8, source_kib: 64, open_files: 32, restarts: 1}
exercises:
  - file: exercise1_double.py
    title: Doubling
    targets:
      - name: double
        kind: function
        dims: {b: 2..4, k: 3..6}
        inputs: {x: "float[b, k]"}
        outputs: {doubled: "float[b, k]"}
        steps: [doubled]
        points: {shape: 1, numeric: 2, bug: 1}
"""
SOLUTION = """import os
import sys


def double(x):
    ### BEGIN SOLUTION
    print("a solution speaks")
    first = 1
    second = 2
    if first + second == 7:
        os.write(2, b"LastError: both at once\\n")
        os._exit(9)
    doubled = x * first * second
    return doubled
    ### END SOLUTION
"""
BUGS = """
- {id: first, title: First, target: double, when: "-", step: doubled, seen: here,
   change: [{old: "first = 1", new: "first = 3"}], hints: [Look., Look again.]}
- {id: second, title: Second, target: double, when: "-", step: doubled, seen: here,
   change: [{old: "second = 2", new: "second = 4"}], hints: [Look., Look again.]}
"""
WRONG = "def double(x):\n    return x * 7\n"
CHECK = "from grader.cli.main import main; main()"


@pytest.fixture
def root(
    tmp_path: Path,
    key_cache: Path,  # noqa: ARG001 - keys are built
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Write a course of one function, whose two bugs together end the process; it has no key."""
    monkeypatch.setenv("GRADE_CACHE", str(tmp_path / "keys"))
    (tmp_path / "solutions" / "bugs").mkdir(parents=True)
    (tmp_path / "course.yml").write_text(COURSE)
    (tmp_path / "solutions" / "exercise1_double.py").write_text(SOLUTION)
    (tmp_path / "solutions" / "bugs" / "exercise1.yml").write_text(BUGS)
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "exercise1_double.py").write_text(WRONG)
    return tmp_path


def insert(root: Path, line: str) -> None:
    """Let the solution do something when it is imported."""
    path = root / "solutions" / "exercise1_double.py"
    path.write_text(f"import os, sys, time\n{line}\n{path.read_text()}")


def run_check(root: Path, *command: str, text: str | None = None) -> float:
    """Run `grade check --json` by some command of Python's, and return the score that it prints."""
    done = subprocess.run(
        [sys.executable, *command, "check", "--all", "--json", "--course", str(root)],
        input=text, cwd=root, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return float(json.loads(done.stdout)["results"][0]["score"])


@pytest.mark.long
def test_what_a_solution_prints_is_not_in_the_document(root: Path) -> None:
    insert(root, "os.write(1, b'written'); print('printed', file=sys.stderr)")
    assert run_check(root, "-c", CHECK) == 1


@pytest.mark.long
def test_nothing_of_the_folder_is_imported(root: Path) -> None:
    for name in ("pickle", "struct"):
        (root / f"{name}.py").write_text("raise SystemExit('imported from the folder of work')\n")
    script = Path(sys.executable).with_name("grade")
    assert run_check(root, str(script)) == 1


@pytest.mark.parametrize("how", ["-", "script", "ipython"])  # and -c, two tests above
@pytest.mark.long
def test_keys_are_built_wherever_python_runs(root: Path, how: str, tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"  # which spawn would run anew in each child
    script.write_text(CHECK)
    command, text = {
        "-": (["-"], CHECK),
        "script": ([str(script)], None),
        "ipython": (["-m", "IPython", "--quick", str(script), "--"], None),
    }[how]
    assert run_check(root, *command, text=text) == 1


def test_a_pair_that_kills_its_builder_costs_a_diagnosis_and_no_score(
    root: Path, warm: WarmProcess, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = load_course(root)
    engine = open_engine(folder, folder.course.exercises, warm)
    (exercise,) = folder.course.exercises
    source = Source(exercise.file, ((exercise.file, WRONG),))
    result = engine.run(exercise, Submission({exercise.id: source})).result
    assert (result.score, result.max_score) == (1, 4)
    assert (
        "not named in exercise1: a builder died: LastError: both at once" in capfd.readouterr().err
    )


@pytest.mark.long
def test_pairs_that_cannot_be_built_beforehand_end_nothing(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = load_course(root)
    keys = load_keys(folder, ["exercise1"], PUBLIC)
    build_missing_pairs(folder, keys)
    assert "a builder died: LastError" in capfd.readouterr().err
    assert keys.pairs("exercise1") == {}


def test_a_pair_without_an_end_is_no_pair(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = root / "solutions" / "exercise1_double.py"
    ends = '        os.write(2, b"LastError: both at once\\n")\n        os._exit(9)\n'
    endless = "        while True:\n            pass\n"
    path.write_text(edited(path.read_text(), (ends, endless)))
    keys = load_keys(load_course(root), ["exercise1"], PUBLIC)
    monkeypatch.setattr(build_bugs, "_ENDLESS", 0.2)
    build_pairs(KeyOrder(root, "exercise1", PUBLIC, PUBLIC.encode(), keys.place))
    assert keys.pairs("exercise1") == {}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("os._exit(9)", "a builder died: it was killed"),
        ("os.abort()", "a builder died: Fatal Python error: Aborted"),
        ("import ctypes; ctypes.string_at(0)", "died: Fatal Python error: Segmentation fault"),
    ],
    ids=["exit", "abort", "segment"],
)
def test_a_key_whose_builder_dies_is_our_own_fault(root: Path, line: str, said: str) -> None:
    insert(root, line)
    with pytest.raises(InternalError, match=said):
        load_keys(load_course(root), ["exercise1"], PUBLIC)


def test_a_fault_of_the_course_comes_through_as_it_is(root: Path) -> None:
    insert(root, "1 / 0")
    with pytest.raises(CourseError, match=r"exercise1_double\.py: ZeroDivisionError.*\(line 2\)$"):
        load_keys(load_course(root), ["exercise1"], PUBLIC)


def test_a_key_that_another_process_builds_is_waited_for_and_taken(
    root: Path, tmp_path: Path
) -> None:
    built = load_keys(load_course(root), ["exercise1"], PUBLIC).place
    order = KeyOrder(root, "exercise1", PUBLIC, b"", tmp_path / "again")
    order.into.mkdir()
    with ThreadPoolExecutor() as pool:
        with alone(order.into, order.exercise, order.split):
            waiting = pool.submit(build_key, order)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
            shutil.copytree(built, order.into, dirs_exist_ok=True)
            made = {path.name: path.stat().st_ino for path in order.into.glob("exercise1*")}
        waiting.result()
    assert len(made) == 5
    assert {path.name: path.stat().st_ino for path in order.into.glob("exercise1*")} == made


def test_an_order_shows_no_secret(tmp_path: Path) -> None:
    order = KeyOrder(tmp_path, "exercise1", PUBLIC, b"xyzzy", tmp_path)
    assert "xyzzy" not in repr(order)


def test_builders_end_with_the_process_that_asked(root: Path, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    insert(root, f"open({str(note)!r}, 'w').write(f'{{os.getpid()}} '); time.sleep(600)")
    asking = subprocess.Popen(
        [sys.executable, "-c", CHECK, "check", "--all", "--course", str(root)],
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: note.exists() and note.read_text().endswith(" "))
    finally:
        asking.kill()
        asking.wait()
    builder = int(note.read_text())
    wait_until(lambda: not runs(builder))


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; the limit is a net for hangs, not a figure."""
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never held")


def runs(pid: int) -> bool:
    """Tell whether a process of this number is there, and no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")
