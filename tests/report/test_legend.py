"""The signs of a report that do not speak for themselves are explained once, at its end."""

import click
import pytest
from support import SUBMISSIONS, GradeText, edited, solution

from grader.grading.engine import Engine
from grader.handin.read import read_submission
from grader.records.results import Diagnosis, Document, ExerciseResult, Status
from grader.report.terminal import render_document
from grader.report.words import legend


def _result(engine: Engine, sample: str, exercise: str) -> ExerciseResult:
    chosen = engine.folder.course.exercise(exercise)
    submission = read_submission(SUBMISSIONS / sample, engine.folder.course, [chosen], 2**21)
    return engine.run(chosen, submission, quick=True).result


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        ("perfect", ""),
        (
            "float32",
            "Signs: ▸ what is known of the mistake. "
            "A deviation: something is not as asked for; it costs the points of what it changes, "
            "and no others. Points beside ✗: earned by what is right of it.",
        ),
        (
            "crash",
            "Signs: – cannot be judged in full before something else is right. "
            "bug: points for the known mistakes that your values rule out.",
        ),
        (
            "keys-from-queries",
            "Signs: – cannot be judged in full before something else is right; "
            "▸ what is known of the mistake. "
            "bug: points for the known mistakes that your values rule out.",
        ),
    ],
)
def test_report_explains_the_signs_that_it_has(
    shipped_engine: Engine, sample: str, said: str
) -> None:
    assert legend([_result(shipped_engine, sample, "exercise3")]) == said


def test_signs_of_several_exercises_are_explained_once(shipped_engine: Engine) -> None:
    result = _result(shipped_engine, "keys-from-queries", "exercise3")
    document = Document("", "", "", (result, result))
    text = click.unstyle(render_document(document))
    assert text.count("Signs:") == 1
    assert text.splitlines()[-3].startswith("  Signs:")


def test_row_of_steps_is_explained_where_there_is_one() -> None:
    found = Diagnosis("double", (), "", "", "Step by step: one ✓ two ✗.")
    result = ExerciseResult("exercise1", "", Status.FAILED, 0, 0, (), (found,))
    assert legend([result]) == "In a row of steps ✓ is right and ✗ is wrong."


def test_points_for_shapes_that_no_line_tells_of_are_explained(grade_text: GradeText) -> None:
    text = edited(
        solution("exercise4"),
        ("nn.Linear(size, embed_dim)", "nn.Linear(size, embed_dim, bias=False)"),
    )
    result = grade_text({"exercise4": text})
    assert "shape: of what comes back, and of the layers that make it" in legend([result])
    text = edited(
        solution("exercise4"),
        ("output = self.dropout(projected)", "output = self.dropout(projected)[0]"),
    )
    assert "shape: of what comes back" not in legend([grade_text({"exercise4": text})])


def test_page_that_marks_no_mistake_by_a_sign_explains_none(shipped_engine: Engine) -> None:
    result = _result(shipped_engine, "float32", "exercise3")
    assert "Signs" not in legend([result], marked=False)
