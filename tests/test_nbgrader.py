"""nbgrader's cells, notebooks, repairs and test cells, one by one."""

import contextlib
import importlib.util
import io
import json
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import nbformat
import nbgrader_class as made
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import determine_grade
from support import ROOT, SUBMISSIONS, TESTS

from grader.cli.nbgrader import run_init
from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.imports import EarlierNotebooks
from grader.nbgrader import grade_cell
from grader.nbgrader.cells import TestCell as Cell
from grader.nbgrader.cells import kind_points, kind_score, parse_test, points_text
from grader.nbgrader.cells import test_source as cell_source
from grader.nbgrader.init import init_directory
from grader.nbgrader.kernel import Points, units_of_history
from grader.nbgrader.lazily import needs_nbgrader
from grader.nbgrader.markup import clean_markup
from grader.nbgrader.place import COURSE_VARIABLE, course_of_notebook, root_near
from grader.nbgrader.render import render_trouble, render_verdict
from grader.nbgrader.repair import repair_notebook
from grader.nbgrader.sheet import KnownCell, Sheet
from grader.nbgrader.source import source_notebook
from grader.records import CheckResult, Diagnosis, ExerciseResult, Kind, Status

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # nbgrader's own

IDS = [f"exercise{n}" for n in range(1, 8)]


def source_of(folder: CourseFolder, exercise_id: str) -> str:
    exercise = folder.course.exercise(exercise_id)
    return source_notebook(exercise, (folder.solutions / exercise.file).read_text("utf-8"))


def result(score: float, *, message: str = "it is wrong", points: float = 4.0) -> ExerciseResult:
    status = Status.PASSED if score == points else Status.FAILED
    check = CheckResult("exercise1/f/numeric", Kind.NUMERIC, "f", status, score, points, message)
    diagnosis = Diagnosis("f", ("bug",), "", "look <b>twice</b>", f"evidence of {message}")
    return ExerciseResult("exercise1", "One", status, score, points, (check,), (diagnosis,))


@pytest.mark.parametrize("exercise_id", IDS)
def test_source_notebook_is_valid_for_nbgrader(folder: CourseFolder, exercise_id: str) -> None:
    notebook = nbformat.reads(source_of(folder, exercise_id), as_version=4)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)


@pytest.mark.parametrize("exercise_id", IDS)
def test_source_notebook_is_worth_what_the_exercise_is(
    folder: CourseFolder, exercise_id: str
) -> None:
    cells = json.loads(source_of(folder, exercise_id))["cells"]
    points = sum(made.mark(cell, "points") or 0 for cell in cells)
    assert points == pytest.approx(folder.course.exercise(exercise_id).points)


@pytest.mark.parametrize("exercise_id", IDS)
def test_test_cells_hold_one_call_and_nothing_else(folder: CourseFolder, exercise_id: str) -> None:
    cells = json.loads(source_of(folder, exercise_id))["cells"]
    tests = ["".join(cell["source"]) for cell in cells if made.mark(cell, "grade")]
    exercise = folder.course.exercise(exercise_id)
    assert tests == [cell_source(exercise, kind) for kind in kind_points(exercise)]
    assert [parse_test(text).kind for text in tests if parse_test(text)] == list(
        kind_points(exercise)
    )


def test_source_notebook_comes_out_the_same_twice(folder: CourseFolder) -> None:
    assert source_of(folder, "exercise3") == source_of(folder, "exercise3")


@pytest.mark.parametrize(
    "source",
    ["grade_cell('exercise1')", "grade_cell(*x)", "x = 1\ngrade_cell('a', 'shape')", "def (", ""],
)
def test_other_cells_are_no_test_cells_of_ours(source: str) -> None:
    assert parse_test(source) is None


@given(st.floats(), st.floats(allow_nan=False, allow_infinity=False, min_value=0, max_value=1e6))
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


def test_verdict_escapes_what_is_not_ours() -> None:
    test = Cell("exercise1", Kind.NUMERIC)
    graded = result(1.0, message="<script>x</script>")
    verdict = render_verdict(graded, test, kind_score(graded, test), notes=["<img src=x>"])
    assert "<script>" not in verdict.html
    assert "<img" not in verdict.html
    assert "<b>twice" not in verdict.html
    assert "<img" not in render_trouble("<img src=x>").html


def run_cell(*arguments: Any, **more: Any) -> tuple[float, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        points = grade_cell(*arguments, **more)
    return points, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(("exercise9", "shape"), "no exercise"), (("exercise1", "colour"), "no kind of check")],
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


@pytest.fixture
def small(tmp_path: Path) -> CourseFolder:
    from grader.course.load import load_course

    shutil.copytree(TESTS / "courses/statistics", tmp_path / "course")
    return load_course(tmp_path / "course")


def changes(directory: Path, course: CourseFolder) -> dict[str, str]:
    return {c.path: c.what for c in init_directory(directory, course, "s")}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


FIRST = "source/s/exercise1.ipynb"


def test_init_twice_changes_nothing(small: CourseFolder, tmp_path: Path) -> None:
    changes(tmp_path / "d", small)
    assert set(changes(tmp_path / "d", small).values()) == {"unchanged"}


def test_init_takes_over_what_only_the_course_changed(small: CourseFolder, tmp_path: Path) -> None:
    changes(tmp_path / "d", small)
    edit(small.solutions / "exercise1_columns.py", "mean 0", "average 0")
    assert changes(tmp_path / "d", small)[FIRST] == "updated"
    assert "average 0" in (tmp_path / "d" / FIRST).read_text("utf-8")


