"""What each check is worth: groups of cases share the points of their kind."""

import pytest

from grader.checks.shares import shares_of
from grader.course.load import CourseFolder
from grader.key.cache import Keys
from grader.records.ids import BIASES, Kind


def worth(folder: CourseFolder, keys: Keys, exercise: str, target: str) -> dict[str, float]:
    chosen = folder.course.exercise(exercise)
    shares = shares_of(folder.course, chosen, chosen.target(target), keys.keys[exercise])
    return {share.check.in_target: share.points for share in shares}


def test_cases_without_an_option_have_the_larger_part(folder: CourseFolder, keys: Keys) -> None:
    found = worth(folder, keys, "exercise3", "MultiHeadSelfAttention")
    numeric = {name: points for name, points in found.items() if name.startswith("numeric")}
    assert numeric == {
        "numeric": pytest.approx(2.8),
        "numeric/head_dim": pytest.approx(0.4),
        "numeric/bias": pytest.approx(0.4),
        f"numeric/{BIASES}": pytest.approx(0.4),
    }


def test_a_target_without_options_has_one_group(folder: CourseFolder, keys: Keys) -> None:
    found = worth(folder, keys, "exercise3", "fold_heads")
    assert found["numeric"] == 1.1
    assert not any(name.startswith("numeric/") for name in found)


def test_shares_come_to_the_points_that_are_declared(folder: CourseFolder, keys: Keys) -> None:
    for exercise in folder.course.exercises:
        for target in exercise.targets:
            shares = shares_of(folder.course, exercise, target, keys.keys[exercise.id])
            for kind in Kind:
                due = getattr(target.points, kind.value)
                came = sum(share.points for share in shares if share.kind is kind)
                assert came == pytest.approx(due, abs=1e-4), (target.name, kind)


def test_property_has_points_by_its_weight(folder: CourseFolder, keys: Keys) -> None:
    found = worth(folder, keys, "exercise11", "CachedSelfAttention")
    once, causal = found["property/incremental"], found["property/causal"]
    assert once == pytest.approx(18 * causal, rel=1e-4)
    assert found["property/trained"] == causal
