"""nbgrader's own commands, unchanged, from release to export: both desks and the exchange."""

import csv
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbgrader_class as made
import pytest
from nbgrader.tests import run_nbgrader
from support import TESTS

from grader.course.load import load_course
from grader.nbgrader.init import init_directory
from grader.notebook.finding import COURSE_VARIABLE

# nbgrader and what it is made of warn about themselves, which is none of ours
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.long]

COURSE = TESTS / "courses" / "statistics"
NAME = "statistics"
_EXCHANGE = """
c.CourseDirectory.course_id = "stats101"
c.Exchange.root = {exchange!r}
c.Exchange.cache = {cache!r}
"""
_INSTRUCTOR = r"""
c.SandboxExecute.hidden = False
c.FileNameCollectorPlugin.named_regexp = (
    r".*/(?P<student_id>\w+)_attempt_(?P<timestamp>[0-9-]+)_(?P<file_id>\w+)"
)
"""
_STUDENT = "c = get_config()\n"


@dataclass
class Flow:
    """Two folders, an exchange between them, and what nbgrader's commands did and said."""

    instructor: Path
    student: Path
    exchange: Path
    patch: pytest.MonkeyPatch
    said: dict[str, str] = field(default_factory=dict)

    def run(self, desk: Path, command: str, *arguments: str, stdout: bool = False) -> None:
        """Run a command of nbgrader's at a desk; one that fails is an error."""
        self.patch.chdir(desk)
        words = [command, *arguments]
        self.said[" ".join(words)] = run_nbgrader(words, stdout=stdout)


@pytest.fixture(scope="module")
def flow(
    tmp_path_factory: pytest.TempPathFactory,
    key_cache: Path,  # noqa: ARG001 - keys are built
) -> Iterator[Flow]:
    places = {n: tmp_path_factory.mktemp(n) for n in ("instructor", "student", "exchange", "data")}
    places["exchange"].chmod(0o777)
    with pytest.MonkeyPatch.context() as patch:
        made.use_places(patch)
        patch.setenv("JUPYTER_CONFIG_DIR", str(places["data"]))
        patch.setenv("XDG_DATA_HOME", str(places["data"]))
        patch.setenv(COURSE_VARIABLE, str(COURSE))  # the student's notebooks lie elsewhere
        story = Flow(places["instructor"], places["student"], places["exchange"], patch)
        _play(story, _EXCHANGE.format(exchange=str(story.exchange), cache=str(places["data"])))
        yield story


def _play(story: Flow, exchange: str) -> None:
    init_directory(story.instructor, load_course(COURSE), NAME)
    with (story.instructor / "nbgrader_config.py").open("a") as file:
        file.write(exchange + _INSTRUCTOR)
    (story.student / "nbgrader_config.py").write_text(_STUDENT + exchange, encoding="utf-8")
    story.run(story.instructor, "generate_assignment", NAME)
    story.run(story.instructor, "release_assignment", NAME)
    story.run(story.student, "fetch_assignment", NAME)
    desk = made.open_desk(COURSE, story.instructor, NAME)
    _save(story.student / NAME / "exercise2.ipynb", made.good(desk)["exercise2"])
    story.run(story.student, "validate", f"{NAME}/exercise1.ipynb", stdout=True)
    story.run(story.student, "submit", NAME, "--student=ada")
    _send_archive(story.instructor, made.good(desk))
    story.run(story.instructor, "collect", NAME)
    story.run(story.instructor, "zip_collect", NAME)
    story.run(story.instructor, "autograde", NAME, "--create")
    story.run(story.instructor, "generate_feedback", NAME)
    story.run(story.instructor, "release_feedback", NAME, "--student=ada")
    story.run(story.student, "fetch_feedback", NAME, "--student=ada")
    story.run(story.instructor, "export", "--to", "grades.csv")


def _save(path: Path, notebook: dict[str, Any]) -> None:
    path.write_text(json.dumps(notebook), encoding="utf-8")


def _send_archive(directory: Path, folder: made.Folder) -> None:
    """Put what a learning platform gives an instructor where nbgrader looks for it."""
    place = directory / "downloaded" / NAME / "archive"
    place.mkdir(parents=True)
    with zipfile.ZipFile(place / "all.zip", "w") as archive:
        for name, notebook in folder.items():
            archive.writestr(f"bob_attempt_2026-10-01-12-00-00_{name}.ipynb", json.dumps(notebook))


def _rows(flow: Flow) -> dict[str, dict[str, str]]:
    with (flow.instructor / "grades.csv").open(encoding="utf-8") as file:
        return {row["student_id"]: row for row in csv.DictReader(file)}


def test_students_fetch_the_notebooks_and_nothing_else(flow: Flow) -> None:
    outbound = flow.exchange / "stats101/outbound" / NAME
    assert {p.name for p in outbound.iterdir()} == {"exercise1.ipynb", "exercise2.ipynb"}


def test_validate_tells_what_to_do_next_on_a_released_notebook(flow: Flow) -> None:
    said = " ".join(flow.said[f"validate {NAME}/exercise1.ipynb"].split())
    assert said.startswith("VALIDATION FAILED ON 4 CELL(S)!")
    assert "`standardize` is not written yet (cell 3, line 7)" in said
    assert "next replace `raise NotImplementedError` by your code" in said


def test_exchange_and_archive_bring_the_same_files(flow: Flow) -> None:
    for student in ("ada", "bob"):
        folder = flow.instructor / "submitted" / student / NAME
        names = {p.name for p in folder.iterdir()} - {"timestamp.txt", "submission_secret.txt"}
        assert names == {"exercise1.ipynb", "exercise2.ipynb"}  # grading left nothing to send in


def test_grades_leave_by_nbgraders_own_export(flow: Flow) -> None:
    rows = _rows(flow)
    course = load_course(COURSE).course
    first, second = (exercise.points for exercise in course.exercises)
    assert float(rows["ada"]["score"]) == second
    assert float(rows["bob"]["score"]) == float(rows["bob"]["max_score"]) == first + second


def test_feedback_comes_back_to_the_student(flow: Flow) -> None:
    (folder,) = (flow.student / NAME / "feedback").iterdir()
    page = (folder / "exercise1.html").read_text("utf-8")
    assert "<code>standardize</code>" in page
    assert "is not written yet" in page