def test_init_keeps_what_the_instructor_changed(small: CourseFolder, tmp_path: Path) -> None:
    changes(tmp_path / "d", small)
    edit(tmp_path / "d" / FIRST, "mean 0", "a mean of 0")
    assert changes(tmp_path / "d", small)[FIRST] == "kept"
    assert "a mean of 0" in (tmp_path / "d" / FIRST).read_text("utf-8")


def test_init_names_what_both_changed_until_it_is_resolved(
    small: CourseFolder, tmp_path: Path
) -> None:
    changes(tmp_path / "d", small)
    edit(tmp_path / "d" / FIRST, "mean 0", "a mean of 0")
    edit(small.solutions / "exercise1_columns.py", "mean 0", "average 0")
    assert [changes(tmp_path / "d", small)[FIRST] for _ in range(2)] == ["conflict"] * 2
    aside = tmp_path / "d/conflicts" / FIRST
    assert "average 0" in aside.read_text("utf-8")
    aside.unlink()
    assert changes(tmp_path / "d", small)[FIRST] == "kept"


def test_init_leaves_away_what_was_removed(small: CourseFolder, tmp_path: Path) -> None:
    changes(tmp_path / "d", small)
    (tmp_path / "d" / FIRST).unlink()
    assert [changes(tmp_path / "d", small)[FIRST] for _ in range(2)] == ["removed"] * 2
    init_directory(tmp_path / "d", small, "s", restore=True)
    assert changes(tmp_path / "d", small)[FIRST] == "unchanged"


def test_init_knows_the_course_of_a_directory_and_what_comes_next(
    small: CourseFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # which is no course
    changes(Path("d"), small)
    edit(small.solutions / "exercise1_columns.py", "mean 0", "average 0")
    assert run_init(Path("d"), None, "s", restore=False) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"updated   {FIRST}"
    assert said[-1] == "next: cd d && nbgrader generate_assignment s --force"


def test_directory_whose_course_is_gone_is_one_line(small: CourseFolder, tmp_path: Path) -> None:
    changes(tmp_path / "d", small)
    small.root.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match=r"is no longer in .*: run grade nbgrader init") as caught:
        root_near(tmp_path / "d/source/s")
    assert "\n" not in str(caught.value)


def test_init_puts_nothing_beside_the_notebooks(small: CourseFolder, tmp_path: Path) -> None:
    test_init_names_what_both_changed_until_it_is_resolved(small, tmp_path)
    names = {p.name for p in (tmp_path / "d/source/s").iterdir()}
    assert names == {"exercise1.ipynb", "exercise2.ipynb"}


@pytest.mark.parametrize("what", ["marked", "copied"])
def test_release_with_a_solution_beside_it_is_refused(
    what: str, small: CourseFolder, tmp_path: Path
) -> None:
    from grader.nbgrader.release import RefuseSolutions

    changes(tmp_path / "d", small)
    solution = (small.solutions / "exercise1_columns.py").read_text("utf-8")
    text = solution if what == "marked" else f"{small.solutions.name}"
    leak = tmp_path / "d/source/s/helper.py"
    leak.write_text(text, encoding="utf-8")
    if what == "copied":
        (small.solutions / "secret.yml").write_text(text, encoding="utf-8")
    resources = {"metadata": {"path": str(leak.parent)}}
    with pytest.raises(UsageError, match=r"helper.py holds a solution"):
        RefuseSolutions().preprocess(nbformat.v4.new_notebook(), resources)


@pytest.mark.parametrize("name", ["a/b", "..", "", "a\nb"])
def test_init_refuses_odd_names(name: str, small: CourseFolder, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no name for an assignment"):
        init_directory(tmp_path, small, name)


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


def test_notebook_finds_its_course_by_one_rule(
    small: CourseFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    lone = tmp_path / "lone"
    lone.mkdir()
    with pytest.raises(UsageError, match="no course here or in a folder above"):
        course_of_notebook(lone)
    shutil.copytree(small.root, lone / "below")
    (lone / "below/key").mkdir()
    (lone / "below/key/manifest.json").touch()
    assert course_of_notebook(lone).root == lone / "below"
    monkeypatch.setenv(COURSE_VARIABLE, str(small.root))
    assert course_of_notebook(lone).root == small.root
    assert course_of_notebook(lone / "below/exercises").root == lone / "below"
    monkeypatch.setenv(COURSE_VARIABLE, str(lone))
    with pytest.raises(UsageError, match=r"but no course.yml is there: correct it"):
        course_of_notebook(lone)


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


def test_cell_of_known_mistakes_says_why_it_failed() -> None:
    failed = CheckResult(
        "exercise1/f/bug/x",
        Kind.BUG,
        "f",
        Status.FAILED,
        0,
        1,
        "`f` is not there",
        next_step="do it",
    )
    alone = ExerciseResult("exercise1", "One", Status.FAILED, 0, 1, (failed,))
    test = Cell("exercise1", Kind.BUG)
    text = render_verdict(alone, test, kind_score(alone, test)).text
    assert text.endswith("✗ `f` is not there.\n      next  do it.")


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
    with pytest.raises(ModuleNotFoundError, match=r"exercise1_attention.py is not there: put"):
        EarlierNotebooks().find_spec("exercise1_attention")


@pytest.mark.usefixtures("in_notebook_folder")
@pytest.mark.parametrize("name", ["json", "exercise99", "exercises"])
def test_other_imports_are_none_of_ours(name: str) -> None:
    assert EarlierNotebooks().find_spec(name) is None
