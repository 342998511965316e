"""One warm worker, one key cache and the helpers that every test of grading shares."""

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import filelock
import pytest
from hypothesis import settings
from program import Program
from support import NO_TOOL, ROOT, Grade, RunGrade, Shown, without_parts

from grader.bundle.release import make_bundle, write_bundle
from grader.course.load import CourseFolder, load_course
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.grading.jobs import Standins
from grader.handin.read import Source, Submission, read_submission
from grader.key.cache import Keys, load_keys
from grader.records.calls import PUBLIC
from grader.student.findings import Findings
from grader.student.start import start_course

pytest_plugins = ["running"]
settings.register_profile("same", derandomize=True)  # on every run the same examples
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer to write the golden files anew."""
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden/ from what grading gives"
    )


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmProcess]:
    """Start one worker for all tests in this process."""
    process = WarmProcess()
    yield process
    process.close()


@pytest.fixture(scope="session")
def folder() -> CourseFolder:
    """Read the course."""
    return load_course(ROOT)


@pytest.fixture(scope="session")
def keys(folder: CourseFolder, key_cache: Path) -> Keys:
    """Build the public keys of all exercises, once a session; the first worker does it."""
    with filelock.FileLock(key_cache / ".lock"):
        return load_keys(folder, [e.id for e in folder.course.exercises], PUBLIC)


@pytest.fixture(scope="session")
def grade(folder: CourseFolder, keys: Keys, warm: WarmProcess) -> Grade:
    """Return a function that grades one exercise of what stands at a path.

    Limits by name, as `case_seconds=1`, take the place of the course's.
    """
    return _path_grader(folder, keys, warm)


@pytest.fixture(scope="session")
def grade_file_alone(folder: CourseFolder, keys: Keys, warm: WarmProcess) -> Grade:
    """Return the same where no stand-in has the parts of a file itself."""
    return _path_grader(folder, keys, warm, parts=False)


def _path_grader(
    folder: CourseFolder, keys: Keys, warm: WarmProcess, *, parts: bool = True
) -> Grade:
    standins = Standins.of(folder)

    def graded(path: Path, exercise_id: str, **limits: Any) -> Any:
        course = _limited(folder, limits)
        exercise = course.course.exercise(exercise_id)
        submission = read_submission(path, course.course, [exercise], 2**21)
        served = standins if parts else without_parts(standins, exercise)
        return Engine(course, keys, served, warm).run(exercise, submission).result

    return graded


@pytest.fixture(scope="session")
def grade_text(folder: CourseFolder, keys: Keys, warm: WarmProcess) -> Callable[..., Any]:
    """Return a function that grades texts by exercise id, the first of them.

    Two bugs at once and smaller inputs are not looked for, which takes long; the sample class
    has both.
    """
    return _grader(folder, keys, warm)


@pytest.fixture(scope="session")
def grade_alone(folder: CourseFolder, keys: Keys, warm: WarmProcess) -> Callable[..., Any]:
    """Return a function that grades texts where no stand-in has the parts of a file itself."""
    return _grader(folder, keys, warm, parts=False)


def _grader(
    folder: CourseFolder, keys: Keys, warm: WarmProcess, *, parts: bool = True
) -> Callable[..., Any]:
    standins = Standins.of(folder)
    alone = replace(keys, pairs=lambda _: {})

    def graded(texts: dict[str, str], **limits: Any) -> Any:
        course = _limited(folder, limits)
        exercises = course.course.exercises
        sources = {e.id: Source(e.file, problem="not handed in") for e in exercises}
        for exercise_id, text in texts.items():
            file = course.course.exercise(exercise_id).file
            sources[exercise_id] = Source(file, units=((file, text),))
        first = next(iter(texts))
        exercise = course.course.exercise(first)
        served = standins if parts else without_parts(standins, exercise)
        engine = Engine(course, alone, served, warm)
        return engine.run(exercise, Submission(sources), quick=True).result

    return graded


def _limited(folder: CourseFolder, limits: dict[str, Any]) -> CourseFolder:
    if not limits:
        return folder
    tight = folder.course.limits.model_copy(update=limits)
    return replace(folder, course=folder.course.model_copy(update={"limits": tight}))


@pytest.fixture(scope="session")
def bundle(folder: CourseFolder, keys: Keys, run_folder: Path) -> dict[str, bytes]:  # noqa: ARG001 - built before
    """Make the student bundle once a run; pairs of bugs, which take long, of one exercise."""
    kept = run_folder / "bundle.zip"
    with filelock.FileLock(run_folder / ".bundle"):
        if not kept.exists():
            write_bundle(make_bundle(folder, pairs_of=["exercise4"]), kept)
    with zipfile.ZipFile(kept) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="session")
def pristine(bundle: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the bundle as a folder that no test changes."""
    path = tmp_path_factory.mktemp("bundle") / "course"
    write_bundle(bundle, path)
    return path


@pytest.fixture
def course(pristine: Path, tmp_path: Path) -> Path:
    """Start a student's course in a folder of the test's own."""
    start_course(tmp_path / "my-transformer", bundle=pristine)
    return tmp_path / "my-transformer"


@pytest.fixture(scope="session")
def shipped_engine(pristine: Path, warm: WarmProcess) -> Engine:
    """Open the bundle for all exercises, with nothing but what students have."""
    shipped = load_course(pristine)
    return open_engine(shipped, shipped.course.exercises, warm)


@pytest.fixture
def shipped_findings(shipped_engine: Engine) -> Findings:
    """Return what finds results of files that are not the student's own."""
    return Findings(shipped_engine.folder, lambda: shipped_engine, own=False)


@pytest.fixture(scope="session")
def run_grade(keys: Keys, run_program: RunGrade) -> RunGrade:  # noqa: ARG001 - keys are there first
    """Return a function that runs `grade` in a process of its own."""
    return run_program


@pytest.fixture(scope="session")
def run_program(key_cache: Path) -> Iterator[RunGrade]:  # noqa: ARG001 - keys may be built
    """Return the same, where keys of the course are not needed."""
    program = Program()

    def run(*arguments: object, cwd: Path = ROOT, **variables: str) -> Shown:
        return program.run([*map(str, arguments)], cwd, {**os.environ, **variables})

    yield run
    program.close()


@pytest.fixture(scope="session")
def browser() -> str:
    """Return the program of a Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = next((found for name in names if (found := shutil.which(name))), None)
    return found or pytest.skip(f"{NO_TOOL}Chromium (Debian: apt-get install chromium)")
