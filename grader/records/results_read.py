"""Reads results back from their JSON, as a class's results are kept."""

from collections.abc import Mapping
from typing import Any

from grader.records.ids import CheckId
from grader.records.results import (
    CheckResult,
    Diagnosis,
    ExerciseResult,
    Facts,
    ShownCase,
    Sized,
    Status,
)


def result_from_json(plain: Mapping[str, Any], title: str = "") -> ExerciseResult:
    """Read `result_to_json`'s data back; places and printed text are not among them."""
    return ExerciseResult(
        plain["exercise"],
        title,
        Status(plain["status"]),
        plain["score"],
        plain["max_score"],
        tuple(_check_from_json(check) for check in plain["checks"]),
        tuple(diagnosis_from_json(one) for one in plain["diagnoses"]),
        tuple(plain["notes"]),
        beside={name: tuple(parts) for name, parts in plain["beside_right_parts"].items()},
    )


def diagnosis_from_json(plain: Mapping[str, Any]) -> Diagnosis:
    """Read a diagnosis of `result_to_json`'s data back."""
    return Diagnosis(
        plain["target"],
        tuple(plain["bugs"]),
        plain["step"],
        plain["hint"],
        plain["evidence"],
        tuple(plain.get("deviations", ())),
    )


def _check_from_json(plain: Mapping[str, Any]) -> CheckResult:
    case = plain["case"]
    return CheckResult(
        CheckId.parse(plain["id"]),
        Status(plain["status"]),
        plain["score"],
        plain["max_score"],
        plain["message"],
        plain["next_step"],
        _facts_from_json(plain["expected"]),
        _facts_from_json(plain["actual"]),
        ShownCase(**case) if case else None,
        told=plain.get("told", False),
    )


def _facts_from_json(plain: Mapping[str, Any]) -> Facts:
    if not plain:  # of what passed
        return Facts()
    said = dict(plain)
    for name in ("shape", "index"):
        if name in said:
            said[name] = tuple(said[name])
    if isinstance(said.get("parameters"), list):
        said["parameters"] = tuple(Sized(n, tuple(shape)) for n, shape in said["parameters"])
    return Facts(**said)
