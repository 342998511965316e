"""Mutation testing of the references: the operators, the run, and explained survivors."""

import ast
import shutil
from dataclasses import replace
from pathlib import Path
from textwrap import indent

import pytest
import torch
from support import ROOT, solution

from grader.audit import mutation as mutation_module
from grader.audit.mutants import Mutation, make_mutations
from grader.audit.mutation import MutationReport, load_equivalent, mutation_report, run_mutations
from grader.course.load import CourseFolder, load_course
from grader.errors import CourseError
from grader.key.cache import Keys

QUICK = "exercise1"


def in_function(body: str, arguments: str = "x: Tensor, y: Tensor, n: int") -> str:
    """Return a solution whose marked region is `body`."""
    region = indent(f"### BEGIN SOLUTION\n{body}\n### END SOLUTION\n", "    ")
    return f"def f({arguments}):\n{region}"


def after(body: str, operator: str) -> list[str]:
    """Return what an operator makes of the statements of `body`."""
    return [m.after for m in make_mutations("e", in_function(body)) if m.operator == operator]


@pytest.mark.parametrize(
    ("operator", "body", "expected"),
    [
        ("arith", "z = x + 1", "z = x - 1"),
        ("arith", "z = n // 2", "z = n * 2"),
        ("arith", "z = x @ y", "z = y @ x"),
        ("sign", "z = -x", "z = x"),
        ("compare", "z = n > 3", "z = n >= 3"),
        ("compare", "z = n is None", "z = n is not None"),
        ("logic", "z = n and x", "z = n or x"),
        ("constant", "z = x.sum(-1)", "z = x.sum(-2)"),
        ("constant", "z = 10000.0 * x", "z = 1000.0 * x"),
        ("constant", "z = f(x, bias=True)", "z = f(x, bias=False)"),
        ("axes", "z = x.sum(dim=-1)", "z = x.sum(dim=1)"),
        ("axes", "z = x.transpose(1, 2)", "z = x.transpose(0, 1)"),
        ("arguments", "z = f(x, y)", "z = f(y, x)"),
        ("order", "return x, y", "return (y, x)"),
        ("order", "z = x[:, None]", "z = x[None, :]"),
        ("name", "z = x.exp()", "z = y.exp()"),
        ("literal", "z = f(n)", "z = f(1)"),
        ("delete", "z = x\nz[0] = y", "pass"),
        ("delete", "raise ValueError('no')", "pass"),
        ("raise", "raise ValueError('no')", "raise ArithmeticError('no')"),
        ("branch", "if n:\n    z = x", "if not n:"),
        ("branch", "z = x if n else y", "z = y if n else x"),
        ("call", "z = torch.tanh(x)", "z = x"),
        ("call", "z = x.transpose(1, 2)", "z = x"),
        ("keyword", "z = f(x, scale=2)", "z = f(x)"),
        ("slice", "z = x[:n]", "z = x[:]"),
        ("sibling", "z = torch.softmax(x, 1)", "z = torch.log_softmax(x, 1)"),
        ("detach", "z = x * y", "z = (x * y).detach()"),
    ],
)
def test_operator_makes_its_change(operator: str, body: str, expected: str) -> None:
    assert expected in after(body, operator)


@pytest.mark.parametrize(
    ("operator", "body"),
    [
        ("arith", "raise ValueError(f'{n + 1}')"),  # a message
        ("constant", "z: Literal[1]"),  # an annotation
        ("delete", "z = x"),  # nothing would be left to run
        ("call", "z = Linear(n)"),  # a class
        ("detach", "z = n // 2"),  # a size has no gradient
        ("slice", "z = x[0:]"),  # the same slice
        ("arguments", "z = x.transpose(1, 2)"),  # the same pair of dims
    ],
)
def test_operator_leaves_what_tells_nothing(operator: str, body: str) -> None:
    assert after(body, operator) == []


def test_attribute_is_exchanged_for_others_of_the_constructor() -> None:
    source = (
        "class A:\n    def __init__(self):\n        self.one = self.two = 1\n"
        "    def forward(self):\n        ### BEGIN SOLUTION\n        return self.one\n"
        "        ### END SOLUTION\n"
    )
    (made,) = [m for m in make_mutations("e", source) if m.operator == "attribute"]
    assert (made.id, made.line, made.after) == ("e:A.forward:attribute-1", 6, "return self.two")


def test_mutations_stay_inside_the_marked_regions() -> None:
    source = in_function("z = x + y\nreturn z") + "\n\ndef outside(a):\n    return a + 1\n"
    assert {m.function for m in make_mutations("e", source)} == {"f"}


