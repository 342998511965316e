"""Bad input through the command line: one clear message, the right exit status, a bounded cost."""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import (
    EXERCISES,
    ROOT,
    SUBMISSIONS,
    Grade,
    RunGrade,
    Shown,
    assert_target_full,
    content_hash,
    edited,
    find_check,
)

from grader.key.cache import Keys
from grader.key.store import DamagedKey, read_key
from grader.records.results import ExerciseResult, Status

FILE = "exercise1_attention.py"
RIGHT = (SUBMISSIONS / "perfect" / FILE).read_text(encoding="utf-8")
SELF = "def self_attention(x):\n"
WEIGHTS = "def attention_weights(query, key, scale=None):\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Give a student's folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def hand_in(folder: Path, text: str, name: str = FILE) -> Path:
    """Write a submission's file."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def check(run_grade: RunGrade, path: Path, *more: str, exercise: str = "exercise1") -> Shown:
    """Check a submission, whose folder stays as it was."""
    home = path if path.is_dir() else path.parent
    before = content_hash(home)
    shown = run_grade("check", exercise, "--submission", path, *more)
    assert content_hash(home) == before
    assert "Traceback" not in shown.err
    return shown


def messages(shown: Shown) -> dict[str, str]:
    """Return the message of each check of a JSON document that did not pass."""
    (result,) = json.loads(shown.out)["results"]
    return {c["id"]: c["message"] for c in result["checks"] if c["status"] != "passed"}


# ---- wrong usage: status 2, one line on standard error ------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "exercise33"], "no exercise 'exercise33'; did you mean exercise3"),
        (["check", "exercize3"], "no exercise 'exercize3'; did you mean exercise3?"),
        (["check", "multihead"], "no exercise 'multihead'; did you mean multi_head"),
        (["check", "zebra"], "no exercise 'zebra'; known: exercise1, exercise2"),
        (["check"], "as in: grade check 3; or give --all"),
        (["check", "3", "--all"], "as in: grade check 3; or give --all"),
        (["chekc", "3"], "no command 'chekc'; did you mean check?"),
        (["check", "3", "--sumbission", "x"], "No such option"),
        (["check", "3", "--submission", "nowhere"], "nowhere is not there"),
        (["check", "3", "--course", "nowhere"], "nowhere is not a course"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_usage_is_refused_in_one_line(arguments: list[str], said: str, run_grade: RunGrade) -> None:
    shown = run_grade(*arguments)
    assert (shown.status, shown.out) == (2, "")
    assert said in shown.err.splitlines()[-1]
    assert len([line for line in shown.err.splitlines() if line.startswith("grade: ")]) == 1


@pytest.mark.parametrize("name", ["exercise3", "3", "multi_head", "exercise3_multi_head.py"])
@pytest.mark.long
def test_exercise_is_known_by_every_name(name: str, run_grade: RunGrade) -> None:
    shown = run_grade("check", name, "--submission", SUBMISSIONS / "not-utf8", "--json")
    assert [r["exercise"] for r in json.loads(shown.out)["results"]] == ["exercise3"]


def test_one_file_for_several_exercises_is_refused(work: Path, run_grade: RunGrade) -> None:
    path = hand_in(work, RIGHT, "mine.py")
    shown = run_grade("check", "--all", "--submission", path)
    assert shown.status == 2
    assert f"mine.py could be any of {len(EXERCISES)} exercises" in shown.err


# ---- files that cannot be graded: status 1, every check says why ---------------------------------


def _leave_out(_: Path) -> None:
    return


def _misname(folder: Path) -> None:
    hand_in(folder, RIGHT, "exercise1_atention.py")


def _fold(folder: Path) -> None:
    (folder / FILE).mkdir()


def _in_latin1(folder: Path) -> None:
    (folder / FILE).write_bytes(b"import torch\n# \xe9t\xe9\n")


def _with_nul(folder: Path) -> None:
    (folder / FILE).write_bytes(b"import torch\n\n\0\n")


def _by_link(folder: Path) -> None:
    (folder / FILE).symlink_to(SUBMISSIONS / "perfect" / FILE)


def _dangling(folder: Path) -> None:
    (folder / FILE).symlink_to("/nowhere")


def _by_pipe(folder: Path) -> None:
    os.mkfifo(folder / FILE)


def _too_long(folder: Path) -> None:
    hand_in(folder, "# " + "x" * (3 << 20))


def _cut_notebook(folder: Path) -> None:
    hand_in(folder, '{"cells": [{"cell_type": "code"', "exercise1_attention.ipynb")


def _empty_notebook(folder: Path) -> None:
    hand_in(folder, "", "exercise1_attention.ipynb")


def _other_json(folder: Path) -> None:
    hand_in(folder, '["no", "notebook"]', "exercise1_attention.ipynb")


def _deep_json(folder: Path) -> None:
    hand_in(folder, "[" * 100_000, "exercise1_attention.ipynb")


@pytest.mark.parametrize(
    ("prepare", "said", "then"),
    [
        (_leave_out, f"{FILE} is not there", f"put {FILE} into the folder work"),
        (_misname, f"{FILE} is not there", f"rename exercise1_atention.py to {FILE}"),
        (_fold, f"{FILE} is a folder, not a file", "put the file itself in its place"),
        (_in_latin1, f"{FILE} is not UTF-8 text (line 2)", "save the file with the encoding UTF-8"),
        (_with_nul, f"{FILE} holds a NUL character (line 3)", "save the file again as plain text"),
        (_by_link, f"{FILE} is a link, not a file", "hand in the file itself"),
        (_dangling, f"{FILE} is a link, not a file", "hand in the file itself"),
        (_by_pipe, f"{FILE} is not an ordinary file", "hand in the file itself"),
        (_too_long, f"{FILE} is larger than 2048 KiB", "hand in only the code"),
        (_cut_notebook, "exercise1_attention.ipynb is not valid JSON", "open it in Jupyter"),
        (_empty_notebook, "exercise1_attention.ipynb is not valid JSON", "open it in Jupyter"),
        (_other_json, "exercise1_attention.ipynb cannot be read as a notebook", "open it in"),
        (_deep_json, "exercise1_attention.ipynb is not valid JSON", "open it in Jupyter"),
    ],
    ids=lambda part: part.__name__.strip("_") if callable(part) else "",
)
@pytest.mark.long
def test_file_that_cannot_be_graded_fails_every_check_for_that(
    prepare: Callable[[Path], None], said: str, then: str, work: Path, run_grade: RunGrade
) -> None:
    prepare(work)
    shown = check(run_grade, work, "--json")
    (result,) = json.loads(shown.out)["results"]
    assert (shown.status, shown.err, result["score"]) == (1, "", 0.0)
    assert {c["status"] for c in result["checks"]} <= {"failed", "skipped"}
    (told,) = {c["message"] for c in result["checks"] if c["status"] == "failed"}
    (step,) = {c["next_step"] for c in result["checks"] if c["status"] == "failed"}
    assert told.startswith(said)
    assert step.startswith(then)


def test_missing_files_cost_only_their_exercises(work: Path, run_grade: RunGrade) -> None:
    hand_in(work, RIGHT)
    shown = run_grade("check", "--all", "--submission", work, "--json")
    scores = {r["exercise"]: r["score"] for r in json.loads(shown.out)["results"]}
    assert (shown.status, scores.pop("exercise1")) == (1, 14.0)
    assert set(scores.values()) == {0.0}


def test_file_beside_a_notebook_is_told(work: Path, run_grade: RunGrade) -> None:
    hand_in(work, RIGHT)
    hand_in(work, "{}", "exercise1_attention.ipynb")
    shown = check(run_grade, work)
    assert shown.status == 0
    told = f"{FILE} was graded, and not exercise1_attention.ipynb"
    assert told in " ".join(shown.out.split())


def test_terminal_report_tells_the_reason(work: Path, run_grade: RunGrade) -> None:
    shown = check(run_grade, work)
    assert shown.status == 1
    assert f"{FILE} is not there." in shown.out
    assert "\x1b" not in shown.out


def test_old_notebook_format_is_graded(work: Path, run_grade: RunGrade) -> None:
    cell = {"cell_type": "code", "input": RIGHT, "language": "python", "metadata": {}}
    sheet = {"cells": [{**cell, "collapsed": False, "outputs": []}], "metadata": {}}
    book = {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [sheet]}
    path = hand_in(work, json.dumps(book), "exercise1_attention.ipynb")
    assert check(run_grade, path).status == 0


def test_code_runs_without_its_folder(work: Path, run_grade: RunGrade) -> None:
    hand_in(work, "trap = 1\n", "torch.py")
    hand_in(work, "raise SystemExit\n", "conftest.py")
    hand_in(work, RIGHT)
    assert check(run_grade, work).status == 0


# ---- files that do not load: status 1, every target says why ------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def broken(:\n    pass\n", f"SyntaxError: invalid syntax at {FILE}, line 1"),
        ("import torch\nif True:\nx = 1\n", f"at {FILE}, line 3"),
        ("<<<<<<< HEAD\nx = 1\n", f"SyntaxError: invalid syntax at {FILE}, line 1"),
        ("import tkinter_extras\n", "ModuleNotFoundError: No module named 'tkinter_extras'"),
        ("from torch import softmux\n", "ImportError: cannot import name 'softmux'"),
        ("import torch\n\n1 / 0\n", f"ZeroDivisionError: division by zero at {FILE}, line 3"),
        ("raise SystemExit(0)\n", "SystemExit: 0"),
        ("import sys\nsys.exit('bye')\n", "SystemExit: bye"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt"),
        ("x = " + "(" * 500 + ")" * 500 + "\n", "too many nested parentheses"),
    ],
    ids=[
        "syntax error",
        "indentation",
        "merge marker",
        "missing module",
        "missing name",
        "exception",
        "exit 0",
        "exit with text",
        "interrupt",
        "deep nesting",
    ],
)
def test_file_that_does_not_load_says_where(text: str, said: str, work: Path, grade: Grade) -> None:
    before = content_hash(hand_in(work, text).parent)
    result = grade(work, "exercise1")
    assert content_hash(work) == before
    assert (result.score, result.status) == (0, Status.FAILED)
    shapes = [find_check(result, f"{t}/shape").message for t in targets_of(result)]
    assert [m for m in shapes if not m.startswith(f"{FILE} could not be loaded: ")] == []
    assert said in shapes[0]


def test_file_that_does_not_load_ends_with_status_1(work: Path, run_grade: RunGrade) -> None:
    shown = check(run_grade, hand_in(work, "def broken(:\n    pass\n"))
    assert (shown.status, shown.err) == (1, "")
    assert "SyntaxError: invalid syntax" in " ".join(shown.out.split())


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("while True:\n    pass\n", Status.TIMEOUT, f"loading {FILE} did not finish"),
        ("import time\ntime.sleep(1000)\n", Status.TIMEOUT, "did not finish"),
        ("import os\nos._exit(0)\n", Status.FAILED, "ended without an answer"),
        ("import ctypes\nctypes.string_at(0)\n", Status.FAILED, "SIGSEGV"),
        ("import os, signal\nos.kill(os.getpid(), 9)\n", Status.FAILED, "SIGKILL"),
    ],
    ids=["loop", "sleep", "os._exit", "segfault", "kill"],
)
def test_file_whose_loading_never_returns_is_told(
    text: str, status: Status, said: str, work: Path, grade: Grade
) -> None:
    hand_in(work, text)
    result = grade(work, "exercise1", case_seconds=1)
    assert (result.score, result.status) == (0, status)
    assert said in find_check(result, "self_attention/shape").message


def targets_of(result: ExerciseResult) -> list[str]:
    """Return the names of a result's targets, each once."""
    return list(dict.fromkeys(c.target for c in result.checks))


