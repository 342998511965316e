"""What people decide: due dates, lateness, points, excuses, comments, and what is ticked off."""

import csv
import io
import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from class_results import gradescope, keep, result_of

from grader.batch.entries import find_entries
from grader.batch.platforms import told_moment
from grader.batch.register import ClassList
from grader.batch.results import About, Results
from grader.batch.unit import GradedSubmission, WrittenResult
from grader.classes.adjustments import FILE, Known, days_late, in_zone
from grader.classes.export import Export, Format, export_scores
from grader.classes.graded import read_results
from grader.classes.people import Member, members_of
from grader.classes.scores import ExerciseScore, StudentScores
from grader.classes.summary import Summary, summarise
from grader.course.load import CourseFolder
from grader.course.models import Course
from grader.errors import UsageError
from grader.records.people import Person
from grader.records.results import Status
from grader.report.classes import render_students, render_summary

ADA = Person("Ada Byron", "0123", "ada@x.org", "ada")
BOB, CY = Person("Bob Brown", "102", "bob@x.org"), Person("Cy Crane", "103")
TWO = (Person("Sam Same", "104"), Person("Sam Same", "105"))
ABSENT = Person("Gus Grant", "106")
WHY = 'by: MC, why: "a reason"'
ONE = "adjustments:\n  - {student: ada, exercise: "  # the first of a list
HEAD = 'zone: Europe/Amsterdam\ndue: {all: "2026-10-20 23:59"}\n'
RULES = f"{HEAD}grace: 15 minutes\npenalty: {{percent_a_day: 10, at_most: 50}}\n"


@pytest.fixture
def course(folder: CourseFolder) -> Course:
    """The course whose results are made."""
    return folder.course


@pytest.fixture
def term(tmp_path: Path, course: Course) -> Path:
    """Results of five submissions of 3.33 of 4 points, handed in at 23:00 in UTC."""
    submissions = {
        f"submission_{n}": [person] for n, person in enumerate((ADA, BOB, CY, *TWO), start=1)
    }
    gradescope(tmp_path / "class", submissions, created_at="2026-10-20 23:00:00 Z")
    keep_class(tmp_path / "results", tmp_path / "class", course, 3.33)
    return tmp_path / "results"


def keep_class(place: Path, submissions: Path, course: Course, score: float, key: str = "") -> None:
    """Write results of a class, all with one score."""
    results = Results(place, About(course.title, "hidden", "mark"))
    entries = find_entries(submissions, course)
    ids = [exercise.id for exercise in course.exercises]
    results.enter(ClassList(submissions, entries, ids, [ADA, BOB, CY, *TWO, ABSENT]))
    for entry in entries:
        keep(results, entry.student, result_of(score), key=key)
    results.finish()
    results.close()


def write(term: Path, text: str) -> None:
    """Write the file of a class."""
    (term / FILE).write_text(text, encoding="utf-8")


def adjust(term: Path, *entries: str, head: str = "") -> None:
    """Write the file with some adjustments."""
    lines = "".join(f"  - {{{entry}, {WHY}}}\n" for entry in entries)
    write(term, f"{head}adjustments:\n{lines}" if entries else head)


def scores_of(term: Path, label: str = "Ada Byron") -> StudentScores:
    """What somebody has in the end."""
    return next(s for s in read_results(term).students if s.member.label == label)


def score_of(term: Path, label: str = "Ada Byron") -> ExerciseScore:
    """What somebody has in the one exercise."""
    (one,) = scores_of(term, label).scores
    return one


# ---- times ---------------------------------------------------------------------------------------

AMSTERDAM = ZoneInfo("Europe/Amsterdam")


def at(text: str) -> datetime:
    """A moment by Amsterdam's clock."""
    return in_zone(datetime.fromisoformat(text), AMSTERDAM)


