"""Trainings beside a quick run: a class without them, a student's own, and what is kept of both."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from learning import RIGHT, made
from support import RunGrade

from grader.batch.entries import Entry, find_entries, trainings_ahead
from grader.batch.run import Batch, BatchRequest, run_batch
from grader.course.load import CourseFolder

pytestmark = pytest.mark.usefixtures("key_cache")

FILE = "exercise1_small.py"
WRONG = RIGHT.replace("nn.ReLU()", "nn.Dropout(1.0)")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CourseFolder:
    """Make a course of one model that learns, with a secret and a cache of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "course").mkdir()
    return made(tmp_path / "course")


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """Make a class of two: one model learns, the other one hears nothing."""
    folder = tmp_path / "class"
    for student, text in (("ada", RIGHT), ("bob", WRONG)):
        (folder / student).mkdir(parents=True)
        (folder / student / FILE).write_text(text, encoding="utf-8")
    return folder


def graded(course: CourseFolder, submissions: Path, *, trains: bool) -> tuple[Batch, Any]:
    """Grade a class, and return what was done and each student's check of what was learnt."""
    results = submissions.parent / "results"
    request = BatchRequest(
        course, course.course.exercises, submissions, results, jobs=1, trains=trains
    )
    told: list[str] = []
    done = run_batch(request, tell=told.append)
    assert bool(told) is trains
    documents = [json.loads(p.read_text("utf-8")) for p in (results / "students").glob("*.json")]
    return done, {d["student"]: _learns(d) for d in documents}


def _learns(document: dict[str, Any]) -> tuple[str, float, str]:
    (exercise,) = document["results"]
    (check,) = (c for c in exercise["checks"] if c["id"].endswith("/learns"))
    return check["status"], check["score"], check["message"]


@pytest.mark.long
def test_a_class_is_graded_without_trainings_and_completed_later(
    small: CourseFolder, both: Path
) -> None:
    done, checks = graded(small, both, trains=False)
    assert done.graded == 2
    assert checks == dict.fromkeys(("ada", "bob"), ("skipped", 0, "not trained yet"))
    done, checks = graded(small, both, trains=True)
    assert done.graded == 2
    assert checks["ada"] == ("passed", 3, "")
    status, score, message = checks["bob"]
    assert (status, score) == ("failed", 0)
    assert message.startswith("trained for 150 steps it reaches ")
    done, again = graded(small, both, trains=True)
    assert (done.graded, again) == (0, checks)


def test_how_long_a_class_trains_is_said_before_it_begins(small: CourseFolder, both: Path) -> None:
    (both / "cyd").mkdir()
    (both / "cyd" / "notes.txt").write_text("no file of the exercise", encoding="utf-8")

    entries = find_entries(both, small.course)

    def ahead(jobs: int, entries: Sequence[Entry] = entries) -> str:
        return trainings_ahead(small.course, entries, small.course.exercises, {}, jobs)

    said = "exercise1 trains models: about 2 min in all"
    assert ahead(1).startswith(said)  # two students of 50 seconds
    assert ahead(3).startswith(said.replace("2", "1"))
    assert ahead(1, [one for one in entries if one.student == "cyd"]) == ""


@pytest.mark.long
def test_a_student_trains_and_a_check_of_the_same_text_knows_of_it(
    tmp_path: Path, run_grade: RunGrade
) -> None:
    solution = RIGHT.replace("    return", "    ### BEGIN SOLUTION\n    return")
    (tmp_path / "course").mkdir()
    source = made(tmp_path / "course", text=f"{solution.strip()}\n    ### END SOLUTION\n").root
    bundle, mine = tmp_path / "bundle.zip", tmp_path / "mine"
    run_grade("derive", "--course", source)
    assert run_grade("release", bundle, "--course", source).status == 0
    assert run_grade("start", mine, "--bundle", bundle).status == 0

    def graded(*arguments: str) -> tuple[int, str]:
        done = run_grade(*arguments, cwd=mine, XDG_CACHE_HOME=str(tmp_path / "cache"))
        return done.status, " ".join(f"{done.out} {done.err}".split())

    (mine / "exercises" / FILE).write_text(RIGHT, encoding="utf-8")
    status, said = graded("check", "exercise1")
    assert status == 1
    assert "learns: not trained yet. next train it with `grade train`" in said
    status, said = graded("train", "--html", "curves.html")
    assert status == 0
    assert "exercise1 is trained, which takes a minute or two" in said
    assert "4 / 4 points" in said
    assert '<svg class="curve" role="img"' in (mine / "curves.html").read_text("utf-8")
    status, said = graded("check", "exercise1")
    assert status == 0, said
    (mine / "exercises" / FILE).write_text(WRONG, encoding="utf-8")
    status, said = graded("check", "exercise1")
    assert status == 1
    assert "learns: not trained yet" in said


def test_what_cannot_be_trained_is_said(run_grade: RunGrade, tmp_path: Path) -> None:
    found = run_grade("train", "exercise1", "--submission", str(tmp_path))
    assert found.status == 2
    assert "nothing of exercise1 is trained: `grade check` grades it at once" in found.err
