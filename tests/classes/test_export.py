"""Scores for other systems: read back as each platform's own code or description reads them."""

import csv
import html
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from class_results import grade_nothing, keep, result_of, sixty
from hypothesis import given
from hypothesis import strategies as st

from grader.batch.results import About, Results
from grader.classes.export import Format, export_scores
from grader.classes.graded import read_results
from grader.classes.people import Member
from grader.classes.scores import ExerciseScore, Scores, StudentScores
from grader.cli.platforms import ExportRequest, run_export
from grader.course.load import CourseFolder
from grader.errors import UsageError
from grader.records.people import Identity, Person, Platform
from grader.records.results import Status

MARKUP = '=cmd|"/c calc"!A1'
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def scored(person: Person, total: float, *, platform: Platform = Platform.FILES) -> StudentScores:
    """One person's scores in two exercises; the first is said something of."""
    handed = Identity((person,), platform, attempt=2, late=True)
    member = Member(person, person.shown, f"of {person.id or person.shown}", handed, (), person)
    some = (ExerciseScore("exercise1", total - 1, 6, "<b>no</b>\nno"), ExerciseScore("ex2", 1, 4))
    return StudentScores(member, some)


ADA, BOB = Person("Ada Byron", "11", "a@x.org", "ada"), Person("Bob", "12", "b@x.org", "bob")
CY = StudentScores(Member(Person("Cy"), "Cy", marks=("handed in nothing",)))


def scores(*students: StudentScores, **more: Any) -> Scores:
    """Scores as a reader gives them."""
    return replace(Scores("part1", students, 10.0), **more)


def text_of(given: Scores, to: Format, template: Path | None = None) -> str:
    """The one file of a format."""
    (file,) = export_scores(given, to, template).files
    return file.text


# ---- what reads them back ------------------------------------------------------------------------


@dataclass(frozen=True)
class Imported:
    """What Canvas takes of a line."""

    name: str
    grades: dict[str, str]  # by the assignment's number, or title where it has none


