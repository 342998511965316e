"""`grade nbgrader init`: what it writes, updates, keeps and leaves away; and whose course it is."""

import shutil
from pathlib import Path

import nbformat
import pytest
from support import TESTS

from grader.cli.platforms import run_init
from grader.course.load import CourseFolder, load_course
from grader.errors import UsageError
from grader.nbgrader.init import init_directory
from grader.notebook.finding import COURSE_VARIABLE, course_of_notebook, root_near

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # nbgrader's own


@pytest.fixture
def small(tmp_path: Path) -> CourseFolder:
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
    assert said[0] == f"updated  {FIRST}"
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
    from grader.nbgrader.config import RefuseSolutions

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
