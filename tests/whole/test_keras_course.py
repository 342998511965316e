"""A course in Keras' terms is graded by the same engine: layers, kernels (in, out), `build`."""

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support import TESTS, RunGrade, assert_full, edited, find_check

from grader.course.load import CourseFolder, load_course
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.exercise import Standins
from grader.handin.read import Source, Submission
from grader.key.cache import load_keys
from grader.records.calls import PUBLIC
from grader.records.results import ExerciseResult, Status
from grader.worker.frameworks import FrameworkName

COURSE = TESTS / "courses" / "keras"
pytestmark = pytest.mark.xdist_group("keras")  # one process builds the keys, and imports Keras

GradeKeras = Callable[[str, str], ExerciseResult]


@pytest.fixture(scope="module")
def course() -> CourseFolder:
    return load_course(COURSE)


@pytest.fixture(scope="module")
def grade_keras(
    course: CourseFolder,
    warm: WarmProcess,
    key_cache: Path,  # noqa: ARG001 - keys are built
) -> GradeKeras:
    """Return a function that grades a text as an exercise of the course."""
    exercises = course.course.exercises
    keys = replace(load_keys(course, [e.id for e in exercises], PUBLIC), pairs=lambda _: {})
    engine = Engine(course, keys, Standins.of(course), warm)

    def graded(exercise_id: str, text: str) -> ExerciseResult:
        exercise = course.course.exercise(exercise_id)
        sources = {e.id: Source(e.file, problem="-") for e in exercises}
        sources[exercise_id] = Source(exercise.file, units=((exercise.file, text),))
        return engine.run(exercise, Submission(sources), quick=True).result

    return graded


def solution(exercise: str) -> str:
    """Return the reference of an exercise."""
    (path,) = (COURSE / "solutions").glob(f"{exercise}_*.py")
    return path.read_text(encoding="utf-8")


EXERCISES = [e.id for e in load_course(COURSE).course.exercises]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_keras_reference_gets_every_point(exercise: str, grade_keras: GradeKeras) -> None:
    assert_full(grade_keras(exercise, solution(exercise)))


@pytest.mark.parametrize("exercise", EXERCISES)
def test_keras_stub_gets_no_point(
    exercise: str, course: CourseFolder, grade_keras: GradeKeras
) -> None:
    text = (COURSE / "exercises" / course.course.exercise(exercise).file).read_text("utf-8")
    result = grade_keras(exercise, text)
    assert (result.score, result.status) == (0, Status.FAILED)


@pytest.mark.parametrize(
    ("old", "new", "check", "said"),
    [
        ("keys = ops.reshape(self.to_keys(inputs)", "keys = ops.reshape(self.to_queries(inputs)",
         "SelfAttention/property/trained", "no gradient reaches the parameter `to_keys.kernel`"),
        ("keras.layers.Dense(k)", "keras.layers.Dense(k, use_bias=False)",
         "SelfAttention/property/registered", "it has `to_queries.kernel` (5, 10)"),
    ],
    ids=["never called", "no bias"],
)  # fmt: skip
def test_keras_mistake_is_told_in_keras_names(
    old: str, new: str, check: str, said: str, grade_keras: GradeKeras
) -> None:
    found = find_check(grade_keras("exercise2", edited(solution("exercise2"), (old, new))), check)
    assert found.status is Status.FAILED
    assert said in found.message


def test_keras_stubs_are_derived(run_grade: RunGrade) -> None:
    assert run_grade("derive", "--check", "--course", COURSE) == (0, "", "")


def test_keras_course_works_at_the_command_line(
    run_grade: RunGrade,
    grade_keras: GradeKeras,  # noqa: ARG001 - keys are built
) -> None:
    shown = run_grade("check", "1", "--course", COURSE, "--submission", COURSE / "solutions")
    assert shown.status == 0
    assert "10 / 10 points" in shown.out


# ---- the user's own settings ---------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of Keras' settings, with every backend installed."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    return tmp_path


def test_backend_of_the_environment_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "keras.json").write_text('{"backend": "torch"}')
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert "'jax' of KERAS_BACKEND does not count" in FrameworkName.KERAS.unheard


def test_backend_of_the_settings_is_told(home: Path) -> None:
    (home / "keras.json").write_text(json.dumps({"backend": "jax"}))
    assert str(home / "keras.json") in FrameworkName.KERAS.unheard
    assert FrameworkName.TORCH.unheard == ""


@pytest.mark.parametrize("text", [None, "{", "[]", "{}", '{"backend": "torch"}', '{"backend": 3}'])
def test_settings_without_another_backend_say_nothing(text: str | None, home: Path) -> None:
    if text is not None:
        (home / "keras.json").write_text(text)
    assert FrameworkName.KERAS.unheard == ""


def test_backend_that_is_not_installed_says_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "keras.json").write_text('{"backend": "tensorflow"}')  # which Keras writes by itself
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert FrameworkName.KERAS.unheard == ""


def test_course_without_keras_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FrameworkName.KERAS.missing == ""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "pip install 'grader[keras]'" in FrameworkName.KERAS.missing