@pytest.mark.parametrize(
    ("due", "handed_in", "days"),
    [
        pytest.param("2026-10-20 23:59", "2026-10-20 23:59", 0, id="in-time"),
        pytest.param("2026-10-20 23:59", "2026-10-21 00:14", 0, id="last-minute-of-grace"),
        pytest.param("2026-10-20 23:59", "2026-10-21 00:15", 1, id="after-the-grace"),
        pytest.param("2026-10-20 23:59", "2026-10-21 23:59", 1, id="a-whole-day"),
        pytest.param("2026-10-20 23:59", "2026-10-22 00:00", 2, id="a-day-more"),
        pytest.param("2026-10-24 23:59", "2026-10-25 23:59", 1, id="a-day-of-25-hours"),
        pytest.param("2026-03-28 23:59", "2026-03-29 23:59", 1, id="a-day-of-23-hours"),
        pytest.param("2026-03-28 23:59", "2026-03-30 00:00", 2, id="a-minute-after-it"),
        pytest.param("2026-10-25 01:55", "2026-10-25 02:10+02:00", 0, id="grace-within-the-hour"),
        pytest.param("2026-10-25 01:55", "2026-10-25 02:10+01:00", 1, id="the-same-hour-again"),
    ],
)
def test_days_are_counted_by_the_clock_on_the_wall(due: str, handed_in: str, days: int) -> None:
    assert days_late(at(handed_in), at(due), timedelta(minutes=15)) == days


