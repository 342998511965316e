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
from grader.records.results import ExerciseResult, Status
from grader.records.text import listed

_FOLDER = ".grade/tried"
_MOST = 400  # numbers of one drawing


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    question: str  # digest of the question as it was put
    guess: int | None
    held: bool = False
    drawn: list[list[list[float]] | list[float] | float] = []  # empty where the guess waits


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # an older one has more

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
    """Return a question with a guess, or the one that waits; raises UsageError."""
    if not questions:
        raise UsageError(f"{exercise.id} has no questions")
    if not 1 <= number <= len(questions):
        raise UsageError(f"{exercise.id} has the questions 1 to {len(questions)}")
    one = questions[number - 1]
    if guess is not None and not 1 <= guess <= len(one.question.choices):
        raise UsageError(f"guess a number from 1 to {len(one.question.choices)}")
    return asked_again(one) if guess is None else replace(one, guess=guess, outcome=None)


def asked_again(tried: Tried) -> Tried:
    """Return a question as it is put once more: without what came out, and with a guess that waits.

    A guess waits where it was made before there was code to run.
    """
    return replace(tried, guess=tried.guess if tried.waits else None, outcome=None)


def keep_tried(folder: CourseFolder, tried: Tried) -> Tried:
    """Keep what came out on a student's own work, or the guess alone; return it as it is kept.

    A folder that cannot be written keeps nothing.
    """
    outcome = tried.outcome
    nothing = outcome is None or bool(outcome.trouble)
    if not folder.shipped or outcome is None or (nothing and tried.guess is None):
        return tried
    drawn = [array.tolist() for array in outcome.drawn]
    new = _Kept(question=_digest(tried.question), guess=tried.guess, held=outcome.held, drawn=drawn)
    file = _read(folder, tried.exercise)
    kept = _write(
        folder,
        tried.exercise,
        file.model_copy(update={"tried": file.tried | {str(tried.number): new}}),
    )
    return replace(tried, waits=kept and nothing)


def reminder(
    folder: CourseFolder, exercise: Exercise, result: ExerciseResult, command: str = "grade "
) -> str:
    """Name the questions that can be tried now and were not, first those that have a guess.

    A question can be tried once what it needs is right. `command` is how a command begins.
    """
    if not folder.shipped:
        return ""
    wrong = {check.target for check in result.checks if check.status is not Status.PASSED}
    wrong.update(result.beside)  # they use what is wrong
    right = {check.target for check in result.checks} - wrong
    ready = [
        one
        for one in questions_of(folder, exercise)
        if one.outcome is None and right.issuperset(one.question.needs)
    ]
    guessed = [str(one.number) for one in ready if one.waits]
    others = [str(one.number) for one in ready if not one.waits]
    typed, said = f"{command}try {exercise.id}", []
    if guessed:
        what = "Your guesses on questions" if guessed[1:] else "Your guess on question"
        said.append(f"{what} {listed(guessed)} can be tried now: {typed} {guessed[0]}.")
    if others:
        which = f"Questions {listed(others)} wait" if others[1:] else f"Question {others[0]} waits"
        said.append(f"{which} for your guess: {typed}{'' if others[1:] else f' {others[0]}'}")
    return " ".join(said).removesuffix(".")


def _write(folder: CourseFolder, exercise: str, file: _File) -> bool:
    text = json.dumps(file.model_dump())
    try:
        write_files(folder.root, {f"{_FOLDER}/{exercise}.json": text.encode()})
    except OSError:
        return False
    return True


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
    right = kept.guess is None or 1 <= kept.guess <= len(tried.question.choices)
    if right and kept.guess is not None and not arrays:
        return replace(tried, guess=kept.guess, waits=True)
    if not right or not _fits(tried.question, arrays):
        return tried
    return replace(tried, guess=kept.guess, outcome=Outcome(arrays, kept.held))


def _fits(question: Question, arrays: Sequence[np.ndarray]) -> bool:
    sizes = [0 < array.size <= _MOST for array in arrays]
    return len(arrays) == len(question.shows) and all(sizes)


def _digest(question: Question) -> str:
    return hashlib.sha256(question.model_dump_json().encode()).hexdigest()
