"""All that a course has works for one in Keras, and speaks of Keras: the first part is played."""

import csv
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbgrader_class as made
import pytest
import yaml
from nbgrader.tests import run_nbgrader
from support import TESTS, RunGrade, edited

from grader.bundle.gradescope import _requirements
from grader.bundle.release import make_bundle, write_bundle
from grader.course.load import CourseFolder, load_course
from grader.course.models import Course
from grader.course.written import libraries_of, special_libraries
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine, open_engine
from grader.handin.read import Source, Submission, read_submission
from grader.key.cache import load_keys
from grader.nbgrader.autograde import AutogradeRequest, autograde
from grader.nbgrader.init import init_directory
from grader.notebook.finding import COURSE_VARIABLE
from grader.notebook.imports import EarlierNotebooks
from grader.notebook.magics import load_extension
from grader.records.calls import PUBLIC
from grader.student.compare import compare
from grader.student.findings import Findings
from grader.student.start import start_course
from grader.student.watch import Turn, Watch
from grader.worker.frameworks import FrameworkName

COURSE = TESTS / "courses" / "keras"
FILES = ("exercise1_attention.py", "exercise2_self_attention.py")
FIRST, SECOND = FILES
TEXTS = {name: (COURSE / "solutions" / name).read_text(encoding="utf-8") for name in FILES}
PASTED = edited(TEXTS[SECOND], ("self.to_keys(inputs)", "self.to_queries(inputs)"))
UNSCALED = edited(TEXTS[FIRST], ("products / d**0.5", "products"))
pytestmark = [
    pytest.mark.xdist_group("keras"),
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # nbgrader's own
]

CLASS = {  # by student: what is handed in, and the points of the two exercises
    "ada": (TEXTS, 10, 20),
    "bea": ({**TEXTS, FIRST: UNSCALED}, 1.4, 20),
    "cyd": ({**TEXTS, SECOND: PASTED}, 10, 2.2),
    "dan": ({name: (COURSE / "exercises" / name).read_text() for name in FILES}, 0, 0),
    "eve": ({**TEXTS, SECOND: "def ("}, 10, 0),
    "fay": ({**TEXTS, SECOND: f"import tensorflow as tf\n{TEXTS[SECOND]}"}, 10, 0),
    "gus": ({FIRST: TEXTS[FIRST]}, 10, 0),
    "hal": ({**TEXTS, SECOND: TEXTS[SECOND].replace("def call(", "def forward(")}, 10, 0),
}


@pytest.fixture(scope="module")
def keras(key_cache: Path) -> CourseFolder:  # noqa: ARG001 - keys are built
    """Read the course, with the keys of its first part."""
    course = load_course(COURSE)
    load_keys(course, ["exercise1", "exercise2"], PUBLIC)
    return course