@pytest.mark.parametrize(
    ("text", "zone", "said"),
    [
        ("2026-10-25 02:30", AMSTERDAM, r"is twice in Europe/Amsterdam.*02:30:00\+02:00"),
        ("2026-03-29 02:30", AMSTERDAM, "is left out in Europe/Amsterdam"),
        ("2026-10-20 23:59", None, "has no time zone: write `zone: Europe/Amsterdam`"),
    ],
)
def test_time_that_is_not_one_moment_is_refused(
    text: str, zone: ZoneInfo | None, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        in_zone(datetime.fromisoformat(text), zone)


def test_time_of_a_platform_without_zone_is_known_by_a_stated_one_alone() -> None:
    assert told_moment("2026-10-20 23:00", None) is None
    assert told_moment("", AMSTERDAM) is None
    assert told_moment("2026-10-20 23:00", AMSTERDAM) == at("2026-10-20 23:00")


# ---- lateness ------------------------------------------------------------------------------------


def test_lateness_takes_a_share_of_the_exercise_off(term: Path) -> None:
    write(term, RULES)  # 23:00 UTC is 1:00 of the next day in Amsterdam
    one = score_of(term)
    assert (one.graded, one.penalty, one.score, one.days_late) == (3.33, 0.4, 2.93, 1)
    assert one.judged == ("1 day late, 0.4 points off",)
    assert one.comment.startswith("Handed in 1 day late: 0.4 points off.\n")


@pytest.mark.parametrize(
    ("text", "score"),
    [
        pytest.param("2026-10-21 00:15:00", 2.93, id="after-the-grace"),
        pytest.param("2026-10-21 00:14", 3.33, id="within-the-grace"),
        pytest.param("2026-10-23 12:00", 2.13, id="three-days"),
        pytest.param("2026-12-24 12:00", 1.33, id="at-most-half"),
    ],
)
def test_time_that_a_person_tells_counts(text: str, score: float, term: Path) -> None:
    adjust(term, f'student: ada, handed_in: "{text}"', head=RULES)
    assert score_of(term).score == score


@pytest.mark.parametrize(
    ("given", "days"),
    [
        pytest.param("extension: 1 hour", 1, id="too-short"),
        pytest.param("extension: 50 minutes", 0, id="grace-comes-after-an-extension"),
        pytest.param("extension: 3 days", 0, id="enough"),
        pytest.param('until: "2026-10-21 01:00"', 0, id="until"),
        pytest.param('until: "2026-10-19 12:00+00:00"', 2, id="until-can-be-sooner"),
    ],
)
def test_extension_moves_the_due_date_and_grace_follows(given: str, days: int, term: Path) -> None:
    given = given.replace("1 hour", "45 minutes")
    adjust(term, f"student: ada@x.org, {given}", head=RULES)
    assert score_of(term).days_late == days
    assert score_of(term, "Bob Brown").days_late == 1


def test_no_penalty_is_taken_off_below_zero(tmp_path: Path, course: Course) -> None:
    gradescope(tmp_path / "class", {"submission_1": [ADA]}, created_at="2026-10-25 12:00:00 Z")
    keep_class(tmp_path / "results", tmp_path / "class", course, 0.25)
    write(tmp_path / "results", RULES)
    assert score_of(tmp_path / "results").score == 0


def test_lateness_that_is_not_known_costs_nothing_and_is_told(
    tmp_path: Path, course: Course
) -> None:
    for name in ("byronada_LATE_0123_500_exercise1_attention.py", "bob_102_501_exercise1.py"):
        (tmp_path / "class").mkdir(exist_ok=True)
        (tmp_path / "class" / name).touch()
    keep_class(tmp_path / "results", tmp_path / "class", course, 2)
    write(tmp_path / "results", RULES)
    summary = summarise(tmp_path / "results", course)
    texts = {(r.student, r.text.partition(":")[0]) for r in summary.remarks}
    assert ("Ada Byron", "late, and the platform does not tell by how much") in texts
    assert ("", "1 student of no known time count as on time") in texts
    assert score_of(tmp_path / "results").score == 2


# ---- decisions -----------------------------------------------------------------------------------


def test_points_are_exact_and_the_graded_score_stays_visible(term: Path, course: Course) -> None:
    adjust(term, "student: '0123', exercise: exercise1, points: 0.1, comment: Well said")
    one = score_of(term)
    assert (one.graded, one.points, one.score) == (3.33, 0.1, 3.43)
    assert one.comment.startswith("Changed by hand: +0.1 points.\nWell said\n")
    assert "a reason" not in one.comment
    summary = summarise(term, course)
    first = summary.by_student[0]
    assert (first.student, first.total, first.graded) == ("Ada Byron", 3.43, 3.33)
    shown = render_summary(summary, width=120)
    assert "Ada Byron  exercise1  3.33 → 3.43  +0.1 points, a comment by MC: a reason" in shown
    assert " 3.4* " in render_students(summary, width=120)


@pytest.mark.parametrize(
    ("points", "score"), [("+4", 4.0), ("-4", 0.0), ("-0.33", 3.0), ("0.67", 4.0)]
)
def test_points_end_at_zero_and_at_the_exercises(points: str, score: float, term: Path) -> None:
    adjust(term, f"student: ada, exercise: exercise1, points: {points}")
    one = score_of(term)
    assert one.score == score
    assert any("points end at" in told for told in one.judged) == (abs(float(points)) == 4)


def test_points_come_after_lateness(term: Path) -> None:
    adjust(term, "student: ada, exercise: exercise1, points: 1", head=RULES)
    assert score_of(term).score == 3.93


def test_who_is_excused_has_no_score_and_no_points_possible(term: Path, course: Course) -> None:
    adjust(term, "student: ada, excuse: true", head=RULES)
    ada = scores_of(term)
    assert (ada.total, ada.graded, ada.possible, ada.excused) == (None, 3.33, 0, True)
    shown = render_students(summarise(term, course), width=120)
    assert "excused" in next(line for line in shown.splitlines() if "Ada" in line)


def test_share_of_what_counts_goes_where_one_number_can_be_told() -> None:
    some = (ExerciseScore("a", 2, 3), ExerciseScore("b", 1, 9, excused=True))
    (member,) = {scores.member for scores in [_student(some)]}
    assert StudentScores(member, some).total_of(12) == 8
    assert _student(some[:1]).total_of(12) == 2


def _student(scores: tuple[ExerciseScore, ...]) -> StudentScores:
    return StudentScores(Member(ADA, "Ada"), scores)


def test_points_of_who_handed_in_nothing_count(term: Path) -> None:
    assert scores_of(term, "Gus Grant").total is None
    adjust(term, "student: Gus Grant, exercise: exercise1, points: 2")
    assert scores_of(term, "Gus Grant").total == 2
    adjust(term, "student: Gus Grant, extension: 3 days")
    assert scores_of(term, "Gus Grant").total is None


# ---- where they go -------------------------------------------------------------------------------

HOSTILE = '=cmd|"/c calc"!A1 <script>alert(1)</script> \u202e'


def exported(term: Path, to: Format) -> Export:
    """The scores of a class in a format."""
    return export_scores(read_results(term), to)


def test_every_export_has_the_adjusted_score_and_says_so(term: Path) -> None:
    adjust(
        term,
        "student: ada, exercise: exercise1, points: 0.5",
        "student: Bob Brown, excuse: true",
        head=RULES,
    )
    (note,) = [n for n in read_results(term).notes if FILE in n]
    assert note == (
        "scores are adjusted by adjustments.yml: 4 students with points off for lateness, "
        "1 student with points by hand, 1 student excused"
    )
    rows = {
        r["id"]: r for r in csv.DictReader(io.StringIO(exported(term, Format.CSV).files[0].text))
    }
    ada, bob = rows["0123"], rows["102"]
    found = [ada[k] for k in ("exercise1", "late_penalty", "by_hand", "graded_total", "total")]
    assert found == ["3.43", "0.4", "0.5", "3.33", "3.43"]
    assert "exercise1: 1 day late, 0.4 points off; exercise1: +0.5 points by MC" in ada["note"]
    assert (bob["exercise1"], bob["total"], bob["graded_total"]) == ("excused", "", "3.33")
    canvas = exported(term, Format.CANVAS)
    grades = {row[0]: row[-1] for row in csv.reader(io.StringIO(canvas.files[0].text))}
    assert (grades["Ada Byron"], grades["Bob Brown"]) == ("3.43", "EX")
    assert any("excused" in note and "Bob Brown" in note for note in canvas.notes)
    moodle = exported(term, Format.MOODLE).files[0].text
    assert "Changed by hand: +0.5 points." in moodle
    documents = [json.loads(file.text) for file in exported(term, Format.GRADESCOPE).files]
    assert {d["score"] for d in documents} == {3.43, 0.0, 2.93}


def test_group_that_differs_is_told_of_to_gradescope(tmp_path: Path, course: Course) -> None:
    gradescope(tmp_path / "class", {"submission_1": [ADA, BOB]})
    keep_class(tmp_path / "results", tmp_path / "class", course, 2)
    adjust(tmp_path / "results", "student: ada, exercise: exercise1, points: 1")
    (note,) = exported(tmp_path / "results", Format.GRADESCOPE).notes
    assert note.startswith("differ within a group")
    assert note.endswith("Ada Byron, Bob Brown")


@pytest.mark.parametrize("to", [Format.CSV, Format.CANVAS, Format.MOODLE])
def test_comment_is_no_formula_and_no_markup(to: Format, term: Path, course: Course) -> None:
    text = json.dumps(HOSTILE)
    write(
        term,
        "adjustments:\n  - student: ada\n    exercise: exercise1\n    points: 1\n"
        f"    comment: {text}\n    by: {text}\n    why: {text}\n",
    )
    for row in csv.reader(io.StringIO(exported(term, to).files[0].text)):
        for cell in row:
            assert not cell.startswith(("=", "+", "-", "@"))
            assert "\u202e" not in cell
            assert to is not Format.MOODLE or "<script" not in cell
    assert "\u202e" not in render_summary(summarise(term, course), width=200)


# ---- a wrong file --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("adjustments: [\n", 2, ""),
        ("a\x00b", 1, "characters that YAML does not allow"),
        ("", 1, "is empty"),
        ("dew: {}\n", 1, "unknown key 'dew'; did you mean 'due'?"),
        ('zone: Mars/North\n', 1, "'Mars/North' is no time zone"),
        ('zone: ../../etc/passwd\n', 1, "is no time zone"),
        ('due:\n  all: "2026-10-20 23:59"\n', 2, "has no time zone"),
        (f'{HEAD}due: {{}}\n', 3, "the key 'due' stands here twice"),
        ('zone: Europe/Amsterdam\ndue:\n  all: "2026-10-20"\n', 3, "has no hour"),
        ('zone: Europe/Amsterdam\ndue:\n  all: next week\n', 3, "'next week' is no time"),
        ('zone: Europe/Amsterdam\ndue:\n  exercise9x: 2026-10-20 23:59\n', 3, "no exercise 'exerc"),
        ("grace: soon\n", 1, "'soon' is no length of time"),
        ("penalty:\n  percent_a_day: 101\n", 2, "less than or equal to 100"),
        ("penalty:\n  percent_a_day: nan\n", 2, "finite"),
        ("seen: {abc: fine}\n", 1, "'abc' is no mark"),
        (f"adjustments:\n  - {{student: eve, excuse: true, {WHY}}}\n", 2, "no student 'eve'"),
        (f"adjustments:\n  - {{student: Sam Same, excuse: true, {WHY}}}\n", 2,
         "may be 2 students: say which of Sam Same (104), Sam Same (105)"),
        (f"adjustments:\n  - {{student: ada, {WHY}}}\n", 2, "changes nothing"),
        ("adjustments:\n  - student: ada\n    excuse: true\n", 2, "the key 'by' is missing"),
        (f"adjustments:\n  - {{student: ada, points: 1, {WHY}}}\n", 2, "points need an exercise"),
        ("adjustments:\n  - student: ada\n    exercise: exercise1\n    points: 4.01\n"
         "    by: MC\n    why: x\n", 4, "4.01 points are more than the 4 of exercise1"),
        (f"{ONE}exercise1, points: 0.001, {WHY}}}\n", 2, "2 dec"),
        (f"{ONE}exercise1, points: nan, {WHY}}}\n", 2, "finite"),
        (f"{ONE}exercise2, points: 1, {WHY}}}\n", 2,
         "nobody has results of exercise2 yet"),
        ("adjustments:\n  - {student: ada, extension: 3 days, until: 2026-10-25 02:30+02:00, "
         f"{WHY}}}\n", 2, "both an extension and until"),
        (f"{HEAD}adjustments:\n  - {{student: ada, until: 2026-10-25 02:30, {WHY}}}\n", 4,
         "is twice in"),
        (f"adjustments:\n  - {{student: ada, excuse: true, {WHY}}}\n"
         f"  - {{student: '0123', exercise: exercise1, excuse: true, {WHY}}}\n", 3,
         "a second excuse for Ada Byron in exercise1"),
        (f"adjustments:\n  - {{student: ada, extension: 3 days, {WHY}}}\n"
         f"  - {{student: ada, until: 2026-10-25 12:00+02:00, {WHY}}}\n", 3,
         "a second due date for Ada Byron in exercise1"),
    ],
)  # fmt: skip
def test_wrong_file_is_told_in_one_line(text: str, line: int, said: str, term: Path) -> None:
    write(term, text)
    with pytest.raises(UsageError) as caught:
        read_results(term)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{term / FILE}:{line}: ")
    assert said in str(caught.value)


