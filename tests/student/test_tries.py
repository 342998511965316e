"""`grade try`: asks where somebody can answer, and keeps what came out for the lesson's page."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support import SUBMISSIONS, RunGrade

from grader.cli.main import cli
from grader.cli.study import run_read
from grader.course.load import load_course
from grader.course.questions import question_file
from grader.student.tries import questions_of

_FILE = "exercise1_attention.py"
_KEPT = Path(".grade", "tried", "exercise1.json")


def typed(course: Path, *arguments: str, answers: str = "") -> Result:
    """Return what `grade try` came to."""
    return CliRunner().invoke(cli, ["try", *arguments, "--course", str(course)], input=answers)


@pytest.fixture
def written(course: Path) -> Path:
    """Return a student's course with exercise 1 written."""
    shutil.copyfile(SUBMISSIONS / "perfect" / _FILE, course / "exercises" / _FILE)
    return course


@pytest.fixture
def somebody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody be there to answer."""
    monkeypatch.setattr("grader.cli.tries.can_ask", lambda: True)


def test_guess_is_shown_beside_what_came_out(written: Path) -> None:
    done = typed(written, "exercise1", "1", "--guess", "2")
    assert done.exit_code == 0
    assert "You guessed 2: They stay about the same." in done.output
    assert "What came out is 3: Nearly all the weight goes to one key." in done.output
    assert "█" in done.output


@pytest.mark.usefixtures("somebody")
def test_questions_are_put_one_after_the_other(written: Path) -> None:
    done = typed(written, "exercise1", answers="9\nx\n3\n\nq\n")
    assert done.exit_code == 0
    assert done.output.count("Your guess, 1 to 3") == 5
    assert done.output.count("That is no number from 1 to 3.") == 2
    assert "You guessed 3" in done.output
    assert "That is what came out." in done.output
    assert "question 3 of 3" in done.output
    assert "how far each output moved\n    position 0  " not in done.output  # stopped before


def test_nobody_is_asked_in_a_pipe(written: Path) -> None:
    done = typed(written, "exercise1")
    assert done.exit_code == 0
    assert "Your guess" not in done.output
    assert "Guess N with: grade try exercise1 3 --guess N" in done.output
    assert "What came out is" not in done.output
    assert "What came out is" in typed(written, "exercise1", "1").output


@pytest.mark.usefixtures("somebody")
def test_guess_is_asked_for_before_there_is_code_and_kept(course: Path) -> None:
    done = typed(course, "exercise1", answers="2\n\nq\n")
    assert done.exit_code == 0
    assert done.output.count("Your guess, 1 to") == 3
    assert "This needs `attention_weights`, which is not written yet." in done.output
    assert done.output.count("your guess, 2, is kept") == 1
    assert (course / _KEPT).exists()
    again = typed(course, "exercise1", "1")
    assert "Your guess, 1 to" not in again.output  # it waits


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["exercise1", "4"], "exercise1 has the questions 1 to 3"),
        (["exercise1", "1", "--guess", "4"], "guess a number from 1 to 3"),
        (["exercise1", "--guess", "2"], "say which question: grade try exercise1 1 --guess 2"),
        (["exercise99"], "no exercise 'exercise99'"),
    ],
)
def test_wrong_number_is_one_line(course: Path, arguments: list[str], said: str) -> None:
    assert said in str(typed(course, *arguments).exception)


def test_page_of_the_lesson_draws_what_came_out(written: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run_read("1", written, page)
    before = page.read_text(encoding="utf-8")
    typed(written, "exercise1", "1", "--guess", "2")
    run_read("1", written, page)
    after = page.read_text(encoding="utf-8")
    assert "You guessed" not in before
    assert "You guessed 2: They stay about the same." in after
    assert after.count("<svg") == before.count("<svg") + 2


def test_what_came_out_of_a_file_elsewhere_is_not_kept(course: Path) -> None:
    typed(course, "exercise1", "--submission", str(SUBMISSIONS / "perfect"))
    assert not (course / _KEPT).exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"tried": {"1": {"question": "x", "guess": 1, "held": true, "drawn": []}}}',
        '{"tried": {"1": {"question": "", "guess": 1, "held": true, "drawn": [[1], [[2], 3]]}}}',
    ],
)
def test_damaged_file_was_not_tried(course: Path, text: str) -> None:
    (course / _KEPT).parent.mkdir(parents=True)
    (course / _KEPT).write_text(text, encoding="utf-8")
    folder = load_course(course)
    asked = questions_of(folder, folder.course.exercise("exercise1"))
    assert [one.outcome for one in asked] == [None] * 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"guess": 2', '"guess": 9'),
        ('"drawn": [[', '"drawn": [[[1.0, 2.0], [3.0]], ['),
        ('"question": "', '"question": "0'),
    ],
    ids=["guess", "drawn", "another question"],
)
def test_what_was_kept_and_does_not_fit_is_left_out(written: Path, old: str, new: str) -> None:
    typed(written, "exercise1", "1", "--guess", "2")
    text = (written / _KEPT).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (written / _KEPT).write_text(text.replace(old, new), encoding="utf-8")
    folder = load_course(written)
    assert questions_of(folder, folder.course.exercise("exercise1"))[0].outcome is None


def test_questions_travel_with_the_bundle(bundle: dict[str, bytes], course: Path) -> None:
    folder = load_course(course)
    asked = {e.id for e in folder.course.exercises if questions_of(folder, e)}
    names = {f"key/{question_file(folder.course.exercise(e))}" for e in asked}
    assert names == {name for name in bundle if name.startswith("key/questions/")}
    assert "exercise1" in asked


def test_guess_that_comes_before_the_code_waits_for_it(course: Path) -> None:
    done = typed(course, "exercise1", "1", "--guess", "2")
    assert "Write it, and run this again; your guess, 2, is kept." in " ".join(done.output.split())
    run_read("1", course, course / "page.html")
    assert "Your guess, 2, is kept." in (course / "page.html").read_text(encoding="utf-8")
    shutil.copyfile(SUBMISSIONS / "perfect" / _FILE, course / "exercises" / _FILE)
    assert "You guessed 2: They stay about the same." in typed(course, "exercise1", "1").output
    assert "You guessed" not in typed(course, "exercise1", "1").output  # it waits no longer


def test_questions_are_told_until_they_are_tried(run_grade: RunGrade, written: Path) -> None:
    typed(written, "exercise1", "1", "--guess", "2")
    said = "Questions 2, 3 wait for your guess: grade try exercise1"
    assert said in run_grade("check", "1", "--course", written).out
    assert said in run_grade("check", "1", "--course", written).out
    typed(written, "exercise1", "2", "--guess", "1")
    typed(written, "exercise1", "3", "--guess", "1")
    assert "for your guess" not in run_grade("check", "1", "--course", written).out


def test_code_that_changed_since_its_check_is_told(run_grade: RunGrade, written: Path) -> None:
    said = "Your exercise1 has changed since its last check: grade check exercise1"
    assert said not in typed(written, "exercise1", "1").output  # never checked
    run_grade("check", "1", "--course", written)
    assert said not in typed(written, "exercise1", "1").output
    with (written / "exercises" / _FILE).open("a", encoding="utf-8") as file:
        file.write("more = 1\n")
    assert said in typed(written, "exercise1", "1").output


def test_guess_that_waits_is_told_apart(run_grade: RunGrade, course: Path) -> None:
    typed(course, "exercise1", "3", "--guess", "1")
    assert "guess" not in run_grade("check", "1", "--course", course).out
    shutil.copyfile(SUBMISSIONS / "perfect" / _FILE, course / "exercises" / _FILE)
    told = " ".join(run_grade("check", "1", "--course", course).out.split())
    said = "Your guess on question 3 can be tried now: grade try exercise1 3. Questions 1, 2 wait"
    assert said in told


def test_question_is_told_once_what_it_needs_is_right(run_grade: RunGrade, course: Path) -> None:
    shutil.copyfile(SUBMISSIONS / "missing-scale" / _FILE, course / "exercises" / _FILE)
    said = "Question 3 waits for your guess: grade try exercise1 3"
    assert said in run_grade("check", "1", "--course", course).out
    shutil.copyfile(SUBMISSIONS / "perfect" / _FILE, course / "exercises" / _FILE)
    assert "Questions 1, 2, 3 wait" in run_grade("check", "1", "--course", course).out
