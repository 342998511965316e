"""Sizes and values are drawn from a seed alone, and every size of a case is another."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader.course.expressions import parse_dim
from grader.errors import CourseError
from grader.plan.draw import draw_dims, draw_indices, draw_normal, seed_of

DIMS = {name: parse_dim(text) for name, text in {"b": "2..4", "t": "3..7", "k": "3..8"}.items()}


@pytest.mark.parametrize("seed", range(5))
def test_draw_dims_are_distinct_and_smallest_first(seed: int) -> None:
    drawn = draw_dims(DIMS, {}, 3, seed, "here")
    volumes = [int(np.prod(list(dims.values()))) for dims in drawn]
    assert volumes == sorted(volumes)
    assert all(len(set(dims.values())) == len(dims) for dims in drawn)
    assert len({tuple(dims.values()) for dims in drawn}) == 3


def test_draw_dims_depend_on_the_seed_alone() -> None:
    assert draw_dims(DIMS, {}, 2, 7, "here") == draw_dims(DIMS, {}, 2, 7, "there")
    assert draw_dims(DIMS, {}, 2, 7, "here") != draw_dims(DIMS, {}, 2, 8, "here")


def test_drawing_leaves_nothing_in_the_working_directory(tmp_path: Path) -> None:
    (tmp_path / "local.py").write_text("SIZE = 3\n", encoding="utf-8")  # Hypothesis reads it
    code = (
        "import local; from grader.course.expressions import parse_dim; "
        "from grader.plan.draw import draw_dims; "
        "draw_dims({'n': parse_dim('2..90'), 'm': parse_dim('2..90')}, {}, 9, 7, 'here')"
    )
    subprocess.run([sys.executable, "-B", "-c", code], cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["local.py"]


def test_draw_dims_lets_a_case_pin_equal_sizes() -> None:
    drawn = draw_dims(DIMS, {"k": parse_dim("t"), "b": parse_dim(1)}, 1, 7, "here")
    assert drawn[0]["k"] == drawn[0]["t"]
    assert drawn[0]["b"] == 1


def test_draw_dims_says_which_ranges_are_too_narrow() -> None:
    narrow = {"a": parse_dim("2..2"), "b": parse_dim("2..2")}
    with pytest.raises(CourseError, match="here: only 0 of 1 sets of distinct sizes: widen"):
        draw_dims(narrow, {}, 1, 7, "here")


def test_draw_values_are_normal_and_depend_on_every_part_of_the_seed() -> None:
    seeds = [seed_of(b"s", "public", "a"), seed_of(b"s", "hidden", "a"), seed_of(b"s", "publica")]
    first, second, third = (draw_normal((200, 200), seed) for seed in seeds)
    assert abs(first.mean()) < 0.02
    assert abs(first.std() - 1) < 0.02
    assert not np.allclose(first, second)
    assert not np.allclose(first, third)
    assert np.array_equal(first, draw_normal((200, 200), seeds[0]))


def test_items_of_drawn_indices_differ_where_they_can() -> None:
    for seed in range(50):
        assert len(np.unique(draw_indices((5, 1), 5, seed), axis=0)) == 5
        assert len(np.unique(draw_indices((3, 2), 2, seed), axis=0)) == 3
    assert draw_indices((3, 2), 1, 7).tolist() == [[0, 0]] * 3
    assert draw_indices((0, 2), 5, 7).shape == (0, 2)


def test_draw_indices_stay_below_their_bound() -> None:
    drawn = draw_indices((1000,), 5, 7)
    assert set(drawn.tolist()) == {0, 1, 2, 3, 4}
    assert drawn.dtype == np.dtype(np.int64)
