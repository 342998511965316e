"""Who is who: what platforms' names tell, rosters, groups, and one line a person."""

import contextlib
import os
import sqlite3
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from class_results import FILE, grade_nothing, gradescope, keep, result_of, sixty, touch

from grader.batch.database import reading
from grader.batch.entries import Entry, find_entries
from grader.batch.levels import Levels
from grader.batch.register import ClassList
from grader.batch.results import About, Results
from grader.batch.unit import GradedSubmission, WrittenResult
from grader.classes.graded import read_graded
from grader.classes.people import (
    NOT_LISTED,
    NOTHING,
    WITHDRAWN,
    KeptSubmission,
    Member,
    members_of,
    read_members,
    read_places,
)
from grader.classes.summary import summarise
from grader.classes.tables import read_roster
from grader.course.load import CourseFolder
from grader.course.models import Course
from grader.errors import UsageError
from grader.records.people import Identity, Person, Platform, name_keys

HOSTILE = [
    "<script>alert(1)</script>",
    '=cmd|"/c calc"!A1',
    "+1+1",
    "-2",
    "@sum",
    "../../etc/passwd",
    "C:\\temp",
    "\u202egnp.ada",
    "ada\r\nbob",
    "a" * 300,
    "\N{SNOWMAN}",
    "-",
]


def identity_of(folder: Path, course: Course) -> Identity:
    """The identity of the one submission in a folder."""
    (entry,) = find_entries(folder, course)
    return entry.known


# ---- what names tell -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "person", "platform"),
    [
        pytest.param(
            f"Ada Byron_12_assignsubmission_file/{FILE}",
            Person("Ada Byron", "12"),
            Platform.MOODLE,
            id="Moodle-since-4.1",
        ),
        pytest.param(
            f"Ada Byron_12_assignsubmission_file_/{FILE}",
            Person("Ada Byron", "12"),
            Platform.MOODLE,
            id="Moodle-before-4.1",
        ),
        pytest.param(
            "Ada Byron_12_assignsubmission_file_work_1.zip",
            Person("Ada Byron", "12"),
            Platform.MOODLE,
            id="Moodle-zip",
        ),
        pytest.param(
            f"Participant_12_assignsubmission_file/{FILE}",
            Person("", "12"),
            Platform.MOODLE,
            id="Moodle-names-hidden",
        ),
        pytest.param(
            f"Default group_assignsubmission_file/{FILE}",
            Person("Default group"),
            Platform.MOODLE,
            id="Moodle-group-without-number",
        ),
        pytest.param(
            f"byronada_11_900_{FILE}", Person("byronada", "11"), Platform.CANVAS, id="Canvas"
        ),
        pytest.param(
            f"o_neil_sam_11_900_{FILE}",
            Person("o_neil_sam", "11"),
            Platform.CANVAS,
            id="Canvas-underscores-in-a-name",
        ),
        pytest.param(
            f"anon_x1Yz9_900_{FILE}", Person("", "x1Yz9"), Platform.CANVAS, id="Canvas-anonymous"
        ),
        pytest.param(f"ada/{FILE}", Person("ada"), Platform.FILES, id="plain"),
    ],
)
def test_name_of_a_download_tells_who(
    path: str, person: Person, platform: Platform, tmp_path: Path, folder: CourseFolder
) -> None:
    touch(tmp_path / path)
    identity = identity_of(tmp_path, folder.course)
    assert (identity.people, identity.platform) == ((person,), platform)


@pytest.mark.parametrize(
    ("names", "late", "attempt"),
    [
        (["byronada_11_900_exercise1_attention.py"], False, 1),
        (["byronada_LATE_11_900_exercise1_attention.py"], True, 1),
        (["byronada_11_900_exercise1_attention-1.py", "byronada_11_901_notes.py"], False, 2),
        (["LATE_anon_x1Yz9_900_exercise1_attention-2.py"], True, 3),
    ],
)
def test_canvas_tells_attempt_and_lateness(
    names: list[str], late: bool, attempt: int, tmp_path: Path, folder: CourseFolder
) -> None:
    touch(*(tmp_path / name for name in names))
    identity = identity_of(tmp_path, folder.course)
    assert (identity.late, identity.attempt) == (late, attempt)


