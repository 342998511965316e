"""`check` in a notebook: the cells' own definitions, graded with nothing else of them run."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import SUBMISSIONS

from grader.handin.notebooks import neutralize_magics, without_checks
from grader.notebook.cells import constant_names, definitions
from grader.notebook.check import Report, check
from grader.notebook.imports import EarlierNotebooks

_PERFECT = (SUBMISSIONS / "perfect" / "exercise3_multi_head.py").read_text("utf-8")
_WRONG = (SUBMISSIONS / "keys-from-queries" / "exercise3_multi_head.py").read_text("utf-8")


def _check(course: Path, *cells: str) -> Any:
    return check("exercise3", course=course, history=["", *cells])


def test_importing_grader_loads_nothing_else() -> None:
    code = (
        "import sys, grader; "
        "print([m for m in sys.modules if m.startswith(('torch', 'numpy', 'pydantic', 'grader.'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_check_grades_the_cells_and_shows_pictures(pristine: Path) -> None:
    report = _check(pristine, _PERFECT)
    assert isinstance(report, Report)
    assert "20 / 20 points" in repr(report)
    assert "\x1b" not in repr(report)
    page = report._repr_html_()
    assert page.startswith('<div class="grade">')
    assert "<svg" in page


def test_check_takes_the_last_version_of_a_cell(pristine: Path) -> None:
    assert "20 / 20 points" in repr(_check(pristine, _WRONG, _PERFECT))
    assert "keys are made from" in repr(_check(pristine, _PERFECT, _WRONG))


def test_check_names_the_cell_of_an_error(pristine: Path) -> None:
    cells = ["def fold_heads(x, num_heads):\n    return x.reshapee(1)\n"]
    assert "did you mean `reshape`?) at In [1], line 2" in " ".join(
        repr(_check(pristine, *cells)).split()
    )


def test_check_without_definitions_says_what_is_not_there(pristine: Path) -> None:
    said = repr(_check(pristine, "x = 1"))
    assert "`fold_heads` is not defined in this notebook" in said
    assert "run the cells that define it" in said


def test_check_of_a_cell_that_is_too_much_says_so(pristine: Path) -> None:
    said = repr(_check(pristine, "def fold_heads(x, num_heads):\n" + "    x = x + 1\n" * 50_000))
    assert "this notebook holds more than 512 KiB of code" in said
    assert "restart the kernel" in said


def test_check_in_plain_python_is_one_line(pristine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)  # as where it is not installed
    said = repr(check("exercise1", course=pristine))
    assert said.startswith("grade: this grades a notebook's cells; for a file use")


def test_check_of_an_unknown_exercise_is_one_line(pristine: Path) -> None:
    said = repr(check("exercise33", course=pristine, history=[]))
    assert said == "grade: no exercise 'exercise33'; did you mean exercise3?" or (
        said.startswith("grade: no exercise 'exercise33'; did you mean exercise3 or")
    )


def test_check_without_a_course_is_one_line(tmp_path: Path) -> None:
    said = repr(check("exercise3", course=tmp_path, history=[]))
    assert "is not a course" in said
    assert "\n" not in said


def test_second_check_takes_less_than_half_of_importing_torch(pristine: Path) -> None:
    _check(pristine, _PERFECT)
    spent = []
    for _ in range(3):
        before = time.perf_counter()
        repr(_check(pristine, _PERFECT))
        spent.append(time.perf_counter() - before)
    before = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    assert min(spent) < 0.5 * (time.perf_counter() - before)


# --- what is taken from cells ------------------------------------------------------------------


def _taken(*cells: str) -> str:
    return "\n".join(text for _, text in definitions(cells, ["f"]))


@pytest.mark.parametrize(
    ("cells", "kept", "left"),
    [
        pytest.param(["def f(): return 1", "print(f())"], "def f", "print", id="demonstrations"),
        pytest.param(
            ["import math", "import os", "def f(): return math.pi"], "import math", "import os",
            id="imports that are needed",
        ),
        pytest.param(
            ["def g(): return h", "h = 2", "def f(): return g()", "w = train()"], "h = 2", "train",
            id="helpers of helpers",
        ),
        pytest.param(
            ["class f: pass", "f.forward = lambda self: 1"], "f.forward =", "print",
            id="methods added later",
        ),
        pytest.param(["from math import *", "def f(): pass"], "import *", "x", id="star imports"),
        pytest.param(["%time x = 1\ndef f(): pass"], "def f", "%time x", id="magics"),
        pytest.param(
            ["def f(): return 1", "def f(): return 2"], "return 1", "x", id="every version"
        ),
        pytest.param(
            ["@torch.no_grad()\ndef f(): pass"], "@torch.no_grad()", "x", id="decorators"
        ),
    ],
)  # fmt: skip
def test_definitions_keep_what_is_needed(cells: list[str], kept: str, left: str) -> None:
    assert kept in _taken(*cells)
    assert left not in _taken(*cells)


def test_definitions_keep_lines_in_their_places() -> None:
    ((label, text),) = definitions(["", "print(1)\n\ndef f():\n    return 1\nf()"], ["f"])
    assert label == "In [1]"
    assert text.splitlines() == ["", "", "def f():", "    return 1"]


def test_definitions_pass_on_a_last_cell_that_does_not_parse() -> None:
    assert "def f(:" in _taken("x = 1", "def f(:\n")
    assert "def f(:" not in _taken("def f(:\n", "def f(): pass")


def test_constants_are_names_of_literals_alone() -> None:
    cells = ["EPS = 1e-6\nSIZES: tuple = (2, -3)", "loss = 0.0", "loss = train()", "copy = loss"]
    assert constant_names(cells) == ["EPS", "SIZES"]


@pytest.mark.parametrize(
    "cell",
    [
        'from grader import check\n\ncheck("exercise3")',
        'from grader import check; check("exercise3")',
        'import grader\ngrader.check("exercise3")',
        "%load_ext grader",
        "%check exercise3",
    ],
)
def test_checks_in_a_cell_are_not_run(cell: str) -> None:
    text = without_checks(neutralize_magics(f"{cell}\n"))
    ran: dict[str, Any] = {}
    exec(text, ran)
    assert set(ran) == {"__builtins__"}
    assert len(text.splitlines()) == len(cell.splitlines())


def test_own_function_named_check_is_left_alone() -> None:
    cell = "def check(x):\n    return x\n\ny = check(1)\n"
    assert without_checks(cell).split() == cell.split()


def test_cell_magic_check_keeps_the_cells_code() -> None:
    assert neutralize_magics("%%check exercise3\nx = 1").splitlines()[1] == "x = 1"


# --- in IPython --------------------------------------------------------------------------------


def test_extension_adds_magics_and_reads_the_history(course: Path) -> None:
    code = f"""
import os
os.chdir({str(course / "exercises")!r})
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.display_formatter.active_types = []
run = lambda cell: shell.run_cell(cell, store_history=True).result
run("%load_ext grader")
run({_WRONG!r})
print(run('from grader import check; check("exercise3")'))
print(run("%%check exercise3\\n" + {_PERFECT!r}))
print(run("%check exercise3"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "the keys are made from" in " ".join(done.stdout.split()), done.stderr
    assert done.stdout.count("All 102 checks pass") >= 2


def test_extension_imports_notebooks_of_earlier_exercises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = SUBMISSIONS / "notebook" / "exercise3_multi_head.ipynb"
    (tmp_path / "exercise93_heads.ipynb").write_bytes(notebook.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, EarlierNotebooks()])
    import exercise93_heads  # type: ignore[import-not-found]

    assert callable(exercise93_heads.fold_heads)
