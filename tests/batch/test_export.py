"""Scores for other systems: their forms, and cells that stay text."""

import csv
import io
import json
from pathlib import Path

import pytest
from class_results import keep, result_of
from hypothesis import given
from hypothesis import strategies as st

from grader.batch.export import Format, ScoreRow, export_rows
from grader.batch.results import About, Results
from grader.batch.scores import read_results
from grader.cli.export import run_export
from grader.errors import UsageError
from grader.records.results import Status

MARKUP = '=cmd|"/c calc"!A1'


def kept(folder: Path, *students: tuple[str, Status]) -> Path:
    """A results folder as grade batch leaves it, with one exercise of each student."""
    results = Results(folder, About("A course", "hidden"))
    for student, status in students:
        keep(results, student, result_of(1.5, status))
    results.close()
    return folder


ROWS = [
    ScoreRow("ada", "part1", "exercise1", 3.5, 4, 0.5, "Ada", "Lovelace", "a@b.org", "good"),
    ScoreRow("ada", "part1", "exercise2", 6, 6, 0, "Ada", "Lovelace", "a@b.org"),
    ScoreRow("bob", "part1", "exercise1", 0, 4),
]


def table(rows: list[ScoreRow], to: Format) -> list[list[str]]:
    (file,) = export_rows(rows, to)
    return list(csv.reader(io.StringIO(file.text)))


def test_csv_has_one_line_a_student_and_one_column_an_exercise() -> None:
    head, ada, bob = table(ROWS, Format.CSV)
    assert dict(zip(head, ada, strict=True)) | {"total": "9.5", "max_total": "10"} == dict(
        zip(head, ada, strict=True)
    )
    assert dict(zip(head, bob, strict=True))["exercise2"] == ""


def test_canvas_has_the_line_of_points_possible() -> None:
    head, possible, ada, _ = table(ROWS, Format.CANVAS)
    assert head[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert possible == ["    Points Possible", "", "", "", "", "10"]
    assert ada == ["Lovelace, Ada", "", "ada", "ada", "", "9.5"]


def test_moodle_identifies_students_by_id_and_address() -> None:
    head, ada, _ = table(ROWS, Format.MOODLE)
    assert head[0] == "ID number"
    assert ada == ["ada", "Ada", "Lovelace", "a@b.org", "9.5", "exercise1: good"]


def test_gradescope_has_one_file_a_student() -> None:
    files = {file.name: json.loads(file.text) for file in export_rows(ROWS, Format.GRADESCOPE)}
    assert sorted(files) == ["ada/results.json", "bob/results.json"]
    assert files["ada/results.json"]["score"] == 9.5
    assert files["ada/results.json"]["tests"][0]["max_score"] == 4


@pytest.mark.parametrize("to", list(Format))
def test_nobody_is_no_trouble(to: Format) -> None:
    assert len(export_rows([], to)) == (0 if to is Format.GRADESCOPE else 1)


@pytest.mark.parametrize("to", [Format.CSV, Format.CANVAS, Format.MOODLE])
@given(st.text(st.sampled_from("=+-@\t\r\n ,\"'ax1")))
def test_no_cell_becomes_a_formula(to: Format, text: str) -> None:
    row = ScoreRow(text, text, text, 1, 1, 0, text, text, text, text)
    for line in table([row], to):
        for cell in line:
            assert cell in ("    Points Possible", "1", "0", "") or not cell.lstrip(" ").startswith(
                ("=", "+", "-", "@", "\t", "\r")
            )


def test_negative_numbers_stay_numbers() -> None:
    (_, line) = table([ScoreRow("ada", "a", "e", -1.5, 2)], Format.CSV)
    assert "-1.5" in line


@pytest.mark.parametrize("student", ["../../etc/passwd", "a/b", "", "a\nb", "é"])
def test_gradescope_files_stay_in_their_folder(student: str) -> None:
    (file,) = export_rows([ScoreRow(student, "a", "e", 1, 1)], Format.GRADESCOPE)
    folder, name = file.name.split("/")
    assert name == "results.json"
    assert folder.isascii()
    assert ".." not in folder


@pytest.mark.parametrize("to", list(Format))
def test_results_of_a_batch_leave_in_every_format(
    to: Format, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kept(tmp_path / "results", ("ada", Status.FAILED), (MARKUP, Status.FAILED))
    out = tmp_path / "out"
    run_export(folder, "", to, out)
    assert capsys.readouterr().out == f"wrote {out}: 2 students, {to}\n"
    texts = [p.read_text("utf-8") for p in [out, *out.glob("*/*")] if p.is_file()]
    assert len(texts) == (2 if to is Format.GRADESCOPE else 1)
    assert all("1.5" in text for text in texts)
    if to is not Format.GRADESCOPE:
        cells = [cell for line in csv.reader(io.StringIO(texts[0])) for cell in line]
        assert f"'{MARKUP}" in cells
        assert MARKUP not in cells


def test_results_of_a_batch_say_what_the_mistake_is(tmp_path: Path) -> None:
    (row,) = read_results(kept(tmp_path, ("ada", Status.FAILED))).rows
    assert row.assignment == "A course"
    assert row.comment == "It is the bug. Hint: look again"


def test_fault_of_ours_costs_nobody_a_point(tmp_path: Path) -> None:
    scores = read_results(kept(tmp_path, ("ada", Status.FAILED), ("bob", Status.ERROR)))
    assert [row.student for row in scores.rows] == ["ada"]
    (note,) = scores.notes
    assert note.startswith(
        "'bob' is left out: exercise1 was not graded, by a fault of grader's own"
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [((), "is neither: name"), (("gradebook.db", "results.sqlite"), "holds both")],
)
def test_source_that_is_not_clear_is_one_line(
    files: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(UsageError, match=said) as caught:
        run_export(tmp_path, "", "csv", tmp_path / "out")
    assert "\n" not in str(caught.value)