def test_three_anonymous_students_of_canvas_are_three(tmp_path: Path, folder: CourseFolder) -> None:
    touch(
        *(tmp_path / f"anon_{who}_{n}_{FILE}" for n, who in enumerate(("aB3de", "12345", "Z9z9z")))
    )
    assert len(find_entries(tmp_path, folder.course)) == 3


def test_gradescope_tells_group_time_and_attempt(tmp_path: Path, folder: CourseFolder) -> None:
    people = [Person("Ada Byron", "s1", "a@x.org"), Person("Bob", "s2", "b@x.org")]
    told = {"created_at": "2026-10-01T10:00:00+02:00", "history": [{}, {}]}
    gradescope(tmp_path, {"submission_7": people}, **told)
    identity = identity_of(tmp_path, folder.course)
    assert identity.people == tuple(people)
    assert (identity.name, identity.attempt) == ("submission_7", 3)
    assert identity.time == "2026-10-01T10:00:00+02:00"
    assert Identity.parse(identity.to_json()) == identity


@pytest.mark.parametrize("place", ["transformers-part-1-submissions", "clones"])
def test_clones_of_github_classroom_tell_the_login(
    place: str, tmp_path: Path, folder: CourseFolder
) -> None:
    for login in ("ada", "bob-lee"):
        repository = tmp_path / place / f"transformers-part-1-{login}"
        touch(repository / ".git" / "config", repository / "exercises" / FILE)
    entries = find_entries(tmp_path / place, folder.course)
    assert [entry.known.people[0].login for entry in entries] == ["ada", "bob-lee"]
    assert entries[0].known.platform is Platform.GITHUB


@pytest.mark.parametrize(
    "metadata", ["submission_7: 3", "submission_7:\n  :submitters: 4", "[", ""]
)
def test_metadata_that_are_none_hide_nobody(
    metadata: str, tmp_path: Path, folder: CourseFolder
) -> None:
    touch(tmp_path / "submission_7" / FILE)
    (tmp_path / "submission_metadata.yml").write_text(metadata, encoding="utf-8")
    if metadata == "[":
        with pytest.raises(UsageError, match="cannot be read as YAML"):
            find_entries(tmp_path, folder.course)
    else:
        assert find_entries(tmp_path, folder.course)[0].student == "submission_7"


def test_names_are_known_by_their_parts_in_any_order() -> None:
    assert name_keys("Lovelace, Ada") & name_keys("ada LOVELACE") & {"lovelaceada"}
    assert name_keys("van der Berg, Ada") & name_keys("Ada van der Berg")
    assert not name_keys("Ada Byron") & name_keys("Ada Lovelace")
    assert not name_keys("") & name_keys("-")


# ---- rosters -------------------------------------------------------------------------------------


def one(name: str, *people: Person, platform: Platform = Platform.FILES) -> KeptSubmission:
    """A submission, as results have it."""
    return KeptSubmission(name, Identity(people or (Person(name),), platform))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("id,name,email,login\n7,Ada Byron,a@x.org,ada\n",
         Person("Ada Byron", "7", "a@x.org", "ada")),
        ("\ufeffStudent;ID;SIS Login ID;Section\n  Points Possible;;;\nByron, Ada;7;ada;A\n",
         Person("Byron, Ada", "7", "", "ada")),
        ("Identifier,Full name,Email address\nParticipant 7,Ada Byron,a@x.org\n",
         Person("Ada Byron", "7", "a@x.org")),
        ("First Name,Last Name,SID,Email\nAda,Byron,7,a@x.org\n",
         Person("Ada Byron", "7", "a@x.org")),
        ('"identifier","github_username","github_id","name"\n"a@x.org","ada","1",""\n',
         Person("", "", "a@x.org", "ada")),
        ("name,group\nAda,A\n\n", Person("Ada", group="A")),
    ],
    ids=["own", "Canvas", "Moodle", "Gradescope", "GitHub", "group"],
)  # fmt: skip
def test_roster_is_read_as_platforms_write_it(text: str, first: Person, tmp_path: Path) -> None:
    path = tmp_path / "class.csv"
    path.write_text(text, encoding="utf-8")
    assert read_roster(path) == (first,)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "has no column that is known"),
        (b"name\n\xff\n", "is not UTF-8 text"),
        (b"id,name\n7,Ada\n8,Bob\n7,Cy\n", "line 4: the id is that of line 2 too"),
        (b'id\n"' + b"x" * 200_000 + b'"\n', "cannot be read as CSV"),
    ],
)
def test_roster_that_cannot_be_used_is_refused(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "class.csv"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=said):
        read_roster(path)


