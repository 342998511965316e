"""Runs the lines of a question on a student's own code, and takes what there is to draw."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from grader.course.load import CourseFolder
from grader.course.models import Exercise
from grader.course.questions import Question
from grader.execute.launch import WarmProcess
from grader.execute.session import Collected, collect
from grader.grading.jobs import Standins, job_of
from grader.handin.read import Source, Submission
from grader.handin.syntax import parse
from grader.records.answers import Answer, AnswerStatus, StudentError
from grader.records.calls import Array, Call
from grader.records.text import clean
from grader.worker.names import Group, tensor_name
from grader.worker.protocol import Action, Earlier, TargetKind

_FUNCTION = "lines_of_the_question"
_WHEN = "when"  # the name of what says whether the answer came out
_MOST = 400  # numbers that are drawn of one array
_SECONDS = 20.0  # that the lines may take: nobody is graded by them
_SAID = 200  # characters of an exception's text that are shown
_UNWRITTEN = "NotImplementedError"


@dataclass(frozen=True)
class Outcome:
    """What the lines of a question came to on somebody's code."""

    drawn: tuple[Array, ...] = ()  # one for each caption, with at most two axes
    held: bool = False  # the answer that is named is what came out
    trouble: str = ""  # one sentence where nothing came out
    remedy: str = ""  # what to do about that; "" where a check says more


@dataclass(frozen=True)
class Tried:
    """A question, the guess, and what came out."""

    exercise: str
    number: int  # of the question in its exercise, from 1
    count: int  # of the exercise's questions
    question: Question
    guess: int | None = None
    outcome: Outcome | None = None  # None where it was not run yet
    waits: bool = False  # nothing came out, and the guess is kept until something does


@dataclass(frozen=True)
class Bench:
    """What a question is tried on."""

    folder: CourseFolder
    exercise: Exercise
    submission: Submission
    warm: WarmProcess = field(repr=False)


def missing_part(source: Source, question: Question) -> Outcome | None:
    """Say what has to be written before a question, None where all is there; nothing is run."""
    if source.problem:
        return Outcome(trouble=source.problem, remedy=source.next_step)
    texts = [text for _, text in source.units]
    definitions = {name: _definition(texts, name) for name in question.needs}
    waiting = {name: node for name, node in definitions.items() if node and _is_stub(node)}
    return next((_unwritten(*one) for one in waiting.items()), None)


def _unwritten(target: str, definition: ast.stmt | None = None) -> Outcome:
    """Say that a target is not written yet, or which of its methods where others are."""
    inside = definition.body if isinstance(definition, ast.ClassDef) else []
    methods = [node for node in inside if isinstance(node, ast.FunctionDef)]
    stubs = [f"`{node.name}`" for node in methods if _is_stub(node)]
    part = 0 < len(stubs) < len(methods)
    which = f"whose {' and '.join(stubs)} {'is' if len(stubs) == 1 else 'are'}"
    return Outcome(
        trouble=f"this needs `{target}`, {which if part else 'which is'} not written yet",
        remedy="write it, and run this again",
    )


def _definition(texts: Sequence[str], target: str) -> ast.stmt | None:
    """The last definition of a target."""
    for text in reversed(texts):
        tree = parse(text)
        for node in reversed(tree.body if tree else []):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == target:
                return node
    return None


def _is_stub(definition: ast.stmt) -> bool:
    """Whether a definition says that it is not written yet."""
    raised = [node.exc for node in ast.walk(definition) if isinstance(node, ast.Raise)]
    calls = [node.func if isinstance(node, ast.Call) else node for node in raised]
    return any(isinstance(node, ast.Name) and node.id == _UNWRITTEN for node in calls)


def try_question(bench: Bench, question: Question) -> Outcome:
    """Run a question's lines behind a student's own code, shut in as the code of a check is."""
    exercise, source = bench.exercise, bench.submission.source(bench.exercise)
    if missing := missing_part(source, question):
        return missing
    own = any(exercise.target(name).earlier is Earlier.OWN for name in question.needs)
    kind = Earlier.OWN if own else Earlier.STANDINS
    job = job_of(bench.folder, exercise, kind, Standins.of(bench.folder), bench.submission)
    label = f"question of {exercise.id}"
    unit = (label, question.as_function(_FUNCTION))
    names = [*(str(n) for n in range(len(question.shows))), _WHEN]
    call = Call(
        label, _FUNCTION, TargetKind.FUNCTION, Action.FORWARD, [], {}, [], names, as_dict=True
    )
    lines = replace(job, units=[*job.units, unit])
    course = bench.folder.course
    more = {"case_seconds": _SECONDS, "target_seconds": _SECONDS}
    limits = course.limits_of(exercise).model_copy(update=more)
    collected = collect(bench.warm, lines, [call], b"", limits)
    return _outcome_of(exercise, source, question, collected, collected.answers[call.id])


def _outcome_of(
    exercise: Exercise, source: Source, question: Question, found: Collected, answer: Answer
) -> Outcome:
    if answer.status is AnswerStatus.OK:
        return _drawn(question, answer) or Outcome(
            trouble="your code gives something that cannot be drawn"
        )
    if answer.status is AnswerStatus.MISSING:  # its text broke off before the lines
        error = found.greeting.error if found.greeting else None
        said = f": {_told(error)}{_where(source, error)}" if error else ""
        return Outcome(trouble=f"{source.label} could not be loaded{said}")
    if answer.error is not None:
        return _raised(exercise, source, question, answer.error)
    return Outcome(trouble=f"your code gave no answer: {answer.reason}")


def _raised(exercise: Exercise, source: Source, question: Question, error: StudentError) -> Outcome:
    """Say which part is not written yet, or what was raised."""
    own = [frame for frame in error.frames if source.holds(frame.label)]
    elsewhere = [f for f in error.frames if not source.holds(f.label) and _is_file(f.label)]
    if error.type == _UNWRITTEN:
        if elsewhere:
            name = elsewhere[-1].label.partition(",")[0]
            return Outcome(
                trouble=f"this needs {name}, of which a part is not written yet",
                remedy="finish it, and run this again",
            )
        targets = [target.name for target in exercise.targets]
        reached = [name for f in own if (name := f.name.partition(".")[0]) in targets]
        return _unwritten(reached[-1] if reached else question.needs[0])
    return Outcome(trouble=f"your code raised {_told(error)}{_where(source, error)}")


def _where(source: Source, error: StudentError) -> str:
    """Where in the student's own text an exception was raised, "" where that is not known."""
    own = [frame for frame in error.frames if source.holds(frame.label)]
    return f" ({own[-1].label}, line {own[-1].line})" if own else ""


def _is_file(label: str) -> bool:
    return ".py" in label or ".ipynb" in label


def _told(error: StudentError) -> str:
    return clean(f"{error.type}: {error.message}", _SAID)


def _drawn(question: Question, answer: Answer) -> Outcome | None:
    """Return what there is to draw, None where it has another form: a child may send anything."""
    arrays = []
    for place in range(len(question.shows)):
        array = answer.tensors.get(tensor_name(Group.OUTPUT, str(place)))
        if array is None or array.ndim > 2 or not 0 < array.size <= _MOST:
            return None
        arrays.append(np.asarray(array, dtype=np.float64))
    held = answer.tensors.get(tensor_name(Group.OUTPUT, _WHEN))
    return Outcome(tuple(arrays), held is not None and held.ndim == 0 and bool(held))
