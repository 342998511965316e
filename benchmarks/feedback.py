"""The pages of a large made-up class: how long `grade report --html` takes, and how large they are.

    python benchmarks/feedback.py --students 2000

Nothing is graded: each student gets one of the results in tests/golden for each exercise, and
pictures of the usual size. A third of the class has an earlier attempt. The class's page is drawn
by Chromium where there is one; its time is that of a page with as many students less that of an
empty one.
"""

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from grader.batch.entries import Entry
from grader.batch.register import ClassList
from grader.batch.results import About, Results
from grader.batch.shown import Shown
from grader.batch.unit import GradedSubmission
from grader.course.load import CourseFolder, load_course
from grader.grading.exhibits import Drawing, Exhibit, make_panel
from grader.handin.gather import Part
from grader.records.people import Identity, Person, Platform
from grader.records.results import ExerciseResult, Status, result_from_json

ROOT = Path(__file__).resolve().parent.parent
_LEVELS = (("queries", "keys", "values"), ("scores",), ("weights",), ("attended",), ("output",))
_EMPTY = "<!doctype html><title>empty</title>"


def main() -> None:
    """Make a class, write its pages, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=2000)
    parser.add_argument("--keep", type=Path, help="Keep results and pages in this folder.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        place = given.keep or Path(made)
        make_class(place / "results", given.students)
        begin = time.perf_counter()
        command = [Path(sys.executable).with_name("grade"), "report", place / "results"]
        subprocess.run([*command, "--html", place / "pages"], cwd=ROOT, check=True)
        seconds, used = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = used.ru_utime + used.ru_stime  # what it would take on a quiet machine
        print(f"{given.students} students: pages in {seconds:.1f} s, {busy:.1f} s of one core")
        page = place / "pages" / "index.html"
        print(f"the class's page: {page.stat().st_size / 1e6:.2f} MB{_drawn(page)}")


def make_class(place: Path, students: int) -> None:
    """Write the results of a class that nobody had to grade."""
    folder = load_course(ROOT)
    chance = random.Random(1)
    made = _golden(folder)
    results = Results(place, About(folder.course.title, "hidden", "mark"))
    entries = [_entry(n) for n in range(students)]
    results.enter(ClassList(ROOT, entries, list(made)))
    for number, entry in enumerate(entries):
        for attempt in range(1 + (number % 3 == 0)):
            own = {e: chance.choice(found) for e, found in made.items()}
            drawn = {e: Shown(exhibits=_exhibits(result, number)) for e, result in own.items()}
            shown = {e: one.pack() for e, one in drawn.items()}
            digests = dict.fromkeys(own, f"{attempt}:{attempt}")
            day = f"2026-10-{1 + (number + 9 * attempt) % 30:02}T12:00:00+00:00"
            nothing: dict[str, tuple[str, ...]] = dict.fromkeys(own, ())
            results.keep(
                GradedSubmission(entry.student, (), own, nothing, frozenset(), digests, shown, day),
                "sha256:0",
            )
    results.finish()
    results.close()


def _golden(folder: CourseFolder) -> dict[str, list[ExerciseResult]]:
    """Return graded results by exercise, of the exercises that have some."""
    found: dict[str, list[ExerciseResult]] = {}
    for path in sorted((ROOT / "tests" / "golden").glob("*.exercise*.json")):
        plain = json.loads(path.read_text(encoding="utf-8"))
        for one in plain.get("results", [plain]):
            exercise = folder.course.exercise(one["exercise"])
            found.setdefault(exercise.id, []).append(result_from_json(one, exercise.title))
    return found


def _entry(number: int) -> Entry:
    name = f"Given{number} van Family{number}"
    called = f"{name}_{number}_assignsubmission_file"
    identity = Identity((Person(name, str(number)),), Platform.MOODLE, called)
    return Entry(f"{name}_{number}", (Part(ROOT / called, called),), (), identity)


def _exhibits(result: ExerciseResult, number: int) -> tuple[Exhibit, ...]:
    """Return a drawing and three pairs of heat maps for each target that is not right."""
    wrong = dict.fromkeys(c.target for c in result.checks if c.status is not Status.PASSED)
    return tuple(_exhibit(target, number) for target in wrong)


def _exhibit(target: str, number: int) -> Exhibit:
    expected = np.linspace(-2, 2, 84).reshape(7, 12)
    panels = (
        make_panel(name, expected, expected * np.cos(number + expected * place * len(target)))
        for place, name in enumerate(("output", "keys", "weights"), start=1)
    )  # what came is nobody else's
    drawing = Drawing(("x",), _LEVELS, frozenset({"queries"}), "keys")
    return Exhibit(target, "main (b=2)", tuple(panels), drawing)


def _drawn(page: Path) -> str:
    """Say how long a browser takes with a page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        return ""
    with tempfile.TemporaryDirectory() as made:
        empty = Path(made) / "empty.html"
        empty.write_text(_EMPTY, encoding="utf-8")
        seconds = [_seconds(browser, one, Path(made)) for one in (empty, empty, page)]
    return f", drawn in {seconds[2] - seconds[1]:.1f} s"


def _seconds(browser: str, page: Path, made: Path) -> float:
    begin = time.perf_counter()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,2000"]
    own = [f"--user-data-dir={made / 'profile'}", f"--screenshot={made / 'page.png'}"]
    subprocess.run([browser, *options, *own, page.as_uri()], check=True, capture_output=True)
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
