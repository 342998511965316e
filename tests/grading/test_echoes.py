"""What is told of a part beside one that it uses and that is wrong: two mistakes at once."""

import shutil
from pathlib import Path

import pytest
from support import SUBMISSIONS, Grade, edited, find_check, solution

from grader.records.results import ExerciseResult

_START = "which is not right yet: start there"
_KEYS = ("self.to_keys(x)", "self.to_queries(x)")
_ATTEND = "scaled_dot_product_attention(queries, keys, values)"


def _graded(grade: Grade, folder: Path, exercise: str, *edits: tuple[str, str]) -> ExerciseResult:
    shutil.copytree(SUBMISSIONS / "perfect", folder)
    (file,) = folder.glob(f"{exercise}_*.py")
    file.write_text(edited(solution(exercise), *edits), encoding="utf-8")
    return grade(folder, exercise)


def test_own_mistake_is_told_where_a_helper_is_right(grade: Grade, tmp_path: Path) -> None:
    """With one head no unfolding goes wrong: what is wrong there is the scale."""
    result = _graded(
        grade,
        tmp_path / "work",
        "exercise3",
        ("x.reshape(b, num_heads, t, d)", "x.reshape(num_heads, b, t, d).transpose(0, 1)"),
        ("folded_keys, folded_values)", "folded_keys, folded_values, scale=1.0)"),
    )
    helper, own = result.diagnoses
    assert own.bugs == ("missing-scale", *helper.bugs)
    assert own.hint == "Look at the numbers that go into the softmax."
    check = find_check(result, "MultiHeadSelfAttention/numeric")
    assert check.next_step == "follow the hint above"
    mixed = find_check(result, "MultiHeadSelfAttention/property/batch-independent")
    assert _START in mixed.next_step


@pytest.mark.long  # for the pairs of exercise 2
def test_two_mistakes_of_a_helper_are_none_of_what_uses_it(grade: Grade, tmp_path: Path) -> None:
    order = ("return queries, keys, values", "return queries, values, keys")
    first, head = _graded(grade, tmp_path / "work", "exercise2", _KEYS, order).diagnoses
    assert set(first.bugs) == {"keys-from-queries", "wrong-return-order"}
    assert (head.evidence, head.hint) == ("The same mistake as in `QKVProjection`.", "")


@pytest.mark.long
def test_unknown_mistake_of_a_helper_is_no_pair_in_what_uses_it(
    grade: Grade, tmp_path: Path
) -> None:
    """Queries over the root of the width equal scores that are divided twice."""
    scaled = "return queries / x.size(2) ** 0.5, keys, values"
    result = _graded(
        grade, tmp_path / "work", "exercise2", ("return queries, keys, values", scaled)
    )
    assert [d.bugs for d in result.diagnoses] == [()]
    assert _START in find_check(result, "AttentionHead/numeric").next_step


@pytest.mark.long
def test_pair_goes_on_from_what_is_known_of_a_helper(grade: Grade, tmp_path: Path) -> None:
    """Values by the keys' layer are no weights that mix the keys, which has the same numbers."""
    result = _graded(
        grade,
        tmp_path / "work",
        "exercise2",
        ("self.to_values(x)", "self.to_keys(x)"),
        (_ATTEND, f"{_ATTEND[:-1]}, scale=1.0)"),
    )
    head = result.diagnoses[1]
    assert head.bugs == ("missing-scale", "values-from-keys")
    assert head.hint == "Look at the numbers that go into the softmax."


@pytest.mark.long
def test_gradient_that_is_cut_here_is_not_put_down_to_a_helper(
    grade: Grade, tmp_path: Path
) -> None:
    own = (_ATTEND, "scaled_dot_product_attention(queries, keys, keys)")
    result = _graded(grade, tmp_path / "work", "exercise2", _KEYS, own)
    step = find_check(result, "AttentionHead/property/trained").next_step
    assert step == "follow the hint above"
