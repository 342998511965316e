"""course.yml: what is read, and one line for each mistake; the small language of its values."""

from pathlib import Path

import pytest
from support import ROOT

from grader.course.derive import derive_stub
from grader.course.load import find_course, load_course, parse_course
from grader.course.schema import SCHEMA_FILE, schema_text
from grader.errors import CourseError, UsageError

SMALL = """\
format_version: 1
title: Small
tolerances:
  float64: {rtol: 1.0e-9, atol: 1.0e-9}
  float32: {rtol: 1.0e-4, atol: 1.0e-4}
limits: {case_seconds: 5, target_seconds: 15, submission_seconds: 60, cpu_seconds: 60,
  data_mib: 512, answer_mib: 4, output_kib: 64, message_kib: 16, source_kib: 512,
  open_files: 64, restarts: 1}
exercises:
  - file: exercise1_twice.py
    title: Twice
    targets:
      - name: twice
        kind: function
        dims: {n: 2..4, m: 5..7}
        inputs: {x: "float[n, m]"}
        outputs: {doubled: "float[n, m]"}
        properties:
          - {kind: equivariant, dim: n}
        points: {shape: 1, numeric: 2}
"""

HEAD = SMALL[SMALL.index("exercises:") : SMALL.index("        dims:")]
SECOND = """\
  - file: exercise1_thrice.py
    title: Thrice
    targets: []
"""

# id -> (what is replaced, by what, the line that is named, what is said)
MISTAKES = {
    "unknown key at top level": (
        "title: Small",
        "titel: Small",
        "2: unknown key 'titel'; did you mean 'title'?",
    ),
    "unknown key in a target": (
        "        inputs:",
        "        input:",
        "16: exercises[0].targets[0]: unknown key 'input'; did you mean 'inputs'?",
    ),
    "unknown key in a property": (
        "dim: n}",
        "dimm: n}",
        "19: exercises[0].targets[0].properties[0]: unknown key 'dimm'; did you mean 'dim'?",
    ),
    "unknown key in limits": (
        "case_seconds: 5",
        "case_second: 5",
        "6: limits: unknown key 'case_second'; did you mean 'case_seconds'?",
    ),
    "unknown key that may be left out": (
        "        properties:",
        "        propertys:",
        "18: exercises[0].targets[0]: unknown key 'propertys'; did you mean 'properties'?",
    ),
    "unknown kind of property": (
        "kind: equivariant",
        "kind: equivariance",
        "19: exercises[0].targets[0].properties[0]: unknown kind 'equivariance'; "
        "did you mean 'equivariant'?",
    ),
    "wrong type": (
        "shape: 1,",
        "shape: much,",
        "20: exercises[0].targets[0].points.shape: Input should be a valid number",
    ),
    "missing key": (
        "    title: Twice\n",
        "",
        "10: exercises[0]: the key 'title' is missing",
    ),
    "duplicate key": (
        "        kind: function\n",
        "        kind: function\n        kind: module\n",
        "15: the key 'kind' stands here twice",
    ),
    "bad shape expression": (
        'x: "float[n, m]"',
        'x: "float[n, ]"',
        "16: exercises[0].targets[0].inputs.x: ",
    ),
    "undeclared dim": (
        'x: "float[n, m]"',
        'x: "float[n, k]"',
        "16: exercises[0].targets[0].inputs.x: reads the dim 'k', not declared",
    ),
    "int tensor without a bound": (
        'x: "float[n, m]"',
        'x: "int[n, m]"',
        "16: exercises[0].targets[0].inputs.x: ",
    ),
    "empty range": ("n: 2..4", "n: 4..2", "15: exercises[0].targets[0].dims.n: "),
    "YAML syntax error": ("title: Small", "title: [Small", "3: "),
    "tab": ("title: Small", "\ttitle: Small", "2: "),
    "duplicate exercise": (
        "exercises:\n",
        "exercises:\n" + SMALL.partition("exercises:\n")[2],
        "9: exercises: the exercise 'exercise1' is declared twice",
    ),
    "duplicate target": (
        "    targets:\n",
        "    targets:\n" + SMALL.partition("    targets:\n")[2],
        "10: exercises[0]: the target 'twice' is declared twice",
    ),
    "duplicate property": (
        "          - {kind: equivariant, dim: n}\n",
        "          - {kind: equivariant, dim: n}\n          - {kind: equivariant, dim: m}\n",
        "13: exercises[0].targets[0]: the property 'equivariant' is declared twice: give one an id",
    ),
    "bad file name": (
        "exercise1_twice.py",
        "twice.py",
        "10: exercises[0]: 'twice.py' is no file name",
    ),
    "no targets": (
        "exercises:\n",
        "exercises:\n" + SECOND,
        "12: exercises[0].targets: ",
    ),
    "no exercises": (SMALL.partition("exercises:")[2], " []\n", "9: exercises: "),
    "other version": ("format_version: 1", "format_version: 2", "1: format_version: "),
    "case with the id of another": (
        "        properties:",
        "        cases:\n        - {name: one row}\n        - {name: One-Row}\n        properties:",
        "20: exercises[0].targets[0].cases[1]: the case 'One-Row' and the case 'one row' have the "
        "same id 'one-row': rename one",
    ),
    "case with the id of a property": (
        "        properties:",
        "        cases: [{name: Equivariant}]\n        properties:",
        "18: exercises[0].targets[0].cases[0]: the case 'Equivariant' and the property "
        "'equivariant' have the same id 'equivariant': rename one",
    ),
    "case with the id of a property of all targets": (
        HEAD,
        "every_target: [{kind: inputs-unchanged, id: one-row}]\n"
        f"{HEAD}        cases: [{{name: one row}}]\n",
        "16: exercises[0].targets[0].cases[0]: the case 'one row' and the property "
        "'one-row' have the same id 'one-row': rename one",
    ),
    "case with the id of the main cases": (
        "        properties:",
        "        cases: [{name: main}]\n        properties:",
        "18: exercises[0].targets[0].cases[0]: the case 'main' and the drawn main cases have the "
        "same id 'main': rename one",
    ),
    "property with the id of the main cases": (
        "kind: equivariant,",
        "kind: equivariant, id: main,",
        "19: exercises[0].targets[0].properties[0].id: 'main' is no id: ",
    ),
    "property with an id of several parts": (
        "kind: equivariant,",
        "kind: equivariant, id: a/b,",
        "19: exercises[0].targets[0].properties[0].id: 'a/b' is no id: ",
    ),
    "not a mapping": (SMALL, "- 1\n- 2\n", "1: "),
    "empty file": (SMALL, "", "1: is empty"),
    "comments only": (SMALL, "# to be written\n", "1: is empty"),
    "Python object": ("title: Small", "title: !!python/name:os.system", "2: "),
    "endless alias": ("title: Small", "title: &a [*a]", "2: refers to itself"),
}


