"""A class of submissions: whose they are, what is read, what is kept, and what a kill leaves."""

import contextlib
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, TESTS, RunGrade, as_anybody, edited

from grader.batch.database import reading
from grader.batch.entries import Entry, find_entries, find_others, read_entry
from grader.batch.run import Batch, BatchRequest, run_batch
from grader.batch.shown import Shown
from grader.classes.summary import summarise
from grader.cli.shared import ProgressBar
from grader.course.load import CourseFolder, load_course
from grader.errors import InternalError, UsageError
from grader.execute import isolation
from grader.execute.isolation import Level
from grader.handin.gather import Part

COURSE = TESTS / "courses" / "statistics"
FIRST, SECOND = "exercise1_columns.py", "exercise2_average.py"
ATTENTION, HEADS = "exercise1_attention.py", "exercise3_multi_head.py"
RIGHT = {name: (COURSE / "solutions" / name).read_text("utf-8") for name in (FIRST, SECOND)}
WRONG = edited(RIGHT[FIRST], ("    return standardized\n", "    return standardized * 2\n"))


@pytest.fixture(scope="module")
def statistics(key_cache: Path) -> CourseFolder:  # noqa: ARG001 - keys are built
    """Read the second course, which is quick to grade."""
    return load_course(COURSE)


@pytest.fixture(autouse=True)
def _own_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path.parent / "data"
    monkeypatch.setenv("XDG_DATA_HOME", str(data))
    secret = data / "grade" / "secrets" / "running-statistics.secret"
    secret.parent.mkdir(parents=True, exist_ok=True)
    secret.write_bytes(b"x" * 32)  # one secret, so that one key serves all tests


def hand_in(folder: Path, **files: str) -> Path:
    """Write a student's folder; `first` and `second` are the two exercises."""
    folder.mkdir(parents=True)
    names = {"first": FIRST, "second": SECOND}
    for name, text in files.items():
        (folder / names[name]).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Make a class of three: right, wrong, and with half of it."""
    folder = tmp_path / "class"
    hand_in(folder / "ada", first=RIGHT[FIRST], second=RIGHT[SECOND])
    hand_in(folder / "bob", first=WRONG, second=RIGHT[SECOND])
    hand_in(folder / "cy", first=RIGHT[FIRST])
    return folder


def batch(course: CourseFolder, submissions: Path, results: Path, **options: Any) -> Batch:
    """Grade a class by one process."""
    request = BatchRequest(course, course.course.exercises, submissions, results, jobs=1)
    return run_batch(replace(request, **options))


def documents(results: Path) -> dict[str, Any]:
    """Return what is told of each student."""
    found = [json.loads(path.read_text("utf-8")) for path in (results / "students").glob("*.json")]
    return {document["student"]: document for document in found}


def scores(results: Path) -> dict[str, float]:
    """Return each student's score."""
    return {student: document["score"] for student, document in documents(results).items()}


# ---- whose it is ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paths", "students"),
    [
        pytest.param(["ada/x.py", "bob/x.py"], ["ada", "bob"], id="folders"),
        pytest.param(["ada.zip", "bob.zip"], ["ada", "bob"], id="zips"),
        pytest.param(
            ["ada_exercise1_attention.py", "ada-exercise3.ipynb", "bob_exercise1.py"],
            ["ada", "bob"],
            id="files",
        ),
        pytest.param(
            [
                "Ada Byron_12_assignsubmission_file_/x.py",
                "Ada Byron_13_assignsubmission_file_/x.py",
            ],
            ["Ada Byron_12", "Ada Byron_13"],
            id="Moodle-folders",
        ),
        pytest.param(
            ["Ada Byron_12_assignsubmission_file_exercise1_attention.py"],
            ["Ada Byron_12"],
            id="Moodle-files",
        ),
        pytest.param(
            ["byronada_LATE_11_900_exercise1_attention.py", "byronada_11_901_exercise3.py"],
            ["byronada_11"],
            id="Canvas",
        ),
        pytest.param(
            ["submission_7/x.py", "submission_8/x.py"], ["a@x.org", "s8"], id="Gradescope"
        ),
        pytest.param(["ada/x.py", ".git/x.py", "__MACOSX/x.py", "notes.txt"], ["ada"], id="litter"),
    ],
)
def test_find_entries_knows_platforms(
    paths: list[str], students: list[str], tmp_path: Path, folder: CourseFolder
) -> None:
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    (tmp_path / "submission_metadata.yml").write_text(
        "submission_7:\n  :submitters:\n  - :name: A\n    :email: a@x.org\n"
        "submission_8:\n  :submitters:\n  - :name: B\n    :sid: s8\n"
    )
    assert [entry.student for entry in find_entries(tmp_path, folder.course)] == students