@pytest.mark.parametrize(
    "handed",
    [
        one("ada byron"),
        one("Byron_Ada"),
        one("ada"),
        one("a.byron"),
        one("A.Byron@x.org"),
        one("7"),
        one("k", Person("byronada", "99"), platform=Platform.CANVAS),
        one("k", Person("", "7"), platform=Platform.MOODLE),
        one("k", Person("A. B.", "7", "a.byron@x.org"), platform=Platform.GRADESCOPE),
        one("k", Person(login="ADA"), platform=Platform.GITHUB),
    ],
)
def test_roster_names_who_handed_in(handed: KeptSubmission) -> None:
    listed = Person("Ada Byron", "7", "a.byron@x.org", "ada")
    found = members_of([handed], [listed, Person("Bob", "99", "b@x.org", "bob")])
    assert [member.person for member in found] == [listed, Person("Bob", "99", "b@x.org", "bob")]
    assert [member.submission for member in found] == [handed.student, ""]
    assert found[1].marks == (NOTHING,)


def test_another_name_with_a_number_of_the_roster_is_marked() -> None:
    handed = one("k", Person("Ada Byron", "7"), platform=Platform.MOODLE)
    (member,) = members_of([handed], [Person("Ada Lovelace", "7")])
    assert (member.label, member.marks) == ("Ada Lovelace", ("renamed: Ada Byron",))


def test_numbers_of_another_count_give_nobody_anothers_submission() -> None:
    """Moodle counts participants, and a university its students: both have a 7."""
    ada = one("ada", Person("Ada", "7"), platform=Platform.MOODLE)
    bob = one("bob", Person("Bob", "8"), platform=Platform.MOODLE)
    eve = one("eve", Person("Eve", "9"), platform=Platform.MOODLE)
    found = members_of([ada, bob, eve], [Person("Bob", "7"), Person("Ada", "9")])
    assert [(m.label, m.submission, m.marks) for m in found] == [
        ("Bob", "bob", ()),
        ("Ada", "ada", ()),
        ("Eve", "eve", (NOT_LISTED,)),
    ]


def test_group_has_a_line_for_each_of_its_members() -> None:
    pair = one("a and b", Person("Ada", "1"), Person("Bob", "2"), platform=Platform.GRADESCOPE)
    assert [member.submission for member in members_of([pair], [])] == ["a and b"] * 2
    named = one("k", Person("Group A", "17"), platform=Platform.MOODLE)
    roster = [Person("Ada", group="Group A"), Person("Bob", "17"), Person("Cy", group="group a")]
    found = members_of([named], roster)
    assert [(m.label, m.submission) for m in found] == [("Ada", "k"), ("Bob", ""), ("Cy", "k")]


def test_two_submissions_of_one_person_are_one_line() -> None:
    first, second = one("ada.zip", Person("ada")), one("Ada", Person("Ada"))
    (member,) = members_of([first, KeptSubmission("Ada", second.identity, score=3.0)], [])
    assert (member.submission, member.marks) == ("Ada", ("Ada counts, and not ada.zip",))


def test_two_of_one_name_are_told_apart() -> None:
    twice = [one(f"k{n}", Person("Ada", str(n)), platform=Platform.MOODLE) for n in (1, 2)]
    assert [member.label for member in members_of(twice, [])] == ["Ada (1)", "Ada (2)"]
    nameless = [one(f"k{n}", Person("", str(n)), platform=Platform.MOODLE) for n in (1, 2)]
    assert [member.label for member in members_of(nameless, [])] == ["k1", "k2"]


def test_a_class_of_thousands_is_matched_at_once() -> None:
    roster = [Person(f"First{n} Last{n}", str(n), f"p{n}@x.org") for n in range(3000)]
    handed = [one(f"last{n}first{n}", platform=Platform.CANVAS) for n in range(3000)]
    found = members_of(handed, roster)
    assert [member.submission for member in found] == [f"last{n}first{n}" for n in range(3000)]


# ---- results -------------------------------------------------------------------------------------


def members(results: Path) -> dict[str, Member]:
    """The people in a folder of results, by label."""
    with reading(results) as database:
        return {member.label: member for member in read_members(database)}


