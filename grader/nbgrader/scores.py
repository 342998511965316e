"""Reads score rows out of nbgrader's gradebook."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.batch.export import ScoreRow, Scores
from grader.errors import UsageError
from grader.nbgrader.gradebook import open_gradebook


def read_scores(path: Path, assignment: str = "") -> Scores:
    """Return the scores of an assignment in a gradebook, one row a student and notebook.

    Where the gradebook has one assignment, it need not be named. Every known student has rows: who
    handed in nothing has zeros. Raises UsageError.
    """
    with open_gradebook(f"sqlite:///{path.resolve()}") as gradebook:
        names = [a.name for a in gradebook.assignments]
        if not names:
            raise UsageError(
                f"{path} has no assignment yet: run nbgrader generate_assignment first"
            )
        if not assignment and len(names) > 1:
            raise UsageError(
                f"{path} has several assignments, {', '.join(names)}: --assignment NAME"
            )
        if assignment and assignment not in names:
            raise UsageError(
                f"no assignment '{assignment}' in {path}: known are {', '.join(names)}"
            )
        found = gradebook.find_assignment(assignment or names[0])
        waiting = sorted(s.student_id for s in found.submissions if s.needs_manual_grade)
        notes = [f"not final, to be graded by hand: {', '.join(waiting)}"] if waiting else []
        return Scores(tuple(_rows(gradebook, found)), tuple(notes))


def _rows(gradebook: Any, assignment: Any) -> Iterator[ScoreRow]:
    handed_in = {submission.student_id: submission for submission in assignment.submissions}
    for student in sorted(gradebook.students, key=lambda s: s.id):
        submission = handed_in.get(student.id)
        mine = {n.name: n for n in submission.notebooks} if submission else {}
        for notebook in sorted(assignment.notebooks, key=lambda n: n.name):
            yield _row(student, assignment.name, notebook, mine.get(notebook.name))


def _row(student: Any, assignment: str, notebook: Any, own: Any) -> ScoreRow:
    penalty = float(own.late_submission_penalty or 0) if own else 0.0
    score = float(own.score or 0) if own else 0.0
    comments = [c.comment for c in own.comments if c.comment] if own else []
    return ScoreRow(
        student.id,
        assignment,
        notebook.name,
        max(round(score - penalty, 4), 0.0),
        float(notebook.max_score or 0),
        penalty,
        student.first_name or "",
        student.last_name or "",
        student.email or "",
        "\n".join(dict.fromkeys(comments)),
    )