def test_number_of_a_student_keeps_its_zeros(term: Path) -> None:
    adjust(term, "student: 0123, excuse: yes")
    assert scores_of(term).excused


# ---- ticked off ----------------------------------------------------------------------------------


def test_note_that_is_ticked_off_stays_so_over_reruns(
    term: Path, course: Course, tmp_path: Path
) -> None:
    before = summarise(term, course)
    (note,) = [r for r in before.remarks if r.text.startswith("handed in nothing")]
    write(term, f"seen:\n  {note.mark}: MC wrote to him\n")
    keep_class(term, tmp_path / "class", course, 3)
    after = summarise(term, course)
    assert (note in after.remarks, after.seen) == (False, (note,))
    assert "1 ticked off" in render_summary(after, width=100)


# ---- regrading -----------------------------------------------------------------------------------


def changes(term: Path, course: Course) -> dict[str, Any]:
    """Whose score the last run changed."""
    found: Summary = summarise(term, course)
    return {c.student: (c.before, c.now, c.why) for c in found.changes}


def test_regrading_tells_whose_score_changed_and_why(
    term: Path, course: Course, tmp_path: Path
) -> None:
    assert changes(term, course) == {}
    keep_class(term, tmp_path / "class", course, 3.5, key="another")
    assert changes(term, course)["Ada Byron"] == (
        3.33, 3.5, "course or grader changed: f/numeric 3.33 → 3.5"
    )  # fmt: skip
    shown = render_summary(summarise(term, course), width=140)
    assert "Changed by the last run (5)" in shown
    (line,) = [line.split() for line in shown.splitlines() if "Ada Byron" in line]
    assert line[2:10] == ["exercise1", "3.33", "→", "3.5", "course", "or", "grader", "changed:"]
    keep_class(term, tmp_path / "class", course, 3.5, key="another")
    assert changes(term, course) == {}


