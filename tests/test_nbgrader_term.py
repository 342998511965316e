"""A term with nbgrader, on a fresh directory: init, generate, hand in, grade, feedback, export."""

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
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbgrader_class as made
import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import Autograde
from support import TESTS
from traitlets.config import Config

from grader.course.load import load_course
from grader.errors import UsageError
from grader.export import Format, export_rows
from grader.nbgrader.autograde import Outcome, Request, autograde, open_app
from grader.nbgrader.bulk import Steps, StudentGrader
from grader.nbgrader.cells import kind_points
from grader.nbgrader.handin import Handin
from grader.nbgrader.init import init_directory
from grader.nbgrader.scores import read_scores
from grader.nbgrader.sheet import Sheet
from grader.nbgrader.verdicts import NotebookGrader

# nbgrader and what it is made of warn about themselves, which is none of ours
pytestmark = pytest.mark.filterwarnings("ignore")

COURSE = TESTS / "courses" / "statistics"
NAME = "statistics"
DUE, LATE = "2026-10-01 12:00:00 UTC", "2026-10-02 12:00:00 UTC"
SINGLY = ["good00", "wrong02", "magics", "forged", "duplicated", "markup"]  # by nbgrader autograde


class Silent:
    """Hears of progress and says nothing."""

    def expect(self, steps: int) -> None: ...
    def advance(self, label: str) -> None: ...
    def key_built(self, exercise: str) -> None: ...


@dataclass
class Term:
    """A course directory, and what happened in it."""

    directory: Path
    desk: made.Desk
    singly: dict[str, Any]  # what nbgrader autograde made, by the executor
    outcome: Outcome  # of the bulk command

    def grade(self, **more: Any) -> Outcome:
        request = {"assignment": NAME, "public": True, "jobs": 2, **more}
        return autograde(Request(self.directory, **request), Silent())

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.directory}/gradebook.db", "")


def grade_rows(gradebook: Gradebook) -> dict[tuple[str, str], tuple[float | None, bool]]:
    return {
        (grade.student.id, grade.name): (grade.auto_score, grade.needs_manual_grade)
        for submission in gradebook.assignment_submissions(NAME)
        for notebook in submission.notebooks
        for grade in notebook.grades
    }


def comment_rows(gradebook: Gradebook) -> dict[tuple[str, str], str | None]:
    return {
        (comment.student.id, comment.name): comment.auto_comment
        for submission in gradebook.assignment_submissions(NAME)
        for notebook in submission.notebooks
        for comment in notebook.comments
    }


def nbgrader_api(directory: Path, *, stock: bool = False) -> NbGraderAPI:
    """nbgrader's own API with the directory's configuration, on the public cases."""
    app = open_app(directory)
    app.config.SandboxExecute.hidden = False
    if stock:
        app.config.Autograde.autograde_preprocessors = Autograde.autograde_preprocessors.default()
    return NbGraderAPI(coursedir=app.coursedir, config=app.config)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.ipynb")}


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Term]:
    directory = tmp_path_factory.mktemp("term")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in made.places().items():
            patch.setenv(name, value)
        patch.setenv("XDG_DATA_HOME", str(directory / "data"))  # the secret of the hidden cases
        init_directory(directory, load_course(COURSE), NAME)
        with (directory / "nbgrader_config.py").open("a") as file:
            file.write("c.LateSubmissionPlugin.penalty_method = 'zero'\n")
        api = nbgrader_api(directory)
        assert api.generate_assignment(NAME)["success"]
        with Gradebook(f"sqlite:///{directory}/gradebook.db", "") as gradebook:
            gradebook.update_or_create_assignment(NAME, duedate=DUE)
        desk = made.open_desk(COURSE, directory, NAME)
        for student, folder in {**made.mixed_class(desk, 26), **made.hostile_class(desk)}.items():
            made.hand_in(directory, NAME, student, folder)
        made.hand_in(directory, NAME, "late", made.good(desk), LATE)
        made.hand_in_unreadable(directory, NAME, desk)
        for student in SINGLY:
            done = api.autograde(NAME, student, create=True)
            assert done["success"], done
        with Gradebook(f"sqlite:///{directory}/gradebook.db", "") as gradebook:
            singly = {
                "grades": grade_rows(gradebook),
                "comments": comment_rows(gradebook),
                "files": contents(directory / "autograded"),
            }
        shutil.rmtree(directory / "autograded")
        state = Term(directory, desk, singly, Outcome())
        state.outcome = state.grade(force=True)
        yield state


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


def test_bulk_and_executor_write_the_same_grades(term: Term) -> None:
    with term.gradebook() as gradebook:
        rows = grade_rows(gradebook)
    assert {key: rows[key] for key in term.singly["grades"]} == term.singly["grades"]


def test_bulk_and_executor_write_the_same_comments(term: Term) -> None:
    with term.gradebook() as gradebook:
        rows = comment_rows(gradebook)
    assert {key: rows[key] for key in term.singly["comments"]} == term.singly["comments"]


def test_bulk_and_executor_write_the_same_notebooks(term: Term) -> None:
    files = contents(term.directory / "autograded")
    assert {name: files[name] for name in term.singly["files"]} == term.singly["files"]


def test_stock_kernel_gives_the_same_grades(term: Term, tmp_path: Path) -> None:
    directory = tmp_path / "stock"
    left = shutil.ignore_patterns("autograded", "data", "linked")
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
    engine = SimpleNamespace(folder=load_course(COURSE))
    grader = StudentGrader(sheets, NotebookGrader(engine), Steps((), (), Config()))
    (notebook,) = grader.grade(Handin("ada", notebooks={"warmup": b"{}"})).notebooks
    assert not notebook.ours
    assert "use nbgrader autograde" in notebook.problem