def told(text: str) -> str:
    """Return what reading `text` as a course says, without the file's name."""
    with pytest.raises(CourseError) as raised:
        parse_course(text, "course.yml")
    message = str(raised.value)
    assert message.startswith("course.yml:")
    return message.removeprefix("course.yml:")


def test_course_small_example_is_right() -> None:
    assert parse_course(SMALL, "course.yml").exercises[0].targets[0].points.total == 3


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_course_mistake_is_one_line_with_its_place(mistake: tuple[str, str, str]) -> None:
    old, new, said = mistake
    message = told(SMALL.replace(old, new, 1))
    assert message.startswith(said)
    assert "\n" not in message
    assert "pydantic" not in message.lower()


def test_course_mistake_ends_the_command_with_status_2(tmp_path: Path, run_grade: object) -> None:
    path = tmp_path / "course.yml"
    path.write_text(SMALL.replace("title: Small", "titel: Small"), encoding="utf-8")
    shown = run_grade("list", "--course", tmp_path)  # type: ignore[operator]
    assert shown == (2, "", f"grade: {path}:2: unknown key 'titel'; did you mean 'title'?\n")


def test_course_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "course.yml").write_bytes(b"title: caf\xe9\n")
    with pytest.raises(CourseError, match=r"course\.yml: is not UTF-8 \(byte 10\)"):
        load_course(tmp_path)


def test_course_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "course.yml").mkdir()
    with pytest.raises(CourseError, match=r"course\.yml: cannot be read"):
        load_course(tmp_path)


def test_course_is_frozen() -> None:
    course = parse_course(SMALL, "course.yml")
    with pytest.raises(ValueError, match="frozen"):
        course.title = "Other"


def test_find_course_looks_upwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "course.yml").write_text(SMALL, encoding="utf-8")
    below = tmp_path / "exercises" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_course(None) == tmp_path.resolve()


def test_find_course_does_not_look_above_a_named_folder(tmp_path: Path) -> None:
    (tmp_path / "course.yml").write_text(SMALL, encoding="utf-8")
    below = tmp_path / "exercises"
    below.mkdir()
    with pytest.raises(UsageError, match="is not a course"):
        find_course(below)


def test_find_course_outside_of_any_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="--course"):
        find_course(None)


def test_points_of_the_first_part_sum_to_100() -> None:
    assert sum(e.points for e in load_course(ROOT).course.part("part1").exercises) == 100


def test_each_exercise_of_the_second_part_has_20_points() -> None:
    assert {e.points for e in load_course(ROOT).course.part("part2").exercises} == {20}


def test_course_lists_the_files_that_are_there() -> None:
    folder = load_course(ROOT)
    listed = {e.file for e in folder.course.exercises}
    assert {p.name for p in folder.solutions.glob("*.py")} == listed | {"drawing.py"}
    assert {p.name for p in folder.exercises.glob("*.py")} == listed


@pytest.mark.parametrize("exercise", load_course(ROOT).course.exercises, ids=lambda e: e.id)
def test_stub_is_derived_from_its_solution(exercise: object) -> None:
    file = exercise.file  # type: ignore[attr-defined]
    solution = (ROOT / "solutions" / file).read_text(encoding="utf-8")
    assert (ROOT / "exercises" / file).read_text(encoding="utf-8") == derive_stub(solution)


def test_schema_for_editors_is_that_of_the_models() -> None:
    said = "write it anew: python -m grader.course.schema"
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), said