def test_whatever_stands_in_a_class_folder_has_a_row_or_a_note(
    tmp_path: Path, folder: CourseFolder
) -> None:
    for name in ("ada", ".eve", "ada_exercise1.py", ".git"):
        (tmp_path / name).mkdir() if "." not in name[1:] else (tmp_path / name).write_text("")
    for name in ("bob.tar.gz", "cy.7z", "notes.txt", ".DS_Store", "._ada", "x.PY", "dan.rar"):
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "ada")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    entries = find_entries(tmp_path, folder.course)
    rows = {part.path.name for entry in entries for part in entry.parts}
    notes = find_others(tmp_path, folder.course)
    noted = {note.split()[0] for note in notes}
    assert rows | noted == {path.name for path in tmp_path.iterdir()} - {".DS_Store", "._ada"}
    assert noted == {".eve", ".git", "notes.txt", "pipe"}
    assert {"bob", "cy", "dan"} <= {entry.student for entry in entries}


def test_archive_of_another_kind_is_a_row_that_says_what_to_do(
    tmp_path: Path, folder: CourseFolder
) -> None:
    (tmp_path / "bob.tar.gz").write_text("")
    (entry,) = find_entries(tmp_path, folder.course)
    said = "bob.tar.gz is an archive that is not read: make a zip of the files"
    assert (entry.student, read_entry(entry, folder.course).notes) == ("bob", (said,))


