"""The magics of `%load_ext grader`: what helps a student along, on the cells as they are."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from grader.course.written import frameworks_of
from grader.errors import GraderError, UsageError
from grader.grading.trace import trace_target
from grader.grading.tried import Tried
from grader.handin.choose import chosen_exercises
from grader.notebook.check import (
    COMMAND,
    Report,
    Said,
    answered,
    check,
    exercise_meant,
    grade_cells,
    own_course,
    try_in_kernel,
)
from grader.notebook.imports import install
from grader.report.explained import render_run
from grader.report.lesson import render_lesson_part, render_questions
from grader.report.runs import render_outcome, render_question
from grader.report.student import render_comparison, render_standing, render_told
from grader.student.beside import beside_run
from grader.student.compare import compare as lay_beside
from grader.student.compare import needed_solution
from grader.student.hints import take_hint, target_to_explain, words_given
from grader.student.progress import standing_of
from grader.student.start import untouched_stub
from grader.student.tries import asked_again, chosen_question, keep_tried, questions_of

_MOST = {"hint": 2, "explain": 2, "list": 0, "try": 3}  # words of a line; else one
_HELP = ("--help", "-h", "help")


@dataclass(frozen=True)
class Lesson:
    """A lesson with its formulas and drawings in a notebook, and as it was written elsewhere."""

    stub: str
    questions: Sequence[Tried] = ()

    def __repr__(self) -> str:
        """Return the lesson's text."""
        return self.stub

    def _repr_html_(self) -> str:
        return render_lesson_part(self.stub, self.questions, command=COMMAND)


@dataclass(frozen=True)
class Asked:
    """Questions, or one of them with what came out."""

    questions: Sequence[Tried]

    def __repr__(self) -> str:
        """Return them as in a terminal, without colours."""
        said = []
        for one in self.questions:
            said.append(render_question(one))
            typed = f"{COMMAND}try {one.exercise} {one.number}"
            if one.outcome is not None:
                said.append(render_outcome(one, command=COMMAND))
            elif one.waits:
                said.append(f"  Your guess, {one.guess}, is kept. Run it with: {typed}")
            else:
                said.append(f"  Run it, with the number that you guess for N: {typed} N")
        return click.unstyle("\n\n".join(said))

    def _repr_html_(self) -> str:
        return render_questions(self.questions, command=COMMAND)


def hint(typed: str, target: str = "") -> Said:
    """Grade the cells that were run, and tell the next hint; raises GraderError."""
    graded = grade_cells(typed)
    key, result = graded.engine.keys.keys[graded.exercise.id], graded.run.result
    told = take_hint(graded.engine.folder, graded.exercise, key, result, named=target)
    text = render_told(told, graded.exercise.id, target, notebook=True, command=COMMAND)
    return Said(click.unstyle(text))


def explain(typed: str, target: str = "") -> Said:
    """Show the run of a target, the one to mend first where none is named."""
    graded = grade_cells(typed)
    exercise = graded.exercise
    chosen = target_to_explain(exercise, graded.run.result, target)
    trace = trace_target(exercise.target(chosen), graded.run)
    given = words_given(exercise.id, target)
    beside = beside_run(given, graded.run.result, chosen, COMMAND, ran=trace is not None)
    return Said(click.unstyle(render_run(trace, exercise.id, chosen, beside)))


def compare(typed: str) -> Said:
    """Show the solution beside the cells that were run, once it is released."""
    graded = grade_cells(typed)
    folder, exercise = graded.engine.folder, graded.exercise
    solution = needed_solution(folder, exercise)
    compared = lay_beside(folder.course, exercise, graded.source, solution, graded.run.result)
    return Said(click.unstyle(render_comparison(exercise.id, compared)))


def read(typed: str) -> Lesson:
    """Show the lesson of an exercise; raises GraderError."""
    folder = own_course()
    (exercise,) = chosen_exercises(folder, [typed])
    return Lesson(untouched_stub(folder, exercise), questions_of(folder, exercise))


def try_(typed: str, number: str = "", guess: str = "") -> Asked:
    """Put an exercise's questions, or one; with a guess, run that one on the cells."""
    folder = own_course()
    (exercise,) = chosen_exercises(folder, [typed])
    questions = questions_of(folder, exercise)
    if not number:
        return Asked([asked_again(one) for one in questions])
    one = chosen_question(exercise, questions, _whole(number), _whole(guess) if guess else None)
    if one.guess is None:
        return Asked([one])
    tried = replace(one, outcome=try_in_kernel(folder, exercise, one.question))
    return Asked([keep_tried(folder, tried)])


def _whole(typed: str) -> int:
    """Return a number that was typed; raises UsageError."""
    if not typed.isdecimal():
        raise UsageError(f"'{typed}' is no number: write it as in: {COMMAND}try exercise3 1 2")
    return int(typed)


def list_() -> Said:
    """Show how far each exercise is; raises GraderError.

    Nothing is said of files that changed: what was checked are cells.
    """
    standing = standing_of(own_course())
    rows = tuple(replace(row, changed=False) for row in standing.exercises)
    text = render_standing(replace(standing, exercises=rows), command=COMMAND)
    return Said(click.unstyle(text))


def load_extension(ipython: Any) -> None:
    """Add the magics, and make notebooks of earlier exercises importable."""

    def check_cell(line: str, cell: str) -> Report | Said | None:
        """Run the cell, then grade the exercise that the line names."""
        outcome = ipython.run_cell(cell)
        return check(line.strip()) if outcome.success else None

    ipython.register_magic_function(check_cell, "cell", "check")
    lines: tuple[Callable[..., Any], ...] = (check, hint, explain, read, try_, compare, list_)
    for magic in lines:
        ipython.register_magic_function(_line_magic(magic), "line", _name_of(magic))
    ipython.register_magic_function(_line_magic(list_), "line", "progress")
    install()
    _run_as_graded()


def _run_as_graded() -> None:
    """Let the framework of the course run here as it does while grading, unless it is told."""
    try:
        course = own_course().course
    except GraderError:
        return  # which is said where the course is needed
    for framework in frameworks_of(course):
        for name, value in framework.environment.items():
            os.environ.setdefault(name, value)


def _name_of(magic: Callable[..., Any]) -> str:
    return magic.__name__.rstrip("_")  # `try` is a word of Python's


def _line_magic(magic: Callable[..., Any]) -> Callable[[str], Any]:
    """Return a magic that takes the words of its line; a mistake in them is said in a line."""
    name = _name_of(magic)
    most = _MOST.get(name, 1)

    def ask(line: str) -> Any:
        words = line.split()
        named = " exercise3 1 2" if words and name == "try" else " exercise3"
        example = f"{COMMAND}{name}{named if most else ''}"
        if set(_HELP) & set(words):
            said = (magic.__doc__ or "").partition("\n")[0]
            return Said(f"{said.removesuffix('; raises GraderError.')}\nFor example: {example}")
        if len(words) > most:
            raise UsageError(f"write it as in: {example}")
        if most and not words:
            words = [exercise_meant(own_course(), example)]
        return magic(*words)

    def of_line(line: str) -> Any:
        return answered(lambda: ask(line))

    of_line.__doc__ = magic.__doc__
    return of_line