@pytest.fixture(scope="module")
def bundle(keras: CourseFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Release the first part; pairs of bugs, which take a minute, are left out."""
    path = tmp_path_factory.mktemp("keras") / "bundle"
    write_bundle(make_bundle(keras, part="part1", pairs_of=[]), path)
    return path


@pytest.fixture
def course(bundle: Path, tmp_path: Path) -> Path:
    """Start a student's course in which exercise 1 is written."""
    start_course(tmp_path / "ada", bundle=bundle)
    (tmp_path / "ada" / "exercises" / FIRST).write_text(TEXTS[FIRST], encoding="utf-8")
    return tmp_path / "ada"


@pytest.fixture(scope="module")
def engine(bundle: Path, warm: WarmProcess) -> Engine:
    """Open what students have."""
    shipped = load_course(bundle)
    return open_engine(shipped, shipped.course.exercises, warm)


# ---- a student ----------------------------------------------------------------------------------


def test_bundle_tells_how_files_run_by_themselves(bundle: Path) -> None:
    said = (bundle / "README.md").read_text(encoding="utf-8")
    assert "`export KERAS_BACKEND=torch`" in said
    assert "\n\n\n" not in said


def test_student_is_led_along(run_program: RunGrade, course: Path) -> None:
    """What `check` found serves the commands behind it."""
    (course / "exercises" / SECOND).write_text(PASTED, encoding="utf-8")
    checked = run_program("check", "2", "--html", course / "report.html", cwd=course)
    assert "keys are made by the layer of the queries" in " ".join(checked.out.split())
    assert "no gradient reaches the parameter `to_keys.kernel`" in checked.out
    assert "to_keys.kernel" in (course / "report.html").read_text(encoding="utf-8")
    assert "Which layers have no gradient?" in run_program("hint", "2", cwd=course).out
    explained = run_program("explain", "2", cwd=course).out
    assert "keys            (3, 5, 2, 4) (b, t, h, k)  ✗ yours has other values" in explained
    assert "transpose" in explained
    assert "permute" not in explained
    assert "/ 30 points" in run_program("list", cwd=course).out


def test_right_work_is_packed(run_program: RunGrade, course: Path) -> None:
    (course / "exercises" / SECOND).write_text(TEXTS[SECOND], encoding="utf-8")
    packed = run_program("pack", "-o", course / "work.zip", cwd=course)
    assert "30 / 30 points on the public cases" in packed.out
    assert (course / "work.zip").is_file()


def test_lesson_and_question_are_there(run_program: RunGrade, course: Path) -> None:
    tried = run_program("try", "1", "1", "--guess", "2", cwd=course)
    assert "You guessed 2: The mean of the four values." in tried.out
    assert run_program("read", "1", "--html", course / "lesson.html", cwd=course).status == 0
    assert "keras.ops" in (course / "lesson.html").read_text(encoding="utf-8")


def test_nothing_is_trained(run_program: RunGrade, course: Path) -> None:
    assert "`grade check` grades it at once" in run_program("train", cwd=course).err


class _Saves:
    """Saves texts of exercise 2, one at each wait."""

    def __init__(self, path: Path, *texts: str) -> None:
        self.path, self.texts = path, list(texts)

    def wait(self) -> frozenset[str] | None:
        if not self.texts:
            return None
        self.path.write_text(self.texts.pop(0), encoding="utf-8")
        return frozenset({"exercise2"})


def test_watch_grades_each_save(engine: Engine, course: Path) -> None:
    place, turns = course / "exercises", list[Turn]()
    findings = Findings(engine.folder, lambda: engine, own=False, fresh=True)
    saves = _Saves(place / SECOND, PASTED, TEXTS[SECOND])
    exercises = engine.folder.course.exercises
    watch = Watch(findings, exercises, place, saves, turns.append)
    assert watch.run(exercises[1])
    scores = [(turn.result.exercise, turn.result.score) for turn in turns]
    assert scores[0] == ("exercise2", 0)
    assert 2 < scores[1][1] < 3
    assert scores[2:] == [("exercise2", 20), ("exercise1", 10)]


# ---- what is told in Keras' words ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("def call(", "def forward(", "rename `forward` to `call`"),
        ("self.unify_heads = keras.layers.Dense(k)", "self.unify_heads = keras.layers.Dense(k + 1)",
         "`unify_heads` returns 5 numbers, and should return 4"),
        ("self.unify_heads = keras.layers.Dense(k)",
         "self.unify_heads = keras.layers.Dense(k, use_bias=False)", "`unify_heads` has no bias"),
        ("self.to_keys = keras.layers.Dense(self.heads * self.units, use_bias=False)",
         "self.to_keys = keras.layers.Dense(self.heads * self.units)", "with use_bias=False"),
        ("self.unify_heads(merged)", "self.unify_heads(ops.convert_to_numpy(merged))",
         "look for ops.stop_gradient, ops.convert_to_numpy"),
        ("        return output\n", "        return ops.convert_to_numpy(output)\n",
         "stay with tensors to the end: no ops.convert_to_numpy"),
        ("        return output\n", '        return ops.cast(output, "float32")\n',
         'no ops.cast(x, "float32")'),
    ],
    ids=["method", "unbound", "no bias", "bias", "cut", "array", "dtype"],
)  # fmt: skip
def test_mistake_is_told_in_keras_words(
    old: str, new: str, said: str, engine: Engine, course: Path
) -> None:
    text = edited(TEXTS[SECOND], (old, new))
    (course / "exercises" / SECOND).write_text(text, encoding="utf-8")
    findings = Findings(engine.folder, lambda: engine, own=False, fresh=True)
    (found,) = findings.of(*_submission(engine, course))
    checks = found.result.checks
    told = [f"{c.message} {c.next_step}" for c in checks]
    told += [f"{d.evidence} {d.hint}" for d in found.result.diagnoses]
    assert any(said in one for one in told), told
    assert not any("nn." in one or "forward uses" in one for one in told)


