"""`grade try`: asks for a guess, runs some lines on the student's own code, and draws both."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import click

from grader.cli.shared import screen_width
from grader.course.load import CourseFolder, find_course, load_course
from grader.course.models import Exercise
from grader.errors import UsageError
from grader.execute.launch import WarmProcess
from grader.grading.tried import Bench, Tried, missing_part, try_question
from grader.handin.choose import chosen_exercises, read_work
from grader.handin.read import Submission
from grader.report.layout import wrapped
from grader.report.runs import render_outcome, render_question
from grader.student.beside import borrowed, changed, doubted
from grader.student.tries import asked_again, chosen_question, keep_tried, questions_of

_STOP = "q"


@dataclass(frozen=True)
class TryRequest:
    """What `grade try` was asked for."""

    exercise: str  # as typed
    number: int | None  # of the question; None for all
    guess: int | None
    course: Path | None
    submission: Path | None


def run_try(request: TryRequest) -> None:
    """Put an exercise's questions one after the other; raises GraderError."""
    folder = load_course(find_course(request.course))
    (exercise,) = chosen_exercises(folder, [request.exercise])
    questions = questions_of(folder, exercise)
    chosen = _chosen(exercise, questions, request)
    work = read_work(folder, request.submission, [exercise])
    with ExitStack() as ending:
        own, single = request.submission is None, request.number is not None
        table = _Table(folder, exercise, work, ending, own, single)
        for text in table.played(chosen):
            click.echo(text)
        for tell in (changed, borrowed) if own else ():
            if said := tell(folder, exercise, work):
                click.echo(_apart(said))


def _apart(said: str) -> str:
    """A sentence below an empty line."""
    return "\n".join(["", *wrapped(said, screen_width(), first="  ", hang=2)])


def _chosen(exercise: Exercise, questions: list[Tried], request: TryRequest) -> list[Tried]:
    """Return the questions that are asked for; raises UsageError."""
    if request.number is not None:
        return [chosen_question(exercise, questions, request.number, request.guess)]
    if not questions:
        raise UsageError(f"{exercise.id} has no questions")
    if request.guess is not None:
        raise UsageError(f"say which question: grade try {exercise.id} 1 --guess 2")
    return [asked_again(one) for one in questions]


@dataclass
class _Table:
    """Where a student sits with an exercise's questions."""

    folder: CourseFolder
    exercise: Exercise
    work: Submission
    ending: ExitStack
    own: bool  # it is the student's own work, and not a file elsewhere
    single: bool  # one question was asked for by its number

    @cached_property
    def bench(self) -> Bench:
        """What runs; torch loads there while the student reads."""
        warm = WarmProcess()
        self.ending.callback(warm.close)
        return Bench(self.folder, self.exercise, self.work, warm)

    def played(self, questions: list[Tried]) -> Iterator[str]:
        """Yield what is to be shown, and ask for guesses where somebody can answer."""
        source = self.work.source(self.exercise)
        for place, one in enumerate(questions):
            yield ("\n" if place else "") + render_question(one, width=screen_width())
            yield ""
            missing = missing_part(source, one.question)
            given = one.guess
            if given is None and not can_ask() and not self.single and missing is None:
                yield f"  Guess N with: grade try {self.exercise.id} {one.number} --guess N"
                continue
            bench = self.bench if missing is None else None
            if given is None and can_ask():  # a guess can be made before there is code
                given = _asked(len(one.question.choices))
                if given == 0:
                    return
                yield ""
            if bench is None:
                yield self._shown(self._kept(replace(one, guess=given, outcome=missing)))
                continue
            outcome = try_question(bench, one.question)
            yield self._shown(self._kept(replace(one, guess=given, outcome=outcome)))
            if self.own and outcome.held and (said := self._doubted(one)):
                yield _apart(said)

    def _kept(self, tried: Tried) -> Tried:
        return keep_tried(self.folder, tried) if self.own else tried

    def _doubted(self, tried: Tried) -> str:
        return doubted(self.folder, self.exercise, self.work, tried.question.needs)

    def _shown(self, tried: Tried) -> str:
        return render_outcome(tried, width=screen_width())


def can_ask() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty()


def _asked(choices: int) -> int | None:
    """Ask for a guess until there is one; None for none, 0 to stop."""
    while True:
        said = click.prompt(
            f"  Your guess, 1 to {choices} (Enter for none, {_STOP} to stop)",
            default="",
            show_default=False,
        ).strip()
        if said == _STOP:
            return 0
        if not said:
            return None
        if said.isdecimal() and 1 <= int(said) <= choices:
            return int(said)
        click.echo(f"  That is no number from 1 to {choices}.")
