"""Where a rule is broken, both numbers are the student's own: the words say which is which."""

from pathlib import Path

import pytest
from small import judged, small_course
from support import GradeText, edited, find_check, solution

from grader.records.results import Status

RIGHT = "def alter(x):\n    return x * 2\n"
WRONG = "def alter(x):\n    return x * len(x)\n"  # (t, k): 3 to 6 among others, 1 alone


@pytest.mark.parametrize(
    ("kind", "wrong", "words"),
    [
        ("independent", WRONG, "among others, {} alone"),
        (
            "equivariant",
            "def alter(x):\n    return x * x[:1]\n",
            "with the output reordered, {} with the input reordered",
        ),
        (
            "causal",
            "def alter(x):\n    return x * x.sum()\n",
            "before later inputs change, {} after that",
        ),
    ],
)
def test_words_say_which_number_is_which(kind: str, wrong: str, words: str, tmp_path: Path) -> None:
    course = small_course(tmp_path, "alter", RIGHT, f"{{kind: {kind}, dim: t}}")
    assert judged(course, RIGHT)[f"alter/property/{kind}"].status is Status.PASSED
    check = judged(course, wrong)[f"alter/property/{kind}"]
    assert check.status is Status.FAILED
    before, behind = words.split("{}")
    assert before in check.message
    assert behind in check.message
    assert "expected" not in check.message


def test_what_came_alone_is_told_as_such(tmp_path: Path) -> None:
    course = small_course(tmp_path, "alter", RIGHT, "{kind: independent, dim: t}")
    message = judged(course, WRONG)["alter/property/independent"].message
    told, _, alone = message.rpartition(": ")[2].partition(" among others, ")
    ratio = float(told) / float(alone.removesuffix(" alone"))
    assert ratio == pytest.approx(round(ratio), rel=1e-3)
    assert 3 <= round(ratio) <= 6


@pytest.mark.parametrize("kind", ["independent", "equivariant", "causal"])
def test_where_numbers_are_nan_nothing_is_said_of_what_mixes(kind: str, tmp_path: Path) -> None:
    course = small_course(tmp_path, "alter", RIGHT, f"{{kind: {kind}, dim: t}}")
    check = judged(course, "def alter(x):\n    return x * float('nan')\n")[f"alter/property/{kind}"]
    assert (check.status, check.score) == (Status.SKIPPED, 0)
    assert check.message == "counts once no number is NaN"


@pytest.mark.parametrize("kind", ["independent", "equivariant", "causal"])
def test_rows_of_another_count_say_nothing_of_what_mixes(kind: str, tmp_path: Path) -> None:
    course = small_course(tmp_path, "alter", RIGHT, f"{{kind: {kind}, dim: t}}")
    check = judged(course, "def alter(x):\n    return x[-1:] * 2\n")[f"alter/property/{kind}"]
    assert (check.status, check.score) == (Status.SKIPPED, 0)


def test_what_is_drawn_otherwise_says_nothing_of_what_mixes(grade_text: GradeText) -> None:
    """The cases leave right code no choice; this one draws evenly, for each row by itself."""
    text = edited(solution("exercise11"), ("multinomial(chances", "multinomial(chances**0"))
    check = find_check(grade_text({"exercise11": text}), "generate/property/batch-independent")
    assert (check.status, check.score) == (Status.SKIPPED, 0)
    assert check.message == "counts once the numbers that are drawn are right"