def canvas_imports(text: str) -> dict[str, Imported]:
    """Read a gradebook as Canvas's importer does (its lib/gradebook_importer.rb).

    The key is what a person is found by: ID, else SIS User ID, SIS Login ID, else the name.
    """
    first = text.splitlines()[0]
    head, *rows = csv.reader(io.StringIO(text), delimiter=";" if ";" in first else ",")
    assert "Student" in head[0]
    assert "ID" in head[1]
    count = 3
    sis = head[2] == "SIS User ID"
    if head[2] == "SIS Login ID":
        count = 4
    elif sis and head[3] == "SIS Login ID":
        count = 5 + (head[4] == "Integration ID")
        count += head[count - 1] == "Root Account"
    assert head[count - 1] == "Section"
    own = r"(Current|Final|Override) (Score|Points|Grade|Status)"
    columns = [n for n in range(count, len(head)) if not re.search(own, head[n])]
    titles = {n: re.fullmatch(r"(.*?)\s*\((\d+)\)", head[n]) for n in columns}
    found = {}
    for row in rows:
        hidden = all(re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", c, re.I) for c in row if c)
        if "Points Possible" in row[0] or hidden:
            continue
        key = row[1] or (row[2] if sis else "") or row[count - 2] or row[0]
        grades = {(m[2] if (m := titles[n]) else head[n]): row[n].strip() for n in columns}
        assert key not in found
        found[key] = Imported(row[0], grades)
    return found


@dataclass(frozen=True)
class Graded:
    """What Moodle takes of a line."""

    grade: float | None
    comment: str


def moodle_imports(text: str) -> dict[str, Graded]:
    """Read a worksheet as Moodle does (its mod/assign/feedback/offline/importgradeslib.php)."""
    head, *rows = csv.reader(io.StringIO(text))
    assert {"Identifier", "Grade", "Last modified (grade)"} <= set(head)
    number, grade, said = map(head.index, ("Identifier", "Grade", "Feedback comments"))
    found = {}
    for row in rows:
        key = row[number][len("Participant ") :]
        if key:
            assert key not in found
            found[key] = Graded(float(row[grade]) if row[grade] else None, row[said])
    return found


# ---- Canvas --------------------------------------------------------------------------------------

GRADEBOOK = """\
Student,ID,SIS User ID,SIS Login ID,Section,Notes,part1 (77),other (78),Final Score
,,,,,,Manual Posting,,
    Points Possible,,,,,,100,5,(read only)
"Byron, Ada",11,u1,ada,A,-5 late,,3,60
"Builder, Bob",92,u12,b@x.org,A,,,4,70
"=evil, Eve",93,u3,eve,A,,8,5,80
"Student, Test",94,,t,A,,,,
"""


@pytest.fixture
def gradebook(tmp_path: Path) -> Path:
    """A gradebook as Canvas exports it."""
    path = tmp_path / "gradebook.csv"
    path.write_text("\ufeff" + GRADEBOOK, encoding="utf-8")
    return path


def test_canvas_has_numbers_where_canvas_gave_them() -> None:
    listed = replace(BOB, id="u12")
    given = scores(scored(ADA, 5.5, platform=Platform.CANVAS), scored(listed, 7), CY)
    exported = export_scores(given, Format.CANVAS)
    found = canvas_imports(exported.files[0].text)
    assert found == {
        "11": Imported("Ada Byron", {"part1": "5.5"}),
        "u12": Imported("Bob", {"part1": "7"}),
        "Cy": Imported("Cy", {"part1": ""}),
    }
    assert exported.notes == ("canvas may not know (see --template) (1): Cy",)


def test_canvas_gradebook_comes_back_filled(gradebook: Path) -> None:
    ada = scored(ADA, 5.5, platform=Platform.CANVAS)
    given = scores(ada, scored(replace(BOB, id="", login=""), 7), scored(Person("Dan", "93"), 1))
    bob = replace(given.students[1].member.person, name="Bob Builder")
    given = scores(ada, scored(bob, 7), given.students[2], CY)
    exported = export_scores(given, Format.CANVAS, gradebook)
    before, after = canvas_imports(GRADEBOOK), canvas_imports(exported.files[0].text)
    assert {key: one.grades["77"] for key, one in after.items()} == {
        "11": "5.5", "92": "7", "93": "8", "94": "",
    }  # fmt: skip
    assert all(after[key].grades["78"] == one.grades["78"] for key, one in before.items())
    assert after["11"].grades["Notes"] == "-5 late"  # the importer would write it back
    assert after["93"].name == "'=evil, Eve"
    scaled, left_out, left = exported.notes
    assert scaled.startswith(
        "canvas has 100 points for this assignment, and these scores are of 10"
    )
    assert left_out.endswith("left out (2): Dan, Cy")
    assert left.endswith("as " + str(gradebook) + " has them (1): =evil, Eve")


def test_canvas_gradebook_with_semicolons_and_no_numbers_of_a_university(tmp_path: Path) -> None:
    path = tmp_path / "gradebook.csv"
    path.write_text(
        "Student;ID;SIS Login ID;Section;x (7)\n  Points Possible;;;;10\nAda;11;ada;A;\n"
    )
    given = scores(scored(Person("Ada B", login="ADA"), 3))
    found = canvas_imports(text_of(given, Format.CANVAS, path))
    assert found == {"11": Imported("Ada", {"7": "3"})}


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("a,b\n1,2\n", "", "is no gradebook of Canvas's"),
        ("Student,ID,SIS Login ID,Section,x (1),y (2)\n", "", r"'x \(1\)', 'y \(2\)', and no one"),
        ("Student,ID,SIS Login ID,Section,x (1)\n", "y", r"has 'x \(1\)', and no one 'y'"),
        ("Student,ID,SIS Login ID,Section\n", "", "has no assignment"),
    ],
)  # fmt: skip
def test_gradebook_that_does_not_fit_is_refused(
    text: str, name: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "gradebook.csv"
    path.write_text(text)
    given = scores(scored(ADA, 1), assignment=name or "part1", named=bool(name))
    with pytest.raises(UsageError, match=said):
        export_scores(given, Format.CANVAS, path)


# ---- Moodle --------------------------------------------------------------------------------------

WORKSHEET = """\
Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",\
"Last modified (submission)","Online text","Last modified (grade)","Feedback comments"
"Participant 11","Ada Byron",a@x.org,Submitted,,10.00,Yes,-,=evil,-,
"Participant 5","Bob",b@x.org,Submitted,,10.00,Yes,-,,-,before
"Participant 6","Eve",e@x.org,Submitted,2.00,10.00,Yes,-,,-,kept
"""


def test_moodle_worksheet_comes_back_filled(tmp_path: Path) -> None:
    path = tmp_path / "worksheet.csv"
    path.write_text(WORKSHEET, encoding="utf-8")
    moved = scored(replace(ADA, name="Ada Lovelace"), 5.5, platform=Platform.MOODLE)
    exported = export_scores(scores(moved, scored(BOB, 7)), Format.MOODLE, path)
    comment = "exercise1: &lt;b&gt;no&lt;/b&gt;<br>no"
    assert moodle_imports(exported.files[0].text) == {
        "11": Graded(5.5, comment),
        "5": Graded(7, comment),
        "6": Graded(2, "kept"),
    }
    assert "'=evil" in exported.files[0].text
    assert [note.rpartition(": ")[2] for note in exported.notes] == ["Eve"]


def test_moodle_worksheet_of_its_own_has_numbers_where_moodle_gave_them() -> None:
    given = scores(scored(ADA, 5.5, platform=Platform.MOODLE), scored(BOB, 7))
    exported = export_scores(given, Format.MOODLE)
    assert {k: g.grade for k, g in moodle_imports(exported.files[0].text).items()} == {"11": 5.5}
    assert exported.notes == ("moodle may not know (see --template) (1): Bob",)


GERMAN = """\
ID,"Vollständiger Name",E-Mail-Adresse,Status,Bewertung,Bestwertung,\
"Bewertung kann geändert werden","Zuletzt geändert (Abgabe)",\
"Zuletzt geändert (Bewertung)","Feedback als Kommentar"
"Teilnehmer/in11","Ada Byron",a@x.org,Abgegeben,,"10,00",Ja,-,-,
"Teilnehmer/in5","Bob",b@x.org,"=Abgegeben","2,00","10,00",Ja,-,-,
"Teilnehmer/in6","Eve",e@x.org,Abgegeben,,"10,00",Ja,-,-,
"""  # titles from Moodle's German language pack


def test_moodle_worksheet_in_another_language_is_known_by_its_form(tmp_path: Path) -> None:
    path = tmp_path / "worksheet.csv"
    path.write_text(GERMAN, encoding="utf-8")
    moved = scored(replace(ADA, name="Ada Lovelace"), 5.5, platform=Platform.MOODLE)
    given = scores(moved, scored(replace(BOB, id=""), 7), possible=12.0)
    exported = export_scores(given, Format.MOODLE, path)
    rows = list(csv.reader(io.StringIO(exported.files[0].text)))
    assert [row[4] for row in rows] == ["Bewertung", "5.5", "7", ""]
    assert [row[5] for row in rows] == ["Bestwertung", "10,00", "10,00", "10,00"]
    assert [bool(row[9]) for row in rows] == [True, True, True, False]
    assert rows[2][3] == "'=Abgegeben"
    assert exported.notes[0].startswith("moodle has 10,00 points for this assignment")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("Teilnehmer/in6", "Eve"), id="line-without-number"),
        pytest.param(
            ('"10,00",Ja,-,-,\n"Teilnehmer/in5"', '"9,00",Ja,-,-,\n"T5"'), id="two-maxima"
        ),
        pytest.param(('"2,00"', "gut"), id="scale"),
    ],
)
def test_worksheet_of_another_form_is_refused(change: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "worksheet.csv"
    path.write_text(GERMAN.replace(*change), encoding="utf-8")
    with pytest.raises(UsageError, match="no grading worksheet"):
        export_scores(scores(scored(ADA, 1)), Format.MOODLE, path)


def test_table_that_is_no_worksheet_is_refused(gradebook: Path) -> None:
    with pytest.raises(UsageError, match="is no grading worksheet of Moodle's: download it"):
        export_scores(scores(), Format.MOODLE, gradebook)


# ---- CSV and Gradescope --------------------------------------------------------------------------


def test_csv_has_one_line_a_person() -> None:
    text = text_of(scores(scored(ADA, 5.5), CY), Format.CSV)
    ada, cy = csv.DictReader(io.StringIO(text))
    assert ada == {
        "student": "Ada Byron", "id": "11", "name": "Ada Byron", "email": "a@x.org",
        "login": "ada", "group": "", "attempt": "2", "time": "", "late": "late", "note": "",
        "assignment": "part1", "exercise1": "4.5", "ex2": "1", "late_penalty": "0",
        "by_hand": "0", "graded_total": "5.5", "total": "5.5", "max_total": "10",
    }  # fmt: skip
    assert (cy["total"], cy["exercise1"], cy["note"]) == ("", "", "handed in nothing")


def test_gradescope_has_results_of_each_submission() -> None:
    handed = Identity((ADA, BOB), Platform.GRADESCOPE, "submission_98")
    pair = [
        StudentScores(Member(p, p.name, "11 and 12", handed, (), p), scored(p, 5.5).scores)
        for p in (ADA, BOB)
    ]
    (file,) = export_scores(scores(*pair, CY), Format.GRADESCOPE).files
    assert file.name == "submission_98/results.json"
    document = json.loads(file.text)
    assert document["score"] == 5.5 == sum(test["score"] for test in document["tests"])
    assert [p["id"] for p in document["extra_data"]["people"]] == ["11", "12"]
    known = {"name", "score", "max_score", "output", "output_format"}
    assert all(set(test) <= known for test in document["tests"])


@pytest.mark.parametrize("to", list(Format))
def test_nobody_is_no_trouble(to: Format) -> None:
    assert len(export_scores(scores(), to).files) == (0 if to is Format.GRADESCOPE else 1)


@pytest.mark.parametrize("to", [Format.CSV, Format.GRADESCOPE])
def test_template_of_what_has_none_is_refused(to: Format, gradebook: Path) -> None:
    with pytest.raises(UsageError, match="--template is for canvas and moodle"):
        export_scores(scores(), to, gradebook)


# ---- what others wrote ---------------------------------------------------------------------------


@pytest.mark.parametrize("to", [Format.CSV, Format.CANVAS, Format.MOODLE])
@given(st.text(st.sampled_from("=+-@\t\r\n ,\"'<>\u202eax1"), max_size=30))
def test_no_cell_becomes_a_formula(to: Format, text: str) -> None:
    person = Person(text, text, text, text, text)
    one = scored(person, 1, platform=Platform.CANVAS)
    comment = ExerciseScore("exercise1", 1, 1, text)
    given = scores(replace(one, scores=(comment,)), assignment=text)
    for line in csv.reader(io.StringIO(text_of(given, to))):
        for cell in line:
            assert cell in ("    Points Possible",) or not cell.lstrip(" ").startswith(FORMULA)
            assert "\u202e" not in cell


@pytest.mark.parametrize("name", ["Ada;=HYPERLINK(1);x", "Ada\n =1+1", "\uff1d1+1"])
def test_no_part_of_a_name_becomes_a_formula_where_semicolons_end_cells(name: str) -> None:
    text = text_of(scores(scored(Person(name, "1"), 1)), Format.CSV)
    for part in re.split(r"[;\n]", text):
        assert not part.lstrip(" ").startswith((*FORMULA, "\uff1d"))


def test_negative_numbers_stay_numbers() -> None:
    (row,) = csv.DictReader(io.StringIO(text_of(scores(scored(ADA, -0.5)), Format.CSV)))
    assert (row["total"], row["exercise1"]) == ("-0.5", "-1.5")


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "a\nb", "é", "x" * 300, "\u202ea"])
def test_gradescope_files_stay_in_their_folder(name: str) -> None:
    one = scored(Person(name), 1)
    one = replace(one, member=replace(one.member, submission=name))
    (file,) = export_scores(scores(one), Format.GRADESCOPE).files
    folder, last = file.name.split("/")
    assert last == "results.json"
    assert folder.isascii()
    assert len(folder) < 80
    assert ".." not in folder


