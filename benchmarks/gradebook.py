"""nbgrader's stock kernel, the executor, the bulk command and `grade batch` on one mixed class.

    python benchmarks/gradebook.py --students 30 --stock 30 --pinned 240

All grade on the public cases, seven notebooks a student. First as each way runs by itself: the bulk
command on all cores, the others in one process; `--stock` says how many of the class the stock
kernel grades. Then core against core, the middle of three rounds: `--pinned` students by `grade
batch`, 30 of them by the bulk command and the executor, and three by the stock kernel, all on one
and the same core. The stock kernel needs half a minute a student and more, so that all of it takes
some 30 minutes on a quiet machine.
"""

import argparse
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # the made-up class is that of the tests

import nbgrader_class as made  # noqa: E402

NAME = "transformers"
_ROUNDS = 3
_FEW = 30  # of a class, for ways that take longer
_CONFIG = """
import os
from nbgrader.converters import Autograde

c.SandboxExecute.hidden = False
if os.environ.get("STOCK"):
    c.Autograde.autograde_preprocessors = Autograde.autograde_preprocessors.default()
"""
_ROWS = """
SELECT submitted_assignment.student_id, base_cell.name, grade.auto_score
FROM grade
JOIN base_cell ON base_cell.id = grade.cell_id
JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
"""
Rows = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Way:
    """One way of grading: how long a student took, and the rows."""

    name: str
    names: tuple[str, ...]  # of the students
    seconds: float  # a student, start of the program included
    rows: Rows

    @property
    def students(self) -> int:
        """How many students it graded."""
        return len(self.names)


@dataclass(frozen=True)
class Row:
    """One figure beside its target; `at_least` is what is asked for."""

    name: str
    measured: float
    at_least: float
    unit: str
    note: str


def measure_nbgrader(students: int = 30, stock: int = 30) -> list[Row]:
    """Grade a class in three ways and compare times and Grade rows."""
    with tempfile.TemporaryDirectory(prefix="grade-nbgrader-") as folder:
        directory = Path(folder, "course")
        _make_class(directory, students)
        names = sorted(p.name for p in (directory / "submitted").iterdir())
        sample = names[:: max(1, len(names) // max(stock, 1))][:stock]
        _grade(directory, "bulk", names[:1])  # keys and diagnoses are in the cache from here on
        _grade(directory, "executor", names[:1])
        bulk = _grade(directory, "bulk", names)
        executor = _grade(directory, "executor", names)
        ways = [_grade(directory, "stock", sample)] if sample else []
    return _figures(bulk, executor, *ways)


def _make_class(directory: Path, students: int) -> None:
    _run([_script("grade"), "nbgrader", "init", str(directory)], ROOT)
    with (directory / "nbgrader_config.py").open("a", encoding="utf-8") as file:
        file.write(_CONFIG)
    _run([sys.executable, "-m", "nbgrader", "generate_assignment", NAME], directory)
    desk = made.open_desk(ROOT, directory, NAME)
    for student, folder in made.mixed_class(desk, students).items():
        made.hand_in(directory, NAME, student, folder)


def _grade(directory: Path, way: str, students: Sequence[str]) -> Way:
    """Grade some students in a copy of the directory, by one process for all of them."""
    with tempfile.TemporaryDirectory(prefix="grade-nbgrader-") as folder:
        copy = Path(folder, "course")
        shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("submitted", "autograded"))
        _point_to_course(copy)
        for student in students:
            shutil.copytree(directory / "submitted" / student, copy / "submitted" / student)
        nbgrader = [sys.executable, "-m", "nbgrader", "autograde", NAME]
        commands = {
            "bulk": [_script("grade"), "nbgrader", "autograde", NAME, "--public"],
            "executor": nbgrader,
            "stock": nbgrader,
        }
        begun = time.perf_counter()
        _run(commands[way], copy, STOCK="1" if way == "stock" else "")
        seconds = (time.perf_counter() - begun) / len(students)
        return Way(way, tuple(students), seconds, _read_rows(copy / "gradebook.db"))


def measure_pinned(students: int, ways: Sequence[str] = ("batch",)) -> list[Row]:
    """Grade right, wrong and empty notebooks in some ways and by the stock kernel, on one core.

    The stock kernel has its turn in each of some rounds, for machines grow slower and faster.
    """
    with tempfile.TemporaryDirectory(prefix="grade-nbgrader-") as folder:
        directory = Path(folder, "course")
        damaged = len(made.DAMAGES) + 1
        _make_class(directory, damaged + 2 * students)  # some have two mistakes, and are left out
        names = _in_turn(directory / "submitted", students)
        core = {min(os.sched_getaffinity(0))}
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, core)  # for what is started from here on
        rounds = []
        try:
            _batch(directory / "submitted", Path(folder), names[:1])  # finds keys to build
            for _ in range(_ROUNDS):
                stock = _grade(directory, "stock", names[:3])
                rounds.append([_pinned(directory, way, names, stock) for way in ways])
        finally:
            os.sched_setaffinity(0, before)
    middle = _ROUNDS // 2
    return [
        sorted(rows, key=lambda row: row.measured)[middle] for rows in zip(*rounds, strict=True)
    ]


