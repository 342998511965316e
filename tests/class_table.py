"""Grades the sample class in tests/submissions/ and prints its table: `make demo`."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from grader.course.load import CourseFolder, load_course
from grader.course.models import Exercise
from grader.engine import Engine, open_engine
from grader.errors import GraderError
from grader.execute.launch import WarmProcess
from grader.records import ExerciseResult, Status
from grader.submission import read_submission

ROOT = Path(__file__).resolve().parent.parent
CLASS = ROOT / "tests" / "submissions"
_WIDTH = 120  # columns where there is no terminal
_CELL = 5  # columns of a score, with the space before it


@dataclass(frozen=True)
class Row:
    """What one student came to."""

    student: str
    results: dict[str, ExerciseResult]  # by exercise, of those that were handed in

    @property
    def total(self) -> float:
        return sum(result.score for result in self.results.values())


def grade_folder(engine: Engine, path: Path) -> Row:
    """Grade what a student handed in; what is absent has no result."""
    course = engine.folder.course
    limit = course.limits.source_kib * 1024
    submission = read_submission(path, course, course.exercises, limit)
    handed_in = [e for e in course.exercises if _handed_in(path, e)]
    return Row(path.name, {e.id: engine.run(e, submission).result for e in handed_in})


def _handed_in(path: Path, exercise: Exercise) -> bool:
    stems = (exercise.stem, exercise.id)
    return any(
        (path / f"{stem}{suffix}").exists() for stem in stems for suffix in (".py", ".ipynb")
    )


def first_message(row: Row) -> str:
    """Return the first diagnosis, else the first failed check's sentence, else ""."""
    for exercise, result in row.results.items():
        for diagnosis in result.diagnoses:
            if diagnosis.bugs:
                return f"{_short(exercise)}: {', '.join(diagnosis.bugs)} in {diagnosis.target}"
        for check in result.checks:
            if check.status is not Status.PASSED and check.message:
                return f"{_short(exercise)}: {check.message}"
    return ""


def render(folder: CourseFolder, rows: list[Row], width: int) -> str:
    """Return the table: a line a student, best first."""
    exercises = folder.course.exercises
    names = max(len(row.student) for row in rows)
    possible = [e.points for e in exercises]
    lines = [
        _line("student", names, [_short(e.id) for e in exercises], "total", "first finding"),
        _line("points possible", names, [_number(p) for p in possible], _number(sum(possible)), ""),
    ]
    for row in sorted(rows, key=lambda r: (-r.total, r.student)):
        found = [row.results.get(e.id) for e in exercises]
        cells = ["-" if result is None else _number(result.score) for result in found]
        lines.append(_line(row.student, names, cells, _number(row.total), first_message(row)))
    return "\n".join(_cut(line.rstrip(), width) for line in lines)


def _short(exercise: str) -> str:
    return exercise.replace("exercise", "ex")


def _number(score: float) -> str:
    return f"{round(score, 1):g}"


def _line(student: str, names: int, cells: list[str], total: str, message: str) -> str:
    scores = "".join(f"{cell:>{_CELL}}" for cell in cells)
    return f"{student:<{names}}{scores}  {total:>{_CELL}}  {message}"


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def main() -> int:
    """Print the table; 0 unless the grader itself is at fault."""
    warm = WarmProcess()
    try:
        folder = load_course(ROOT)
        students = sorted(path for path in CLASS.iterdir() if path.is_dir())
        engine = open_engine(folder, folder.course.exercises, warm)
        rows = [grade_folder(engine, path) for path in students]
    except GraderError as error:
        sys.stderr.write(f"class_table: {error}\n")
        return error.exit_code
    finally:
        warm.close()
    columns = max(80, shutil.get_terminal_size((_WIDTH, 24)).columns)
    print(f"{folder.course.title}: {len(rows)} students\n")
    print(render(folder, rows, columns))
    faults = [r for row in rows for r in row.results.values() if r.status is Status.ERROR]
    return 3 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
