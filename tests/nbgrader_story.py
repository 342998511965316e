"""A term with nbgrader on a fresh directory, by its commands, with what they say.

docs/nbgrader.md shows the transcript; nbgrader/test_nbgrader_term.py tests what came of it, and
that it is so.
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbgrader_class as made
import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook
from nbgrader.tests import run_nbgrader
from support import TESTS

from grader.cli.main import cli
from grader.nbgrader.autograde import AutogradeRequest, AutogradeSummary, autograde

COURSE = TESTS / "courses" / "statistics"
NAME = "running-statistics"
LATE = "2026-10-02 12:00:00 UTC"
# graded by nbgrader's own command too, with the executor
SINGLY = ["good00", "wrong02", "magics", "forged", "duplicated", "attack-all", "attack-course"]
BY_HAND = ("exercise1-numeric", "exercise1", NAME, "wrong02")
REMARKED = ("exercise1-standardize", "exercise1", NAME, "wrong02")


@dataclass(frozen=True)
class Snapshot:
    """What the gradebook and the autograded notebooks hold at one time."""

    grades: dict[tuple[str, str], tuple[float | None, bool]]  # automatic score, is a person needed
    comments: dict[tuple[str, str], str | None]
    files: dict[str, bytes]


@dataclass
class Term:
    """A course directory, and what happened in it."""

    home: Path
    patch: pytest.MonkeyPatch
    lines: list[str] = field(default_factory=list)  # the transcript
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    refused: str = ""  # nbgrader's log of a notebook that is a link
    said: dict[str, str] = field(default_factory=dict)  # by command, the first of the same

    @property
    def directory(self) -> Path:
        """The course directory."""
        return self.home / "autumn"

    def gradebook(self) -> Gradebook:
        """Open the gradebook."""
        return Gradebook(f"sqlite:///{self.directory}/gradebook.db", "")

    def snapshot(self) -> Snapshot:
        """Take down what is there now."""
        files = self.directory / "autograded"
        with self.gradebook() as gradebook:
            return Snapshot(grade_rows(gradebook), comment_rows(gradebook), contents(files))

    def grade(self, **more: Any) -> AutogradeSummary:
        """Grade by the bulk command's function."""
        request = {"assignment": NAME, "jobs": 1, **more}
        return autograde(AutogradeRequest(self.directory, **request), Silent())

    def run(self, command: str, *, leave_out: str = "", first: int = 99) -> None:
        """Run a command as in a terminal in the course directory, and take down what it prints.

        Of nbgrader's only its log would be seen, which is left out, as are lines that contain
        `leave_out` and all but the `first`.
        """
        self.patch.chdir(self.directory if self.directory.is_dir() else self.home)
        program, *words = command.split()
        said = _PROGRAMS[program](words)
        self.said.setdefault(command, said)
        shown: list[str] = []
        for number, line in enumerate(said.splitlines()):
            if number < first and not (leave_out and leave_out in line):
                shown.append(line)
            elif shown[-1:] != ["  …"]:
                shown.append("  …")
        self.note(f"$ {command}", *shown, *([""] if shown else []))

    def note(self, *lines: str) -> None:
        """Add lines to the transcript."""
        self.lines += lines


class Silent:
    """Hears of progress and says nothing."""

    def expect(self, steps: int) -> None: ...
    def advance(self, label: str) -> None: ...

    def key_step(self, what: str) -> None: ...


def grade_rows(gradebook: Gradebook) -> dict[tuple[str, str], tuple[float | None, bool]]:
    """Return each automatic score, and whether a person is needed."""
    return {
        (grade.student.id, grade.name): (grade.auto_score, grade.needs_manual_grade)
        for submission in gradebook.assignment_submissions(NAME)
        for notebook in submission.notebooks
        for grade in notebook.grades
    }


def comment_rows(gradebook: Gradebook) -> dict[tuple[str, str], str | None]:
    """Return each automatic comment."""
    return {
        (comment.student.id, comment.name): comment.auto_comment
        for submission in gradebook.assignment_submissions(NAME)
        for notebook in submission.notebooks
        for comment in notebook.comments
    }