# ---- one target is wrong: status 1, the others keep their points ---------------------------------


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        (
            [(SELF, "def self_attenton(x):\n")],
            "`self_attention` is not defined, but `self_attenton`",
        ),
        ([(SELF, "def my_layer(x):\n")], f"`self_attention` is not defined in {FILE}"),
        ([(SELF, "def self_attention():\n")], "takes 0 positional arguments but 1 was given"),
        ([(SELF, "def self_attention(x, scale):\n")], "missing 1 required positional argument"),
        ([(SELF, SELF + "    return None\n")], "should return a tensor, it returned None"),
        ([(SELF, SELF + "    return x, x\n")], "returns a tuple of 2 tensors"),
        (
            [(SELF, SELF + "    return x.numpy()\n")],
            "should return a tensor, it returned an ndarray",
        ),
        ([(SELF, SELF + "    return x.tolist()\n")], "should return a tensor, it returned a list"),
        ([(SELF, SELF + "    return 1.0\n")], "should return a tensor, it returned a float"),
        ([(SELF, SELF + "    return x.to_sparse()\n")], "should return a tensor, it returned a"),
        ([(SELF, SELF + "    return x.to('meta')\n")], "should return a tensor, it returned a"),
        ([(SELF, SELF + "    return x.cfloat()\n")], "should return a tensor, it returned a"),
        ([(SELF, SELF + "    return x[0]\n")], "the output has the wrong shape"),
        ([(SELF, SELF + "    return x / 0\n")], "numbers are infinite"),
        ([(SELF, SELF + "    return x * float('nan')\n")], "numbers are NaN"),
        ([(SELF, SELF + "    import os\n    os._exit(0)\n")], "ended without an answer"),
        ([(SELF, SELF + "    raise SystemExit\n")], "`self_attention` raised SystemExit"),
        ([(SELF, SELF + "    import ctypes\n    ctypes.string_at(0)\n")], "SIGSEGV"),
        ([(SELF, SELF + "    while True:\n        pass\n")], "did not finish"),
        ([(SELF, SELF + "    return self_attention(x)\n")], "RecursionError"),
        ([(SELF, "self_attention = 3\n\n\ndef other(x):\n")], "`self_attention` is not"),
    ],
    ids=[
        "misspelt",
        "missing",
        "too few arguments",
        "too many arguments",
        "None",
        "tuple",
        "numpy",
        "list",
        "float",
        "sparse",
        "meta",
        "complex",
        "shape",
        "infinite",
        "NaN",
        "os._exit",
        "sys.exit",
        "segfault",
        "hang",
        "recursion",
        "not callable",
    ],
)
@pytest.mark.long
def test_target_that_is_wrong_costs_its_own_points(
    edits: list[tuple[str, str]], said: str, work: Path, grade: Grade
) -> None:
    hand_in(work, edited(RIGHT, *edits))
    before = content_hash(work)
    limits = {"case_seconds": 1} if "while True" in edits[0][1] else {}
    result = grade(work, "exercise1", **limits)
    assert content_hash(work) == before
    told = [find_check(result, f"self_attention/{kind}").message for kind in ("shape", "numeric")]
    assert said in " ".join(told)  # what comes in another form is compared, and told of the shape
    lost = result.max_score - result.score
    own = sum(c.max_score for c in result.checks if c.target == "self_attention")
    assert 0 < lost <= own + 1e-3  # a check's points are rounded


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("        while True:\n            pass\n", "did not finish"),
        ("        import os\n        os._exit(3)\n", "ended without an answer"),
        ("        raise RuntimeError('no')\n", "RuntimeError: no"),
        ("", "cannot assign module before Module.__init__() call"),
    ],
    ids=["hang", "os._exit", "exception", "no super().__init__()"],
)
@pytest.mark.long
def test_constructor_that_is_wrong_costs_its_own_target(
    body: str, said: str, work: Path, grade: Grade
) -> None:
    text = (SUBMISSIONS / "perfect/exercise3_multi_head.py").read_text(encoding="utf-8")
    text = edited(text, ("        super().__init__()\n", body))
    hand_in(work, text, "exercise3_multi_head.py")
    result = grade(work, "exercise3", case_seconds=1)
    assert said in find_check(result, "MultiHeadSelfAttention/shape").message
    others = sum(c.max_score for c in result.checks if c.target != "MultiHeadSelfAttention")
    assert result.score == pytest.approx(others, abs=1e-3)


