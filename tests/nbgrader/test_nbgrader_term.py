"""What comes of a term with nbgrader on a fresh directory; nbgrader_story.py plays it."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbgrader_class as made
import pytest
from documents import PAGES, check_block, output_blocks
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import Autograde
from nbgrader_story import (
    BY_HAND,
    COURSE,
    NAME,
    REMARKED,
    Term,
    comment_rows,
    grade_rows,
    play,
    set_up,
)
from traitlets.config import Config

from grader.classes.export import Format, export_scores
from grader.course.load import load_course
from grader.errors import UsageError
from grader.nbgrader import autograde
from grader.nbgrader.autograde import open_app
from grader.nbgrader.bulk import Steps, StudentGrader
from grader.nbgrader.cells import kind_points
from grader.nbgrader.gradebook import Sheet, read_scores
from grader.nbgrader.handin import Handin
from grader.nbgrader.verdicts import NotebookGrader

# nbgrader and what it is made of warn about themselves, which is none of ours
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.long]

BULK = f"grade nbgrader autograde {NAME} --force"


def nbgrader_api(directory: Path, *, stock: bool = False) -> NbGraderAPI:
    """nbgrader's own API with the directory's configuration."""
    app = open_app(directory)
    if stock:
        app.config.Autograde.autograde_preprocessors = Autograde.autograde_preprocessors.default()
    return NbGraderAPI(coursedir=app.coursedir, config=app.config)


@pytest.fixture(scope="module")
def term(
    tmp_path_factory: pytest.TempPathFactory,
    key_cache: Path,  # noqa: ARG001 - keys are built
) -> Iterator[Term]:
    with pytest.MonkeyPatch.context() as patch:
        state = Term(tmp_path_factory.mktemp("term"), patch)
        set_up(state)
        play(state)
        yield state


def listed(term: Term, title: str) -> dict[str, str]:
    """What the bulk command listed below a title, the last line of each student."""
    part = term.said[BULK].split(f"{title}:\n")[1].split("\n\n")[0]
    return dict(line.strip().split("  ", 1) for line in part.splitlines())


def test_readme_tells_this_term(term: Term, request: pytest.FixtureRequest) -> None:
    (block,) = (
        b for b in output_blocks(*PAGES) if b.command == "tests/nbgrader/test_nbgrader_term.py"
    )
    update = request.config.getoption("--update-golden")
    check_block(block, "\n".join(term.lines), update=update)


def test_release_holds_nothing_that_was_solved(term: Term) -> None:
    solutions = [p.read_text("utf-8") for p in (COURSE / "solutions").rglob("*.py")]
    secret = {line for text in solutions for line in _solution_lines(text)}
    released = "\n".join(
        p.read_text("utf-8") for p in (term.directory / "release").rglob("*") if p.is_file()
    )
    assert "SOLUTION" not in released
    assert [line for line in secret if json.dumps(line)[1:-1] in released] == []


def _solution_lines(text: str) -> list[str]:
    from grader.course.derive import derive_stub, solution_lines

    stub = derive_stub(text)
    return [line for line in solution_lines(text) if line not in stub and len(line) > 12]


def test_term_has_a_class_of_thirty_and_more(term: Term) -> None:
    assert len({student for student, _ in term.snapshots["bulk"].grades}) >= 30


@pytest.mark.parametrize("what", ["grades", "comments", "files"])
def test_bulk_and_executor_write_the_same(term: Term, what: str) -> None:
    singly = getattr(term.snapshots["singly"], what)
    bulk = getattr(term.snapshots["bulk"], what)
    assert singly
    assert {key: bulk[key] for key in singly} == singly


@pytest.mark.parametrize("attack", [*made.ATTACKS, "all", "course", "keys", "format2"])
def test_attack_earns_what_its_control_does(term: Term, attack: str) -> None:
    scores: dict[str, dict[str, float | None]] = {"control": {}, f"attack-{attack}": {}}
    for (student, cell), (score, _) in term.snapshots["bulk"].grades.items():
        if student in scores:
            scores[student][cell] = score
    assert scores[f"attack-{attack}"] == scores["control"]
    assert {s for c, s in scores["control"].items() if c.startswith("exercise1")} == {0.0}


def test_attacked_notebook_is_graded_in_no_kernel_of_its_own(term: Term) -> None:
    for student in ("attack-kernel", "attack-all"):
        notebook = json.loads(term.snapshots["bulk"].files[f"{student}/{NAME}/exercise1.ipynb"])
        assert notebook["metadata"]["kernelspec"]["name"] == "python3"


def test_stock_kernel_gives_the_same_grades(term: Term, tmp_path: Path) -> None:
    directory = tmp_path / "stock"
    left = shutil.ignore_patterns("autograded", "linked")
    shutil.copytree(term.directory, directory, ignore=left)
    path = directory / ".grade-nbgrader.json"
    manifest = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**manifest, "course": str(COURSE)}), encoding="utf-8")
    (directory / f"submitted/wrong02/{NAME}/exercise1.ipynb").unlink()  # kernels are slow
    done = nbgrader_api(directory, stock=True).autograde(NAME, "wrong02")
    assert done["success"], done
    with term.gradebook() as ours, Gradebook(f"sqlite:///{directory}/gradebook.db", "") as stock:
        rows, wanted = grade_rows(stock), grade_rows(ours)
        own = [key for key in wanted if key[0] == "wrong02" and key[1].startswith("exercise2")]
        assert {key: rows[key] for key in own} == {key: wanted[key] for key in own}
        assert own
        assert comment_rows(stock)["wrong02", "exercise2-ExponentialMovingAverage"] is None


@pytest.mark.parametrize("student", [*made.DAMAGES, "good00", "oldformat"])
def test_damage_costs_nothing_that_was_right(term: Term, student: str) -> None:
    with term.gradebook() as gradebook:
        submission = gradebook.find_submission(NAME, student)
        lost = {n.name for n in submission.notebooks if n.score < n.max_score}
    assert lost <= ({"exercise1"} if student == "syntax" else set())


def test_forged_test_cell_is_worth_what_the_work_is(term: Term) -> None:
    text = (term.directory / f"autograded/forged/{NAME}/exercise1.ipynb").read_text("utf-8")
    assert "grade_cell" in text


def test_notebook_of_the_instructor_is_left_to_nbgrader() -> None:
    sheets = {"warmup": Sheet("warmup", "", {})}
    engine: Any = SimpleNamespace(folder=load_course(COURSE))
    grader = StudentGrader(sheets, NotebookGrader(engine), Steps((), (), Config()))
    (notebook,) = grader.grade(Handin("ada", notebooks={"warmup": b"{}"})).notebooks
    assert not notebook.ours
    assert "use nbgrader autograde" in notebook.problem


def test_known_repairs_are_noted(term: Term) -> None:
    noted = listed(term, "Noted")
    assert {"duplicated", "deleted", "retyped", "repointed", "points", "reordered"} <= noted.keys()


@pytest.mark.parametrize(
    ("student", "said"),
    [
        ("broken", "exercise1.ipynb cannot be graded: it is not valid JSON"),
        ("deep", "exercise1.ipynb cannot be graded: it is nested too deeply"),
        ("large", "exercise1.ipynb is larger than 256 KiB: clear its outputs"),
        ("linked", "exercise2.ipynb is not an ordinary file: hand in the file itself"),
        ("list", "exercise1.ipynb cannot be graded: it is JSON, but not that of a notebook"),
        ("nocells", "exercise1.ipynb cannot be graded: it is JSON, but not that of a notebook"),
        ("surrogate", "exercise1.ipynb cannot be graded: it holds half a character"),
    ],
)
def test_unreadable_notebook_is_listed_for_a_person(term: Term, student: str, said: str) -> None:
    assert listed(term, "For a person")[student].strip().startswith(said)


def test_nobody_else_is_listed_for_a_person(term: Term) -> None:
    unreadable = {"broken", "deep", "large", "linked", "list", "nocells", "surrogate"}
    assert listed(term, "For a person").keys() == unreadable


def test_executor_reads_no_link(term: Term) -> None:
    assert "exercise1.ipynb is a link, not a file: hand in the file itself" in term.refused


@pytest.mark.parametrize("student", ["broken", "deep", "surrogate", "large", "list", "nocells"])
def test_unreadable_notebook_costs_no_other(term: Term, student: str) -> None:
    with term.gradebook() as gradebook:
        notebooks = {n.name: n for n in gradebook.find_submission(NAME, student).notebooks}
        assert notebooks["exercise1"].score == 0
        assert notebooks["exercise1"].needs_manual_grade
        assert notebooks["exercise2"].score == notebooks["exercise2"].max_score > 0


def test_late_submission_pays_the_penalty_that_is_configured(term: Term) -> None:
    with term.gradebook() as gradebook:
        late = gradebook.find_submission(NAME, "late")
        assert late.late_submission_penalty == late.score == late.max_score


def test_manual_score_and_comment_outlive_a_regrade(term: Term) -> None:
    with term.gradebook() as gradebook:
        grade = gradebook.find_grade(*BY_HAND)
        assert (grade.manual_score, grade.score, grade.needs_manual_grade) == (0.25, 0.25, True)
        assert gradebook.find_comment(*REMARKED).comment == "by hand"


def test_regrade_changes_nothing_else(term: Term) -> None:
    before, after = term.snapshots["bulk"], term.snapshots["regraded"]
    cell = ("wrong02", BY_HAND[0])
    assert after.grades == {**before.grades, cell: (before.grades[cell][0], True)}
    assert (after.comments, after.files) == (before.comments, before.files)


def test_next_run_grades_what_is_left_and_what_is_newer(term: Term) -> None:
    shutil.rmtree(term.directory / f"autograded/good00/{NAME}")
    stamp = term.directory / f"submitted/late/{NAME}/timestamp.txt"
    stamp.write_text("2026-10-03 12:00:00 UTC", encoding="utf-8")
    outcome = term.grade()
    assert sorted(outcome.graded) == ["good00", "late"]
    students = {student for student, _ in term.snapshots["bulk"].grades}
    assert set(outcome.skipped) == students - {"good00", "late"}


def test_folder_with_an_odd_name_is_listed_for_a_person(term: Term) -> None:
    folder = term.directory / f"submitted/a\nb/{NAME}"
    folder.mkdir(parents=True)
    problems = {note.student: note.text for note in term.grade().problems}
    shutil.rmtree(folder.parent)
    assert problems["a\nb"] == "the folder's name is no plain text: rename it"


def test_feedback_shows_verdict_hint_and_picture(term: Term) -> None:
    page = (term.directory / f"feedback/wrong02/{NAME}/exercise2.html").read_text("utf-8")
    assert "has the right shape but wrong values" in page
    assert 'class="map"' in page


def test_feedback_runs_nothing_that_students_wrote(term: Term) -> None:
    page = (term.directory / f"feedback/attack-markup/{NAME}/exercise1.html").read_text("utf-8")
    assert page.count("alert(1)") >= 4
    assert not re.search(r"<script>\s*alert|<[^>]*onerror|href=\"(javascript|data):", page)
    assert "<b>bold</b>" in page
    assert "<strong>this</strong> stays" in page


def test_feedback_on_hidden_cases_is_in_the_words_of_the_public_ones(term: Term) -> None:
    config = term.directory / "nbgrader_config.py"
    public = config.read_text("utf-8")

    def shown() -> set[str]:
        term.grade(force=True, student="wrong02")
        folder = term.directory / f"autograded/wrong02/{NAME}"
        cells = [
            cell
            for path in sorted(folder.glob("*.ipynb"))
            for cell in json.loads(path.read_text("utf-8"))["cells"]
        ]
        texts = json.dumps([cell.get("outputs", []) for cell in cells])
        return set(re.findall(r"largest difference is [^ ]+", texts))

    config.write_text(public.replace("hidden = False", "hidden = True"), encoding="utf-8")
    on_hidden = shown()
    config.write_text(public, encoding="utf-8")
    assert on_hidden == shown() != set()


def seen_in_browser(browser: str, url: str, tmp_path: Path) -> str:
    """The page as a headless browser has it, after its scripts ran."""
    profile = f"--user-data-dir={tmp_path / 'browser'}"
    root = ["--no-sandbox"] if os.getuid() == 0 else []  # chromium refuses its sandbox to root
    quiet = ["--headless", "--disable-gpu", "--virtual-time-budget=15000"]
    command = [browser, *quiet, *root, profile, "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def formgrader(term: Term, tmp_path: Path) -> Iterator[str]:
    """A Jupyter server with formgrader in the term's directory; its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser"]
    command += [
        f"--ServerApp.port={port}",
        "--IdentityProvider.token=",
        "--ServerApp.port_retries=0",
    ]
    command += ["--ServerApp.jpserver_extensions=nbgrader.server_extensions.formgrader=True"]
    places = {"JUPYTER_RUNTIME_DIR": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path)}
    environment = {**os.environ, **made.places(), **places}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=term.directory, env=environment, stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}/formgrader"
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=30):
                break
            assert server.poll() is None, (tmp_path / "log").read_text()[-2000:]
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