def _submission(engine: Engine, course: Path) -> tuple[Any, Any]:
    one = [engine.folder.course.exercise("exercise2")]
    return one, read_submission(course / "exercises", engine.folder.course, one, 2**21)


def test_ways_are_those_of_keras(keras: CourseFolder, engine: Engine) -> None:
    exercise = engine.folder.course.exercise("exercise1")
    text = edited(TEXTS[FIRST], ("ops.transpose(key, axes=[0, 2, 1])", "ops.swapaxes(key, 1, 2)"))
    source = Source(FIRST, units=((FIRST, text),))
    result = engine.run(exercise, Submission({"exercise1": source})).result
    (one,) = compare(keras.course, exercise, source, TEXTS[FIRST], result)
    assert "`transpose` lists all axes in their new order" in one.differences[0].meanings


# ---- a notebook ---------------------------------------------------------------------------------


class _Shell:
    """What IPython is to an extension that adds magics of a line."""

    def __init__(self) -> None:
        self.magics: dict[str, Callable[[str], Any]] = {}

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        if kind == "line":
            self.magics[name] = function


def test_notebook_is_helped(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course / "exercises")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, EarlierNotebooks()])
    monkeypatch.setattr(os, "environ", {**os.environ})
    os.environ.pop("KERAS_BACKEND", None)
    monkeypatch.setattr("grader.notebook.check.executed_cells", lambda: ["", PASTED])
    shell = _Shell()
    load_extension(shell)
    assert os.environ["KERAS_BACKEND"] == "torch"
    assert "to_keys.kernel" in repr(shell.magics["check"]("2"))
    assert "hint 1 of 3" in repr(shell.magics["hint"]("2"))
    assert "exercise2 · SelfAttention" in repr(shell.magics["explain"]("2"))


# ---- a class ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write what the class hands in."""
    place = tmp_path_factory.mktemp("class")
    for student, (texts, _, _) in CLASS.items():
        (place / student).mkdir()
        for name, text in texts.items():
            (place / student / name).write_text(text, encoding="utf-8")
    return place


