"""`grade similar`: a class's results in, a list and a page out, whatever was handed in."""

import json
import time
import zipfile
from pathlib import Path

import click
import pytest
from bleach._vendor import html5lib
from class_results import grade_nothing
from disguise import disguise
from support import TESTS, RunGrade

from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.likeness.pairs import AlikeClass, Request, compare_class
from grader.records.people import Person
from grader.report.likeness import ACCUSES_NOBODY, render_likeness, render_likeness_page

FILE = "exercise3_multi_head.py"
VARIANTS = sorted((TESTS / "variants" / "exercise3").glob("*.py"))
MARKUP = "</table></pre><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}"
_GROWTH = 12  # for five times as many, of whom more and more are alike


def hand_in(place: Path, texts: dict[str, str | bytes]) -> None:
    """Write one file a student."""
    for student, text in texts.items():
        path = place / "in" / student / FILE
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def compare(
    place: Path, folder: CourseFolder, roster: list[Person] | None = None, most: int = 20
) -> AlikeClass:
    """Compare what was handed in below a place."""
    grade_nothing(place / "results", place / "in", folder.course, roster)
    return compare_class(Request(folder, place / "results", most=most))


def independent(number: int) -> dict[str, str | bytes]:
    """Right solutions by as many students."""
    return {path.stem: path.read_text(encoding="utf-8") for path in VARIANTS[:number]}


@pytest.fixture
def copied(tmp_path: Path, folder: CourseFolder) -> AlikeClass:
    """A class with a copy whose text is hostile to a page."""
    text = disguise(VARIANTS[4].read_text(encoding="utf-8"), folder.course)
    text += f"\nx = '''{MARKUP}\u202e\x1b[2J'''\n"
    hand_in(tmp_path, {**independent(12), f"<b>{MARKUP[-30:-10]}": text})
    return compare(tmp_path, folder)


def test_copy_comes_first_and_the_list_says_that_it_accuses_nobody(copied: AlikeClass) -> None:
    first = copied.pairs[0]
    assert VARIANTS[4].stem in (first.one, first.other)
    shown = render_likeness(copied, width=100)
    assert ACCUSES_NOBODY in shown
    assert "13 submissions compared" in shown


def test_page_shows_both_sides_and_does_nothing(copied: AlikeClass) -> None:
    page = render_likeness_page(copied)
    tree = html5lib.parse(page, namespaceHTMLElements=False)
    assert {e.tag for e in tree.iter() if isinstance(e.tag, str)} <= {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "main",
            "h1",
            "h2",
            "h3",
            "p",
            "strong",
            "a",
        ),
        *("table", "tbody", "tr", "td", "th", "div", "section"),
    }
    assert not [name for e in tree.iter() for name in e.attrib if name.startswith("on")]
    text = "".join(tree.itertext())
    assert MARKUP in text
    assert "\u202e" not in page
    assert "\x1b" not in page
    alike = [row for row in tree.iter("tr") if row.get("class") == "alike"]
    assert len(alike) > 20
    assert {e.get("href") for e in tree.iter("a")} == {
        f"#pair{n + 1}" for n in range(len(copied.pairs))
    }


def test_marked_lines_lead_to_lines_that_say_the_same(tmp_path: Path, folder: CourseFolder) -> None:
    source = VARIANTS[0].read_text(encoding="utf-8")
    hand_in(tmp_path, {**independent(10), "zoe": f"# one more line\n\n{source}"})
    found = compare(tmp_path, folder)
    page = html5lib.parse(render_likeness_page(found), namespaceHTMLElements=False)
    rows = [[cell.text or "" for cell in row.iter("td")] for row in page.iter("tr")]
    links = [(int(row[0]), int(row[1])) for row in rows if len(row) == 3 and row[1]]
    assert len(links) > 20
    off = [abs(here - there) for here, there in links]
    assert off.count(2) > 0.9 * len(off)


HOSTILE: dict[str, str | bytes] = {
    "syntax": "def fold_heads(x:\n  <script>",
    "bytes": b"\x00\xff\xfe\x00",
    "deep": f"x = {'(' * 5000}1{')' * 5000}",
    "chain": "x" + ".a" * 20_000,
    "long": "x = 1\n" * 200_000,
    "one-line": "x = '" + "y" * 300_000 + "'",
    "many-methods": "class A:\n" + "    def f(self): return 1\n" * 5_000,
    "same-again": "def f(x):\n" + "    x = x + 1\n" * 5_000,
    "empty": "",
    "comment": "# nothing\n",
    "terminal": "x = '\x1b[2J\x07'\n\x0c",
    "surrogate": "x = '\\ud800'\n",
    "\u202e<b>name": "def f(:",
}