def test_formgrader_shows_the_scores(
    term: Term, formgrader: str, browser: str, tmp_path: Path
) -> None:
    page = seen_in_browser(browser, f"{formgrader}/manage_submissions/{NAME}", tmp_path)
    text = re.sub(r"<[^>]*>", " ", page)
    with term.gradebook() as gradebook:
        submission = gradebook.find_submission(NAME, "wrong02")
        shown = f"{round(submission.score, 2):g} / {submission.max_score:g}"
    assert re.search(rf"wrong02 .{{1,80}} grading {re.escape(shown)}", " ".join(text.split()))


def test_feedback_page_shows_its_pictures(term: Term, browser: str, tmp_path: Path) -> None:
    path = term.directory / f"feedback/wrong02/{NAME}/exercise2.html"
    page = seen_in_browser(browser, path.as_uri(), tmp_path)
    assert page.count('role="img"') >= len(kind_points(load_course(COURSE).course.exercises[1]))


@pytest.mark.parametrize("to", list(Format))
def test_scores_leave_in_every_format(term: Term, to: Format) -> None:
    scores = read_scores(term.directory / "gradebook.db")
    files = export_scores(scores, to).files
    assert sum(file.text.count("good00") + file.name.count("good00") for file in files) > 0
    assert len(files) == (len(scores.students) if to is Format.GRADESCOPE else 1)


