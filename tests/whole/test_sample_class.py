"""The sample class: golden JSON for each student, and what must hold whatever the golden says."""

import json
import re
from typing import Any

import pytest
from support import (
    GOLDEN,
    ROOT,
    SUBMISSIONS,
    Grade,
    RunGrade,
    assert_full,
    assert_target_full,
    find_check,
    points_of,
    target_checks,
)

from grader.course.load import CourseFolder
from grader.key.cache import Keys
from grader.records.results import Document, ExerciseResult, Kind, Status

pytestmark = pytest.mark.xdist_group("pairs")  # one worker builds the pairs of bugs
EXERCISES = [f"exercise{number}" for number in range(1, 8)]
HANG_SECONDS = 1.5  # in place of the course's, to save time

# student -> the exercises that the folder is about
STUDENTS = {
    "perfect": EXERCISES,
    "stub": EXERCISES,
    "activation-last": ["exercise4"],
    "constant": ["exercise3"],
    "crash": ["exercise3"],
    "delegates": ["exercise3"],
    "does-not-parse": ["exercise3"],
    "float32": ["exercise3"],
    "hard-coded-batch": ["exercise3"],
    "in-place": ["exercise6"],
    "keys-from-queries": ["exercise3"],
    "loops-forever": ["exercise3"],
    "misspelt": ["exercise3"],
    "missing-scale": ["exercise1"],
    "nan": ["exercise1"],
    "nested-forward": ["exercise3"],
    "nn-module": ["exercise3"],
    "no-gradient": ["exercise1"],
    "not-utf8": ["exercise3"],
    "notebook": ["exercise3"],
    "notebook-keys-from-queries": ["exercise3"],
    "softmax-over-queries": ["exercise1"],
    "tuple-returned": ["exercise1"],
    "unknown-name": ["exercise7"],
    "values-from-queries": ["exercise3"],
}
CLASS = [(student, exercise) for student, names in STUDENTS.items() for exercise in names]
ALL_WORK = [*CLASS, *(("reference", exercise) for exercise in EXERCISES)]


@pytest.fixture(scope="session")
def graded(grade: Grade) -> Any:
    """Return a function that grades a student's exercise, each once a session."""
    results: dict[tuple[str, str], ExerciseResult] = {}

    def result_of(student: str, exercise: str = "exercise3") -> ExerciseResult:
        if (student, exercise) not in results:
            path = ROOT / "solutions" if student == "reference" else SUBMISSIONS / student
            limits = {"case_seconds": HANG_SECONDS} if student == "loops-forever" else {}
            results[student, exercise] = grade(path, exercise, **limits)
        return results[student, exercise]

    return result_of


def normalised(document: dict[str, Any]) -> dict[str, Any]:
    """Return `--json`'s document without what changes with every version of the engine."""
    return {**document, "engine": "grader VERSION", "key": "sha256:DIGEST"}