def test_who_has_withdrawn_makes_no_mixed_results(
    term: Path, course: Course, tmp_path: Path
) -> None:
    gradescope(tmp_path / "class", {"submission_1": [ADA]})
    keep_class(term, tmp_path / "class", course, 2, key="another")
    texts = [r.text for r in summarise(term, course).remarks]
    assert (texts.count("withdrawn"), [t for t in texts if "versions of the course" in t]) == (
        4,
        [],
    )
    results = Results(term, About(course.title, "hidden", "mark"))
    keep(results, "somebody", result_of(1), key="a third")
    results.close()
    texts = [r.text for r in summarise(term, course).remarks]
    assert len([text for text in texts if "2 versions of the course" in text]) == 1


def test_run_that_was_stopped_is_told_of_with_the_one_that_goes_on(
    term: Path, course: Course, tmp_path: Path
) -> None:
    results = Results(term, About(course.title, "hidden", "mark"))
    entries = find_entries(tmp_path / "class", course)
    results.enter(ClassList(tmp_path / "class", entries))
    keep(results, entries[0].student, result_of(1, Status.FAILED), key="another")
    results.close()  # no word that it is complete
    results = Results(term, About(course.title, "hidden", "mark"))
    results.enter(ClassList(tmp_path / "class", entries))
    keep(results, entries[1].student, result_of(2, Status.FAILED), key="another")
    results.finish()
    results.close()
    assert {now for _, now, _ in changes(term, course).values()} == {1, 2}