def test_export_says_whose_score_is_not_final(term: Term) -> None:
    (note,) = read_scores(term.directory / "gradebook.db").notes
    assert "broken" in note
    assert "good00" not in note


def test_unknown_assignment_is_one_line(term: Term) -> None:
    with pytest.raises(UsageError, match=r"no assignment 'nothing' .*generate_assignment nothing"):
        term.grade(assignment="nothing")


def test_too_little_memory_for_one_submission_is_one_line(term: Term) -> None:
    with pytest.raises(UsageError, match=r"one submission may take \d+ MiB, and --memory is 100"):
        term.grade(force=True, memory=100)


def test_no_more_are_graded_at_once_than_fit(term: Term, monkeypatch: pytest.MonkeyPatch) -> None:
    class PoolMade(Exception):  # it ends the run where the number is known
        pass

    def make_pool(_: object, jobs: int) -> None:
        raise PoolMade(jobs)

    monkeypatch.setattr(autograde, "Pool", make_pool)
    with pytest.raises(PoolMade, match=r"^2$"):
        term.grade(force=True, jobs=8, memory=2 * (700 + 2 * 1024) + 100)


def test_class_that_handed_in_nothing_is_one_line(term: Term, tmp_path: Path) -> None:
    shutil.copytree(term.directory, tmp_path / "autumn", ignore=shutil.ignore_patterns("submitted"))
    shutil.copytree(term.home / "statistics", tmp_path / "statistics")
    with pytest.raises(UsageError, match=f"nobody handed in {NAME}: collect it, or put"):
        Term(tmp_path, term.patch).grade()


def test_unknown_student_is_one_line(term: Term) -> None:
    with pytest.raises(UsageError, match="nobody handed in nothing"):
        term.grade(student="nobody")