def contents(folder: Path) -> dict[str, bytes]:
    """Return the notebooks below a folder, but for ids that nbformat draws where they collide."""
    return {
        p.relative_to(folder).as_posix(): re.sub(
            rb'"id": "[0-9a-f]{8}"', b'"id": ""', p.read_bytes()
        )
        for p in folder.rglob("*.ipynb")
    }


def play(term: Term) -> None:
    """Play the term, from an empty directory to scores that leave."""
    shutil.copytree(COURSE, term.home / "statistics")
    term.run("grade nbgrader init autumn --course statistics")
    term.note("$ cd autumn")
    _configure(term, "SandboxExecute.hidden = False")
    _configure(term, "LateSubmissionPlugin.penalty_method = 'zero'")
    term.run(f"nbgrader generate_assignment {NAME}")
    term.run(f"nbgrader db assignment add {NAME} --duedate=2026-10-01T12:00:00")
    students = _hand_in(term.directory)
    term.note("", f"# {students} students hand in what is good, wrong, late, damaged or hostile")
    term.note("# seven of them by nbgrader's own command; its button in formgrader does the same")
    for student in SINGLY:
        term.run(f"nbgrader autograde {NAME} --create --student={student}")
    term.snapshots["singly"] = term.snapshot()
    term.refused = run_nbgrader(["autograde", NAME, "--create", "--student=linked"], retcode=1)
    term.note("", "# the whole class at once, and those seven again")
    bulk = f"grade nbgrader autograde {NAME}"
    term.run(f"{bulk} --force", leave_out="  attack-")
    term.snapshots["bulk"] = term.snapshot()
    term.run(bulk, first=4)
    _mark_by_hand(term)
    term.note("# in formgrader, wrong02 gets 0.25 points for values and a comment by hand")
    term.run(f"{bulk} --student wrong02 --force")
    term.snapshots["regraded"] = term.snapshot()
    for student in ("wrong02", "attack-markup"):
        term.run(f"nbgrader generate_feedback {NAME} --student={student}")
    term.run("grade export . --format canvas -o canvas.csv")
    term.run("cat canvas.csv", first=4)


def _configure(term: Term, setting: str) -> None:
    with (term.directory / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write(f"c.{setting}\n")
    term.note(f'$ echo "c.{setting}" >> nbgrader_config.py')


def _hand_in(directory: Path) -> int:
    """Hand in a class's work; returns how many students there are."""
    desk = made.open_desk(COURSE, directory, NAME)
    for student, folder in {
        **made.mixed_class(desk, 20),
        **made.hostile_class(desk),
        **made.attacking_class(desk),
    }.items():
        made.hand_in(directory, NAME, student, folder)
    made.hand_in(directory, NAME, "late", made.good(desk), LATE)
    made.hand_in_odd_attacks(directory, NAME, desk)
    made.hand_in_unreadable(directory, NAME, desk)
    return len(list((directory / "submitted").iterdir()))


def _mark_by_hand(term: Term) -> None:
    """Do what formgrader does when a person gives points and writes a comment."""
    with term.gradebook() as gradebook:
        gradebook.find_grade(*BY_HAND).manual_score = 0.25
        gradebook.find_comment(*REMARKED).manual_comment = "by hand"
        gradebook.db.commit()


def _grade(words: list[str]) -> str:
    done = CliRunner().invoke(cli, words, env={"COLUMNS": "100"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def _nbgrader(words: list[str]) -> str:
    run_nbgrader(words)
    return ""


def _cat(words: list[str]) -> str:
    return Path(*words).read_text(encoding="utf-8")


_PROGRAMS: dict[str, Callable[[list[str]], str]] = {
    "grade": _grade,
    "nbgrader": _nbgrader,
    "cat": _cat,
}


def set_up(term: Term) -> None:
    """Set what the commands find in their environment."""
    made.use_places(term.patch)
    term.patch.setenv("XDG_DATA_HOME", str(term.home / "data"))  # the secret of the hidden cases
    term.patch.setenv("JUPYTER_CONFIG_DIR", str(term.home / "jupyter"))