def test_no_source_stops_it(tmp_path: Path, folder: CourseFolder) -> None:
    twice = {f"{name}-{n}": text for name, text in HOSTILE.items() for n in range(2)}
    hand_in(tmp_path, {**independent(5), **twice})
    begun = time.monotonic()
    found = compare(tmp_path, folder)
    page = render_likeness_page(found)
    assert time.monotonic() - begun < 30
    assert {"syntax-0 (exercise3)", "bytes-1 (exercise3)", "deep-0 (exercise3)"} <= set(
        found.unread
    )
    assert not any(name.startswith(("empty", "comment")) for name in found.unread)
    assert len(page) < 2_000_000
    assert "\u202e" not in page
    assert "<b>" not in page
    shown = click.unstyle(render_likeness(found, width=100))
    assert "\x1b" not in shown


def test_group_and_attempts_are_no_pair(tmp_path: Path, folder: CourseFolder) -> None:
    source = VARIANTS[0].read_text(encoding="utf-8")
    for name in (f"ada_1_assignsubmission_file/{FILE}", f"Pair_9_assignsubmission_file/{FILE}"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True)
        path.write_text(source, encoding="utf-8")
    roster = [Person("ada", "1", group="Pair"), Person("bob", "2", group="Pair")]
    assert compare(tmp_path, folder, roster).pairs == ()
    place = tmp_path / "plain"
    hand_in(place, {"ada": source, "bob": source})
    with zipfile.ZipFile(place / "in" / "ada.zip", "w") as archive:
        archive.writestr(FILE, source)
    found = compare(place, folder)
    assert sorted((pair.one, pair.other) for pair in found.pairs) == [
        ("ada", "bob"),
        ("ada.zip", "bob"),
    ]


def test_stub_and_reference_make_nobody_alike(tmp_path: Path, folder: CourseFolder) -> None:
    stub = (folder.exercises / FILE).read_text(encoding="utf-8")
    reference = (folder.solutions / FILE).read_text(encoding="utf-8")
    hand_in(tmp_path, {"a": stub, "b": stub, "c": reference, "d": reference})
    assert compare(tmp_path, folder).pairs == ()


def test_submissions_that_are_gone_are_named(tmp_path: Path, folder: CourseFolder) -> None:
    hand_in(tmp_path, independent(2))
    grade_nothing(tmp_path / "results", tmp_path / "in", folder.course)
    (tmp_path / "in").rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="no longer there"):
        compare_class(Request(folder, tmp_path / "results"))


@pytest.mark.long
def test_command_prints_the_same_list_each_time(
    tmp_path: Path, folder: CourseFolder, run_grade: RunGrade
) -> None:
    source = VARIANTS[0].read_text(encoding="utf-8")
    hand_in(tmp_path, {**independent(6), "zoe": disguise(source, folder.course)})
    grade_nothing(tmp_path / "results", tmp_path / "in", folder.course)
    page = tmp_path / "alike.html"
    told = run_grade("similar", tmp_path / "results", "--json", "--html", page, PYTHONHASHSEED="1")
    again = run_grade("similar", tmp_path / "results", "--json", PYTHONHASHSEED="2")
    assert told.out == again.out
    document = json.loads(told.out)
    assert document["format_version"] == 1
    assert document["pairs"][0]["students"] == [VARIANTS[0].stem, "zoe"]
    assert ACCUSES_NOBODY in page.read_text(encoding="utf-8")
    missing = run_grade("similar", tmp_path / "nowhere")
    assert missing.status == 2
    assert "holds no results" in missing.err


@pytest.mark.long
def test_time_grows_little_faster_than_the_class(tmp_path: Path, folder: CourseFolder) -> None:
    few, many = (_time_of_class(tmp_path / str(size), folder, size) for size in (100, 500))
    assert many < _GROWTH * few


def _time_of_class(place: Path, folder: CourseFolder, size: int) -> float:
    """Return how many seconds it takes to compare a class, its page included."""
    for number in range(size):
        for exercise in folder.course.exercises[:7]:
            paths = sorted((TESTS / "variants" / exercise.id).glob("*.py"))
            text = paths[number % len(paths)].read_text(encoding="utf-8")
            path = place / "in" / f"student{number}" / exercise.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\nx{number} = {number}\n", encoding="utf-8")
    grade_nothing(place / "results", place / "in", folder.course)
    begun = time.monotonic()
    render_likeness_page(compare_class(Request(folder, place / "results")))
    return time.monotonic() - begun
