"""`grade compare`: the solution beside one's own code, and in no bundle before it is released."""

import ast
import base64
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import pytest
from support import EXERCISES, SUBMISSIONS, solution

from grader.bundle.leaks import _readings
from grader.bundle.release import solution_files
from grader.cli.study import run_compare
from grader.course.load import CourseFolder, load_course
from grader.course.shipped import MANIFEST, content_sum, parse_bundle_manifest, released_solution
from grader.errors import CourseError, UsageError
from grader.handin.read import Source
from grader.records.ids import CheckId, Kind
from grader.records.results import CheckResult, ExerciseResult, Status
from grader.report.student import render_comparison
from grader.student.compare import Comparison, compare

OTHER = """
def self_attention(x):
    \"\"\"Mine.\"\"\"
    size = 3  # a name, and no way to ask for sizes
    w = torch.einsum("btk,bsk->bts", x, x).exp()
    w = w / w.sum(-1, keepdim=True)
    return torch.bmm(w, x)
"""


def compared(folder: CourseFolder, text: str, status: Status = Status.PASSED) -> list[Comparison]:
    """Return the comparison of a text that passes all checks, or none."""
    exercise = folder.course.exercise("exercise1")
    checks = tuple(
        CheckResult(CheckId("exercise1", t.name, Kind.NUMERIC), status, 1, 1)
        for t in exercise.targets
    )
    result = ExerciseResult("exercise1", "Attention", status, 3, 3, checks)
    source = Source("x.py", units=(("x.py", text),))
    return list(compare(folder.course, exercise, source, solution("exercise1"), result))


def test_compare_tells_what_differs_and_why_both_are_right(folder: CourseFolder) -> None:
    one = compared(folder, OTHER)[0]
    found = {d.purpose: (d.own, d.reference) for d in one.differences}
    assert found["products of matrices"] == (("bmm", "einsum"), ("@",))
    assert found["weights that sum to one"] == (("exp",), ("softmax",))
    assert "sizes" not in found
    text = " ".join(click.unstyle(render_comparison("exercise1", [one])).split())
    assert "Both pass all 1 check, so both are right" in text
    assert "`bmm` is the product for tensors of exactly three axes" in text


def test_compare_shows_code_without_docstrings_and_markers(folder: CourseFolder) -> None:
    one = compared(folder, OTHER)[0]
    assert one.own[0] == "def self_attention(x):"
    assert not [line for line in (*one.own, *one.reference) if '"""' in line or "###" in line]


def test_compare_calls_nothing_right_that_fails(folder: CourseFolder) -> None:
    one = compared(folder, OTHER, Status.FAILED)[0]
    assert one.differences == ()
    assert "right, " not in (text := render_comparison("exercise1", [one]))
    assert "passes 0 of 1 check" in text


def test_compare_of_the_reference_with_itself_tells_no_difference(folder: CourseFolder) -> None:
    for one in compared(folder, solution("exercise1")):
        assert one.own == one.reference
        assert one.differences == ()


@pytest.mark.parametrize("width", [80, 200])
def test_compare_sets_code_beside_where_it_fits(folder: CourseFolder, width: int) -> None:
    lines = render_comparison("exercise1", compared(folder, OTHER)[:1], width=width).splitlines()
    assert any("yours" in line and "the reference" in line for line in lines) == (width == 200)
    assert max(map(len, map(click.unstyle, lines))) <= max(width, 100)


def test_compare_before_the_release_says_so(course: Path) -> None:
    with pytest.raises(UsageError, match="not released yet"):
        run_compare("exercise1", course, None)


def released(course: Path, folder: CourseFolder, *, more: bytes = b"") -> None:
    """Add the solutions to a student's course, as a renewal with a released bundle does."""
    files = solution_files(folder, folder.course.exercises)
    manifest = parse_bundle_manifest((course / MANIFEST).read_bytes(), MANIFEST)
    sums = manifest.files | {name: content_sum(name, data) for name, data in files.items()}
    for name, data in files.items():
        (course / name).parent.mkdir(exist_ok=True)
        (course / name).write_bytes(data + more)
    text = manifest.model_copy(update={"files": sums}).model_dump_json()
    (course / MANIFEST).write_text(text, encoding="utf-8")


def test_compare_after_the_release_shows_the_solution(course: Path, folder: CourseFolder) -> None:
    released(course, folder)
    text = click.unstyle(run_compare("1", course, SUBMISSIONS / "perfect"))
    assert text.count("so both are right") == 3
    assert "scores = x @ x.transpose(1, 2)" in text


def test_a_solution_that_was_changed_is_refused(course: Path, folder: CourseFolder) -> None:
    released(course, folder, more=b"# mine")
    with pytest.raises(CourseError, match="was changed"):
        released_solution(load_course(course), folder.course.exercise("exercise1"))


# ---- what must not travel ------------------------------------------------------------------------


def bodies(text: str) -> set[str]:
    """Return each function's code as Python prints it, without blanks."""
    functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef))
    found = {unspaced("\n".join(map(ast.unparse, n.body[1:]))) for n in functions}
    return {body for body in found if len(body) > 40}


def unspaced(text: str) -> str:
    """Return a text without comments and blanks, so that no layout hides code."""
    return "".join("".join(line.split("#")[0].split()) for line in text.splitlines())


def all_that_is_said(files: Mapping[str, bytes]) -> str:
    """Return what stands in files, also where it is packed or encoded."""
    return "\n".join(unspaced(text) for data in files.values() for text in _readings(data))


@pytest.fixture(scope="module")
def said(bundle: dict[str, bytes]) -> str:
    return all_that_is_said(bundle)


@pytest.mark.long
@pytest.mark.parametrize("exercise_id", EXERCISES)
def test_no_solution_travels_in_the_ordinary_bundle(
    bundle: dict[str, bytes], said: str, exercise_id: str
) -> None:
    assert [name for name in bundle if "solution" in name] == []
    assert [body for body in bodies(solution(exercise_id)) if body in said] == []


@pytest.mark.parametrize("form", [bytes, zlib.compress, base64.b64encode])
def test_the_search_finds_a_solution_in_any_form(form: Callable[[bytes], bytes]) -> None:
    text = solution("exercise3")
    said = all_that_is_said({"key/x": form(text.encode())})
    assert len([body for body in bodies(text) if body in said]) >= 3
