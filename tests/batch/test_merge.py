"""Results of a class that was graded in shards, brought together."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from class_results import FILE, grade_nothing, keep, result_of, touch
from support import ROOT, RunGrade

from grader.batch.merge import merge_results
from grader.batch.results import About, Results
from grader.classes.summary import summarise
from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.records.people import Person

ROSTER = [Person("Ada"), Person("Bob"), Person("Cleo")]


@pytest.fixture
def shards(tmp_path: Path, folder: CourseFolder) -> tuple[Path, Path]:
    """Grade a class in two folders, each with results of its own."""
    touch(*(tmp_path / "a" / name / FILE for name in ("ada", "Bob")))
    touch(tmp_path / "b" / "cleo" / FILE)
    for one in "ab":
        grade_nothing(tmp_path / f"results-{one}", tmp_path / one, folder.course, ROSTER)
    return tmp_path / "results-a", tmp_path / "results-b"


def merged(shards: Sequence[Path]) -> Path:
    """Add all of them to a new folder."""
    whole = shards[0].with_name("merged")
    for shard in shards:
        merge_results(shard, whole)
    return whole


def kept(results: Path) -> dict[str, Any]:
    """Return what is kept of a class, but for when attempts were made."""
    files = {path.name: path.read_bytes() for path in sorted((results / "students").iterdir())}
    with closing(sqlite3.connect(results / "results.sqlite")) as database:
        about = dict(database.execute("SELECT * FROM about"))
        tables: Any = {"about": {name: json.loads(about[name]) for name in ("folders", "roster")}}
        for table in ("students", "results", "handed", "origins"):
            tables[table] = sorted(database.execute(f"SELECT * FROM {table}"))
    return {**files, **tables}


def test_shards_are_the_class_that_was_graded_at_once(
    shards: tuple[Path, Path], folder: CourseFolder, tmp_path: Path
) -> None:
    at_once = tmp_path / "at-once"
    for one in "ab":
        grade_nothing(at_once, tmp_path / one, folder.course, ROSTER, merge=True)
    found = merged(shards)
    assert kept(found) == kept(at_once)
    assert summarise(found, folder.course) == summarise(at_once, folder.course)


def test_shard_that_was_graded_again_takes_its_own_place(
    shards: tuple[Path, Path], folder: CourseFolder, tmp_path: Path
) -> None:
    found = merged(shards)
    (tmp_path / "a" / "Bob").rename(tmp_path / "a" / "Bobby")
    other = tmp_path / "other"
    grade_nothing(other, tmp_path / "a", folder.course, ROSTER)
    assert merge_results(other, found) == 2
    anew = tmp_path / "anew"
    for shard in (other, shards[1]):
        merge_results(shard, anew)
    assert kept(found) == kept(anew)


def test_who_is_in_two_shards_is_refused(
    shards: tuple[Path, Path], folder: CourseFolder, tmp_path: Path
) -> None:
    touch(tmp_path / "c" / "ada" / FILE, tmp_path / "c" / "dora" / FILE)
    grade_nothing(tmp_path / "results-c", tmp_path / "c", folder.course)
    found = merged(shards)
    before = kept(found)
    with pytest.raises(UsageError, match=r"have results of the same: ada\. `grade batch` with"):
        merge_results(tmp_path / "results-c", found)
    assert kept(found) == before


def test_results_that_cannot_be_added_are_refused(
    shards: tuple[Path, Path], folder: CourseFolder, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="is to be added to itself"):
        merge_results(shards[0], shards[0])
    other = Results(tmp_path / "other", About(folder.course.title, "hidden", "another"))
    keep(other, "dora", result_of(1.0))
    other.close()
    with pytest.raises(UsageError, match="on the hidden cases of another secret"):
        merge_results(tmp_path / "other", shards[0])
    with closing(sqlite3.connect(shards[1] / "results.sqlite")) as database, database:
        database.execute("INSERT INTO about VALUES ('running', '\"there\"')")
    with pytest.raises(UsageError, match="results-b: its run was stopped"):
        merge_results(shards[1], shards[0])


def test_command_adds_results_and_says_what_it_did(
    shards: tuple[Path, Path], run_program: RunGrade
) -> None:
    ours, theirs = map(str, shards)
    shown = run_program("batch", theirs, "-o", ours, cwd=ROOT)
    assert shown.status == 2
    assert f"{theirs} holds results, and no submissions: --merge adds them" in shown.err
    shown = run_program("batch", theirs, "-o", ours, "--merge", cwd=ROOT)
    assert shown.status == 0
    assert "3 students" in shown.out
    assert f"1 submission added from {theirs}; results in {ours}" in shown.err
