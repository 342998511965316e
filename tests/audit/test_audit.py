"""The course passes its own audit, and an audit fails for what it should fail for."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, RunGrade

Audited = tuple[dict[str, Any], str]  # the JSON, and the page


@pytest.fixture(scope="module")
def audited(run_grade: RunGrade, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The audit of this course, as JSON and as a page."""
    page = tmp_path_factory.mktemp("audit") / "audit.html"
    status, out, err = run_grade("audit", "--json", "--html", str(page), "--course", str(ROOT))
    assert err == ""
    report = json.loads(out)
    assert (status, report["problems"]) == (0, [])
    return report, page.read_text(encoding="utf-8")


@pytest.mark.long
def test_audit_catches_every_bug_by_its_own_check(audited: Audited) -> None:
    bugs = [bug for exercise in audited[0]["exercises"] for bug in exercise["bugs"]]
    assert len({bug["bug"] for bug in bugs}) >= 90
    assert all(bug["lost"] > 0 and bug["own_check_failed"] for bug in bugs)


@pytest.mark.long
def test_audit_names_every_bug_that_can_be_told(audited: Audited) -> None:
    bugs = [bug for exercise in audited[0]["exercises"] for bug in exercise["bugs"]]
    assert all(bug["right"] or (bug["alike"] > 3 and not bug["named"]) for bug in bugs)
    assert audited[0]["pairs_named"] >= 0.9
    assert {exercise["pairs_step"] for exercise in audited[0]["exercises"]} <= {1, 4}


@pytest.mark.long
def test_audit_finds_margins_and_no_idle_check(audited: Audited) -> None:
    for exercise in audited[0]["exercises"]:
        assert exercise["margin"] >= 100
        assert exercise["margin_float32"] >= 10
        assert 0 <= exercise["deviation"] <= 0.1
        assert exercise["idle"] == []


@pytest.mark.long
def test_audit_grades_at_least_sixty_variants(audited: Audited) -> None:
    variants = [v for exercise in audited[0]["exercises"] for v in exercise["variants"]]
    assert len(variants) >= 60
    assert all(variant["lost"] == [] for variant in variants)


@pytest.mark.long
def test_audit_explains_every_mutant_that_survives(audited: Audited) -> None:
    for exercise in audited[0]["exercises"]:
        counts = exercise["mutants"]
        assert counts["killed"] + counts["equivalent"] == counts["total"]
        assert exercise["survivors"] == []


@pytest.mark.long
def test_audit_page_stands_alone(audited: Audited) -> None:
    page = audited[1]
    assert page.startswith("<!doctype html>")
    assert "http" not in page
    assert "MultiHeadSelfAttention/keys-from-queries" in page


def test_audit_without_bugs_is_one_line(run_grade: RunGrade, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests" / "courses" / "statistics", tmp_path / "course")
    shutil.rmtree(tmp_path / "course" / "solutions" / "bugs", ignore_errors=True)
    status, out, err = run_grade("audit", "--course", str(tmp_path / "course"))
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "an audit needs known bugs" in err
