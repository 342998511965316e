"""`grade start`, `grade reset`, `grade list`: a student's folder, and what can be wrong with it."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from support import EXERCISES, SUBMISSIONS

from grader.cli.check import list_course
from grader.cli.study import run_reset, run_start
from grader.course.load import find_course, load_course
from grader.course.shipped import MANIFEST
from grader.errors import CourseError, GraderError, UsageError
from grader.files import zipped
from grader.handin.choose import chosen_exercises, read_work
from grader.handin.read import Source
from grader.key.cache import load_keys
from grader.records.calls import PUBLIC
from grader.records.results import ExerciseResult, Status
from grader.student.progress import load_progress, remember_hint, remember_result
from grader.student.start import read_bundle, start_course


def _result(score: float, status: Status = Status.FAILED) -> ExerciseResult:
    return ExerciseResult("exercise1", "Attention", status, score, 14.0, ())


def test_start_takes_a_zip_as_well_as_a_folder(bundle: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "course.zip").write_bytes(zipped(bundle))
    folder = start_course(tmp_path / "mine", bundle=tmp_path / "course.zip")
    assert folder.shipped
    assert not (tmp_path / "mine" / "notebooks").exists()


def test_start_from_a_students_folder_takes_nothing_of_theirs(course: Path, tmp_path: Path) -> None:
    (course / "exercises" / "exercise1_attention.py").write_text("theirs")
    (course / ".grade").mkdir()
    (course / ".grade" / "progress.json").write_text("{}")
    start_course(tmp_path / "mine", bundle=course)
    assert not (tmp_path / "mine" / ".grade").exists()
    assert (tmp_path / "mine" / "exercises" / "exercise1_attention.py").read_text() != "theirs"


def test_start_makes_notebooks_where_asked(pristine: Path, tmp_path: Path) -> None:
    start_course(tmp_path / "mine", bundle=pristine, notebooks=True)
    names = {path.name for path in (tmp_path / "mine" / "exercises").iterdir()}
    assert "exercise3_multi_head.ipynb" in names
    assert not [name for name in names if name.endswith(".py")]
    text = (tmp_path / "mine" / "exercises" / "exercise1_attention.ipynb").read_text("utf-8")
    assert "`%try exercise1`. Check your work: `%check exercise1`." in text
    assert "`grade " not in text  # a cell runs no command of a shell


def test_start_leaves_a_folder_that_is_there_alone(course: Path, pristine: Path) -> None:
    own = course / "exercises" / "exercise1_attention.py"
    own.write_text("mine")
    with pytest.raises(UsageError, match="is there already; go on in it"):
        start_course(course, bundle=pristine)
    assert own.read_text() == "mine"


def test_start_fills_the_empty_folder_that_one_stands_in(
    pristine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run_start(Path(), pristine, notebooks=False, renew=False)
    assert f", in {tmp_path.name}\n" in said
    assert "cd " not in said
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "README.md", "course.yml", "exercises", "key",
    ]  # fmt: skip


def test_folder_s_readme_tells_of_pytest_pages_and_notebooks(course: Path) -> None:
    said = (course / "README.md").read_text(encoding="utf-8")
    for command in (
        "python -m pytest -k exercise1_attention",
        "grade check exercise1 --html report.html",
        "grade train exercise12",
        "%load_ext grader",
    ):
        assert f"`{command}`" in said


def test_start_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(b"PK not really")
    with pytest.raises(UsageError, match="no zip that can be read"):
        start_course(tmp_path / "mine", bundle=tmp_path / "bad.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.zip"]


@pytest.mark.parametrize("name", ["../outside.py", "/outside.py"])
def test_start_refuses_a_zip_that_reaches_out(
    bundle: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    (tmp_path / "course.zip").write_bytes(zipped({**bundle, name: b"x"}))
    with pytest.raises(UsageError, match="no course bundle"):
        start_course(tmp_path / "mine", bundle=tmp_path / "course.zip")


def test_start_refuses_a_damaged_bundle(bundle: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "course.zip").write_bytes(zipped({**bundle, "course.yml": b"format_version: 1"}))
    with pytest.raises(CourseError, match=r"course.yml is damaged"):
        read_bundle(tmp_path / "course.zip")


def _edit(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n# edited\n")


def _version(path: Path, version: int) -> None:
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**manifest, "format_version": version, "grader": "9.9.9"}))


_DAMAGE = [
    pytest.param("course.yml", _edit, "course.yml was changed", id="course edited"),
    pytest.param(
        "key/exercise1.public.json",
        Path.unlink,
        "exercise1.public.json is missing",
        id="key missing",
    ),
    pytest.param("key/exercise1.public.key.safetensors", _edit, "was changed", id="key edited"),
    pytest.param(
        MANIFEST, lambda p: p.write_text("{"), "was changed or cut short", id="manifest cut short"
    ),
    pytest.param(
        MANIFEST, lambda p: _version(p, 0), "no longer reads it; `grade start", id="older bundle"
    ),
    pytest.param(
        MANIFEST, lambda p: _version(p, 99), "install a newer one with pip", id="newer bundle"
    ),
]


@pytest.mark.parametrize(("name", "damage", "message"), _DAMAGE)
def test_course_that_is_not_whole_is_told_in_one_line(
    course: Path, name: str, damage: Callable[[Path], None], message: str
) -> None:
    damage(course / name)
    with pytest.raises(CourseError, match=message) as caught:
        load_keys(load_course(course), ["exercise1"], PUBLIC)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "damage", "message"), _DAMAGE)
def test_renewing_puts_the_course_right_and_keeps_the_work(
    course: Path, pristine: Path, name: str, damage: Callable[[Path], None], message: str
) -> None:
    del message
    own = course / "exercises" / "exercise1_attention.py"
    own.write_text("mine")
    damage(course / name)
    start_course(course, bundle=pristine, renew=True)
    assert load_keys(load_course(course), ["exercise1"], PUBLIC).keys
    assert own.read_text() == "mine"


def test_renewing_refuses_another_course(course: Path, bundle: dict[str, bytes]) -> None:
    manifest = json.loads(bundle[MANIFEST])
    other = {**bundle, MANIFEST: json.dumps({**manifest, "course": "Knitting"}).encode()}
    (course.parent / "other.zip").write_bytes(zipped(other))
    with pytest.raises(UsageError, match="not 'Knitting'"):
        start_course(course, bundle=course.parent / "other.zip", renew=True)


def test_course_without_course_yml_says_how_to_get_it_back(course: Path) -> None:
    (course / "course.yml").unlink()
    with pytest.raises(CourseError, match=r"course.yml is missing; `grade start .* --renew`"):
        find_course(course)


def test_course_without_a_key_of_its_own_says_so(course: Path) -> None:
    shutil.rmtree(course / "key")
    with pytest.raises(GraderError, match=r"key is missing; `grade start .* --renew`"):
        load_keys(load_course(course), ["exercise1"], PUBLIC)


# --- reset -------------------------------------------------------------------------------------


def test_reset_puts_back_the_stub_and_keeps_every_copy(course: Path) -> None:
    own = course / "exercises" / "exercise3_multi_head.py"
    stub = own.read_bytes()
    for text in ("first", "second"):
        own.write_text(text)
        said = run_reset("3", course)
        assert "what you had is in backups/exercise3_multi_head." in " ".join(said.split())
    assert own.read_bytes() == stub
    kept = sorted((course / "backups").iterdir())
    assert [path.read_text() for path in kept] == ["first", "second"]


def test_reset_of_what_was_not_touched_keeps_no_copy(course: Path) -> None:
    assert "backups" not in run_reset("3", course)
    assert not (course / "backups").exists()


def test_reset_keeps_a_notebook_a_notebook(pristine: Path, tmp_path: Path) -> None:
    start_course(tmp_path / "mine", bundle=pristine, notebooks=True)
    own = tmp_path / "mine" / "exercises" / "exercise3_multi_head.ipynb"
    stub = own.read_bytes()
    own.write_text("{}")
    run_reset("3", tmp_path / "mine")
    assert own.read_bytes() == stub


def test_reset_brings_back_a_file_that_is_gone(course: Path) -> None:
    own = course / "exercises" / "exercise3_multi_head.py"
    own.unlink()
    run_reset("3", course)
    assert own.is_file()


def test_reset_is_not_for_a_source_tree() -> None:
    with pytest.raises(UsageError, match="reset is for folders made by `grade start`"):
        run_reset("3", SUBMISSIONS.parent.parent)


# --- progress ----------------------------------------------------------------------------------


def test_list_tells_points_and_what_is_next(course: Path) -> None:
    folder = load_course(course)
    source = Source("a", units=(("a", "x = 1"),))
    remember_result(folder, _result(14.0, Status.PASSED), source)
    shown = click.unstyle(list_course(course))
    assert f"14 / {sum(e.points for e in folder.course.exercises):g} points" in shown
    assert re.search("✓ exercise1 +14 / 14", shown)
    assert "changed after the last check" in shown  # the file in the folder is not what was graded
    assert "Next: grade check exercise1" in shown


def test_progress_keeps_the_best_and_the_hints(course: Path) -> None:
    folder = load_course(course)
    remember_hint(folder, "exercise1", "a/b", 2)
    remember_result(folder, _result(9.0), Source("a"))
    remember_result(folder, _result(3.0), Source("a"))
    own = load_progress(folder).of("exercise1")
    assert (own.score, own.best, own.hints) == (3.0, 9.0, {"a/b": 2})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format_version": 7}', '{"exercises": {"a": 1}}']
)
def test_progress_that_is_damaged_is_a_fresh_start(course: Path, text: str) -> None:
    folder = load_course(course)
    (course / ".grade").mkdir()
    (course / ".grade" / "progress.json").write_text(text)
    assert load_progress(folder).exercises == {}
    remember_result(folder, _result(3.0), Source("a"))
    assert load_progress(folder).of("exercise1").score == 3.0


def test_progress_that_cannot_be_kept_does_not_stop_grading(course: Path) -> None:
    folder = load_course(course)
    (course / ".grade").write_text("a file where the folder should be")
    remember_result(folder, _result(3.0), Source("a"))
    assert load_progress(folder).exercises == {}


@pytest.mark.parametrize(
    "typed", ["exercises/exercise2_qkv_projection.py", "exercise2_qkv_projection.ipynb", "2"]
)
def test_exercise_may_be_named_by_its_file(
    course: Path, typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(course)
    (exercise,) = chosen_exercises(load_course(course), [typed])
    assert exercise.id == "exercise2"


def test_file_of_another_place_is_not_taken_for_ones_own(course: Path) -> None:
    other = course.parent / "exercise2_qkv_projection.py"
    other.write_text("")
    with pytest.raises(UsageError, match="give the file with --submission"):
        chosen_exercises(load_course(course), [str(other)])


def test_course_in_a_folder_below_is_named(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course.parent)
    with pytest.raises(UsageError, match=r"cd my-transformer$"):
        find_course(None)


def test_lost_file_is_begun_anew_by_reset(course: Path) -> None:
    folder = load_course(course)
    (course / "exercises" / "exercise2_qkv_projection.py").unlink()
    exercise = folder.course.exercise("exercise2")
    source = read_work(folder, None, [exercise]).source(exercise)
    assert source.next_step == "rename your file to it, or `grade reset exercise2` starts it again"
    (course / "exercises" / "conftest.py").write_text("")
    assert read_work(folder, None, [exercise]).source(exercise) == source
    (course / "exercises" / "mine.py").write_text("")
    source = read_work(folder, None, [exercise]).source(exercise)
    assert source.next_step == "rename mine.py to it, or `grade reset exercise2` starts it again"
    assert "(exercise2_qkv_projection.py is not there)" in " ".join(list_course(course).split())


def test_lost_notebook_is_called_so(tmp_path: Path, pristine: Path) -> None:
    course = tmp_path / "notebooks"
    start_course(course, bundle=pristine, notebooks=True)
    folder = load_course(course)
    (course / "exercises" / "exercise2_qkv_projection.ipynb").unlink()
    exercise = folder.course.exercise("exercise2")
    assert read_work(folder, None, [exercise]).source(exercise).problem == (
        "exercise2_qkv_projection.ipynb is not there"
    )


def test_lost_exercises_folder_is_told_and_renewed(course: Path, pristine: Path) -> None:
    shutil.rmtree(course / "exercises")
    with pytest.raises(UsageError, match="--renew` repairs it"):
        read_work(load_course(course), None, [])
    assert "(exercises/ is missing)" in list_course(course)
    start_course(course, bundle=pristine, renew=True)
    assert len(list((course / "exercises").glob("*.py"))) == len(EXERCISES)


@pytest.mark.parametrize(
    "name", ["exercise2_qkv.py", "exercise2_my.ipynb", "excercise2_qkv_projection.py"]
)
def test_file_of_another_name_is_to_be_renamed(course: Path, name: str) -> None:
    folder = load_course(course)
    own = course / "exercises" / "exercise2_qkv_projection.py"
    own.rename(own.with_name(name))
    exercise = folder.course.exercise("exercise2")
    step = read_work(folder, None, [exercise]).source(exercise).next_step
    assert step == f"rename {name} to exercise2_qkv_projection{Path(name).suffix}"


def test_windows_line_ends_in_every_text_of_a_course_do_not_matter(course: Path) -> None:
    for path in course.rglob("*"):
        if path.suffix in (".yml", ".json", ".py", ".ipynb", ".md", ".sha256"):
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    keys = load_keys(load_course(course), ["exercise1"], PUBLIC)
    assert keys.keys["exercise1"].book.bugs
