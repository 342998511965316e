"""Which pairs are found: disguised copies, and no two who found their own ways."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from disguise import disguise
from support import TESTS

from grader.course.derive import read_solution, read_stub
from grader.course.load import CourseFolder
from grader.course.models import Course
from grader.likeness.pairs import Pair, Work, find_pairs, weight
from grader.likeness.patterns import Pattern, patterns_of, read_script

INDEPENDENT, COPY = 0.70, 0.79  # as the instructors' page tells
# the variants of exercise 12 end in the same models: they are not independent
EXERCISES = sorted({path.name for path in (TESTS / "variants").iterdir()} - {"exercise12"})
ATTEND = (
    "def f(q, k):\n    w = (q @ k.mT / k.shape[-1] ** 0.5).softmax(-1)\n    return w.clamp(0, 1)\n"
)


def patterns(text: str) -> set[Pattern]:
    return {found.pattern for found in patterns_of(read_script([text]))}


@pytest.fixture(scope="module")
def known(folder: CourseFolder) -> Mapping[str, set[Pattern]]:
    """What the course gives out, by exercise."""
    paths = {e.id: folder.solutions / e.file for e in folder.course.exercises}
    return {
        exercise: patterns(read_solution(path)) | patterns(read_stub(path))
        for exercise, path in paths.items()
    }


@pytest.fixture(scope="module")
def variants(known: Mapping[str, set[Pattern]]) -> list[Work]:
    """Right solutions by many hands, each a submission of one exercise."""
    paths = [path for e in EXERCISES for path in sorted((TESTS / "variants" / e).glob("*.py"))]
    return [_work(path, known) for path in paths]


def _work(path: Path, known: Mapping[str, set[Pattern]]) -> Work:
    exercise, name = path.parent.name, f"{path.parent.name}/{path.stem}"
    text = path.read_text(encoding="utf-8")
    return Work(name, frozenset([name]), {exercise: patterns(text) - known[exercise]})


def _with_copy(work: Work, course: Course, known: Mapping[str, set[Pattern]]) -> Work:
    exercise = work.name.partition("/")[0]
    text = (TESTS / "variants" / f"{work.name}.py").read_text(encoding="utf-8")
    copied = patterns(disguise(text, course)) - known[exercise]
    return Work("copy", frozenset(["copy"]), {exercise: copied})


@pytest.mark.parametrize("exercise", EXERCISES)
def test_disguised_copy_of_any_solution_comes_first(
    exercise: str, variants: list[Work], folder: CourseFolder, known: Mapping[str, set[Pattern]]
) -> None:
    missed = []
    own = [work for work in variants if exercise in work.patterns]
    for work in own:
        pairs = find_pairs([*own, _with_copy(work, folder.course, known)], [exercise], 3)
        if pairs[0].likeness < COPY or {pairs[0].one, pairs[0].other} != {
            "copy",
            work.name,
        }:
            missed.append(work.name)
    assert missed == []


def test_independent_solutions_are_alike_in_few_pairs_and_by_less_than_any_copy(
    variants: list[Work],
) -> None:
    pairs = find_pairs(variants, EXERCISES, 100)
    assert len(pairs) <= 3  # of 2,300 within exercises
    assert max(pair.likeness for pair in pairs) <= INDEPENDENT


def test_copy_of_one_exercise_comes_before_others_who_are_somewhat_alike_in_all(
    folder: CourseFolder, known: Mapping[str, set[Pattern]]
) -> None:
    students = []
    for number in range(17):
        paths = {e: sorted((TESTS / "variants" / e).glob("*.py")) for e in EXERCISES}
        files = {e: found[number] for e, found in paths.items() if number < len(found)}
        own = {e: patterns(p.read_text(encoding="utf-8")) - known[e] for e, p in files.items()}
        students.append(Work(f"s{number}", frozenset([number]), own))
    text = sorted((TESTS / "variants" / "exercise2").glob("*.py"))[16].read_text(encoding="utf-8")
    copied = {"exercise2": patterns(disguise(text, folder.course)) - known["exercise2"]}
    first, *others = find_pairs([*students, Work("copy", frozenset(["c"]), copied)], EXERCISES, 3)
    assert {first.one, first.other} == {"copy", "s16"}
    assert list(first.exercises) == ["exercise2"]
    assert all(pair.likeness < 0.75 for pair in others)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ATTEND.replace("w", "weights").replace("q", "query"), id="names"),
        pytest.param(ATTEND.replace("\n    ", "\n\n\n        # here\n        "), id="layout"),
        pytest.param(
            ATTEND.replace("q, k", "q: 'Tensor', k: int = 1").replace(" = 1", ""), id="types"
        ),
        pytest.param(ATTEND.replace(":\n", ':\n    """It attends."""\n', 1), id="docstring"),
        pytest.param(f"x = [1]\n{ATTEND}", id="order"),
    ],
)
def test_what_a_copier_changes_makes_no_other_patterns(text: str) -> None:
    assert patterns(ATTEND) <= patterns(text)


@pytest.mark.parametrize(
    "change", [("-1", "-2"), ("softmax", "sum"), ("@ k", "@ q"), ("0.5", "0.25")]
)
def test_what_code_does_makes_other_patterns(change: tuple[str, str]) -> None:
    assert not patterns(ATTEND) <= patterns(ATTEND.replace(*change))


def test_code_around_a_copy_hides_nothing(variants: list[Work]) -> None:
    one = next(work for work in variants if work.name.startswith("exercise3/"))
    junk = patterns("\n".join(f"def g{n}(x):\n    return [x + {n}] * {n}" for n in range(500)))
    more = Work("copy", frozenset(["copy"]), {"exercise3": one.patterns["exercise3"] | junk})
    first = find_pairs([*variants, more], EXERCISES, 1)[0]
    assert {first.one, first.other} == {"copy", one.name}


def _pairs(*works: Work) -> list[Pair]:
    return find_pairs(works, ["e"], 20)


def test_one_person_is_no_pair_and_order_of_submissions_makes_no_difference() -> None:
    found = patterns(ATTEND * 3 + ATTEND.replace("softmax", "sum"))
    works = [Work(name, frozenset(name), {"e": found}) for name in ("ab", "bc", "cd", "xy", "yz")]
    pairs = _pairs(*works)
    names = [(pair.one, pair.other) for pair in pairs]
    assert names == sorted(names)
    assert ("ab", "bc") not in names
    assert ("ab", "cd") in names
    assert _pairs(*reversed(works)) == pairs


def test_two_who_share_everything_are_a_pair_in_a_class_of_two_and_not_where_all_do() -> None:
    found = patterns(ATTEND + ATTEND.replace("softmax", "sum").replace("f(", "g("))
    two = [Work(str(n), frozenset([n]), {"e": found}) for n in range(2)]
    many = [Work(str(n), frozenset([n]), {"e": found}) for n in range(40)]
    assert len(_pairs(*two)) == 1
    assert _pairs(*many) == []


def test_weight_is_one_for_two_and_nothing_for_all() -> None:
    assert weight(500, 2) == 1
    assert weight(500, 500) < 0.001
    assert weight(500, 20) > weight(500, 100)
    assert weight(1, 1) == weight(2, 2) == 1


def test_nothing_at_all_makes_no_pair() -> None:
    assert find_pairs([], EXERCISES, 20) == []
    assert _pairs(Work("a", frozenset("a"), {}), Work("b", frozenset("b"), {"e": set()})) == []
