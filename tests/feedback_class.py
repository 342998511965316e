"""A small class whose results say of each student what no other's page may say."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from grader.batch.entries import Entry
from grader.batch.register import ClassList
from grader.batch.results import About, Results
from grader.batch.shown import Shown
from grader.batch.unit import GradedSubmission, WrittenResult
from grader.grading.exhibits import Drawing, Exhibit, make_panel
from grader.handin.gather import Part
from grader.records.ids import CheckId
from grader.records.people import Identity, Person, Platform
from grader.records.results import CheckResult, Diagnosis, ExerciseResult, Kind, ShownCase, Status

TARGET = "self_attention"
_CASE = ShownCase("main", {"b": 2}, {}, {})


def marker(number: int) -> str:
    """Return a word that is of one student alone."""
    return f"marker{number:04}q"


def result(
    mark: str, *, bugs: tuple[str, ...] = ("missing-scale",), score: float = 1.0
) -> ExerciseResult:
    """Return a result whose every text has a mark; with no bugs it is right."""
    wrong = Status.FAILED if bugs else Status.PASSED
    message, step = (f"{mark} wrong values", f"{mark} do this") if bugs else ("", "")
    checks = (
        CheckResult(CheckId("exercise1", TARGET, Kind.SHAPE), Status.PASSED, 1.0, 1.0),
        CheckResult(
            CheckId("exercise1", TARGET, Kind.NUMERIC), wrong, 0.0 if bugs else 3.0, 3.0, message,
            step, case=_CASE,
        ),
    )  # fmt: skip
    named = Diagnosis(TARGET, bugs, "", f"{mark} hint", f"{mark} evidence", (f"{mark} deviation",))
    return ExerciseResult(
        "exercise1", "", wrong, score, 4.0, checks, (named,) if bugs else (), (f"{mark} note",)
    )


def shown(mark: str) -> Shown:
    """Return what a page shows beside, with a mark in every text."""
    panel = make_panel(f"{mark} panel", np.eye(3), np.zeros((3, 3)))
    drawing = Drawing((f"{mark} input",), ((f"{mark} step",),), frozenset(), (f"{mark} step",))
    return Shown(f"{mark} output", {}, (Exhibit(TARGET, f"{mark} case", (panel,), drawing),))


def entry(name: str, identity: Identity) -> Entry:
    """Return a submission that nobody reads."""
    return Entry(name, (Part(Path("nowhere"), name),), (), identity)


def moodle(name: str, number: str, tail: str = "_assignsubmission_file") -> Entry:
    """Return what a folder of Moodle's is."""
    identity = Identity((Person(name, number),), Platform.MOODLE, f"{name}_{number}{tail}")
    return entry(f"{name}_{number}", identity)


def keep(
    results: Results,
    student: str,
    given: ExerciseResult,
    mark: str,
    *,
    time: str = "",
    text: str = "a",
    key: str = "key",
) -> None:
    """Keep one result as `grade batch` does; another `text` is another attempt."""
    name = given.exercise
    results.keep(
        GradedSubmission(
            student, (), {name: WrittenResult.of(given)}, {name: ()}, frozenset(),
            {name: f"{key}:{text}"}, {name: shown(mark).pack()}, time,
        ),
        "sha256:0",
    )  # fmt: skip


def open_results(
    place: Path, title: str, entries: Sequence[Entry], roster: Sequence[Person] | None = None
) -> Results:
    """Begin results of a class."""
    results = Results(place, About(title, "hidden", "mark"))
    results.enter(ClassList(Path("nowhere"), entries, ["exercise1"], roster))
    return results
