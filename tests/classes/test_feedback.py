"""What goes back: a page for each with nothing of anybody else's, and zips that platforms read."""

import json
import re
import zipfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import pytest
from bleach._vendor import html5lib
from feedback_class import TARGET, entry, keep, marker, moodle, open_results, result, shown
from support import ROOT, TESTS
from term import CANVAS, MOODLE, NOTHING, PAIR
from term import main as play_term

from grader.batch.entries import Entry, find_entries
from grader.batch.platforms import feedback_name
from grader.batch.shown import Shown, shown_of
from grader.classes.insight import read_insight
from grader.classes.summary import summarise
from grader.cli.batch import run_report
from grader.course.load import CourseFolder, load_course
from grader.errors import UsageError
from grader.grading.exercise import Run
from grader.records.people import Identity, Person, Platform
from grader.records.results import Status, result_to_json
from grader.records.results_read import result_from_json
from grader.records.text import clean
from grader.report.pages import render_class

HOSTILE = {
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": "\"' onmouseover=alert(1) x='",
    "template": "{{ 7 * 7 }}{% raw %}",
    "formula": "=HYPERLINK(\"http://evil\")",
    "path": "../../etc/passwd",
    "windows": "..\\..\\evil",
    "dots": "..",
    "turned": "\u202eabc\u2066\u200f\u200b",
    "long": "n" * 300,
    "parts": "a_99_b_77_c",
    "hidden": "._mac",
    "tilde": "~backup",
    "lines": "two\r\nlines\x00\x1b[2J",
}  # fmt: skip


def write(results: Path, into: Path) -> Path:
    """Write the pages of a class, and return where."""
    assert run_report(results, ROOT, students=False, as_json=False, html=into) == 0
    return into


def pages(into: Path) -> dict[str, str]:
    return {p.name: p.read_text("utf-8") for p in (into / "students").iterdir()}


def zipped(into: Path, platform: str) -> dict[str, str]:
    with zipfile.ZipFile(into / f"{platform}-feedback.zip") as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


# --- nothing of one on another's page ---------------------------------------------------------


