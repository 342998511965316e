"""nbgrader's cells, notebooks, repairs and test cells, one by one."""

import contextlib
import importlib.util
import io
import json
import math
import sqlite3
import sys
from pathlib import Path
from typing import Any

import nbformat
import nbgrader_class as made
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import determine_grade
from support import EXERCISES, ROOT, SUBMISSIONS

from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.nbgrader import grade_cell, needs_nbgrader
from grader.nbgrader.cells import TestCell as Cell
from grader.nbgrader.cells import kind_points, kind_score, parse_test, points_text
from grader.nbgrader.cells import test_source as cell_source
from grader.nbgrader.config import clean_markup
from grader.nbgrader.gradebook import KnownCell, Sheet
from grader.nbgrader.init import source_notebook
from grader.nbgrader.kernel import Points, units_of_history
from grader.nbgrader.repair import repair_notebook
from grader.notebook.finding import COURSE_VARIABLE
from grader.notebook.imports import EarlierNotebooks
from grader.records.ids import CheckId
from grader.records.results import CheckResult, Diagnosis, ExerciseResult, Kind, Status

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # nbgrader's own


def source_of(folder: CourseFolder, exercise_id: str) -> str:
    exercise = folder.course.exercise(exercise_id)
    return source_notebook(exercise, (folder.solutions / exercise.file).read_text("utf-8"))


def result(score: float, *, message: str = "it is wrong", points: float = 4.0) -> ExerciseResult:
    status = Status.PASSED if score == points else Status.FAILED
    check = CheckResult(CheckId("exercise1", "f", Kind.NUMERIC), status, score, points, message)
    diagnosis = Diagnosis("f", ("bug",), "", "look <b>twice</b>", f"evidence of {message}")
    return ExerciseResult("exercise1", "One", status, score, points, (check,), (diagnosis,))


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_source_notebook_is_valid_for_nbgrader(folder: CourseFolder, exercise_id: str) -> None:
    notebook = nbformat.reads(source_of(folder, exercise_id), as_version=4)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_source_notebook_is_worth_what_the_exercise_is(
    folder: CourseFolder, exercise_id: str
) -> None:
    cells = json.loads(source_of(folder, exercise_id))["cells"]
    points = sum(made.mark(cell, "points") or 0 for cell in cells)
    assert points == pytest.approx(folder.course.exercise(exercise_id).points)


@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_test_cells_hold_one_call_and_nothing_else(folder: CourseFolder, exercise_id: str) -> None:
    cells = json.loads(source_of(folder, exercise_id))["cells"]
    tests = ["".join(cell["source"]) for cell in cells if made.mark(cell, "grade")]
    exercise = folder.course.exercise(exercise_id)
    assert tests == [cell_source(exercise, kind) for kind in kind_points(exercise)]
    kinds = [cell.kind for text in tests if (cell := parse_test(text))]
    assert kinds == list(kind_points(exercise))


def test_source_notebook_comes_out_the_same_twice(folder: CourseFolder) -> None:
    assert source_of(folder, "exercise3") == source_of(folder, "exercise3")


@pytest.mark.parametrize(
    "source",
    ["grade_cell('exercise1')", "grade_cell(*x)", "x = 1\ngrade_cell('a', 'shape')", "def (", ""],
)
def test_other_cells_are_no_test_cells_of_ours(source: str) -> None:
    assert parse_test(source) is None


@given(st.floats(), st.floats(allow_nan=False, allow_infinity=False, min_value=0, max_value=1e6))
@example(math.inf, 0.0)
def test_points_are_never_outside_what_the_cell_is_worth(score: float, worth: float) -> None:
    given_points = kind_score(result(score), Cell("exercise1", Kind.NUMERIC, worth)).score
    cell = nbformat.v4.new_code_cell("", metadata={"nbgrader": {"grade": True, "points": worth}})
    output = nbformat.v4.new_output("execute_result", {"text/plain": points_text(given_points)})
    cell.outputs = [output]
    read, _ = determine_grade(cell)
    assert 0 <= given_points <= worth
    assert read == pytest.approx(given_points, abs=1e-4)


def test_full_points_are_read_in_full(folder: CourseFolder) -> None:
    for exercise in folder.course.exercises:
        for points in kind_points(exercise).values():
            assert float(points_text(points)) == points


@pytest.mark.parametrize("value", [0.0, 3.5, 1e-7, 12.34567])
def test_points_show_as_a_plain_number(value: float) -> None:
    shown = Points(value)._repr_mimebundle_()["text/plain"]
    assert float(shown) == pytest.approx(value, abs=1e-4)
    assert "e" not in shown


def test_history_becomes_units_without_tests_and_magics() -> None:
    test = "from grader.nbgrader import grade_cell\n\ngrade_cell('exercise1', 'shape', points=2)"
    units = units_of_history(["%load_ext grader.nbgrader", "x = 1", test, "", "!rm -r /\ny = 2"])
    assert units == (
        ("cell 1", "pass  # %load_ext grader.nbgrader"),
        ("cell 2", "x = 1"),
        ("cell 5", "pass  # !rm -r /\ny = 2"),
    )


