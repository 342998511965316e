"""Pairs of known bugs: a part of many, all of few, and a report that says which."""

from collections import Counter

import pytest

from grader.audit.records import Audit, ExerciseAudit, MutantTrial, PairReport, PairTrial
from grader.audit.tasks import try_pairs
from grader.audit.trial import choose_step
from grader.course.load import CourseFolder
from grader.key.cache import PUBLIC_SECRET, Keys, orders_for
from grader.records.calls import PUBLIC
from grader.report.audit import render_audit


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
