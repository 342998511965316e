"""Pairs of known bugs: a part of many, all of few, and a report that says which."""

from collections import Counter
from typing import Any

import pytest
import yaml

from grader.audit.mutants import make_mutations
from grader.audit.mutation import Equivalent
from grader.audit.records import (
    Audit,
    ExerciseAudit,
    MutantTrial,
    PairReport,
    PairTrial,
    Survivor,
)
from grader.audit.tasks import try_pairs
from grader.audit.trial import choose_step
from grader.course.load import CourseFolder
from grader.key.cache import PUBLIC_SECRET, Keys, orders_for
from grader.records.calls import PUBLIC
from grader.records.ids import CheckId, Kind
from grader.report.audit import render_audit


@pytest.mark.long
def test_a_quarter_of_many_pairs_is_tried(folder: CourseFolder, keys: Keys) -> None:
    (order,) = orders_for(folder, ["exercise1"], PUBLIC, PUBLIC_SECRET, keys.place)
    whole, part = (try_pairs(order, whole=whole) for whole in (True, False))
    assert (whole.step, part.step) == (1, 4)
    assert whole.reports.total() > 500
    assert part.reports.total() == pytest.approx(whole.reports.total() / 4, rel=0.15)
    for report, count in whole.reports.items():
        assert part.reports[report] == pytest.approx(count / 4, abs=2 + 0.1 * count)


@pytest.mark.parametrize(
    ("count", "whole", "step"), [(100, False, 1), (101, False, 4), (101, True, 1)]
)
def test_all_of_few_pairs_are_tried(count: int, whole: bool, step: int) -> None:
    assert choose_step(count, whole=whole) == step


@pytest.mark.parametrize("step", [1, 4])
def test_report_says_that_a_part_was_tried(step: int) -> None:
    pairs = PairTrial(Counter({PairReport.NAMED: 9, PairReport.AMBIGUOUS: 1}), step)
    mutants = MutantTrial(5, 5, 0, ())
    one = ExerciseAudit("exercise1", 0, 10, 10, (), (), pairs, 1e6, 1e3, (), mutants)
    shown = render_audit(Audit("A course", (one,), 10))
    assert "90.0% of the pairs" in shown
    assert ("one of 4 was tried; --all-pairs" in shown) is (step == 4)


SOLUTION = """
def first(x):
    ### BEGIN SOLUTION
    total = {'a: b': x.sum(dim=-1)}
    ### END SOLUTION


def second(x):
    ### BEGIN SOLUTION
    total = {'a: b': x.sum(dim=-1)}
    ### END SOLUTION
"""


def audit_of(mutants: MutantTrial, *checks: CheckId, **more: Any) -> Audit:
    """An audit in which no bug was tried."""
    pairs = PairTrial(Counter(), 1)
    one = ExerciseAudit("exercise1", 0, 10, 10, checks, (), pairs, 1e6, 1e3, (), mutants, **more)
    return Audit("A course", (one,), 10)


def test_survivors_are_printed_as_equivalent_yml_takes_them() -> None:
    made = make_mutations("exercise1", SOLUTION)
    survivors = tuple(Survivor(m.id, m.exercise, m.line, m.before, m.after) for m in made)
    shown = render_audit(audit_of(MutantTrial(len(made), 0, 0, survivors)))
    for mutation in made:
        assert f"✗ exercise1: the mutant {mutation.id} survives" in shown
    text = shown.partition("each with a reason:\n")[2]
    assert "# line 4, first; line 10, second\n" in text
    entries = yaml.safe_load(text)
    assert len(entries) == len({(m.before, m.after) for m in made}) < len(made)
    assert all(entry["reason"] == "" for entry in entries)  # which equivalent.yml refuses
    explained = [Equivalent(**{**entry, "reason": "because"}) for entry in entries]
    assert all(any(entry.explains(mutation) for entry in explained) for mutation in made)


def test_check_that_no_bug_fails_is_told_with_the_bug_that_would() -> None:
    checks = [CheckId("exercise1", "f", kind) for kind in (Kind.SHAPE, Kind.NUMERIC, Kind.GRADIENT)]
    rule = CheckId("exercise1", "f", Kind.PROPERTY, "dtype")
    shown = render_audit(
        audit_of(MutantTrial(0, 0, 0, ()), *checks, rule, rules={rule: "Outputs are float64."})
    )
    assert "check exercise1/f/shape: a bug that gives its output another shape would" in shown
    assert "check exercise1/f/numeric: a bug that gives other values of the same shape" in shown
    assert "check exercise1/f/gradient: a bug that keeps all values and not the grad" in shown
    assert "property/dtype: a bug that breaks this rule would, 'Outputs are float64.'" in shown