def test_earlier_exercise_that_was_not_handed_in_is_named(work: Path, grade: Grade) -> None:
    name = "exercise7_classifier.py"
    hand_in(work, (SUBMISSIONS / "perfect" / name).read_text(encoding="utf-8"), name)
    (work / "exercise3_multi_head.py").unlink(missing_ok=True)
    result = grade(work, "exercise7")
    told = find_check(result, "build_classifier/shape")
    assert told.status is Status.SKIPPED
    assert "needs your exercise3_multi_head.py" in told.message
    assert_target_full(result, "TransformerClassifier")


def test_class_that_is_no_module_is_told(work: Path, grade: Grade) -> None:
    text = "class FeedForward:\n    def __init__(self, *a, **k):\n        pass\n"
    hand_in(work, text, "exercise4_feed_forward.py")
    message = find_check(grade(work, "exercise4"), "FeedForward/shape").message
    assert "not an nn.Module" in message


@pytest.mark.long
def test_hang_ends_the_command_with_status_1(work: Path, run_grade: RunGrade) -> None:
    course = tight_course(work.parent / "course")
    path = hand_in(work, edited(RIGHT, (SELF, SELF + "    while True:\n        pass\n")))
    shown = run_grade("check", "1", "--submission", path, "--course", course, "--json")
    statuses = {c["target"]: c["status"] for c in json.loads(shown.out)["results"][0]["checks"]}
    assert shown.status == 1
    assert statuses["self_attention"] == "timeout"
    assert statuses["attention_weights"] == "passed"