def test_class_is_graded_exported_and_told(
    run_program: RunGrade, keras: CourseFolder, bundle: Path, handed_in: Path, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    graded = run_program("batch", handed_in, "-o", results, "--course", bundle, "--public")
    assert graded.status == 0, graded.err
    assert run_program("export", results, "-o", tmp_path / "scores.csv").status == 0
    lines = (tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()
    rows = {row["student"]: row for row in csv.DictReader(lines)}
    for student, (_, first, second) in CLASS.items():
        assert float(rows[student]["total"]) == pytest.approx(first + second, abs=0.1), student
    run_program("report", results, "--html", tmp_path / "pages", "--course", bundle)
    pages = {path.stem: path.read_text("utf-8") for path in (tmp_path / "pages").rglob("*.html")}
    assert "to_keys.kernel" in pages["cyd"]
    assert "from keras import ops" in pages["fay"]
    assert keras.course.title in pages["index"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, key_cache: Path) -> Path:  # noqa: ARG001
    """Make a course of torch's with exercise 1, which is of Keras, and few known bugs.

    Its keys and pairs are built in seconds.
    """
    place = tmp_path_factory.mktemp("small") / "course"
    (place / "solutions" / "bugs").mkdir(parents=True)
    course = yaml.safe_load((COURSE / "course.yml").read_text(encoding="utf-8"))
    del course["framework"], course["parts"]
    course["exercises"] = [{**course["exercises"][0], "framework": "keras"}]
    course["every_target"].append({"kind": "device"})  # which is left out
    (place / "course.yml").write_text(yaml.safe_dump(course, sort_keys=False), encoding="utf-8")
    (place / "solutions" / FIRST).write_text(TEXTS[FIRST], encoding="utf-8")
    bugs = yaml.safe_load((COURSE / "solutions" / "bugs" / "exercise1.yml").read_text("utf-8"))
    few = yaml.safe_dump(bugs[:3], sort_keys=False)
    (place / "solutions" / "bugs" / "exercise1.yml").write_text(few, encoding="utf-8")
    return place


def test_hidden_cases_grade_the_same(
    run_program: RunGrade, small: Path, handed_in: Path, tmp_path: Path
) -> None:
    data = str(tmp_path / "data")
    into = ("-o", tmp_path / "r", "--course", small)
    graded = run_program("batch", handed_in, *into, XDG_DATA_HOME=data)
    assert "hidden cases of secret" in graded.out + graded.err
    given = ("--course", small, "--students")
    shown = run_program("report", tmp_path / "r", *given, XDG_DATA_HOME=data)
    totals = {line.split()[0]: line.split()[1] for line in shown.out.splitlines() if line}
    assert (totals["ada"], totals["dan"]) == ("10", "0")
    assert 0 < float(totals["bea"]) < 3


# ---- nbgrader -----------------------------------------------------------------------------------


class _Silent:
    """Hears nothing."""

    def expect(self, steps: int) -> None: ...
    def advance(self, label: str) -> None: ...
    def key_step(self, what: str) -> None: ...


def test_nbgrader_grades_the_notebooks(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.use_places(monkeypatch)
    monkeypatch.setenv(COURSE_VARIABLE, str(small))
    init_directory(tmp_path, load_course(small), "keras")
    monkeypatch.chdir(tmp_path)
    run_nbgrader(["generate_assignment", "keras"])
    desk = made.open_desk(small, tmp_path, "keras")
    for student, work in {"ada": made.good(desk), "bob": made.wrong(desk, 0)}.items():
        made.hand_in(tmp_path, "keras", student, work)
    done = autograde(AutogradeRequest(tmp_path, "keras", public=True), _Silent())
    assert sorted(done.graded) == ["ada", "bob"]
    assert not done.problems
    page = json.loads((tmp_path / "autograded/bob/keras/exercise1.ipynb").read_text("utf-8"))
    said = json.dumps([cell.get("outputs") for cell in page["cells"]])
    assert "the scores are not scaled" in said, said


# ---- frameworks in one course -------------------------------------------------------------------


def test_exercise_has_a_framework_of_its_own(keras: CourseFolder) -> None:
    first, *rest = keras.course.exercises
    rest = [one.model_copy(update={"framework": FrameworkName.KERAS}) for one in rest]
    update = {"framework": FrameworkName.TORCH, "exercises": [first, *rest]}
    mixed = keras.course.model_copy(update=update)
    assert mixed.framework_of(first) is FrameworkName.TORCH
    assert mixed.framework_of(mixed.exercises[1]) == FrameworkName.KERAS
    assert libraries_of(mixed) == ["torch", "keras"]
    assert isinstance(mixed, Course)
    assert special_libraries() == {"keras"}


def test_gradescope_installs_keras_for_a_course_in_keras(keras: CourseFolder) -> None:
    assert "keras" in _requirements(libraries_of(keras.course))