@pytest.mark.parametrize(("student", "exercise"), ALL_WORK, ids=lambda part: part)
def test_check_gives_the_golden_document(
    student: str,
    exercise: str,
    graded: Any,
    folder: CourseFolder,
    pytestconfig: pytest.Config,
) -> None:
    document = Document(folder.course.title, "", "", (graded(student, exercise),)).to_json()
    path = GOLDEN / f"{student}.{exercise}.json"
    if pytestconfig.getoption("update_golden"):
        text = json.dumps(normalised(document), indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
    assert normalised(document) == json.loads(path.read_text(encoding="utf-8"))


def test_golden_files_are_those_of_the_class() -> None:
    due = {f"{student}.{exercise}.json" for student, exercise in ALL_WORK}
    assert {path.name for path in GOLDEN.glob("*.json")} == due


def test_students_are_those_of_the_class() -> None:
    assert {path.name for path in SUBMISSIONS.iterdir() if path.is_dir()} == set(STUDENTS)


@pytest.mark.parametrize("student", ["reference", "stub", "keys-from-queries"])
def test_json_prints_the_golden_document(student: str, run_grade: RunGrade, keys: Keys) -> None:
    path = ROOT / "solutions" if student == "reference" else SUBMISSIONS / student
    shown = run_grade("check", "exercise3", "--submission", path, "--json")
    document = json.loads(shown.out)
    golden = json.loads((GOLDEN / f"{student}.exercise3.json").read_text(encoding="utf-8"))
    assert normalised(document) == golden
    assert document["key"] == keys.digest
    assert (shown.status, shown.err) == (0 if student == "reference" else 1, "")


def test_stub_student_handed_in_the_stubs() -> None:
    """Nobody of the sample class has begun the second part."""
    found = [p for p in (ROOT / "exercises").glob("*.py") if p.name.split("_")[0] in EXERCISES]
    due = {p.name: p.read_text("utf-8") for p in found}
    assert {p.name: p.read_text("utf-8") for p in (SUBMISSIONS / "stub").glob("*.py")} == due


@pytest.mark.parametrize("exercise", EXERCISES)
def test_stub_gets_no_point(exercise: str, graded: Any) -> None:
    result = graded("stub", exercise)
    assert result.score == 0
    assert result.status is Status.FAILED
    assert {c.status for c in result.checks} <= {Status.FAILED, Status.SKIPPED}


@pytest.mark.parametrize("student", ["perfect", "reference"])
@pytest.mark.parametrize("exercise", EXERCISES)
def test_right_work_gets_every_point(exercise: str, student: str, graded: Any) -> None:
    assert_full(graded(student, exercise))


def test_right_work_of_all_exercises_gets_100_points(graded: Any) -> None:
    assert sum(graded("perfect", exercise).score for exercise in EXERCISES) == 100


def test_right_notebook_gets_every_point(graded: Any) -> None:
    assert_full(graded("notebook"))


def test_constant_gets_the_shape_points_only(graded: Any) -> None:
    result = graded("constant")
    assert result.score == points_of(result, Kind.SHAPE)
    assert {c.kind for c in result.checks if c.status is Status.PASSED} == {Kind.SHAPE}


@pytest.mark.parametrize("student", ["loops-forever", "crash", "misspelt", "nested-forward"])
def test_other_targets_keep_their_points(student: str, graded: Any) -> None:
    result = graded(student)
    assert_target_full(result, "fold_heads")
    assert_target_full(result, "unfold_heads")
    assert sum(c.score for c in target_checks(result, "MultiHeadSelfAttention")) == 0


def test_hang_is_a_timeout_of_its_target(graded: Any) -> None:
    result = graded("loops-forever")
    assert result.status is Status.TIMEOUT
    shape = find_check(result, "MultiHeadSelfAttention/shape")
    assert shape.status is Status.TIMEOUT
    assert "did not finish" in shape.message


def test_crash_names_the_signal(graded: Any) -> None:
    check = find_check(graded("crash"), "MultiHeadSelfAttention/numeric")
    assert check.status is Status.FAILED
    assert "SIGSEGV" in check.message


def test_syntax_error_names_file_and_line(graded: Any) -> None:
    result = graded("does-not-parse")
    assert result.score == 0
    message = find_check(result, "MultiHeadSelfAttention/shape").message
    assert "exercise3_multi_head.py, line 46" in message
    assert "positional argument follows keyword argument" in message


def test_wrong_encoding_names_file_and_line(graded: Any) -> None:
    result = graded("not-utf8")
    assert result.score == 0
    assert {c.message for c in result.checks} == {
        "exercise3_multi_head.py is not UTF-8 text (line 30)"
    }


def test_nested_forward_is_explained(graded: Any) -> None:
    check = find_check(graded("nested-forward"), "MultiHeadSelfAttention/shape")
    told = f"{check.message}. {check.next_step}."
    assert "forward" in told
    assert "__init__" in told
    assert "not written" not in told


def test_nn_module_names_line_and_remedy(graded: Any) -> None:
    check = find_check(graded("nn-module"), "MultiHeadSelfAttention/shape")
    assert "exercise3_multi_head.py, line 14" in check.message
    assert "Module" in re.findall(r"\w+", f"{check.message} {check.next_step}")


def test_unknown_name_names_line_and_costs_its_target(graded: Any) -> None:
    result = graded("unknown-name", "exercise7")
    assert_target_full(result, "TransformerClassifier")
    message = find_check(result, "build_classifier/shape").message
    assert "NameError: name 'heads' is not defined (did you mean `n_heads`?)" in message
    assert "at exercise7_classifier.py, line 13" in message


def test_misspelt_class_gets_the_nearest_name(graded: Any) -> None:
    check = find_check(graded("misspelt"), "MultiHeadSelfAttention/shape")
    assert "`MultiHeadSelfAttetion` is" in check.message
    assert check.next_step == "rename `MultiHeadSelfAttetion` to `MultiHeadSelfAttention`"


@pytest.mark.parametrize(
    ("student", "idle"), [("keys-from-queries", "to_keys"), ("values-from-queries", "to_values")]
)
def test_pasted_line_leaves_a_layer_untrained(student: str, idle: str, graded: Any) -> None:
    result = graded(student)
    assert find_check(result, "MultiHeadSelfAttention/shape").status is Status.PASSED
    assert find_check(result, "MultiHeadSelfAttention/numeric").status is Status.FAILED
    trained = find_check(result, "MultiHeadSelfAttention/property/trained")
    assert f"no gradient reaches the parameter `{idle}.weight`" in trained.message


@pytest.mark.parametrize(
    ("student", "exercise", "target", "bug"),
    [
        ("keys-from-queries", "exercise3", "MultiHeadSelfAttention", "keys-from-queries"),
        ("values-from-queries", "exercise3", "MultiHeadSelfAttention", "values-from-queries"),
        ("activation-last", "exercise4", "FeedForward", "activation-last"),
        ("missing-scale", "exercise1", "attention_weights", "missing-scale"),
        ("softmax-over-queries", "exercise1", "attention_weights", "softmax-over-queries"),
    ],
    ids=lambda part: part,
)
def test_source_notebooks_mistake_is_diagnosed(
    student: str, exercise: str, target: str, bug: str, graded: Any
) -> None:
    found = {d.target: d.bugs for d in graded(student, exercise).diagnoses}
    assert bug in found[target]


def test_float32_costs_the_dtype_property_only(graded: Any) -> None:
    failed = [
        str(c.id)
        for c in graded("float32").checks
        if c.status is not Status.PASSED and c.kind is not Kind.BUG
    ]
    assert failed == ["exercise3/MultiHeadSelfAttention/property/dtype"]


def test_remembered_sizes_cost_the_reusable_property(graded: Any) -> None:
    failed = [
        str(c.id)
        for c in graded("hard-coded-batch").checks
        if c.status is not Status.PASSED and c.kind is not Kind.BUG
    ]
    assert failed == ["exercise3/MultiHeadSelfAttention/property/reusable"]


def test_nan_is_counted(graded: Any) -> None:
    check = find_check(graded("nan", "exercise1"), "attention_weights/numeric")
    assert "3 of 6 numbers are NaN" in check.message


def test_cut_graph_costs_the_gradient_points(graded: Any) -> None:
    result = graded("no-gradient", "exercise1")
    assert find_check(result, "attention_weights/numeric").status is Status.PASSED
    assert find_check(result, "attention_weights/gradient").status is Status.FAILED


def test_in_place_addition_is_named(graded: Any) -> None:
    result = graded("in-place", "exercise6")
    check = find_check(result, "SinusoidalPositionEncoding/property/inputs-unchanged")
    assert check.message == "`x`, the caller's tensor, is changed by the call"


def test_delegation_is_named(graded: Any) -> None:
    check = find_check(graded("delegates"), "MultiHeadSelfAttention/property/allowed")
    assert check.status is Status.FAILED
    assert "`torch.nn.MultiheadAttention` does what this exercise asks you to write" in (
        check.message
    )


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("self_attention", "returns a tuple of 2 tensors, where `output` alone is asked for"),
        ("attention_weights", "should return a tensor, it returned a list"),
        ("scaled_dot_product_attention", "should return a tensor, it returned None"),
    ],
)
def test_other_type_is_named(target: str, said: str, graded: Any) -> None:
    result = graded("tuple-returned", "exercise1")
    message = find_check(result, f"{target}/shape").message
    assert message == f"`{target}` {said}"