def test_sixty_students_of_four_platforms_are_sixty_people(
    tmp_path: Path, folder: CourseFolder
) -> None:
    roster = sixty(tmp_path)
    course, results = folder.course, tmp_path / "results"
    for number, platform in enumerate(("moodle", "canvas", "gradescope", "clones-submissions")):
        grade_nothing(results, tmp_path / platform, course, roster, merge=bool(number))
    found = members(results)
    assert list(found) == [person.name for person in roster]
    assert not any(member.marks for member in found.values())
    summary = summarise(results, course)
    assert (summary.students, summary.exercises[0].handed_in) == (60, 60)
    assert len({member.submission for member in found.values()}) == 59  # two are a group


def test_who_is_gone_or_has_another_name_is_marked(tmp_path: Path, folder: CourseFolder) -> None:
    place, results = tmp_path / "class", tmp_path / "results"
    old = place / "Ada Byron_12_assignsubmission_file"
    touch(old / FILE, place / "Bob_13_assignsubmission_file" / FILE)
    grade_nothing(results, place, folder.course)
    before = {path.name for path in (results / "students").iterdir()}
    old.rename(place / "Ada Lovelace_12_assignsubmission_file")
    (place / "Bob_13_assignsubmission_file").rename(tmp_path / "aside")
    scores = grade_nothing(results, place, folder.course)
    found = members(results)
    assert {label: member.marks for label, member in found.items()} == {
        "Ada Lovelace": ("renamed: Ada Byron_12",),
        "Bob": (WITHDRAWN,),
    }
    assert list(scores) == ["Ada Lovelace_12"]
    assert len({path.name for path in (results / "students").iterdir()}) == len(before)
    (tmp_path / "aside").rename(place / "Bob_13_assignsubmission_file")
    grade_nothing(results, place, folder.course)
    assert members(results)["Bob"].marks == ()


def test_another_folder_needs_merge(tmp_path: Path, folder: CourseFolder) -> None:
    touch(tmp_path / "one" / "ada" / FILE, tmp_path / "two" / "bob" / FILE)
    results = tmp_path / "results"
    grade_nothing(results, tmp_path / "one", folder.course, [Person("Ada"), Person("Bob")])
    with pytest.raises(UsageError, match=r"results of .*one: `grade batch .*two -o .* --merge`"):
        grade_nothing(results, tmp_path / "two", folder.course)
    assert members(results)["Bob"].marks == (NOTHING,)
    grade_nothing(results, tmp_path / "two", folder.course, merge=True)
    assert [member.marks for member in members(results).values()] == [(), ()]  # roster is kept
    grade_nothing(results, tmp_path / "one", folder.course)  # known by now


def test_results_of_two_versions_of_a_course_say_so(tmp_path: Path, folder: CourseFolder) -> None:
    results = Results(tmp_path, About(folder.course.title, "hidden", "mark"))
    keep(results, "ada", result_of(1.0))
    assert not summarise(tmp_path, folder.course).remarks
    keep(results, "bob", result_of(1.0), key="sha256:1")
    results.close()
    summary = summarise(tmp_path, folder.course)
    assert (summary.secret, summary.keys) == ("mark", ("sha256:0", "sha256:1"))
    assert "2 versions of the course" in summary.remarks[0].text


def test_results_of_the_first_version_are_taken_over(tmp_path: Path, folder: CourseFolder) -> None:
    about = About(folder.course.title, "hidden", "mark")
    results = Results(tmp_path, about)
    keep(results, "ada", result_of(1.0))
    results.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "results.sqlite")) as database:
        database.executescript(
            "ALTER TABLE results DROP COLUMN key; DROP TABLE handed;"
            "UPDATE about SET name = 'cases' WHERE name = 'secret';"
            "UPDATE about SET value = '1' WHERE name = 'results_version';"
        )
    with pytest.raises(UsageError, match="run grade batch again"):
        summarise(tmp_path, folder.course)
    results = Results(tmp_path, about)
    keep(results, "bob", result_of(1.0))
    results.close()
    assert [one.student for one in summarise(tmp_path, folder.course).by_student] == ["ada", "bob"]