# ---- results -------------------------------------------------------------------------------------


def test_sixty_of_four_platforms_are_read_back(tmp_path: Path, folder: CourseFolder) -> None:
    roster = sixty(tmp_path)
    points: dict[str, float] = {}
    for number, platform in enumerate(("moodle", "canvas", "gradescope", "clones-submissions")):
        points |= grade_nothing(
            tmp_path / "results", tmp_path / platform, folder.course, roster, merge=bool(number)
        )
    given = read_results(tmp_path / "results")
    wanted = {s.member.person.id: points[s.member.submission] for s in given.students}
    assert list(wanted) == [person.id for person in roster]
    lines = list(csv.DictReader(io.StringIO(text_of(given, Format.CSV))))
    assert {line["id"]: float(line["total"]) for line in lines} == wanted
    assert [line["name"] for line in lines] == [person.name for person in roster]
    canvas = canvas_imports(text_of(given, Format.CANVAS))
    assert {key: float(one.grades[given.assignment]) for key, one in canvas.items()} == wanted
    assert [one.name for one in canvas.values()] == [person.name for person in roster]
    template = tmp_path / "worksheet.csv"
    template.write_text(worksheet_of(roster), encoding="utf-8")
    moodle = moodle_imports(text_of(given, Format.MOODLE, template))
    assert {key: one.grade for key, one in moodle.items()} == wanted
    files = export_scores(given, Format.GRADESCOPE).files
    documents = [json.loads(file.text) for file in files]
    told = {p["id"]: one["score"] for one in documents for p in one["extra_data"]["people"]}
    assert (told, len({file.name for file in files})) == (wanted, 59)