def test_known_repairs_are_noted(term: Term) -> None:
    noted = {student for student, _ in term.outcome.notes}
    assert {"duplicated", "deleted", "retyped", "repointed", "points", "reordered"} <= noted


def test_unreadable_notebook_is_listed_for_a_person(term: Term) -> None:
    listed = dict(term.outcome.problems)
    assert set(listed) == {"broken", "linked", "deep", "surrogate", "large", "list"}
    assert "exercise1.ipynb" in listed["broken"]


@pytest.mark.parametrize("student", ["broken", "deep", "surrogate", "large", "list"])
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
    name = ("exercise1-numeric", "exercise1", NAME, "wrong02")
    work = ("exercise1-standardize", "exercise1", NAME, "wrong02")
    with term.gradebook() as gradebook:
        before = grade_rows(gradebook)
        gradebook.find_grade(*name).manual_score = 0.25
        gradebook.find_comment(*work).manual_comment = "by hand"
        gradebook.db.commit()
    term.grade(force=True, student="wrong02")
    with term.gradebook() as gradebook:
        grade, after = gradebook.find_grade(*name), grade_rows(gradebook)
        assert (grade.manual_score, grade.score, grade.needs_manual_grade) == (0.25, 0.25, True)
        assert gradebook.find_comment(*work).comment == "by hand"
        grade.manual_score, gradebook.find_comment(*work).manual_comment = None, None
        gradebook.db.commit()
    del before["wrong02", "exercise1-numeric"], after["wrong02", "exercise1-numeric"]
    assert after == before


def test_stopped_run_goes_on_where_it_was(term: Term) -> None:
    shutil.rmtree(term.directory / f"autograded/good00/{NAME}")
    outcome = term.grade()
    assert outcome.graded == ["good00"]
    assert len(outcome.skipped) == len(term.outcome.graded) - 1


def test_feedback_shows_verdict_hint_and_picture(term: Term) -> None:
    api = nbgrader_api(term.directory)
    done = api.generate_feedback(NAME, "wrong02")
    assert done["success"], done["error"][-1500:]
    page = (term.directory / f"feedback/wrong02/{NAME}/exercise2.html").read_text("utf-8")
    assert "has the right shape but wrong values" in page
    assert 'class="map"' in page


def test_feedback_escapes_what_students_wrote(term: Term) -> None:
    api = nbgrader_api(term.directory)
    assert api.generate_feedback(NAME, "markup")["success"]
    page = (term.directory / f"feedback/markup/{NAME}/exercise1.html").read_text("utf-8")
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<img src=x>" not in page


def test_hidden_cases_give_no_value_away(term: Term) -> None:
    term.grade(force=True, student="wrong02", public=False)
    folder = term.directory / f"autograded/wrong02/{NAME}"
    shown = [
        output
        for path in sorted(folder.glob("*.ipynb"))
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        for output in cell.get("outputs", [])
    ]
    text = json.dumps(shown)
    assert "wrong values" in text
    assert "expected" not in text
    assert "<i>case:" not in text
    assert "yours" not in text
    assert 'class=\\"map' not in text  # no heat map
    term.grade(force=True, student="wrong02")


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium: apt install chromium")


def seen_in_browser(url: str, tmp_path: Path) -> str:
    """The page as a headless browser has it, after its scripts ran."""
    profile = f"--user-data-dir={tmp_path / 'browser'}"
    root = ["--no-sandbox"] if os.getuid() == 0 else []  # chromium refuses its sandbox to root
    quiet = ["--headless", "--disable-gpu", "--virtual-time-budget=15000"]
    command = [str(BROWSER), *quiet, *root, profile, "--dump-dom", url]
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


@needs_browser
def test_formgrader_shows_the_scores(term: Term, formgrader: str, tmp_path: Path) -> None:
    page = seen_in_browser(f"{formgrader}/manage_submissions/{NAME}", tmp_path)
    text = re.sub(r"<[^>]*>", " ", page)
    with term.gradebook() as gradebook:
        submission = gradebook.find_submission(NAME, "wrong02")
        shown = f"{round(submission.score, 2):g} / {submission.max_score:g}"
    assert re.search(rf"wrong02 .{{1,80}} graded\s+{re.escape(shown)}", " ".join(text.split()))


@needs_browser
def test_feedback_page_shows_its_pictures(term: Term, tmp_path: Path) -> None:
    assert nbgrader_api(term.directory).generate_feedback(NAME, "wrong02")["success"]
    path = term.directory / f"feedback/wrong02/{NAME}/exercise2.html"
    page = seen_in_browser(path.as_uri(), tmp_path)
    assert page.count('role="img"') >= len(kind_points(load_course(COURSE).course.exercises[1]))


@pytest.mark.parametrize("to", list(Format))
def test_scores_leave_in_every_format(term: Term, to: Format) -> None:
    files = export_rows(read_scores(term.directory), to)
    assert sum(file.text.count("good00") + file.name.count("good00") for file in files) > 0
    assert len(files) == (len(term.outcome.graded) if to is Format.GRADESCOPE else 1)


def test_unknown_assignment_is_one_line(term: Term) -> None:
    with pytest.raises(UsageError, match=r"no assignment 'nothing' .*generate_assignment nothing"):
        term.grade(assignment="nothing")


def test_unknown_student_is_one_line(term: Term) -> None:
    with pytest.raises(UsageError, match="nobody handed in nothing"):
        term.grade(student="nobody")
