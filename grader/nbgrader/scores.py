"""Reads scores out of nbgrader's gradebook."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.classes.people import Member
from grader.classes.scores import ExerciseScore, Scores, StudentScores
from grader.errors import UsageError
from grader.nbgrader.gradebook import open_gradebook
from grader.notebook.finding import read_course, root_near
from grader.records.people import Person


def _chosen(names: Sequence[str], assignment: str, path: Path) -> str:
    """The assignment that is meant; raises UsageError."""
    if not names:
        raise UsageError(f"{path} has no assignment yet: run nbgrader generate_assignment first")
    known = ", ".join(names)
    if not assignment and len(names) > 1:
        raise UsageError(f"{path} has several assignments, {known}: --assignment NAME")
    if assignment and assignment not in names:
        raise UsageError(f"no assignment '{assignment}' in {path}: known are {known}")
    return assignment or names[0]


def read_scores(path: Path, assignment: str = "") -> Scores:
    """Return the scores of an assignment in a gradebook, one record a student.

    Where the gradebook has one assignment, it need not be named. Raises UsageError.
    """
    with open_gradebook(f"sqlite:///{path.resolve()}") as gradebook:
        names = [a.name for a in gradebook.assignments]
        found = gradebook.find_assignment(_chosen(names, assignment, path))
        waiting = sorted(s.student_id for s in found.submissions if s.needs_manual_grade)
        notes = [f"not final, to be graded by hand: {', '.join(waiting)}"] if waiting else []
        notebooks = sorted(found.notebooks, key=lambda n: n.name)
        handed_in = {submission.student_id: submission for submission in found.submissions}
        students = sorted(gradebook.students, key=lambda s: s.id)
        return Scores(
            found.name,
            tuple(_student(s, notebooks, handed_in.get(s.id)) for s in students),
            round(sum(float(n.max_score or 0) for n in notebooks), 4),
            tuple(notes),
            named=bool(assignment),
            parts=_parts(path.resolve().parent),
        )


def _parts(directory: Path) -> dict[str, list[str]]:
    """Return the notebooks of each part of the course that a directory belongs to."""
    root = root_near(directory)
    return {part.name: part.exercises for part in read_course(root).course.parts} if root else {}


def _student(student: Any, notebooks: Sequence[Any], submission: Any) -> StudentScores:
    """Return what a student has in each notebook; who handed in nothing has zeros."""
    mine = {n.name: n for n in submission.notebooks} if submission else {}
    name = " ".join(filter(None, (student.first_name, student.last_name)))
    person = Person(name, student.id, student.email or "", student.id)
    scores = tuple(_score(notebook, mine.get(notebook.name)) for notebook in notebooks)
    return StudentScores(Member(person, student.id, student.id, told=person), scores)


def _score(notebook: Any, own: Any) -> ExerciseScore:
    penalty = float(own.late_submission_penalty or 0) if own else 0.0
    score = float(own.score or 0) if own else 0.0
    comments = [c.comment for c in own.comments if c.comment] if own else []
    return ExerciseScore(
        notebook.name,
        score,
        float(notebook.max_score or 0),
        "\n".join(dict.fromkeys(comments)),
        min(penalty, score),
    )
