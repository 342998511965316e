"""A course in Keras' terms is graded by the same engine: layers, kernels (in, out), `build`."""

import importlib.util
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from support import TESTS, RunGrade, assert_full, edited, find_check

from grader.course.load import CourseFolder, load_course
from grader.course.questions import Question
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.grading.tried import Bench, try_question
from grader.handin.read import Source, Submission
from grader.key.cache import load_keys
from grader.records.calls import PUBLIC
from grader.records.results import ExerciseResult, Status
from grader.worker.frameworks import FrameworkName

COURSE = TESTS / "courses" / "keras"
FILES = {path.name.split("_")[0]: path for path in sorted((COURSE / "solutions").glob("*.py"))}
QUICK = ("exercise1", "exercise2")  # the keys of the others are built in the long tests
EXERCISES = [pytest.param(e, marks=[] if e in QUICK else [pytest.mark.long]) for e in FILES]
VARIANTS = sorted((COURSE / "tests" / "variants").glob("exercise*/*.py"))
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
    """Return a function that grades a text as an exercise of the course, the others right."""

    def graded(exercise_id: str, text: str) -> ExerciseResult:
        keys = replace(load_keys(course, [exercise_id], PUBLIC), pairs=lambda _: {})
        engine = Engine(course, keys, Standins.of(course), warm)
        texts = {e: solution(e) for e in FILES} | {exercise_id: text}
        sources = {e: Source(FILES[e].name, units=((FILES[e].name, texts[e]),)) for e in texts}
        exercise = course.course.exercise(exercise_id)
        return engine.run(exercise, Submission(sources), quick=True).result

    return graded


def solution(exercise: str) -> str:
    """Return the reference of an exercise."""
    return FILES[exercise].read_text(encoding="utf-8")


@pytest.mark.parametrize("exercise", EXERCISES)
def test_keras_reference_gets_every_point(exercise: str, grade_keras: GradeKeras) -> None:
    assert_full(grade_keras(exercise, solution(exercise)))


def test_tensorflow_within_a_function_is_told_its_twin(grade_keras: GradeKeras) -> None:
    first = "exercise1"
    text = (COURSE / "exercises" / FILES[first].name).read_text(encoding="utf-8")
    body = "import tensorflow as tf\n    return tf.matmul(query, key)"
    result = grade_keras(first, text.replace("raise NotImplementedError", body))
    assert "`ops.matmul(a, b)` for tf.matmul" in next(
        c.next_step for c in result.checks if c.next_step
    )


@pytest.mark.parametrize("exercise", EXERCISES)
def test_keras_stub_gets_no_point(exercise: str, grade_keras: GradeKeras) -> None:
    text = (COURSE / "exercises" / FILES[exercise].name).read_text(encoding="utf-8")
    result = grade_keras(exercise, text)
    assert (result.score, result.status) == (0, Status.FAILED)


@pytest.mark.long
@pytest.mark.parametrize("path", VARIANTS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_keras_variant_gets_every_point(path: Path, grade_keras: GradeKeras) -> None:
    assert_full(grade_keras(path.parent.name, path.read_text(encoding="utf-8")))


# ---- the layer of a notebook ---------------------------------------------------------------------

MENDED = (  # what it is told, and what is changed then: from its first error to full marks
    ("write `import keras` and `from keras import ops`, which need no TensorFlow", [
        ("import tensorflow as tf", "import keras\nfrom keras import ops"),
        ("tf.keras", "keras")]),
    ("`ops.transpose(x, axes=[...])` for tf.transpose; `ops.matmul(a, b)` for tf.linalg.matmul; "
     "`ops.softmax(x, axis=...)` for tf.math.softmax", [
        ("tf.linalg", "ops"), ("tf.math", "ops"), ("tf.", "ops.")]),
    ("ops.transpose calls it `axes`: write axes=[...] for perm=[...]", [("perm=[", "axes=[")]),
    ("an argument is given with an equals sign, `perm=[...]`", [("perm[", "axes=[")]),
    ("ops.matmul does not transpose: give it ops.swapaxes(x, -1, -2)", [
        ("keys, transpose_b=True", "ops.swapaxes(keys, -1, -2)")]),
    ("`head_units` is no argument of `SelfAttention`", [
        ("(self, heads=8)", "(self, heads=8, *, head_units=None)"),
        ("        self.__heads = heads\n",
         "        self.__heads = heads\n        self.head_units = head_units\n"),
        ("        k = input_shape[-1]\n",
         "        k = input_shape[-1]\n        d = self.d = self.head_units or k\n"),
        ("Dense(k * self.__heads", "Dense(d * self.__heads"),
        ("b, t, k = ops.shape(inputs)", "b, t, _ = ops.shape(inputs)\n        k = self.d")]),
)  # fmt: skip


def test_layer_of_a_notebook_is_led_to_full_marks(grade_keras: GradeKeras) -> None:
    text = (COURSE / "tests" / "notebook_layer.txt").read_text(encoding="utf-8")
    for said, changes in MENDED:
        failed = [c for c in grade_keras("exercise2", text).checks if c.status is Status.FAILED]
        assert any(said in f"{check.message} {check.next_step}" for check in failed), said
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
    assert_full(grade_keras("exercise2", text))


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


@pytest.mark.long
def test_keras_course_passes_its_audit(run_grade: RunGrade, tmp_path: Path) -> None:
    """Of its first part: `make audit` audits all, most of an hour on two processors."""
    place = tmp_path / "keras"
    shutil.copytree(COURSE, place)
    course = yaml.safe_load((COURSE / "course.yml").read_text(encoding="utf-8"))
    del course["parts"]
    course["exercises"] = course["exercises"][:2]
    (place / "course.yml").write_text(yaml.safe_dump(course, sort_keys=False), encoding="utf-8")
    equivalent = place / "solutions" / "bugs" / "equivalent.yml"
    known = yaml.safe_load(equivalent.read_text(encoding="utf-8"))
    kept = [one for one in known if one["exercise"] in QUICK]
    equivalent.write_text(yaml.safe_dump(kept, sort_keys=False), encoding="utf-8")
    shown = run_grade("audit", "--course", place)
    passes = "✓ every test of the tests passes" in shown.out
    assert (shown.status, passes) == (0, True), shown.out + shown.err


def test_question_is_tried_on_keras_code(course: CourseFolder, warm: WarmProcess) -> None:
    """Its lines are of torch, on which Keras runs here."""
    exercise = course.course.exercise("exercise1")
    question = Question(
        title="Equal keys",
        asks="What comes out?",
        choices=["the mean", "zeros"],
        answer=1,
        needs=["scaled_dot_product_attention"],
        lines="key, value = torch.ones(1, 3, 4), torch.randn(1, 3, 2)\n"
        "output = scaled_dot_product_attention(torch.randn(1, 1, 4), key, value)",
        shows={"the output": "output[0]"},
        draw="table",
        when="torch.allclose(output[0, 0], value[0].mean(0))",
        because="All weights are equal.",
    )
    text = FILES["exercise1"].read_text(encoding="utf-8")
    source = Source(exercise.file, units=((exercise.file, text),))
    outcome = try_question(
        Bench(course, exercise, Submission({"exercise1": source}), warm), question
    )
    assert (outcome.trouble, outcome.held) == ("", True)