@pytest.fixture(scope="module")
def marked(folder: CourseFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the pages of twelve whose results say a word of each one's own wherever they can."""
    place = tmp_path_factory.mktemp("marked")
    entries = [moodle(f"Name{marker(n)}", str(1000 + n)) for n in range(12)]
    results = open_results(place / "results", folder.course.title, entries)
    for n, one in enumerate(entries):
        keep(results, one.student, result(marker(n), bugs=(f"bug-{marker(n)}",)), marker(n))
    results.close()
    return write(place / "results", place / "pages")


def test_each_page_says_all_of_its_own_and_nothing_of_another(marked: Path) -> None:
    found = pages(marked)
    assert len(found) == 12
    whose = {frozenset(re.findall(r"marker\d{4}q", page)) for page in found.values()}
    assert whose == {frozenset([marker(n)]) for n in range(12)}
    for page in found.values():
        (own,) = set(re.findall(r"marker\d{4}q", page))
        said = ("wrong values", "do this", "hint", "evidence", "deviation", "note", "output")
        assert [text for text in said if f"{own} {text}" not in page] == []
        assert [text for text in ("panel", "case", "step") if f"{own} {text}" not in page] == []


def test_zip_has_the_same_pages_each_under_its_own_number(marked: Path) -> None:
    found = zipped(marked, "moodle")
    for name, page in found.items():
        (own,) = set(re.findall(r"marker\d{4}q", page))
        assert name == f"Name{own}_{1000 + int(own[6:10])}_assignsubmission_file/feedback.html"
    assert sorted(found.values()) == sorted(pages(marked).values())


def test_page_of_a_student_knows_nothing_of_the_class(marked: Path) -> None:
    for page in pages(marked).values():
        assert "href" not in page
        assert "12 students" not in page
        assert "discrimination" not in page.lower()


def test_page_has_the_lessons_passage_on_the_mistake(tmp_path: Path, folder: CourseFolder) -> None:
    results = open_results(tmp_path / "results", folder.course.title, [moodle("Ada", "1")])
    keep(results, "Ada_1", result("x", bugs=("softmax-unstable",)), "x")
    results.close()
    (page,) = pages(write(tmp_path / "results", tmp_path / "pages")).values()
    assert "The exponential of 800 is infinite in float64 too" in page


def test_group_of_two_has_two_pages_and_one_of_both_in_the_zip(
    tmp_path: Path, folder: CourseFolder
) -> None:
    """Each has the name on it; what goes to both has none."""
    pair = moodle("Pair", "7")
    roster = [Person("Ada Byron", group="Pair"), Person("Bob Brown", group="Pair")]
    results = open_results(tmp_path / "results", folder.course.title, [pair], roster)
    keep(results, "Pair_7", result("x"), "x")
    results.close()
    into = write(tmp_path / "results", tmp_path / "pages")
    ada, bob = (page for _, page in sorted(pages(into).items()))
    (both,) = zipped(into, "moodle").values()
    assert ("Ada Byron" in ada, "Bob Brown" in ada) == (True, False)
    assert ("Ada Byron" in bob, "Bob Brown" in bob) == (False, True)
    assert not re.search("Ada Byron|Bob Brown", both)
    assert "x wrong values" in both


# --- what the platforms read -------------------------------------------------------------------


@dataclass(frozen=True)
class Context:
    """What Canvas makes of a file's name."""

    user: str
    attachment: str


def canvas_reads(path: str) -> Context | None:
    """Follow Canvas's `infer_comment_context_from_filename` (app/models/abstract_assignment.rb)."""
    name = PurePosixPath(path).name
    parts = [part for part in name.split("_") if part != "LATE"]
    if parts[0] == "anon":
        user, attachment = parts[1:3]
    else:
        numbers = [part for part in parts if re.fullmatch(r"\d+", part)]
        if len(numbers) < 2:
            return None
        user, attachment = numbers[:2]
    if parts[-1].startswith("link") or name.startswith("._"):
        return None
    return Context(user, attachment)


def moodle_reads(path: str) -> tuple[int, str] | None:
    """Follow Moodle's `is_valid_filename_for_import` (assign/feedback/file/importziplib.php)."""
    parts = path.split("/")
    if parts[-1].startswith((".", "~")):
        return None
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or not info[1].isdigit() or info[2:4] != ["assignsubmission", "file"]:
            continue
        rest = "/".join([info[4] if len(info) == 5 else "", *parts])
        return int(info[1]), rest
    return None


@pytest.mark.parametrize(
    ("name", "user", "attachment"),
    [
        ("byronada_101_500_exercise1_attention.py", "101", "500"),
        ("byronada_LATE_101_500_exercise1_attention-2.py", "101", "500"),
        ("anon_x1Yz9_500_exercise1_attention.py", "x1Yz9", "500"),
        ("LATE_anon_x1Yz9_500_exercise1_attention.py", "x1Yz9", "500"),
        ("12_ada_101_500_99_link.py", "101", "500"),
    ],
    ids=["plain", "late", "anonymous", "late and anonymous", "numbers and a link"],
)
def test_canvas_finds_the_submission_by_the_files_name(
    name: str, user: str, attachment: str
) -> None:
    sent = feedback_name(Identity((Person(),), Platform.CANVAS, name), "feedback.html")
    assert sent.endswith("_feedback.html")
    assert canvas_reads(sent) == Context(user, attachment)


@pytest.mark.parametrize(
    "name",
    [
        "Ada Byron_101_assignsubmission_file",
        "Ada Byron_101_assignsubmission_file_",
        "Ada Byron_101_assignsubmission_file_exercise1_attention.py",
        "Participant_101_assignsubmission_file",
        "A_d_a_101_assignsubmission_file",
    ],
    ids=["folder", "older folder", "file", "hidden name", "underscores"],
)
def test_moodle_finds_the_participant_by_the_folders_name(name: str) -> None:
    sent = feedback_name(Identity((Person(),), Platform.MOODLE, name), "feedback.html")
    read = moodle_reads(sent)
    assert read is not None
    assert (read[0], read[1].lstrip("/")) == (101, "feedback.html")


def test_names_in_the_zips_are_those_of_the_download(tmp_path: Path, folder: CourseFolder) -> None:
    """From two downloads, through entries and results, to what the platforms read."""
    course = load_course(TESTS / "courses" / "statistics").course
    play_term("first", tmp_path / "term")
    found: list[Entry] = [
        one
        for place in ("moodle", "canvas")
        for one in find_entries(tmp_path / "term" / place, course)
    ]
    results = open_results(tmp_path / "results", folder.course.title, found)
    for one in found:
        keep(results, one.student, result("x"), "x")
    results.close()
    into = write(tmp_path / "results", tmp_path / "pages")
    assert {moodle_reads(name) for name in zipped(into, "moodle")} == {
        (7 if one.number == PAIR[0] else one.number, "/feedback.html")
        for one in MOODLE
        if one.number not in (*NOTHING, PAIR[1])
    }
    assert {canvas_reads(name) for name in zipped(into, "canvas")} == {
        Context(str(one.number), str(one.number)) for one in CANVAS
    }


def test_who_has_no_number_is_named_and_in_no_zip(
    tmp_path: Path, folder: CourseFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    nameless = Identity((Person("Pair"),), Platform.MOODLE, "Pair_assignsubmission_file")
    found = [entry("Pair", nameless), moodle("Ada", "1")]
    results = open_results(tmp_path / "results", folder.course.title, found)
    for one in found:
        keep(results, one.student, result("x"), "x")
    results.close()
    into = write(tmp_path / "results", tmp_path / "pages")
    assert len(zipped(into, "moodle")) == 1
    assert "note: in no zip, for the download tells no number (1): Pair" in capsys.readouterr().out


# --- hostile names -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(folder: CourseFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the pages of people who are called by every hostile text, on two platforms."""
    place = tmp_path_factory.mktemp("hostile")
    entries = [moodle(text, str(n)) for n, text in enumerate(HOSTILE.values())]
    for n, text in enumerate(HOSTILE.values()):
        called = f"{text}_{n}_{n + 500}_exercise1_attention.py"
        told = Identity((Person(text, str(n)),), Platform.CANVAS, called)
        entries.append(entry(f"{text}_canvas{n}", told))
    results = open_results(place / "results", folder.course.title, entries)
    for one in entries:
        said = clean(one.student, 400)  # as all that a submission says
        keep(results, one.student, result(said), said)
    results.close()
    return write(place / "results", place / "pages")


def test_hostile_names_stay_text_on_every_page(hostile: Path) -> None:
    texts = [*pages(hostile).values(), (hostile / "index.html").read_text("utf-8")]
    assert len(texts) == 2 * len(HOSTILE) + 1
    for text in texts:
        assert not [c for c in text if not c.isprintable() and c != "\n"]
        for element in html5lib.parse(text, namespaceHTMLElements=False).iter():
            assert element.tag not in ("script", "img", "iframe", "object", "a:script")
            assert not [name for name in element.attrib if str(name).startswith("on")]
            link = element.get("href", "students/x.html")
            assert re.fullmatch(r"students/[A-Za-z0-9._~-]+\.html", link)


def test_hostile_names_make_plain_files_that_the_class_links_to(hostile: Path) -> None:
    made = {path.name for path in (hostile / "students").iterdir()}
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]{1,110}\.html", name) for name in made)
    assert not [name for name in made if name.startswith(".")]
    index = (hostile / "index.html").read_text("utf-8")
    assert set(re.findall(r'href="students/([^"]+)"', index)) == made
    assert {path.name for path in hostile.iterdir()} == {
        "index.html", "students", "moodle-feedback.zip", "canvas-feedback.zip",
    }  # fmt: skip


def test_hostile_names_lead_out_of_no_zip_and_hide_nobody(hostile: Path) -> None:
    for platform in ("moodle", "canvas"):
        names = list(zipped(hostile, platform))
        for name in names:
            assert name.isprintable()
            assert not set(name) & set('\\:*?"<>|')
            assert ".." not in name.split("/")
            assert not name.startswith(("/", ".", "~"))
            assert name.count("/") == (platform == "moodle")
            assert len(name.encode()) < 200
    read = {moodle_reads(name) for name in zipped(hostile, "moodle")}
    assert {number for number, _ in filter(None, read)} >= set(range(len(HOSTILE)))
    contexts = {canvas_reads(name) for name in zipped(hostile, "canvas")}
    assert contexts == {Context(str(n), str(n + 500)) for n in range(len(HOSTILE))}


# --- what is kept --------------------------------------------------------------------------------


def test_pictures_come_back_as_they_were_kept() -> None:
    kept = shown("x")
    read = Shown.parse(kept.pack())
    (before,), (after,) = kept.exhibits, read.exhibits
    assert (after.target, after.case, after.drawing) == (before.target, before.case, before.drawing)
    (one,), (other,) = before.panels, after.panels
    assert (one.expected == other.expected).all()
    assert other.actual is not None
    assert (one.expected_shape, one.actual_shape) == (other.expected_shape, other.actual_shape)
    assert read.output == kept.output


@pytest.mark.parametrize(("kept", "read"), [("keys", ("keys",)), ("", ())])
def test_pictures_of_older_results_name_one_wrong_step(kept: str, read: tuple[str, ...]) -> None:
    plain = json.loads(zlib.decompress(shown("x").pack()))
    plain["exhibits"][0]["drawing"]["wrong"] = kept
    (exhibit,) = Shown.parse(zlib.compress(json.dumps(plain).encode())).exhibits
    assert exhibit.drawing is not None
    assert exhibit.drawing.wrong == read


def test_a_fault_in_drawing_is_told_and_costs_nothing(
    folder: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("drawing")

    monkeypatch.setattr("grader.batch.shown.exhibits_of", fail)
    made = shown_of(folder.course.exercise("exercise1"), Run(result("x")))
    assert made.exhibits == ()
    assert made.fault.startswith("KeyError at test_feedback.py")


def test_what_hung_is_not_run_again_for_a_drawing(
    folder: CourseFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def note(*_: object, targets: object, **__: object) -> tuple[()]:
        asked.append(targets)
        return ()

    monkeypatch.setattr("grader.batch.shown.exhibits_of", note)
    wrong = result("x")
    late = replace(wrong, checks=tuple(replace(c, status=Status.TIMEOUT) for c in wrong.checks))
    for one in (wrong, late):
        shown_of(folder.course.exercise("exercise1"), Run(one))
    assert asked == [{TARGET}, set()]


@pytest.mark.parametrize("path", sorted((TESTS / "golden").glob("*.json")), ids=lambda p: p.stem)
def test_result_comes_back_as_it_was_written(path: Path) -> None:
    for plain in json.loads(path.read_text("utf-8"))["results"]:
        assert result_to_json(result_from_json(plain)) == plain


# --- the class's page ----------------------------------------------------------------------------


def test_page_of_two_thousand_is_small(tmp_path: Path, folder: CourseFolder) -> None:
    entries = [moodle(f"Given{n} van Familyname{n}", str(n)) for n in range(40)]
    results = open_results(tmp_path, folder.course.title, entries)
    for one in entries:
        keep(results, one.student, result("x"), "x")
    results.close()
    summary = summarise(tmp_path, folder.course)
    insight = read_insight(tmp_path, folder, summary)
    many = tuple(
        replace(one, student=f"{one.student} {n}") for n in range(50) for one in summary.by_student
    )
    (made,) = insight.mistakes
    everybody = replace(made, students=tuple(one.student for one in many))
    page = render_class(
        replace(summary, students=len(many), by_student=many),
        replace(insight, mistakes=(everybody,) * 5),
    )
    assert page.count("<a href=") == 2000
    assert len(page.encode()) < 3_000_000


def test_page_of_a_small_class_has_no_discrimination_but_says_so(marked: Path) -> None:
    page = (marked / "index.html").read_text("utf-8")
    assert "These are too few submissions for discrimination: it takes 30." in page
    assert not re.search(r">\s*-?nan\b", page)


def test_pages_do_not_come_among_the_results(tmp_path: Path, folder: CourseFolder) -> None:
    results = open_results(tmp_path, folder.course.title, [moodle("Ada", "1")])
    keep(results, "Ada_1", result("x"), "x")
    results.close()
    with pytest.raises(UsageError, match="holds the results themselves"):
        write(tmp_path, tmp_path)


def test_pages_of_before_go_where_nobody_has_them_any_more(
    tmp_path: Path, folder: CourseFolder
) -> None:
    for number, name in enumerate(("Ada", "Bob")):
        place = tmp_path / f"results{number}"
        results = open_results(place, folder.course.title, [moodle(name, str(number))])
        keep(results, f"{name}_{number}", result("x"), "x")
        results.close()
    write(tmp_path / "results0", tmp_path / "pages")
    (tmp_path / "pages" / "students" / "notes.html").write_text("somebody's own")
    write(tmp_path / "results1", tmp_path / "pages")
    names = [name.partition("~")[0] for name in sorted(pages(tmp_path / "pages"))]
    assert names == ["Bob", "notes.html"]


# --- what people decided -------------------------------------------------------------------------


def adjusted(place: Path, folder: CourseFolder, entries: list[Entry], *decisions: str) -> Path:
    """Write the pages of a class of which something was decided."""
    roster = [Person("Ada Byron", group="Pair"), Person("Bob Brown", group="Pair")]
    results = open_results(place / "results", folder.course.title, entries, roster)
    for one in entries:
        keep(results, one.student, result("x", score=1.0), "x")
    results.close()
    lines = "\n".join(f"  - {{{one}, by: M. Curie, why: secret reason}}" for one in decisions)
    (place / "results" / "adjustments.yml").write_text(f"adjustments:\n{lines}\n", "utf-8")
    return write(place / "results", place / "pages")


def test_decision_stands_on_the_page_of_whom_it_is_for_alone(
    tmp_path: Path, folder: CourseFolder
) -> None:
    entries = [moodle("Ada Byron", "1"), moodle("Bob Brown", "2")]
    decided = "student: Ada Byron, exercise: exercise1, points: 1.5, comment: See page 12."
    into = adjusted(tmp_path, folder, entries, decided)
    ada, bob = (page for _, page in sorted(pages(into).items()))
    for text in ("counts 2.5 of 4 points", "Changed by hand: +1.5 points.", "See page 12."):
        assert text in ada
        assert text not in bob
    assert "secret reason" not in ada
    assert "1 / 4 points" in bob
    index = (into / "index.html").read_text("utf-8")
    assert "secret reason" in index  # it is for those who grade
    assert ">2.5*</td>" in index


def test_what_was_decided_for_one_of_a_group_is_not_told_to_the_other(
    tmp_path: Path, folder: CourseFolder
) -> None:
    decided = "student: Ada Byron, exercise: exercise1, points: 1.5, comment: See page 12."
    into = adjusted(tmp_path, folder, [moodle("Pair", "7")], decided)
    (both,) = zipped(into, "moodle").values()
    assert "See page 12." not in both
    assert "by hand" not in both
    assert "1 / 4 points" in both


def test_what_was_decided_for_all_of_a_group_is_told_to_it(
    tmp_path: Path, folder: CourseFolder
) -> None:
    each = "exercise: exercise1, points: 1.5, comment: See page 12."
    decisions = [f"student: {name}, {each}" for name in ("Ada Byron", "Bob Brown")]
    (both,) = zipped(
        adjusted(tmp_path, folder, [moodle("Pair", "7")], *decisions), "moodle"
    ).values()
    assert "counts 2.5 of 4 points" in both
    assert "See page 12." in both