def tight_course(folder: Path) -> Path:
    """Copy the course with a second a case."""
    shutil.copytree(ROOT / "solutions", folder / "solutions")
    text = (ROOT / "course.yml").read_text(encoding="utf-8")
    short = edited(text, ("case_seconds: 5", "case_seconds: 1"))
    (folder / "course.yml").write_text(short, encoding="utf-8")
    return folder


# ---- the key's files and the disk ---------------------------------------------------------------


@pytest.fixture
def own_cache(tmp_path: Path, keys: Keys, key_cache: Path) -> Path:
    """Copy the cached keys, to be damaged."""
    digest = keys.digest.removeprefix("sha256:")
    shutil.copytree(key_cache / digest[:32], tmp_path / "cache" / digest[:32])
    return tmp_path / "cache"


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _remove(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [_flip, _cut, _empty, _remove], ids=lambda d: d.__name__)
@pytest.mark.parametrize("part", ["json", "cases.safetensors", "key.safetensors"])
def test_damaged_key_is_noticed(part: str, damage: Callable[[Path], None], own_cache: Path) -> None:
    (path,) = own_cache.rglob(f"exercise1.public.{part}")
    damage(path)
    with pytest.raises(DamagedKey, match=r"exercise1\.public"):
        read_key(path.parent, "exercise1", "public")