def test_every_failure_of_the_class_is_told_in_one_line(graded: Any) -> None:
    told = {
        f"{student}: {check.id}: {text}"
        for student, exercise in CLASS
        for check in graded(student, exercise).checks
        for text in (check.message, check.next_step)
        if "\n" in text or text.endswith(".") or (check.status is Status.FAILED and not text)
    }
    assert {line for line in told if not line.endswith(": ")} == set()


def test_no_frame_of_the_grader_is_shown(graded: Any) -> None:
    shown = " ".join(c.message for student, e in CLASS for c in graded(student, e).checks)
    assert "/grader/" not in shown
    assert "calls.py" not in shown


@pytest.mark.parametrize(
    ("notebook", "script"),
    [("notebook", "perfect"), ("notebook-keys-from-queries", "keys-from-queries")],
)
def test_notebook_is_graded_like_its_code(notebook: str, script: str, graded: Any) -> None:
    of_notebook, of_script = graded(notebook), graded(script)
    assert of_notebook.score == of_script.score
    assert [_without_label(c) for c in of_notebook.checks] == [
        _without_label(c) for c in of_script.checks
    ]
    assert of_notebook.diagnoses == of_script.diagnoses


def _without_label(check: Any) -> tuple[Any, ...]:
    message = check.message.partition(" at exercise3_multi_head")[0]
    return str(check.id), check.status, check.score, check.max_score, message, check.case
