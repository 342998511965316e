"""The instructors' page is played: a term of sixty students on four platforms, to its exports."""

import csv
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import term
from documents import check_block, output_blocks, printed_by
from support import ROOT

from grader.key.cache import Keys

pytestmark = pytest.mark.long  # a whole term

PAGE = ROOT / "docs" / "instructors.md"
PLACE = ROOT / "build" / "term"
Row = dict[str, str]


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, keys: Keys) -> Path:  # noqa: ARG001 - commands read them
    """Play the page, whose outputs must be those it shows, and return where the term is."""
    update = request.config.getoption("--update-golden")
    shutil.rmtree(ROOT / "build" / "class", ignore_errors=True)
    for block in output_blocks(PAGE):
        block.take_steps()
        check_block(block, printed_by(block.command), update=update)
    printed_by(f"grade export {PLACE}/results --format csv -o {PLACE}/scores.csv")
    printed_by(f"grade export {PLACE}/results --format gradescope -o {PLACE}/for-gradescope")
    return PLACE


@pytest.fixture(scope="module")
def scores(played: Path) -> dict[int, Row]:
    """Each student's line of the table, by number."""
    with (played / "scores.csv").open(encoding="utf-8", newline="") as file:
        return {int(row["id"].removeprefix("u")): row for row in csv.DictReader(file)}


def _expected(number: int) -> tuple[float, float]:
    """What the sandbox gives a student in both exercises once the course is right."""
    kind = number % len(term.BODIES)
    kind = 0 if number in term.AGAIN else kind
    first = {2: 5.0, 3: 9.47, 4: 4.0}.get(kind, 11.0)
    return first, 9.0 if kind == len(term.BODIES) - 1 else 0.0


def test_sixty_are_sixty(scores: dict[int, Row]) -> None:
    assert list(scores) == [student.number for student in term.STUDENTS]
    for student in term.STUDENTS:
        assert scores[student.number]["name"] == f"{student.given} {student.family}"


def test_everybody_has_what_the_code_is_worth(scores: dict[int, Row]) -> None:
    owner = {term.PAIR[1]: term.PAIR[0], term.DUO[1]: term.DUO[0]}
    for number, row in scores.items():
        if number in term.NOTHING:
            assert (row["graded_total"], row["total"]) == ("", "")
        elif number != term.GONE:  # whose score is the one of before the course was mended
            assert float(row["graded_total"]) == sum(_expected(owner.get(number, number)))


def test_what_was_decided_is_in_the_scores(scores: dict[int, Row]) -> None:
    decided = {17, 36, 37, 55, 57}
    late, in_grace, day_late, extended = scores[17], scores[35], scores[36], scores[37]
    assert (in_grace["late_penalty"], extended["late_penalty"]) == ("0", "0")
    assert "due 2026-10-30 23:59 CET by M. Curie: was ill" in extended["note"]
    assert (day_late["late_penalty"], day_late["graded_total"], day_late["total"]) == (
        "1.1", "11", "9.9",
    )  # fmt: skip
    assert (late["late_penalty"], late["total"]) == ("2", "18")
    for number, row in scores.items():
        if number not in decided and row["total"]:
            assert row["total"] == row["graded_total"], number


def test_excuse_points_and_withdrawal_are_told(scores: dict[int, Row]) -> None:
    told = {number: row["note"] for number, row in scores.items() if row["note"]}
    assert "+0.5 points by M. Curie: explained it at the board" in told[57]
    assert float(scores[57]["total"]) == float(scores[57]["graded_total"]) + 0.5
    assert (scores[55]["exercise2"], scores[55]["max_total"]) == ("excused", "11")
    assert told[term.GONE] == "withdrawn"
    assert {n for n in told if "handed in nothing" in told[n]} == set(term.NOTHING)


def test_second_attempts_are_known(scores: dict[int, Row]) -> None:
    assert [scores[n]["attempt"] for n in (16, 33)] == ["2", "2"]


def _grades(path: Path, key: str, grade: str) -> dict[int, str]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {int(r[key].split()[-1]): r[grade] for r in rows if r[key].split()}


def test_each_platform_gets_its_own_back(played: Path, scores: dict[int, Row]) -> None:
    canvas = _grades(played / "canvas.csv", "ID", "Statistics (77)")
    moodle = _grades(played / "moodle.csv", "Identifier", "Grade")
    assert canvas == {s.number: scores[s.number]["total"] for s in term.CANVAS}
    assert moodle == {s.number: scores[s.number]["total"] for s in term.MOODLE}
    for student in (s for s in term.GRADESCOPE if s.number != term.DUO[1]):
        path = played / "for-gradescope" / f"submission_{student.number}" / "results.json"
        document = json.loads(path.read_text("utf-8"))
        assert document["score"] == float(scores[student.number]["total"])


def test_feedback_has_what_counts_and_not_who_decided(played: Path) -> None:
    pages = {path.name: path.read_text("utf-8") for path in (played / "pages/students").iterdir()}
    assert len(pages) == len(term.STUDENTS)
    late = [name for name, text in pages.items() if "Handed in 1 day late: 1.1 points" in text]
    assert sorted(name.partition("~")[0] for name in late) == ["Ada_Drake", "Finn_Brown"]
    assert not [name for name, text in pages.items() if "Curie" in text or "was ill" in text]


@pytest.mark.parametrize(("platform", "count"), [("moodle", 13), ("canvas", 15)])
def test_feedback_goes_back_to_each_submission(played: Path, platform: str, count: int) -> None:
    with zipfile.ZipFile(played / "pages" / f"{platform}-feedback.zip") as archive:
        assert len(archive.namelist()) == count


def test_ticked_note_stays_away_and_the_mended_course_is_told(played: Path) -> None:
    command = f"grade report {played}/results --course {played}/course --json"
    summary = json.loads(printed_by(command))
    assert [one["mark"] for one in summary["seen"]] == ["4340fcc6"]
    assert "4340fcc6" not in [one["mark"] for one in summary["remarks"]]
    assert not [one for one in summary["remarks"] if "versions of the course" in one["text"]]
    changed = list(_people(summary["changes"]))
    assert changed
    assert all(why.startswith("course or grader changed") for why in changed)


def _people(changes: list[dict[str, str]]) -> Iterator[str]:
    for change in changes:
        yield change["why"]
