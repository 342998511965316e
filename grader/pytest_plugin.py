"""Makes every check of a student's course a pytest item: `pytest exercises/`, `-k exercise3`.

It is loaded with every run of pytest where grader is installed, so it imports nothing until a file
in the exercises folder of a course made by `grade start` is collected, and does nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from grader.course.load import CourseFolder
    from grader.course.models import Exercise
    from grader.execute.launch import WarmProcess
    from grader.grading.engine import Engine
    from grader.records.ids import CheckId
    from grader.records.results import CheckResult, ExerciseResult

_DESK: pytest.StashKey[Desk] = pytest.StashKey()
_MANIFEST = Path("key", "manifest.json")  # of a course as students get it


class Desk:
    """What a session's exercises share: courses that were read, and one warm process."""

    def __init__(self) -> None:
        """Begin with nothing; most sessions need none of it."""
        self._warm: WarmProcess | None = None
        self._courses: dict[Path, CourseFolder] = {}

    def course(self, root: Path) -> CourseFolder:
        """Return a course; raises GraderError."""
        from grader.course.load import load_course

        if root not in self._courses:
            self._courses[root] = load_course(root)
        return self._courses[root]

    def engine(self, folder: CourseFolder, exercise: Exercise) -> Engine:
        """Return what grades an exercise; torch begins to load with the first; raises GraderError.

        Collecting asks for none, so that it is quick, and so is a run that selects nothing of it.
        """
        from grader.execute.launch import WarmProcess
        from grader.grading.engine import open_engine

        if self._warm is None:
            self._warm = WarmProcess()
        return open_engine(folder, [exercise], self._warm)

    def close(self) -> None:
        """End the warm process."""
        if self._warm is not None:
            self._warm.close()


class CheckFailed(Exception):
    """A check that is not passed; its text is the report's."""


class ExerciseFile(pytest.File):
    """An exercise's file, whose items are its checks."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one item a check, by the course and its key; the file itself is not run."""
        from grader.checks.judge import list_checks
        from grader.errors import GraderError
        from grader.grading.public import public_key

        try:
            folder, exercise = self._meant()
            key = public_key(folder, exercise)
        except GraderError as error:
            raise self.CollectError(str(error)) from None
        for check in list_checks(folder.course, exercise, key):
            yield CheckItem.from_parent(self, name=check.id.in_exercise, check_id=check.id)

    @cached_property
    def result(self) -> ExerciseResult:
        """The graded exercise, once for all of its items; as found in the same text before."""
        from grader.handin.read import read_submission
        from grader.student.findings import recall

        folder, exercise = self._meant()
        limit = folder.course.limits.source_kib * 1024
        submission = read_submission(self.path, folder.course, [exercise], limit)
        found = recall(folder, exercise, submission)
        if found is not None and found.whole:
            return found.result
        engine = self.config.stash[_DESK].engine(folder, exercise)
        return engine.run(exercise, submission).result

    def _meant(self) -> tuple[CourseFolder, Exercise]:
        folder = self.config.stash[_DESK].course(self.path.parent.parent)
        (exercise,) = (e for e in folder.course.exercises if self.path.stem in (e.stem, e.id))
        return folder, exercise


class CheckItem(pytest.Item):
    """One check of an exercise."""

    def __init__(self, *, check_id: CheckId, **arguments: Any) -> None:
        """Take the check's id, as in a report."""
        super().__init__(**arguments)
        self.check_id = check_id

    def runtest(self) -> None:
        """Take the check's verdict; raises CheckFailed or pytest's Skipped."""
        from grader.records.results import Status

        result = self.file.result
        check = next(check for check in result.checks if check.id == self.check_id)
        if check.status is Status.SKIPPED:
            pytest.skip(check.message)
        if check.unwritten:
            pytest.skip("not written yet")
        if check.status is not Status.PASSED:
            if _is_beside(result, check):
                pytest.skip("another mistake is in the way")
            raise CheckFailed(_words(result, check))

    @property
    def file(self) -> ExerciseFile:
        """The file that the check belongs to."""
        assert isinstance(self.parent, ExerciseFile)  # noqa: S101 - made by its collect alone
        return self.parent

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,
    ) -> Any:
        """Show the report's words in place of our own traceback."""
        if isinstance(excinfo.value, CheckFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Say where the check belongs, for editors' test panels."""
        return self.path, 0, str(self.check_id)


def _is_beside(result: ExerciseResult, check: CheckResult) -> bool:
    """Whether a known mistake was not made: its check fails for what is wrong elsewhere."""
    from grader.records.results import Kind

    if check.kind is not Kind.BUG:
        return False
    named: dict[str, str] = {}  # of a mistake that several targets share, the first's
    for diagnosis in result.diagnoses:
        for bug in diagnosis.bugs[:1]:
            named.setdefault(bug, diagnosis.target)
    others = [c for c in result.checks if c.target == check.target and c.kind is not Kind.BUG]
    return named.get(check.id.name) != check.target and any(one.failed for one in others)


def _words(result: ExerciseResult, check: CheckResult) -> str:
    from grader.compare.evidence import FOLLOW_HINT, UNKNOWN
    from grader.report.words import shown_case

    told = [d for d in result.diagnoses if d.target == check.target]
    lines = [check.message]
    for one in told:
        lines += [f"▸ {one.sentence}", *([f"hint  {one.hint}"] if one.hint else [])]
    step = check.next_step
    if step in UNKNOWN and any(one.hint for one in told):
        step = FOLLOW_HINT
    for label, text in (("case", shown_case(check)), ("next", step)):
        lines += [f"{label}  {text}"] if text else []
    return "\n".join(lines)


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the session's desk, still empty."""
    config.stash[_DESK] = Desk()


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what was started."""
    if _DESK in config.stash:
        config.stash[_DESK].close()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ExerciseFile | None:
    """Collect exercises' files, .py and notebooks; of two with one name the one that is graded."""
    if not _is_exercise(parent, file_path) or (
        file_path.suffix == ".py" and _named(parent, file_path)
    ):
        return None  # a .py file that was named comes by the hook below
    if file_path.suffix == ".ipynb" and file_path.with_suffix(".py").exists():
        return None
    collected: ExerciseFile = ExerciseFile.from_parent(parent, path=file_path)
    return collected


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> Any:
    """Take an exercise that was named on the command line for what it is: it is not imported."""
    if _is_exercise(parent, module_path):
        return ExerciseFile.from_parent(parent, path=module_path)
    return None


def _named(parent: pytest.Collector, path: Path) -> bool:
    return parent.session.isinitpath(path)


def _is_exercise(parent: pytest.Collector, path: Path) -> bool:
    """Whether a file is an exercise of a student's course, by course.yml."""
    if path.suffix not in (".py", ".ipynb") or path.parent.name != "exercises":
        return False
    root = path.parent.parent
    if not (root / _MANIFEST).is_file():
        return False
    from grader.errors import GraderError

    try:
        exercises = parent.config.stash[_DESK].course(root).course.exercises
    except GraderError:
        return True  # collecting it tells what is wrong
    return any(path.stem in (exercise.stem, exercise.id) for exercise in exercises)