def _pinned(directory: Path, way: str, names: Sequence[str], stock: Way) -> Row:
    least = {"batch": 100, "bulk": 50, "executor": 10}[way]
    if way == "batch":
        fast = _batch(directory / "submitted", directory.parent, names)
    else:
        fast = _grade(directory, way, names[:_FEW])
    return _faster(fast, stock, least, " on one core")


def _in_turn(submitted: Path, students: int) -> list[str]:
    """Return right, empty and wrong students in turn: as many of each."""
    names = sorted(path.name for path in submitted.iterdir())
    kinds = [[n for n in names if re.fullmatch(rf"{k}\d+", n)] for k in ("good", "stub", "wrong")]
    return [name for three in zip(*kinds, strict=False) for name in three][:students]


def _batch(submitted: Path, place: Path, students: Sequence[str]) -> Way:
    """Grade some students by `grade batch`."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        for student in students:
            shutil.copytree(submitted / student, Path(folder, "class", student))
        command = [_script("grade"), "batch", f"{folder}/class", "-o", f"{folder}/results"]
        begun = time.perf_counter()
        _run([*command, "--public", "--jobs", "1"], ROOT)
        seconds = (time.perf_counter() - begun) / len(students)
        return Way("batch", tuple(students), seconds, {})


def _point_to_course(copy: Path) -> None:
    path = copy / ".grade-nbgrader.json"
    text = path.read_text(encoding="utf-8").splitlines()
    lines = [f' "course": "{ROOT}",' if line.startswith(' "course"') else line for line in text]
    path.write_text("\n".join(lines), encoding="utf-8")


def _read_rows(database: Path) -> Rows:
    with sqlite3.connect(database) as connection:
        return {(student, cell): score for student, cell, score in connection.execute(_ROWS)}


def _script(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _run(command: Sequence[str], folder: Path, **variables: str) -> None:
    environment = {**os.environ, **made.places(), **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr[-2000:])


def _figures(bulk: Way, executor: Way, *stock: Way) -> list[Row]:
    figures = [_same(bulk, executor)]
    for slow in stock:
        figures += [
            _same(bulk, slow),
            _faster(executor, slow, 10),
            _faster(bulk, slow, 50),
        ]
    return figures


def _same(one: Way, other: Way) -> Row:
    """The share of Grade rows that two ways have alike, for all students that both graded.

    A row that only one of them has is a difference.
    """
    names = set(one.names) & set(other.names)
    keys = sorted({key for way in (one, other) for key in way.rows if key[0] in names})
    missing = object()
    different = [k for k in keys if one.rows.get(k, missing) != other.rows.get(k, missing)]
    equal = len(keys) - len(different)
    cells = len({cell for _, cell in keys})
    note = f"{equal} of {len(keys)} rows: {cells} cells of {len(names)} students"
    name = f"Grade rows of {one.name} and {other.name}"
    return Row(
        name, equal / max(len(keys), 1), 1, "of rows", f"{note} {different[:3] or ''}".strip()
    )


def _faster(fast: Way, slow: Way, at_least: float, where: str = "") -> Row:
    note = f"{fast.seconds:.2f} s and {slow.seconds:.1f} s a student, "
    note += f"{fast.students} and {slow.students} students"
    ratio = slow.seconds / fast.seconds
    return Row(f"{fast.name} beside {slow.name}{where}", ratio, at_least, "times as fast", note)


def main() -> int:
    """Measure, and print a line a figure."""
    parser = argparse.ArgumentParser(description="nbgrader in three ways")
    parser.add_argument("--students", type=int, default=30, help="in the class (default 30)")
    parser.add_argument("--stock", type=int, default=30, help="graded by the stock kernel too")
    parser.add_argument("--pinned", type=int, default=240, help="on one core (default 240)")
    arguments = parser.parse_args()
    rows = measure_nbgrader(arguments.students, arguments.stock) if arguments.students else []
    if arguments.pinned:
        rows += measure_pinned(arguments.pinned, ("batch", "bulk", "executor"))
    for row in rows:
        verdict = "ok" if row.measured >= row.at_least else "MISSED"
        print(
            f"{row.name:<40}{row.measured:>8.3g} {row.unit:<14} at least {row.at_least:g}  ", end=""
        )
        print(f"{verdict:<7} {row.note}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