def test_find_entries_grades_two_submissions_of_one_student_apart(
    tmp_path: Path, folder: CourseFolder
) -> None:
    (tmp_path / "Ada").mkdir()
    (tmp_path / "ada.zip").write_bytes(b"")
    entries = find_entries(tmp_path, folder.course)
    assert [entry.student for entry in entries] == ["Ada", "ada.zip"]
    assert all("2 submissions of one student" in entry.notes[0] for entry in entries)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere", "is not there"),
        ("file.zip", "unzip it first"),
        ("empty", "holds no submissions"),
    ],
)
def test_find_entries_says_what_is_missing(
    name: str, said: str, tmp_path: Path, folder: CourseFolder
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.zip").write_bytes(b"")
    with pytest.raises(UsageError, match=said):
        find_entries(tmp_path / name, folder.course)


# ---- what is read --------------------------------------------------------------------------------


def read(
    path: Path, folder: CourseFolder, name: str = ""
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Read one part; return the text, or the problem, of exercises 1 and 3, and the notes."""
    handed = read_entry(Entry("ada", (Part(path, name or path.name),)), folder.course)
    sources = handed.submission.sources
    told = {
        e: sources[e].units[0][1] if sources[e].units else sources[e].problem
        for e in ("exercise1", "exercise3")
    }
    return told, handed.notes


def test_read_entry_looks_into_folders(tmp_path: Path, folder: CourseFolder) -> None:
    (tmp_path / "ada" / "homework" / "exercises").mkdir(parents=True)
    (tmp_path / "ada" / "homework" / "exercises" / ATTENTION).write_text("deep")
    (tmp_path / "ada" / HEADS).write_text("top")
    assert read(tmp_path / "ada", folder) == ({"exercise1": "deep", "exercise3": "top"}, ())


def test_read_entry_prefers_the_top_and_the_last_attempt(
    tmp_path: Path, folder: CourseFolder
) -> None:
    (tmp_path / "ada" / "old").mkdir(parents=True)
    (tmp_path / "ada" / "old" / ATTENTION).write_text("old")
    (tmp_path / "ada" / ATTENTION).write_text("new")
    (tmp_path / "ada" / "exercise3_multi_head-1.py").write_text("second")
    (tmp_path / "ada" / HEADS).write_text("first")
    told, _ = read(tmp_path / "ada", folder)
    assert told == {"exercise1": "new", "exercise3": "second"}
    handed = read_entry(Entry("ada", (Part(tmp_path / "ada", "ada"),)), folder.course)
    notes = [handed.submission.sources[e].notes for e in ("exercise1", "exercise3")]
    assert notes == [
        (f"{ATTENTION} was graded, and not old/{ATTENTION}",),
        (f"exercise3_multi_head-1.py was graded, and not {HEADS}",),
    ]


@pytest.mark.parametrize("inside", [False, True], ids=["zip", "zip-in-folder"])
def test_read_entry_reads_zips(inside: bool, tmp_path: Path, folder: CourseFolder) -> None:
    (tmp_path / "ada").mkdir()
    with zipfile.ZipFile(tmp_path / "ada" / "work.zip", "w") as archive:
        archive.writestr(f"work/{ATTENTION}", "zipped")
    path = tmp_path / "ada" if inside else tmp_path / "ada" / "work.zip"
    assert read(path, folder)[0]["exercise1"] == "zipped"


def test_read_entry_refuses_links_and_bombs(tmp_path: Path, folder: CourseFolder) -> None:
    (tmp_path / "link").symlink_to(COURSE / "solutions", target_is_directory=True)
    told, notes = read(tmp_path / "link", folder)
    assert told["exercise1"] == "link is a link: hand in the files themselves"
    assert notes == ("link is a link: hand in the files themselves",)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ATTENTION, b"#" * (1 << 26))
    told, notes = read(tmp_path / "bomb.zip", folder)
    assert "larger than 2048 KiB" in told["exercise1"]
    assert notes == (told["exercise1"],)


def test_read_entry_refuses_many_archives_before_it_unpacks_them(
    tmp_path: Path, folder: CourseFolder
) -> None:
    (tmp_path / "ada").mkdir()
    for number in range(9):
        (tmp_path / "ada" / f"{number}.zip").write_text("no zip")
    assert read(tmp_path / "ada", folder)[1] == (
        "ada holds more than 8 archives: hand in the files themselves",
    )
    parts = tuple(Part(tmp_path / "ada" / f"{n}.zip", f"{n}.zip") for n in range(9))
    assert read_entry(Entry("ada", parts), folder.course).notes == (
        *(f"{n}.zip is not a zip archive: make a zip of the files" for n in range(8)),
        "8.zip stands among more than 8 archives: hand in the files themselves",
    )


def test_read_entry_tells_of_work_under_other_names(tmp_path: Path, folder: CourseFolder) -> None:
    for name in ("ada", "bob"):
        (tmp_path / name).mkdir()
    (tmp_path / "ada" / "homework.py").write_text("x = 1")
    told = "no exercise's file was handed in, but {}"
    said = f"{told}: give files the names of the stubs, or say --file EXERCISE=NAME"
    assert read(tmp_path / "ada", folder)[1] == (said.format("homework.py"),)
    assert read(tmp_path / "bob", folder)[1] == (said.format("no .py file or notebook"),)


def test_read_entry_does_not_follow_a_linked_folder(tmp_path: Path, folder: CourseFolder) -> None:
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "work").symlink_to(ROOT / "solutions", target_is_directory=True)
    assert read(tmp_path / "ada", folder)[0]["exercise1"] == f"{ATTENTION} is not there"


def test_read_entry_tells_what_is_closed(tmp_path: Path, folder: CourseFolder) -> None:
    for name, mode in (("ada", 0o644), ("bob", 0o311)):
        (tmp_path / name).mkdir()
        (tmp_path / name / ATTENTION).write_text("x = 1")
        (tmp_path / name).chmod(mode)
    said = "cannot be read (Permission denied)"
    with as_anybody():
        ada, bob = read(tmp_path / "ada", folder), read(tmp_path / "bob", folder)
    assert ada[0]["exercise1"] == f"{ATTENTION} {said}"
    assert bob[1] == (f"bob {said}: check its permissions",)
    tmp_path.chmod(0o600)
    with as_anybody(), pytest.raises(UsageError, match="cannot be read: Permission denied"):
        find_entries(tmp_path, folder.course)
    tmp_path.chmod(0o700)


def test_read_entry_refuses_what_changes_meanwhile(
    tmp_path: Path, folder: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ATTENTION
    path.write_text("half")
    read_now = os.read

    def read_slowly(descriptor: int, count: int) -> bytes:
        path.write_text("another half")
        return read_now(descriptor, count)

    monkeypatch.setattr(os, "read", read_slowly)
    told, _ = read(path, folder)
    assert told["exercise1"] == f"{ATTENTION} was changed while it was read"


# ---- what is kept --------------------------------------------------------------------------------


@pytest.mark.long
def test_batch_keeps_scores_and_a_summary(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    done = batch(statistics, three, tmp_path / "results")
    kept = documents(tmp_path / "results")
    assert kept["ada"]["score"] == kept["ada"]["max_score"] > 0
    assert 0 < kept["bob"]["score"] < kept["ada"]["score"]
    assert 0 < kept["cy"]["score"] < kept["ada"]["score"]
    summary = summarise(tmp_path / "results", statistics.course)
    assert (done.graded, done.unchanged, summary.students) == (3, 0, 3)
    assert [e.handed_in for e in summary.exercises] == [3, 2]
    assert [e.full for e in summary.exercises] == [2, 2]
    assert kept["bob"]["split"] == "hidden"
    batch(statistics, three, tmp_path / "public", hidden=False)
    told, public = (_expected(documents(tmp_path / name)["bob"]) for name in ("results", "public"))
    assert told
    assert told.items() <= public.items()  # no expected value of a hidden case is told


@pytest.mark.long
def test_pictures_of_a_hidden_result_are_those_of_the_public_cases(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    batch(statistics, three, tmp_path / "hidden")
    batch(statistics, three, tmp_path / "public", hidden=False)
    hidden, public = (_pictures(tmp_path / name) for name in ("hidden", "public"))
    assert hidden == public
    assert {student for student, drawn in hidden.items() if drawn} == {"bob"}


def _pictures(results: Path) -> dict[str, list[str]]:
    """Return what is drawn of each student's first exercise."""
    asked = "SELECT student, page FROM shown WHERE exercise = 'exercise1'"
    with reading(results) as database:
        shown = {student: Shown.parse(page) for student, page in database.execute(asked)}
    return {s: [repr((e.case, e.panels, e.drawing)) for e in o.exhibits] for s, o in shown.items()}


def _expected(document: dict[str, Any]) -> dict[str, str]:
    checks = [check for result in document["results"] for check in result["checks"]]
    return {check["id"]: repr(check["expected"]) for check in checks if check["expected"]}


@pytest.mark.long
def test_batch_keeps_students_with_odd_names_apart(
    tmp_path: Path, statistics: CourseFolder
) -> None:
    digest = hashlib.sha256(b"ada!").hexdigest()
    folder = tmp_path / "class"
    for name in ("ada!", f"ada-{digest[:8]}", f"ada-{digest[:16]}", "bob"):
        hand_in(folder / name, first=RIGHT[FIRST])
    for name in ("bob.zip", "bob.zip.zip"):
        with zipfile.ZipFile(folder / name, "w") as made:
            made.writestr(FIRST, RIGHT[FIRST])
    odd = 0
    with contextlib.suppress(OSError):  # a disk that takes UTF-8 alone
        os.mkdir(os.fsencode(folder) + b"/cy\xff")
        odd = 1
    batch(statistics, folder, tmp_path / "results")
    assert len(documents(tmp_path / "results")) == 6 + odd


def test_batch_grades_only_what_is_new_or_changed(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    results = tmp_path / "results"
    batch(statistics, three, results)
    before = {p.name: p.stat().st_mtime_ns for p in (results / "students").iterdir()}
    (three / "bob" / FIRST).write_text(RIGHT[FIRST], encoding="utf-8")
    hand_in(three / "di", second=RIGHT[SECOND])
    done = batch(statistics, three, results)
    after = {p.name: p.stat().st_mtime_ns for p in (results / "students").iterdir()}
    assert (done.graded, done.unchanged) == (2, 2)
    assert {name for name in after if after[name] != before.get(name)} == {"bob.json", "di.json"}
    assert scores(results)["bob"] == scores(results)["ada"]
    assert batch(statistics, three, results, force=True).graded == 4


def test_batch_notes_what_it_left_aside(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    (three / "grades.csv").write_text("ada, 3")
    (three / ".dee").mkdir()
    batch(statistics, three, tmp_path / "r")
    told = {r.text for r in summarise(tmp_path / "r", statistics.course).remarks}
    assert any(text.startswith("grades.csv is no submission and was not graded") for text in told)
    assert any(text.startswith(".dee is hidden and was not graded") for text in told)
    (three / "grades.csv").unlink()
    batch(statistics, three, tmp_path / "r")
    told = {r.text for r in summarise(tmp_path / "r", statistics.course).remarks}
    assert not any("grades.csv" in text for text in told)


def test_batch_only_keeps_the_other_exercises(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    results = tmp_path / "results"
    first, second = statistics.course.exercises
    batch(statistics, three, results, exercises=[first])
    assert [r["exercise"] for r in documents(results)["bob"]["results"]] == ["exercise1"]
    batch(statistics, three, results, exercises=[second])
    assert [r["exercise"] for r in documents(results)["bob"]["results"]] == [first.id, second.id]


@pytest.mark.long
def test_batch_is_the_same_by_any_number_of_jobs(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    for jobs in (1, 3):
        batch(statistics, three, tmp_path / f"results-{jobs}", jobs=jobs)
    one, many = (
        {p.name: p.read_bytes() for p in (tmp_path / f"results-{jobs}" / "students").iterdir()}
        for jobs in (1, 3)
    )
    assert one == many


@pytest.mark.long
def test_batch_regrades_when_the_course_changes(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    batch(statistics, three, tmp_path / "results")
    shutil.copytree(COURSE, tmp_path / "course")
    text = (COURSE / "course.yml").read_text("utf-8").replace("draws: 2", "draws: 1")
    (tmp_path / "course" / "course.yml").write_text(text, encoding="utf-8")
    assert batch(load_course(tmp_path / "course"), three, tmp_path / "results").graded == 3


def test_batch_refuses_results_of_another_kind(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    batch(statistics, three, tmp_path / "results")
    with pytest.raises(UsageError, match=r"split: hidden, not public"):
        batch(statistics, three, tmp_path / "results", hidden=False)
    with sqlite3.connect(tmp_path / "results" / "results.sqlite") as database:
        database.execute("UPDATE about SET value = '99' WHERE name = 'results_version'")
    database.close()
    with pytest.raises(UsageError, match=r"results version: 99, not 2"):
        batch(statistics, three, tmp_path / "results")


def test_results_are_not_mixed_with_those_on_another_secrets_cases(
    statistics: CourseFolder, three: Path, tmp_path: Path
) -> None:
    batch(statistics, three, tmp_path / "results")
    kept = scores(tmp_path / "results")
    (path,) = (tmp_path.parent / "data" / "grade" / "secrets").glob("*.secret")
    marks = list(path.parent.glob("*.mark"))
    old = path.read_bytes()
    try:
        path.write_bytes(b"y" * 32)
        marks[0].unlink()  # as on another machine
        with pytest.raises(UsageError, match=r"the hidden cases of another secret"):
            batch(statistics, three, tmp_path / "results")
    finally:
        path.write_bytes(old)
        marks[0].unlink(missing_ok=True)
    assert scores(tmp_path / "results") == kept


def test_batch_takes_a_file_of_another_name_and_a_roster(
    three: Path, tmp_path: Path, run_grade: RunGrade
) -> None:
    (three / "cy" / FIRST).rename(three / "cy" / "hw1-1.py")
    (tmp_path / "class.csv").write_text("name,email\nCy Twombly,cy@x.org\nDi,di@x.org\n")
    options = ("--course", COURSE, "--jobs", 1, "--file", "exercise1=hw1.py", "--roster")
    place = (three, "-o", tmp_path / "results")
    shown = run_grade("batch", *place, *options, tmp_path / "class.csv")
    assert shown.status == 0
    assert "4 students" in shown.out
    assert "handed in nothing (1): Di" in shown.out
    first = scores(tmp_path / "results")
    assert first["cy"] > 0
    again = run_grade("batch", *place, "--course", COURSE, "--jobs", 1)
    assert "0 graded now" in again.err  # the results keep the other name
    assert scores(tmp_path / "results") == first
    assert "3 submissions compared" in run_grade(
        "similar", tmp_path / "results", "--course", COURSE
    ).out.replace("Not compared", "")
    wrong = run_grade("batch", *place, "--course", COURSE, "--file", "exercise1=a/b.py")
    assert (wrong.status, wrong.err.count("\n")) == (2, 1)


def test_batch_refuses_results_among_the_submissions(three: Path, statistics: CourseFolder) -> None:
    with pytest.raises(UsageError, match="lies inside of the submissions"):
        batch(statistics, three, three / "results")


def test_batch_refuses_a_machine_without_walls_unless_told(
    three: Path, tmp_path: Path, statistics: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = isolation.Isolation(Level.PROCESS, ())
    monkeypatch.setattr(isolation, "probe", lambda: bare)
    with pytest.raises(UsageError, match=r"at level process, not landlock.*--isolation process"):
        batch(statistics, three, tmp_path / "results")
    done = batch(statistics, three, tmp_path / "results", isolation=Level.PROCESS)
    assert (done.reach.isolation, done.graded) == (Level.PROCESS, 3)


def test_batch_reports_a_place_that_cannot_be_written(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InternalError, match="results cannot be kept in"):
        batch(statistics, three, tmp_path / "file" / "results")


def test_batch_reports_a_database_of_something_else(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as database:
        database.executescript(
            "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT); CREATE TABLE results (x)"
        )
    with pytest.raises(InternalError, match=r"results cannot be kept in .*: no such column"):
        batch(statistics, three, tmp_path)


def test_batch_reports_a_full_disk_and_goes_on_later(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    with _file_size(20_000), pytest.raises(InternalError, match="results cannot be kept in"):
        batch(statistics, three, tmp_path / "results")
    batch(statistics, three, tmp_path / "results")
    assert set(scores(tmp_path / "results")) == {"ada", "bob", "cy"}


@contextmanager
def _file_size(limit: int) -> Iterator[None]:
    """Let no file of this process grow beyond `limit` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# ---- faults --------------------------------------------------------------------------------------


def command(submissions: Path, results: Path) -> list[str]:
    """Return the command line of a batch on one job."""
    script = str(Path(sys.executable).with_name("grade"))
    places = [str(submissions), "-o", str(results), "--course", str(COURSE), "--jobs", "1"]
    return [script, "batch", *places]


_KILLED = 30  # submissions, more than three short runs grade


@pytest.mark.long
def test_batch_survives_being_killed(tmp_path: Path, statistics: CourseFolder) -> None:
    folder, results = tmp_path / "class", tmp_path / "results"
    for index in range(_KILLED):
        hand_in(folder / f"student{index:02}", first=RIGHT[FIRST] + f"# {index}\n")
    chance = random.Random(5)
    for _ in range(3):
        process = subprocess.Popen(
            command(folder, results), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        before = len(list((results / "students").glob("*.json")))
        _wait_for(lambda: len(list((results / "students").glob("*.json"))) > before)  # noqa: B023
        time.sleep(chance.random() / 8)
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = scores(results)
    done = batch(statistics, folder, results)
    assert done.unchanged >= 3
    assert done.graded + done.unchanged == _KILLED
    assert len(scores(results)) == _KILLED
    assert kept.items() <= scores(results).items()
    assert len(set(scores(results).values())) == 1


def _wait_for(happened: Any) -> None:
    end = time.monotonic() + 120  # a net for hangs
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_batch_lets_one_process_write(
    three: Path, tmp_path: Path, statistics: CourseFolder
) -> None:
    import filelock

    (tmp_path / "results").mkdir()
    with (
        filelock.FileLock(tmp_path / "results" / ".lock"),
        pytest.raises(UsageError, match="another `grade batch` is writing"),
    ):
        batch(statistics, three, tmp_path / "results")


# ---- the commands --------------------------------------------------------------------------------


def test_batch_and_report_print_the_table(three: Path, tmp_path: Path, run_grade: RunGrade) -> None:
    (three / "bob" / SECOND).write_bytes(b"\xff\xfe")
    shown = run_grade("batch", three, "-o", tmp_path / "results", "--course", COURSE, "--jobs", 1)
    assert shown.status == 0
    assert "3 graded now, 0 unchanged" in shown.err
    assert "3 students" in shown.out
    assert "bob  exercise2  exercise2_average.py is not UTF-8 text (line 1)" in shown.out
    again = run_grade("report", tmp_path / "results", "--course", COURSE)
    assert shown.out.startswith(again.out.rstrip())
    plain = json.loads(run_grade("report", tmp_path / "results", "--course", COURSE, "--json").out)
    assert [e["handed_in"] for e in plain["exercises"]] == [3, 2]


@pytest.mark.long
def test_building_keys_prints_a_line_a_target_where_there_is_no_terminal(
    three: Path, tmp_path: Path, run_grade: RunGrade
) -> None:
    cache = str(tmp_path / "keys")
    options = ("-o", tmp_path / "results", "--course", COURSE, "--jobs", 1)
    shown = run_grade("batch", three, *options, GRADE_CACHE=cache)
    for what in ("public key", "hidden key"):
        for where in ("exercise1/standardize", "exercise1/histogram", "exercise1", "exercise2"):
            assert f"building answer keys: {what} of {where}\n" in shown.err
    again = run_grade("batch", three, *options, "--force", GRADE_CACHE=cache)
    assert "building answer keys" not in again.err


def test_bar_counts_keys_as_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    clock = iter([0, 600, 603, 603])  # seconds: keys take ten minutes, two students three
    monkeypatch.setattr("grader.cli.shared.time.monotonic", lambda: next(clock))
    progress = ProgressBar(rate_of="students")
    progress.key_step("hidden key of exercise1/histogram")
    progress.expect(2)
    progress.advance("ada", 2)
    keys, students = capsys.readouterr().err.split("\r")[1:]
    assert keys.rstrip() == "answer keys, step 1: hidden key of exercise1/histogram"
    assert "  2/2  40 students/min" in students
