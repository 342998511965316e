"""Parts of a course: each is taken by itself, has its own total, and is left out where unused."""

import csv
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import TESTS, RunGrade

from grader.course.load import load_course, parse_course
from grader.errors import CourseError

STATISTICS = TESTS / "courses" / "statistics"
TEXT = (STATISTICS / "course.yml").read_text("utf-8")
FIRST, SECOND = "exercise1_columns.py", "exercise2_average.py"
PARTS = """\
parts:
  - {name: columns, title: Of columns, exercises: [exercise1]}
  - name: averages
    title: Of averages
    exercises: [exercise2]
"""


def with_parts(parts: str) -> str:
    """Return the course's text with parts."""
    return TEXT.replace("\nexercises:\n", f"\n{parts}\nexercises:\n")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, key_cache: Path) -> Path:  # noqa: ARG001
    """Write a course of two parts."""
    folder = tmp_path_factory.mktemp("parts") / "course"
    shutil.copytree(STATISTICS, folder)
    (folder / "course.yml").write_text(with_parts(PARTS), encoding="utf-8")
    return folder


@pytest.fixture
def students(tmp_path: Path, source: Path) -> Path:
    """Make a class that worked on the first part alone."""
    for name in ("ada", "bob"):
        (tmp_path / "class" / name).mkdir(parents=True)
        shutil.copy(source / "solutions" / FIRST, tmp_path / "class" / name)
    return tmp_path / "class"


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ("[{name: a, title: A, exercises: [exercise1]}]", "'exercise2' stands in no part"),
        (
            "[{name: a, title: A, exercises: [exercise1, exercise1, exercise2]}]",
            "'exercise1' stands in two parts",
        ),
        (
            "[{name: a, title: A, exercises: [exercise1, exercies2]}]",
            "no exercise 'exercies2' is declared; did you mean 'exercise2'?",
        ),
        (
            "[{name: a, title: A, exercises: [exercise2, exercise1]}]",
            "exercises are not in the order of the course",
        ),
        (
            "[{name: a, title: A, exercises: [exercise1]}, "
            "{name: a, title: B, exercises: [exercise2]}]",
            "the part 'a' is declared twice",
        ),
    ],
    ids=["left", "twice", "unknown", "order", "names"],
)
def test_parts_divide_the_course(parts: str, told: str) -> None:
    with pytest.raises(CourseError, match="parts") as caught:
        parse_course(with_parts(f"parts: {parts}\n"), "course.yml")
    assert told in str(caught.value)


@pytest.mark.long
def test_parts_are_listed_with_a_total_of_each(source: Path, run_grade: RunGrade) -> None:
    shown = run_grade("list", "--course", source).out
    assert "columns  Of columns, 11 points\nexercise1" in shown
    assert "\n\naverages  Of averages, 9 points\nexercise2" in shown
    alone = run_grade("list", "--course", source, "--part", "averages").out
    assert "exercise2" in alone
    assert "exercise1" not in alone
    unknown = run_grade("list", "--course", source, "--part", "average")
    assert unknown.status == 2
    assert "no part 'average'; did you mean averages?" in unknown.err


def test_a_course_without_parts_has_none_to_take(run_grade: RunGrade) -> None:
    shown = run_grade("list", "--course", STATISTICS, "--part", "columns")
    assert (shown.status, "the course has no parts" in shown.err) == (2, True)


@pytest.mark.long
def test_batch_leaves_out_a_part_that_nobody_handed_in(
    source: Path, students: Path, tmp_path: Path, run_grade: RunGrade
) -> None:
    results = tmp_path / "results"
    place = ("batch", students, "-o", results, "--course", source, "--jobs", 1, "--public")
    first = run_grade(*place)
    assert "averages is left out: nobody handed in a file of it" in first.err
    assert "exercise2" not in first.out
    told = json.loads(run_grade("report", results, "--course", source, "--json").out)
    assert told["by_student"][0]["scores"] == {"exercise1": 11}
    shutil.copy(source / "solutions" / SECOND, students / "bob")
    second = run_grade(*place)
    assert "left out" not in second.err
    assert "exercise2" in second.out
    (students / "bob" / SECOND).unlink()
    third = run_grade(*place)  # what was there once is graded again
    assert "left out" not in third.err
    assert "bob  exercise2  9 → 0" in third.out