def worksheet_of(people: Sequence[Person]) -> str:
    """Moodle's worksheet of a class, as it lets it be downloaded."""
    head, *_ = WORKSHEET.splitlines()
    rows = [f'Participant {p.id},"{p.name}",{p.email},,,4.00,Yes,-,,-,' for p in people]
    return "\n".join([head, *rows, ""])


def kept(folder: Path, *students: tuple[str, Status]) -> Path:
    """A results folder as grade batch leaves it, with one exercise of each student."""
    results = Results(folder, About("A course", "hidden"))
    for student, status in students:
        keep(results, student, result_of(1.5, status))
    results.close()
    return folder


@pytest.mark.parametrize("to", list(Format))
def test_results_of_a_batch_leave_in_every_format(
    to: Format, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = kept(tmp_path / "results", ("ada", Status.FAILED), (MARKUP, Status.FAILED))
    out = tmp_path / "out"
    run_export(ExportRequest(folder, "", to, out))
    assert capsys.readouterr().out.startswith(f"wrote {out}: 2 students, {to}\n")
    texts = [p.read_text("utf-8") for p in [out, *out.glob("*/*")] if p.is_file()]
    assert len(texts) == (2 if to is Format.GRADESCOPE else 1)
    assert all("1.5" in text for text in texts)
    if to is not Format.GRADESCOPE:
        cells = [cell for line in csv.reader(io.StringIO(texts[0])) for cell in line]
        assert f"'{MARKUP}" in cells
        assert MARKUP not in cells


def test_results_of_a_batch_say_what_the_mistake_is(tmp_path: Path) -> None:
    given = read_results(kept(tmp_path, ("ada", Status.FAILED)))
    assert (given.assignment, given.possible) == ("A course", 4)
    ((one,),) = (student.scores for student in given.students)
    assert one.comment == "It is the bug. Hint: look again"


def test_results_say_that_they_are_mixed_or_public(tmp_path: Path) -> None:
    results = Results(tmp_path, About("A course", "public"))
    for key, student in enumerate(("ada", "bob")):
        keep(results, student, result_of(1.5), key=f"sha256:{key}")
    results.close()
    mixed, public = read_results(tmp_path).notes
    assert mixed.startswith("results are of 2 versions of the course or of grader")
    assert public == "scores are on the public cases, which students have"


def test_fault_of_ours_costs_nobody_a_point(tmp_path: Path) -> None:
    given = read_results(kept(tmp_path, ("ada", Status.FAILED), ("bob", Status.ERROR)))
    assert [student.member.label for student in given.students] == ["ada"]
    (note,) = given.notes
    assert note.startswith(
        "'bob' is left out: exercise1 was not graded, by a fault of grader's own"
    )


@pytest.mark.parametrize(
    ("files", "said"),
    [((), "is neither: name"), (("gradebook.db", "results.sqlite"), "holds both")],
)
def test_source_that_is_not_clear_is_one_line(
    files: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).touch()
    with pytest.raises(UsageError, match=said) as caught:
        run_export(ExportRequest(tmp_path, "", "csv", tmp_path / "out"))
    assert "\n" not in str(caught.value)


def test_html_of_a_comment_is_text() -> None:
    text = text_of(scores(scored(ADA, 2, platform=Platform.MOODLE)), Format.MOODLE)
    (graded,) = moodle_imports(text).values()
    assert html.unescape(graded.comment.replace("<br>", "\n")) == "exercise1: <b>no</b>\nno"