def run_cell(*arguments: Any, **more: Any) -> tuple[float, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        points = grade_cell(*arguments, **more)
    return points, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("exercise99", "shape"), "no exercise"), (("exercise1", "colour"), "no kind of check")],
)
def test_test_cell_that_asks_for_nonsense_gives_no_points(
    arguments: tuple[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SUBMISSIONS / "notebook")
    points, out, err = run_cell(*arguments)
    assert (points, err) == (0.0, "")
    assert said in out


def test_test_cell_without_a_course_gives_no_points(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    points, out, err = run_cell("exercise1", "shape", points=2)
    assert (points, err) == (0.0, "")
    assert "no course here" in out


SHEET = Sheet(
    "exercise1",
    "",
    {
        name: KnownCell(name, "code", source, "5" * 32, grade, grade, not grade, False, points)
        for name, source, grade, points in [
            ("exercise1-f", "def f(): ...", False, 0.0),
            ("exercise1-shape", "grade_cell('exercise1', 'shape', points=2)", True, 2.0),
            ("exercise1-bug", "grade_cell('exercise1', 'bug', points=1)", True, 1.0),
        ]
    },
)


def released() -> Any:
    cells = []
    for known in SHEET.cells.values():
        cell = nbformat.v4.new_code_cell(known.source, metadata={"nbgrader": known.marks()})
        cell.id = known.grade_id
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("duplicated", "was there twice"),
        ("deleted", "was put back"),
        ("retyped", "was of type markdown"),
        ("repointed", "of an unknown name"),
        ("points", "changed marks: points"),
        ("reordered", "moved to the end"),
    ],
)
def test_repair_brings_the_marks_back(name: str, said: str) -> None:
    notebook = released()
    made.DAMAGES[name](notebook)
    notebook = nbformat.from_dict(notebook)
    notes = repair_notebook(notebook, SHEET)
    MetadataValidator().validate_nb(notebook)
    tests = [c.metadata.nbgrader for c in notebook.cells if made.mark(c, "grade")]
    assert sorted((m.grade_id, m.points) for m in tests) == [
        ("exercise1-bug", 1.0),
        ("exercise1-shape", 2.0),
    ]
    assert any(said in note for note in notes)


def test_repair_leaves_a_sound_notebook_alone() -> None:
    notebook = released()
    before = nbformat.writes(notebook)
    assert repair_notebook(notebook, SHEET) == ()
    assert nbformat.writes(notebook) == before


@pytest.mark.parametrize("nonsense", [[], 7, "x", {"grade_id": []}, {"grade": True}])
def test_repair_survives_nonsense_for_marks(nonsense: Any) -> None:
    notebook = released()
    notebook.cells[0].metadata["nbgrader"] = nonsense
    repair_notebook(notebook, SHEET)
    MetadataValidator().validate_nb(notebook)


def test_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nbgrader", None)
    said = r"^nbgrader is not installed: pip install 'grader\[nbgrader\]'$"
    with pytest.raises(UsageError, match=said), needs_nbgrader():
        import nbgrader  # noqa: F401


def make_database(path: Path, state: str) -> None:
    if state == "missing":
        return
    if state == "text":
        path.write_text("not a database at all, but long enough to be read as a page" * 20)
        return
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        database.execute("INSERT INTO alembic_version VALUES ('50a4d84c131a')")
        database.commit()


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("missing", "is not there: run nbgrader generate_assignment"),
        ("text", "is no gradebook"),
        ("older", "back it up, then run nbgrader db upgrade"),
    ],
)
def test_gradebook_trouble_is_one_line(state: str, said: str, tmp_path: Path) -> None:
    from grader.nbgrader.gradebook import open_gradebook

    path = tmp_path / "gradebook.db"
    make_database(path, state)
    before = path.read_bytes() if path.exists() else b""
    with pytest.raises(UsageError, match=said) as caught, open_gradebook(f"sqlite:///{path}"):
        pass
    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.exists() else b"") == before


def test_locked_gradebook_is_one_line(tmp_path: Path) -> None:
    from grader.nbgrader.gradebook import open_gradebook

    path = tmp_path / "gradebook.db"
    make_database(path, "older")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with (
            pytest.raises(UsageError, match="another program is writing to the gradebook"),
            open_gradebook(f"sqlite:///{path}"),
        ):
            pass


def test_nothing_outside_its_folder_imports_nbgrader() -> None:
    texts = {
        p.relative_to(ROOT).as_posix(): p.read_text("utf-8")
        for p in (ROOT / "grader").rglob("*.py")
    }
    own = "grader/nbgrader/"
    named = [n for n, t in texts.items() if "from nbgrader" in t and not n.startswith(own)]
    assert named == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("<p>a &lt; b <em>c</em></p>", "<p>a &lt; b <em>c</em></p>"),
        ('<a href="javascript:x">y</a>', "<a>y</a>"),
        ('<a href="data:text/html,x">y</a>', "<a>y</a>"),
        ('<img src="data:image/svg+xml;base64,x">', "<img>"),
        ('<img src="data:image/png;base64,x">', '<img src="data:image/png;base64,x">'),
        ('<h2 id="a" onclick="x">b</h2>', '<h2 id="a">b</h2>'),
        ("<style>p{}</style>", "&lt;style&gt;p{}&lt;/style&gt;"),
        ('<p style="position:fixed">a</p>', "<p>a</p>"),
    ],
)
def test_markup_keeps_what_is_harmless(written: str, shown: str) -> None:
    assert clean_markup(written) == shown


@pytest.fixture
def in_notebook_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SUBMISSIONS / "notebook")


@pytest.mark.usefixtures("in_notebook_folder")
def test_earlier_exercise_is_imported_from_a_notebook() -> None:
    spec = EarlierNotebooks().find_spec("exercise3_multi_head")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert callable(module.fold_heads)


@pytest.mark.usefixtures("in_notebook_folder")
def test_missing_earlier_exercise_is_named_with_a_next_step() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"exercise1_attention.ipynb is not there: put"):
        EarlierNotebooks().find_spec("exercise1_attention")


@pytest.mark.usefixtures("in_notebook_folder")
@pytest.mark.parametrize("name", ["json", "exercise99", "exercises"])
def test_other_imports_are_none_of_ours(name: str) -> None:
    assert EarlierNotebooks().find_spec(name) is None