def test_hostile_names_are_names(tmp_path: Path, folder: CourseFolder) -> None:
    place = tmp_path / "class"
    people = [Person(name, str(n)) for n, name in enumerate(HOSTILE)]
    gradescope(place, {f"submission_{n}": [person] for n, person in enumerate(people)})
    grade_nothing(tmp_path / "results", place, folder.course)
    found = members(tmp_path / "results")
    assert len(found) == len(HOSTILE)
    files = [path for path in tmp_path.rglob("*.json") if path.is_file()]
    assert len(files) == len(HOSTILE)
    assert {path.parent for path in files} == {tmp_path / "results" / "students"}


@pytest.mark.parametrize(
    ("path", "person", "platform"),
    [
        (f"adabyron_12_34_bob_99_assignsubmission_file_{FILE}", "12", Platform.CANVAS),
        (f"anon_x1_34_bob_99_assignsubmission_file_{FILE}", "x1", Platform.CANVAS),
        (f"Ada Byron_12_assignsubmission_file_bob_99_34_{FILE}", "12", Platform.MOODLE),
    ],
)
def test_name_of_a_students_file_is_not_read_as_another_platforms(
    path: str, person: str, platform: Platform, tmp_path: Path, folder: CourseFolder
) -> None:
    touch(tmp_path / path)
    identity = identity_of(tmp_path, folder.course)
    assert (identity.people[0].id, identity.platform) == (person, platform)


def test_login_of_ones_own_choice_is_not_taken_for_another_with_a_login() -> None:
    bob = Person("Bob Brown", "2", "bob@x.org", "bob-brown")
    clone = KeptSubmission("work-bob", Identity((Person(login="bob"),), Platform.GITHUB))
    found = {m.label: m.marks for m in members_of([clone], [bob])}
    assert found == {"Bob Brown": (NOTHING,), "bob": (NOT_LISTED,)}
    (one,) = members_of([clone], [replace(bob, login="")])  # it may well be his
    assert one.submission == "work-bob"


# ---- the level -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "files", "said"),
    [
        (".", [f"moodle/Ada_1_assignsubmission_file/{FILE}"], "`grade batch .*/moodle -o r`"),
        (".", [f"canvas/ada_1_2_{FILE}", "canvas/bob_2_3_x.py"], "`grade batch .*/canvas -o r`"),
        (".", ["g/submission_metadata.yml", f"g/submission_1/{FILE}"], "`grade batch .*/g -o r`"),
        (".", [f"class/ada/{FILE}", f"class/bob/{FILE}"], "`grade batch .*/class -o r`"),
        (
            ".",
            [f"{p}/{FILE}" for p in "abc"] + [f"d/{p}_1{p}_2_{FILE}" for p in "12"],
            "`.*/d -o r`",
        ),
        (".", ["starter.py", f"class/ada/{FILE}", f"class/bob/{FILE}"], "`grade batch .*/class -o"),
        (".", [f"a/b/moodle/Ada_1_assignsubmission_file/{FILE}"], "`grade batch .*/moodle -o r`"),
        (".", [f"{week}/{who}/{FILE}" for week in "ab" for who in "xy"], "each other one with"),
        ("ada", [f"ada/{FILE}", "ada/exercise2.py", "ada/notes.py"], "`grade batch .* -o r`"),
        ("x_1_assignsubmission_file", ["x_1_assignsubmission_file/hw.py"], "of one student"),
        ("submission_1", ["submission_metadata.yml", "submission_1/src/hw.py"], "of one student"),
        ("ada", [f"ada/exercises/{FILE}", "ada/.git/config"], "of one student"),
        ("ada", [f"ada/exercises/{FILE}", "ada/.git/config", "ada/lib/x.py"], "of one student"),
        ("ada", [f"ada/exercises/{FILE}", "ada/course.yml", "ada/b/x.py"], "of one student"),
        ("ada", ["ada/hw1.py"], "of one student"),
    ],
)
def test_folder_of_another_level_is_refused_with_the_command(
    given: str, files: list[str], said: str, tmp_path: Path, folder: CourseFolder
) -> None:
    touch(*(tmp_path / file for file in files))
    entries = find_entries(tmp_path / given, folder.course)
    levels = Levels(folder, {"exercise1": "hw1.py"})
    with pytest.raises(UsageError, match=said):
        levels.refuse_other(tmp_path / given, entries, Path("r"))


