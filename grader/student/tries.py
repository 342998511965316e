"""What a student's guesses and runs of questions came to, for the page of the lesson to draw.

It stands in `.grade/tried/`, one file an exercise. Nothing depends on it: what is missing, damaged
or of another question was not tried.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.course.questions import Question, read_questions
from grader.errors import UsageError
from grader.files import write_files
from grader.grading.tried import Outcome, Tried

_FOLDER = ".grade/tried"
_MOST = 400  # numbers of one drawing


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    question: str  # digest of the question as it was put
    guess: int | None
    held: bool
    drawn: list[list[list[float]] | list[float] | float]


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    tried: dict[str, _Kept] = {}  # by the question's number


def questions_of(folder: CourseFolder, exercise: Exercise) -> list[Tried]:
    """Return an exercise's questions, with what came out where it was tried; raises CourseError."""
    questions = read_questions(folder, exercise)
    kept = _read(folder, exercise.id) if folder.shipped else _File()
    return [
        _recalled(Tried(exercise.id, number, len(questions), question), kept.tried.get(str(number)))
        for number, question in enumerate(questions, start=1)
    ]


def chosen_question(
    exercise: Exercise, questions: Sequence[Tried], number: int, guess: int | None
) -> Tried:
    """Return a question with a guess, and nothing come out yet; raises UsageError."""
    if not questions:
        raise UsageError(f"{exercise.id} has no questions")
    if not 1 <= number <= len(questions):
        raise UsageError(f"{exercise.id} has the questions 1 to {len(questions)}")
    one = questions[number - 1]
    if guess is not None and not 1 <= guess <= len(one.question.choices):
        raise UsageError(f"guess a number from 1 to {len(one.question.choices)}")
    return replace(one, guess=guess, outcome=None)


def keep_tried(folder: CourseFolder, tried: Tried) -> None:
    """Keep what came out on a student's own work; a folder that cannot be written keeps nothing."""
    outcome = tried.outcome
    if not folder.shipped or outcome is None or outcome.trouble:
        return
    drawn = [array.tolist() for array in outcome.drawn]
    new = _Kept(question=_digest(tried.question), guess=tried.guess, held=outcome.held, drawn=drawn)
    whole = _read(folder, tried.exercise).tried | {str(tried.number): new}
    text = json.dumps(_File(tried=whole).model_dump())
    try:
        write_files(folder.root, {f"{_FOLDER}/{tried.exercise}.json": text.encode()})
    except OSError:
        return


def _read(folder: CourseFolder, exercise: str) -> _File:
    try:
        data = (folder.root / _FOLDER / f"{exercise}.json").read_bytes()
        return _File.model_validate(json.loads(data))
    except (OSError, ValueError, ValidationError):
        return _File()


def _recalled(tried: Tried, kept: _Kept | None) -> Tried:
    """Return a question with what was kept of it, where that is still of this question."""
    if kept is None or kept.question != _digest(tried.question):
        return tried
    try:
        arrays = tuple(np.asarray(values, dtype=np.float64) for values in kept.drawn)
    except ValueError:  # rows of several lengths
        return tried
    if not _fits(tried.question, arrays, kept.guess):
        return tried
    return replace(tried, guess=kept.guess, outcome=Outcome(arrays, kept.held))


def _fits(question: Question, arrays: Sequence[np.ndarray], guess: int | None) -> bool:
    right = guess is None or 1 <= guess <= len(question.choices)
    sizes = [0 < array.size <= _MOST for array in arrays]
    return right and len(arrays) == len(question.shows) and all(sizes)


def _digest(question: Question) -> str:
    return hashlib.sha256(question.model_dump_json().encode()).hexdigest()