def _table(results: Path, source: Path, run_grade: RunGrade) -> str:
    lines = run_grade("report", results, "--course", source, "--students").out.splitlines()
    return "\n".join(" ".join(line.split()) for line in lines)


@pytest.mark.long
def test_each_part_has_its_total_where_totals_are_shown(
    source: Path, students: Path, tmp_path: Path, run_grade: RunGrade
) -> None:
    shutil.copy(source / "solutions" / SECOND, students / "bob")
    results = tmp_path / "results"
    run_grade("batch", students, "-o", results, "--course", source, "--jobs", 1, "--public")
    table = _table(results, source, run_grade)
    assert "student ex1 ex2 columns averages total" in table
    assert "bob 11 9 11 9 20" in table
    alone = run_grade("report", results, "--course", source, "--part", "averages", "--students")
    assert "columns" not in alone.out
    assert run_grade("export", results, "-o", tmp_path / "all.csv").status == 0
    assert _row(tmp_path / "all.csv", "bob")["columns_total"] == "11"
    assert _row(tmp_path / "all.csv", "bob")["max_total"] == "20"
    run_grade("export", results, "--part", "averages", "-o", tmp_path / "one.csv")
    row = _row(tmp_path / "one.csv", "bob")
    assert (row["total"], row["max_total"], "exercise1" in row) == ("9", "9", False)
    pages = run_grade("report", results, "--course", source, "--html", tmp_path / "pages")
    assert pages.status == 0
    assert "Of averages" in (tmp_path / "pages" / "students" / "bob.html").read_text("utf-8")


def _row(path: Path, student: str) -> dict[str, str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if row["student"] == student]
    return row


@pytest.mark.long
def test_batch_grades_one_part(
    source: Path, students: Path, tmp_path: Path, run_grade: RunGrade
) -> None:
    place = ("batch", students, "-o", tmp_path / "results", "--course", source, "--public")
    shown = run_grade(*place, "--part", "averages", "--jobs", 1)
    assert "exercise1" not in shown.out
    assert "left out" not in shown.err
    both = run_grade(*place, "--part", "averages", "--only", "exercise1")
    assert (both.status, "not both" in both.err) == (2, True)


@pytest.mark.long
def test_release_of_a_part_has_those_before_it(
    source: Path, tmp_path: Path, run_grade: RunGrade
) -> None:
    def released(part: str) -> tuple[set[str], Any]:
        path = tmp_path / f"{part}.zip"
        run_grade("release", path, "--course", source, "--part", part)
        with zipfile.ZipFile(path) as archive:
            text = archive.read("course.yml").decode()
            names = set(archive.namelist())
        return {n for n in names if n.startswith("exercises/")}, yaml.safe_load(text)

    names, course = released("columns")
    assert names == {f"exercises/{FIRST}"}
    assert [e["file"] for e in course["exercises"]] == [FIRST]
    assert [p["name"] for p in course["parts"]] == ["columns"]
    names, _ = released("averages")
    assert names == {f"exercises/{FIRST}", f"exercises/{SECOND}"}


@pytest.mark.long
def test_pack_and_check_tell_the_points_of_each_part(
    source: Path, tmp_path: Path, run_grade: RunGrade
) -> None:
    work = ("--course", source, "--submission", source / "solutions")
    packed = run_grade("pack", *work, "-o", tmp_path / "all.zip").out
    assert "columns   11 / 11  Of columns\n  averages    9 / 9  Of averages" in packed
    run_grade("pack", *work, "--part", "averages", "-o", tmp_path / "one.zip")
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert set(archive.namelist()) == {SECOND, "receipt.json"}
    checked = run_grade("check", "--all", "--json", *work).out
    assert [part["max_score"] for part in json.loads(checked)["parts"]] == [11, 9]


def test_nbgrader_gets_the_notebooks_of_one_part(source: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbgrader")
    from grader.cli.platforms import run_init

    run_init(tmp_path / "autumn", source, "", part="averages", restore=False)
    found = sorted(path.name for path in (tmp_path / "autumn" / "source").rglob("*.ipynb"))
    assert found == ["exercise2.ipynb"]
    assert (tmp_path / "autumn" / "source" / "running-statistics-averages").is_dir()


def test_a_part_alone_keeps_what_the_course_says(source: Path) -> None:
    course = load_course(source).course
    assert [e.id for e in course.part("averages").exercises] == ["exercise2"]
    assert course.part("") is course
