"""A course on another topic is graded by the same engine, which knows of no topic."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, TESTS, RunGrade, assert_full, edited, find_check

from grader.course.load import CourseFolder, load_course
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.handin.read import Source, Submission
from grader.key.cache import load_keys
from grader.records.calls import PUBLIC
from grader.records.results import ExerciseResult, Kind, Status

COURSE = TESTS / "courses" / "statistics"
FILES = {"exercise1": "exercise1_columns.py", "exercise2": "exercise2_average.py"}


@pytest.fixture(scope="session")
def other() -> CourseFolder:
    """Read the second course."""
    return load_course(COURSE)


@pytest.fixture(scope="session")
def grade_other(
    other: CourseFolder,
    warm: WarmProcess,
    key_cache: Path,  # noqa: ARG001 - keys are built
) -> Callable[..., ExerciseResult]:
    """Return a function that grades a text as an exercise of the second course."""
    keys = replace(load_keys(other, list(FILES), PUBLIC), pairs=lambda _: {})
    engine = Engine(other, keys, Standins({}), warm)

    def graded(exercise_id: str, text: str) -> ExerciseResult:
        exercise = other.course.exercise(exercise_id)
        sources: dict[str, Source] = {e: Source(file, problem="-") for e, file in FILES.items()}
        sources[exercise_id] = Source(FILES[exercise_id], units=((FILES[exercise_id], text),))
        return engine.run(exercise, Submission(sources)).result

    return graded


def read(folder: str, exercise: str) -> str:
    """Return the text of a solution or stub."""
    return (COURSE / folder / FILES[exercise]).read_text(encoding="utf-8")


@pytest.mark.parametrize("exercise", FILES)
def test_second_course_reference_gets_every_point(exercise: str, grade_other: Any) -> None:
    assert_full(grade_other(exercise, read("solutions", exercise)))


@pytest.mark.parametrize("exercise", FILES)
def test_second_course_stub_gets_no_point(exercise: str, grade_other: Any) -> None:
    result = grade_other(exercise, read("exercises", exercise))
    assert (result.score, result.status) == (0, Status.FAILED)


@pytest.mark.parametrize(
    ("exercise", "old", "new", "check", "said"),
    [
        ("exercise1", "mean(dim=0, keepdim=True)  # (n, m)", "mean(dim=1, keepdim=True)",
         "standardize/property/column-independent", "for one item along m should be the same"),
        ("exercise1", "centred.square().mean(dim=0, keepdim=True)",
         "x.var(dim=0, keepdim=True)",
         "standardize/numeric", "right shape but wrong values"),
        ("exercise1", "(variance + eps).sqrt()", "(variance.sqrt() + eps)",
         "standardize/numeric/eps", "right shape but wrong values"),
        ("exercise1", "    return standardized\n", "    return standardized.detach()\n",
         "standardize/gradient", "gradient"),
        ("exercise1", "    return standardized\n", "    return standardized[0]\n",
         "standardize/shape", "the output has the wrong shape"),
        ("exercise1", "    centred = ", "    x -= 0.5\n    centred = ",
         "standardize/property/inputs-unchanged", "`x`, the caller's tensor, is changed"),
        ("exercise1", "    return standardized\n", "    return standardized.float()\n",
         "standardize/property/dtype", "the output is float32 where the input is float64"),
        ("exercise1", "hits.mean(dim=0)", "hits.sum(dim=0)",
         "histogram/property/rows-sum-to-one", "a row sums to"),
        ("exercise1", ", device=labels.device", "",
         "histogram/property/device", "a tensor is not made on the input's device"),
        ("exercise1", "    hits = ", "    torch.bincount(labels)\n    hits = ",
         "histogram/property/allowed", "`torch.bincount` does what this exercise asks"),
        ("exercise2", "keep * average + (1 - keep) * row", "(1 - keep) * average + keep * row",
         "ExponentialMovingAverage/numeric", "right shape but wrong values"),
        ("exercise2", "if self.from_zero else x[0]", "if True else x[0]",
         "ExponentialMovingAverage/numeric", "right shape but wrong values"),
        ("exercise2", "nn.Parameter(torch.zeros(width))", "torch.zeros(width)",
         "ExponentialMovingAverage/property/registered", "`decay_logit` holds a tensor"),
        ("exercise2", "        if width < 1:\n", "        if False:\n",
         "ExponentialMovingAverage/property/empty-width", "a width of zero should raise"),
        ("exercise2", "        averages = []\n",
         "        self.averages = averages = getattr(self, 'averages', [])\n",
         "ExponentialMovingAverage/property/reusable", "a later input of another shape fails"),
    ],
    ids=[
        "rows for columns",
        "unbiased",
        "epsilon outside",
        "detached",
        "one row",
        "in place",
        "float32",
        "counts",
        "fixed device",
        "forbidden",
        "shares exchanged",
        "option ignored",
        "unregistered",
        "width unchecked",
        "state kept",
    ],
)  # fmt: skip
def test_second_course_wrong_answer_fails_for_its_reason(
    exercise: str, old: str, new: str, check: str, said: str, grade_other: Any
) -> None:
    found = find_check(
        grade_other(exercise, edited(read("solutions", exercise), (old, new))), check
    )
    assert found.status is Status.FAILED
    assert said in found.message


def test_second_course_constant_gets_the_shape_points_only(grade_other: Any) -> None:
    text = edited(
        read("solutions", "exercise1"),
        ("    return standardized\n", "    return standardized * 0\n"),
        ("    return shares\n", "    return shares * 0\n"),
    )
    result = grade_other("exercise1", text)
    assert {c.kind for c in result.checks if c.status is Status.PASSED} == {Kind.SHAPE}


def test_second_course_works_at_the_command_line(run_grade: RunGrade) -> None:
    shown = run_grade("check", "--all", "--course", COURSE, "--submission", COURSE / "solutions")
    assert shown.status == 0
    assert {line.partition(":")[0] for line in shown.err.splitlines()} <= {"building answer keys"}
    assert "20 / 20 points" in shown.out


def test_second_course_stubs_are_derived(run_grade: RunGrade) -> None:
    assert run_grade("derive", "--check", "--course", COURSE) == (0, "", "")


def test_second_course_has_no_python_but_reference_and_stub() -> None:
    found = {p.relative_to(COURSE).as_posix() for p in COURSE.rglob("*.py")}
    assert found == {f"{part}/{f}" for part in ("solutions", "exercises") for f in FILES.values()}


TOPIC = re.compile(
    r"attention|softmax|quer(?:y|ies)|transformer|encoder|embed_dim|num_heads|head_dim|"
    r"\bheads?\b|multi_?head|feed_?forward|\bkeys_from|\bvalues_from|sinusoid|layer_?norm|gelu",
    re.IGNORECASE,
)
# words of the topic that stand for something of their own
ALLOWED = {
    "audit/mutation.py": ("exercise1:self_attention",),  # an example of an identifier
    "audit/operators.py": ("softmax", "Softmax", "gelu", "GELU", "LayerNorm"),  # of torch's names
    "cli/main.py": ("transformer",),  # the program is named for the main course
    "cli/students.py": ("multi_head", "transformer"),  # the examples of help are of the main course
    "compare/kinds.py": ("GELU", "Softmax", "LayerNorm"),  # of torch's names
    "compare/lost.py": ("softmax",),  # of tensors' methods
    "compare/shapes.py": ("LayerNorm",),
    "compare/terms.py": ("softmax", "gelu"),  # of TensorFlow's names, and of Keras'
    "compare/vocabulary.py": ("softmax",),  # of torch's names, and of Keras'
    "course/models.py": ("exercise1_attention.py", "torch.nn.LayerNorm"),  # examples
    "properties/independent.py": ("softmax, a mean or a reshape",),  # of torch's names
    "properties/rows_sum_to_one.py": ("softmax, its axis, ",),
    "report/audit.py": ("head",),  # of a line
    "report/explained.py": ("head",),  # of a table
    "report/lesson.py": ("head",),  # of a table
    "report/terminal.py": ("head",),
    "student/compare.py": ("softmax", "Softmax", "gelu", "GELU"),  # of torch's names
    "worker/learning.py": ("softmax",),  # of torch's names
}


def _words(path: Path) -> list[str]:
    """Return every identifier and string of a module, docstrings and comments aside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [node.value] if id(node) not in docs else []
        for field in ("name", "id", "attr", "arg"):
            if isinstance(word := getattr(node, field, None), str):
                found.append(word)
    return found


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "grader").rglob("*.py")),
    ids=lambda p: p.relative_to(ROOT / "grader").as_posix(),
)
def test_engine_knows_of_no_topic(path: Path) -> None:
    allowed = ALLOWED.get(path.relative_to(ROOT / "grader").as_posix(), ())
    told = [w for w in _words(path) if TOPIC.search(w) and not any(a in w for a in allowed)]
    assert told == []