# ---- what is not graded, and of whom -------------------------------------------------------------


def test_who_is_not_graded_yet_loses_no_point(term: Path, course: Course, tmp_path: Path) -> None:
    """A run was stopped, or lost a submission by a fault of grader's own."""
    gradescope(tmp_path / "more", {"submission_8": [Person("Dan", "8")], "submission_9": [ABSENT]})
    results = Results(term, About(course.title, "hidden", "mark"))
    entries = find_entries(tmp_path / "more", course)
    results.enter(ClassList(tmp_path / "more", entries, ["exercise1"], merge=True))
    (lost,) = (entry.student for entry in entries if entry.student != ABSENT.id)
    results.keep(GradedSubmission(lost, ("lost",), {}, {}, frozenset(), {}), "sha256:0")
    results.close()
    given = read_results(term)
    totals = {one.member.label: one.total for one in given.students}
    assert (totals["Dan"], totals["Gus Grant"]) == (None, None)
    assert any(note.startswith("not graded yet: 2; their scores") for note in given.notes)
    marks = [r.student for r in summarise(term, course).remarks if r.text == "not graded yet"]
    assert marks == ["Dan", "Gus Grant"]


def test_excuse_gives_no_zero_to_who_handed_in_nothing(term: Path, course: Course) -> None:
    results = Results(term, About(course.title, "hidden", "mark"))
    second = WrittenResult.of(replace(result_of(1), exercise="exercise2"))
    results.keep(
        GradedSubmission(
            "0123", (), {"exercise2": second}, {"exercise2": ()}, frozenset(), {"exercise2": ""}
        ),
        "",
    )
    results.close()
    write(
        term,
        f"adjustments:\n  - {{student: Gus Grant, exercise: exercise2, excuse: true, {WHY}}}\n",
    )
    (gus,) = (one for one in read_results(term).students if one.member.label == "Gus Grant")
    assert (gus.total, gus.total_of(8)) == (None, None)


def test_points_of_who_has_withdrawn_are_not_those_of_the_class(
    term: Path, course: Course, tmp_path: Path
) -> None:
    gradescope(tmp_path / "class", {"submission_1": [ADA]})
    results = Results(term, About(course.title, "hidden", "mark"))
    results.enter(
        ClassList(tmp_path / "class", find_entries(tmp_path / "class", course), ["exercise1"])
    )
    keep(results, ADA.id, replace(result_of(1), max_score=2.0))  # the course gives fewer by now
    results.finish()
    results.close()
    given = read_results(term)
    assert given.possible == 2
    found = {one.member.label: (one.total, one.possible) for one in given.students}
    assert (found["Ada Byron"], found["Bob Brown"]) == ((1, 2), (3.33, 4))


def test_exercise_that_the_course_no_longer_has_counts_nowhere(term: Path, course: Course) -> None:
    results = Results(term, About(course.title, "hidden", "mark"))
    gone = WrittenResult.of(replace(result_of(1), exercise="exercise99"))
    results.keep(
        GradedSubmission(
            "0123", (), {"exercise99": gone}, {"exercise99": ()}, frozenset(), {"exercise99": ""}
        ),
        "",
    )
    results.close()
    assert read_results(term).possible == 4


def test_who_is_called_like_anothers_login_gets_nothing_of_the_others() -> None:
    people = [Person("Ada Byron", "1", login="ada"), Person("ada", "2")]
    members = members_of([], people)
    with pytest.raises(ValueError, match="may be 2 students: say which of ada, Ada Byron"):
        Known(members, ["exercise1"], {}).member("ada")
    same = Person("Sam")
    labels = [m.label for m in members_of([], [Person("Sam () (2)"), same, same, same])]
    assert len(set(labels)) == 4