@pytest.mark.long
def test_damaged_key_is_built_anew_with_a_note(own_cache: Path, run_grade: RunGrade) -> None:
    (path,) = own_cache.rglob("exercise6.public.key.safetensors")
    _flip(path)
    perfect = SUBMISSIONS / "perfect"
    again = [
        run_grade("check", "6", "--submission", perfect, GRADE_CACHE=str(own_cache))
        for _ in range(2)
    ]
    assert [shown.status for shown in again] == [0, 0]
    assert "\ngrade: a damaged answer key was built anew" in again[0].err
    assert again[1].err == ""


@pytest.mark.long
def test_cache_that_is_a_file_is_told_and_does_without(tmp_path: Path, run_grade: RunGrade) -> None:
    path = tmp_path / "cache"
    path.write_text("in the way", encoding="utf-8")
    shown = run_grade("check", "6", "--submission", SUBMISSIONS / "perfect", GRADE_CACHE=str(path))
    assert shown.status == 0
    said = [one for one in shown.err.splitlines() if not one.startswith("building answer keys: ")]
    assert [
        one.startswith(f"grade: the answer key could not be kept in {path}") for one in said
    ] == [True]
    assert path.read_text(encoding="utf-8") == "in the way"


def test_full_disk_is_told_in_one_line(tmp_path: Path) -> None:
    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    done = subprocess.run(
        [Path(sys.executable).with_name("grade"), "check", "6", "--submission",
         SUBMISSIONS / "perfect", "--json"],
        cwd=ROOT,
        env={**os.environ, "GRADE_CACHE": str(tmp_path), "TMPDIR": str(tmp_path)},
        preexec_fn=no_room,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert len(done.stderr.splitlines()) == 1
    assert "File too large" in done.stderr
    assert list(tmp_path.rglob("*.safetensors")) == []


def test_missing_solutions_are_told(tmp_path: Path, run_grade: RunGrade) -> None:
    shutil.copy(ROOT / "course.yml", tmp_path)
    shown = run_grade("check", "1", "--course", tmp_path, "--submission", SUBMISSIONS / "perfect")
    assert (shown.status, shown.out) == (2, "")
    assert "key is missing; `grade start" in shown.err


@pytest.mark.long
def test_broken_solution_is_the_courses_fault(tmp_path: Path, run_grade: RunGrade) -> None:
    course = tight_course(tmp_path / "course")
    (course / "solutions" / FILE).write_text("import torch\n1 / 0\n", encoding="utf-8")
    shown = run_grade("check", "1", "--course", course, "--submission", SUBMISSIONS / "perfect")
    assert (shown.status, shown.out) == (2, "")
    assert f"{FILE}: ZeroDivisionError: division by zero (line 2)" in shown.err
    assert len(shown.err.splitlines()) == 1


# ---- the whole class leaves no trace -----------------------------------------------------------


@pytest.mark.parametrize("form", ["folder", "file"])
def test_submission_is_never_written_to(form: str, tmp_path: Path, run_grade: RunGrade) -> None:
    copy = tmp_path / "perfect"
    shutil.copytree(SUBMISSIONS / "perfect", copy)
    path = copy if form == "folder" else copy / "exercise3_multi_head.py"
    before = content_hash(copy)
    shown = run_grade("check", "3", "--submission", path, cwd=ROOT)
    assert shown.status == 0
    assert content_hash(copy) == before
