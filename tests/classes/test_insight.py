"""What a class knows: who made a mistake, who fixed it, and what to teach again."""

import json
import sqlite3
from pathlib import Path

import pytest
from feedback_class import keep, moodle, open_results, result
from support import ROOT

from grader.classes.insight import Insight, read_insight
from grader.classes.summary import summarise
from grader.cli.batch import run_report
from grader.course.load import CourseFolder

RIGHT: tuple[str, ...] = ()


def insight(place: Path, folder: CourseFolder) -> Insight:
    return read_insight(place, folder, summarise(place, folder.course))


@pytest.fixture
def term(tmp_path: Path, folder: CourseFolder) -> Path:
    """Give results of four: two fixed a mistake, one made another, one handed in once."""
    names = ("Ada", "Bob", "Cleo", "Dan")
    entries = [moodle(name, str(n)) for n, name in enumerate(names)]
    results = open_results(tmp_path, folder.course.title, entries)
    try:
        before, after = "2026-10-01T10:00:00+00:00", "2026-10-08T10:00:00+00:00"
        for one in entries:
            keep(results, one.student, result("x", bugs=("missing-scale",)), "x", time=before)
        now = {"Ada_0": RIGHT, "Bob_1": RIGHT, "Cleo_2": ("softmax-over-queries",)}
        for student, bugs in now.items():
            score = 1.0 if bugs else 4.0
            again = result("x", bugs=bugs, score=score)
            keep(results, student, again, "x", time=after, text="b")
        results.finish()
    finally:
        results.close()
    return tmp_path


def test_mistakes_tell_who_makes_them_and_how_many_fixed_them(
    term: Path, folder: CourseFolder
) -> None:
    found = {one.mistake: one for one in insight(term, folder).mistakes}
    old, new = found[("missing-scale",)], found[("softmax-over-queries",)]
    assert (old.students, old.before, old.fixed) == (("Dan",), 3, 3)
    assert (new.students, new.before, new.fixed) == (("Cleo",), 0, 0)


def test_attempts_are_those_of_other_text(term: Path, folder: CourseFolder) -> None:
    line = insight(term, folder).time_line
    assert line.unit == "day"
    assert [c.attempts for c in line.columns] == [4, 0, 0, 0, 0, 0, 0, 3]
    assert [(t.number, t.attempts, t.share) for t in line.turns] == [(1, 4, 0.25), (2, 3, 0.75)]


def test_the_same_text_graded_again_is_no_attempt(term: Path, folder: CourseFolder) -> None:
    """Not by another state of the course, either."""
    results = open_results(term, folder.course.title, [moodle("Dan", "3")])
    keep(results, "Dan_3", result("x", bugs=RIGHT, score=4.0), "x", key="another")
    results.close()
    found = insight(term, folder)
    assert [(t.number, t.attempts) for t in found.time_line.turns] == [(1, 4), (2, 3)]
    assert next(m for m in found.mistakes if m.mistake == ("missing-scale",)).students == ()


def test_topic_is_the_lessons_passage_on_a_mistake_of_several(
    tmp_path: Path, folder: CourseFolder
) -> None:
    entries = [moodle(name, str(n)) for n, name in enumerate(("Ada", "Bob", "Cleo"))]
    results = open_results(tmp_path, folder.course.title, entries)
    for one, bugs in zip(entries, (("softmax-unstable",),) * 2 + (RIGHT,), strict=True):
        keep(results, one.student, result("x", bugs=bugs), "x")
    results.close()
    (topic,) = insight(tmp_path, folder).teach_again
    assert (topic.exercise, topic.students, topic.of) == ("exercise1", 2, 3)
    assert topic.mistakes == (("softmax-unstable",),)
    assert topic.section == "Traps"
    assert topic.text.startswith("`nan` for large scores.")


def test_one_students_mistake_is_no_topic(term: Path, folder: CourseFolder) -> None:
    assert all(topic.students > 1 for topic in insight(term, folder).teach_again)


def test_results_of_before_attempts_were_kept_are_read(term: Path, folder: CourseFolder) -> None:
    database = sqlite3.connect(term / "results.sqlite")
    database.executescript("DROP TABLE attempts; DROP TABLE shown;")
    database.close()
    found = insight(term, folder)
    assert found.time_line.columns == ()
    assert [one.before for one in found.mistakes] == [0, 0]


def test_json_has_all_of_it(term: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_report(term, ROOT, students=False, as_json=True, html=None) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"distribution", "items", "mistakes", "time_line", "teach_again"} <= set(told)
    target, shape, numeric = told["items"]
    assert (target["target"], target["check"], target["pass_rate"]) == ("self_attention", "", 0.5)
    assert (shape["check"], shape["difficulty"]) == ("shape", 1.0)
    assert numeric["difficulty"] == 0.5
    assert numeric["discrimination"]["value"] is None
    assert numeric["discrimination"]["why"] == "too few: 4 of the 30 submissions it takes"
    assert told["distribution"][0]["students"] == 4