def test_mutations_differ_from_each_other_and_from_the_reference() -> None:
    text = solution("exercise3")
    made = make_mutations("exercise3", text)
    sources = {ast.unparse(ast.parse(text)), *(m.source for m in made)}
    assert len(sources) == len(made) + 1
    assert len({m.id for m in made}) == len(made)


def test_mutations_above_the_cap_are_thinned_alike_every_time() -> None:
    text = solution("exercise3")
    few, again = make_mutations("e", text, cap=3), make_mutations("e", text, cap=3)
    groups = [(m.function, m.operator) for m in few]
    assert few == again
    assert max(groups.count(group) for group in groups) == 3


@pytest.fixture(scope="module")
def report(folder: CourseFolder, keys: Keys) -> MutationReport:
    """Run the mutants of one exercise."""
    return mutation_report(folder, folder.course.exercise(QUICK), keys.keys[QUICK])


@pytest.mark.long
def test_report_explains_every_survivor_of_the_exercise(report: MutationReport) -> None:
    assert [m.id for m in report.survived] == []
    assert report.total > 100
    assert report.total == report.killed + len(report.equivalent)
    assert report.share == 1.0


@pytest.mark.long
def test_report_gives_the_reason_of_an_equivalent_mutant(report: MutationReport) -> None:
    reasons = {e.mutation.after: e.reason for e in report.equivalent}
    assert "three dims" in reasons["weights = torch.softmax(scores, dim=2)"]


def test_run_leaves_torch_as_it_was(folder: CourseFolder, keys: Keys) -> None:
    before = (torch.get_default_dtype(), torch.get_num_threads(), torch.get_rng_state())
    exercise = folder.course.exercise(QUICK)
    run_mutations(folder, exercise, solution(QUICK), keys.keys[QUICK])
    now = (torch.get_default_dtype(), torch.get_num_threads())
    assert now == before[:2]
    assert torch.equal(torch.get_rng_state(), before[2])


def test_run_refuses_a_reference_that_fails_its_own_checks(
    folder: CourseFolder, keys: Keys
) -> None:
    wrong = solution(QUICK).replace("output = weights @ x ", "output = 2 * weights @ x ")
    with pytest.raises(CourseError, match=r"the reference itself fails: .*numeric"):
        run_mutations(folder, folder.course.exercise(QUICK), wrong, keys.keys[QUICK])


def test_run_ends_a_mutant_that_does_not_end(
    folder: CourseFolder, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = solution(QUICK)
    endless = text.replace("scores = x @", "while True: pass\n    scores = x @")
    made = Mutation(QUICK, "self_attention", 1, "none", 1, "", "", endless)
    monkeypatch.setattr(mutation_module, "make_mutations", lambda *_: [made])
    limits = folder.course.limits.model_copy(update={"case_seconds": 0.2})
    tight = replace(folder, course=folder.course.model_copy(update={"limits": limits}))
    results = run_mutations(tight, folder.course.exercise(QUICK), text, keys.keys[QUICK])
    assert [r.killed_by for r in results] == ["does not end"]


def explained(tmp_path: Path, text: str) -> CourseFolder:
    """Return a copy of the course whose explanations are `text`."""
    shutil.copy(ROOT / "course.yml", tmp_path)
    shutil.copytree(ROOT / "solutions", tmp_path / "solutions")
    path = tmp_path / "solutions" / "bugs" / "equivalent.yml"
    path.write_text(text, encoding="utf-8")
    return load_course(tmp_path)


def test_explanation_that_fits_no_survivor_is_an_error(keys: Keys, tmp_path: Path) -> None:
    course = explained(tmp_path, f"- {{id: '{QUICK}:self_attention:arith-1', reason: stale}}\n")
    with pytest.raises(CourseError, match=r"equivalent\.yml: .*arith-1: fits no mutant"):
        mutation_report(course, course.course.exercise(QUICK), keys.keys[QUICK])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {id: 'exercise99:f:arith-1', reason: none}", "'exercise99' is no exercise"),
        ("- {exercise: exercise1, before: a, reason: none}", "give either 'id', or"),
        ("- {id: 'exercise1:f:arith-1'}", "the key 'reason' is missing"),
        ("- {id: 'exercise1:f:arith-1', reason: none, raeson: none}", "did you mean 'reason'"),
    ],
    ids=["exercise", "half", "reason", "spelling"],
)
def test_explanation_that_is_wrong_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    course = explained(tmp_path, text)
    with pytest.raises(CourseError, match=said) as caught:
        load_equivalent(course)
    assert "\n" not in str(caught.value)


def test_course_without_explanations_has_none(tmp_path: Path) -> None:
    course = explained(tmp_path, "-")
    (tmp_path / "solutions" / "bugs" / "equivalent.yml").unlink()
    assert load_equivalent(course) == []