def test_download_that_is_still_zipped_is_refused(tmp_path: Path, folder: CourseFolder) -> None:
    with zipfile.ZipFile(tmp_path / "moodle.zip", "w") as archive:
        archive.writestr(f"Ada_1_assignsubmission_file/{FILE}", "x = 1")
    entries = find_entries(tmp_path, folder.course)
    with pytest.raises(UsageError, match=r"moodle\.zip .*unzip it .*`grade batch .*/moodle -o r`"):
        Levels(folder, {}).refuse_other(tmp_path, entries, Path("r"))


@pytest.mark.parametrize(
    "files",
    [
        [f"ada/{FILE}", f"bob/old/{FILE}", f"bob/new/{FILE}"],
        [f"ada/{FILE}"],
        [f"ada/a/{FILE}", "ada/b/exercise2.py"],
        ["ada/homework.py", "bob/nothing.txt"],
        ["ada_exercise1.py", "bob_exercise1.py"],
        [f"Ada_1_assignsubmission_file/{FILE}"],
        ["ada.zip"],
        ["ada.py", "exercise1.py", "bob.py"],
        ["ada.zip", "bob.zip", f"cy/old/{FILE}", f"cy/new/{FILE}"],
        [f"exercises/{FILE}", f"ada/{FILE}"],
        [f"ada/{FILE}", "ada/hw_3_2_final.py", f"bob/{FILE}", f"cy/{FILE}"],
        [f"ada/x_1_assignsubmission_file_/{FILE}", f"bob/a/{FILE}", f"cy/{FILE}"],
    ],
)
def test_folder_of_a_class_is_of_the_right_level(
    files: list[str], tmp_path: Path, folder: CourseFolder
) -> None:
    touch(*(tmp_path / file for file in files))
    os.symlink("/", tmp_path / "link")
    Levels(folder, {}).refuse_other(tmp_path, find_entries(tmp_path, folder.course), Path("r"))


# ---- several folders of one platform -------------------------------------------------------------


def _keep_handed_in(
    results: Results, entry: Entry, exercise: str, others: str, digest: str = ""
) -> None:
    """Keep a submission that has one exercise and lacks another."""
    graded = GradedSubmission(
        entry.student,
        (),
        {
            exercise: WrittenResult.of(replace(result_of(1), exercise=exercise)),
            others: WrittenResult.of(replace(result_of(0), exercise=others)),
        },
        {exercise: (), others: ()},
        frozenset([others]),
        {exercise: digest, others: digest},
        time=entry.known.time,
    )
    results.keep(graded, "sha256:0")


def test_download_of_another_assignment_leaves_what_was_handed_in_before(
    tmp_path: Path, folder: CourseFolder
) -> None:
    ada = {"submission_1": [Person("Ada", "1")]}
    given = [("one", "exercise1", "exercise2", "2026-10-27"), ("two", "exercise2", "exercise1", "")]
    results = Results(tmp_path / "results", About("c", "hidden", "mark"))
    for place, exercise, others, time in given:
        gradescope(tmp_path / place, ada, created_at=time)
        (entry,) = find_entries(tmp_path / place, folder.course)
        merge = place == "two"
        results.enter(ClassList(tmp_path / place, [entry], ["exercise1", "exercise2"], None, merge))
        _keep_handed_in(results, entry, exercise, others)
    _keep_handed_in(results, entry, "exercise2", "exercise1", "graded again")
    results.close()
    with reading(tmp_path / "results") as database:
        rows = read_graded(database)["1"]
        places = read_places(database)
    assert {e: (row.score, row.absent) for e, row in rows.items()} == {
        "exercise1": (1, False),
        "exercise2": (1, False),
    }
    assert rows["exercise1"].time.startswith("2026-10-27")  # and not the other assignment's
    assert {(p.folder.name, *p.elsewhere) for p in places} == {
        ("one", "exercise2"),
        ("two", "exercise1"),
    }


def test_what_is_told_alike_of_several_is_in_memory_once(
    tmp_path: Path, folder: CourseFolder
) -> None:
    touch(*(tmp_path / "class" / name / FILE for name in ("ada", "bob", "cy")))
    grade_nothing(tmp_path / "results", tmp_path / "class", folder.course)
    with reading(tmp_path / "results") as database:
        found = read_graded(database)
    assert len({id(own["exercise1"].result) for own in found.values()}) == 1
