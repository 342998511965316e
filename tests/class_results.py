"""Classes as platforms let them be downloaded, and results of them that nobody had to grade."""

from collections.abc import Sequence
from pathlib import Path

import yaml

from grader.batch.entries import find_entries
from grader.batch.register import ClassList
from grader.batch.results import About, Results
from grader.batch.unit import GradedSubmission, WrittenResult
from grader.course.models import Course
from grader.records.ids import CheckId
from grader.records.people import Person
from grader.records.results import CheckResult, Diagnosis, ExerciseResult, Kind, Status

FILE = "exercise1_attention.py"
POSSIBLE = 4.0


def touch(*paths: Path) -> None:
    """Write empty files where there are none."""
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def gradescope(folder: Path, submissions: dict[str, list[Person]], **more: object) -> None:
    """Write a download of Gradescope's, with symbols as keys as it writes them."""
    plain = {
        name: {
            ":submitters": [{":name": p.name, ":sid": p.id, ":email": p.email} for p in people],
            **{f":{key}": value for key, value in more.items()},
        }
        for name, people in submissions.items()
    }
    touch(*(folder / name / FILE for name in submissions))
    text = yaml.safe_dump(plain, allow_unicode=True)
    (folder / "submission_metadata.yml").write_text(text, encoding="utf-8")


def result_of(
    score: float, status: Status = Status.FAILED, message: str = "wrong"
) -> ExerciseResult:
    """Return what one check of one exercise came to."""
    check = CheckResult(CheckId("exercise1", "f", Kind.NUMERIC), status, score, POSSIBLE, message)
    diagnosis = Diagnosis("f", ("bug",), "", "look again", "It is the bug.")
    return ExerciseResult("exercise1", "One", status, score, POSSIBLE, (check,), (diagnosis,))


def keep(results: Results, student: str, result: ExerciseResult, *, key: str = "sha256:0") -> None:
    """Keep what one student's submission came to."""
    written = {"exercise1": WrittenResult.of(result)}
    graded = GradedSubmission(
        student, (), written, {"exercise1": ()}, frozenset(), {"exercise1": ""}
    )
    results.keep(graded, key)


def grade_nothing(
    place: Path,
    submissions: Path,
    course: Course,
    roster: Sequence[Person] | None = None,
    *,
    merge: bool = False,
) -> dict[str, float]:
    """Write results of a class as grade batch does, with a score for each place in the order."""
    results = Results(place, About(course.title, "hidden", "mark"))
    try:
        entries = find_entries(submissions, course)
        exercises = [exercise.id for exercise in course.exercises]
        results.enter(ClassList(submissions, entries, exercises, roster, merge))
        scores = {entry.student: 0.25 + number % 15 * 0.25 for number, entry in enumerate(entries)}
        for student, score in scores.items():
            keep(results, student, result_of(score))
        results.finish()
    finally:
        results.close()
    return scores


def sixty(place: Path) -> list[Person]:
    """Write a class of sixty as four platforms let download it, and return its roster."""
    people = [
        Person(f"Given{n} van Family{n}", str(100 + n), f"g{n}@x.org", f"login{n}")
        for n in range(60)
    ]
    moodle, canvas, submitted, cloned = (people[n : n + 15] for n in (0, 15, 30, 45))
    hidden = {moodle[0]: f"Participant_{moodle[0].id}"}
    for n, p in enumerate(moodle):
        name = hidden.get(p, f"{p.name}_{p.id}")
        end = ("_file", "_file_", f"_file_{FILE}")[n % 3]
        path = place / "moodle" / f"{name}_assignsubmission{end}"
        touch(path if n % 3 == 2 else path / FILE)
    for n, p in enumerate(canvas):
        given, family = p.name.lower().split(" ", 1)
        squeezed = "" if not n else f"{family.replace(' ', '')}{given}_"
        late = "LATE_" if n % 2 else ""
        number = p.id if n else f"anon_{p.id}"
        touch(place / "canvas" / f"{squeezed}{late}{number}_{n}_exercise1_attention-{n}.py")
    pairs = [submitted[:2], *([p] for p in submitted[2:])]
    gradescope(place / "gradescope", {f"submission_{n}": pair for n, pair in enumerate(pairs)})
    for p in cloned:
        touch(place / "clones-submissions" / f"clones-{p.login}" / ".git" / "config")
    return people
