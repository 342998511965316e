"""Builds the answer key of a course: draws the plan and runs the reference on it.

Runs in processes of its own (see builders.py), for it needs torch and trusts the solutions, and
the grader that reads the key needs neither.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import torch

from grader.checks.plan import build_plan
from grader.course.derive import read_solution
from grader.course.load import CourseFolder, load_course
from grader.course.models import Exercise
from grader.key.build_bugs import BuiltKey, MutantRunner, add_bugs
from grader.key.build_pairs import build_pairs
from grader.key.builders import KeyOrder, tell_step
from grader.key.declared import (
    refuse_other_defaults,
    refuse_unexpected,
    refuse_unknown_names,
    refuse_unknown_rules,
)
from grader.key.drawing import chances_of, load_rules
from grader.key.reference import (
    Reference,
    arrays_of,
    make_answer,
    recorded_steps,
    reference_imports,
)
from grader.key.store import (
    PAIRS,
    DamagedKey,
    alone,
    read_key,
    read_pairs,
    write_key,
    write_pairs,
)
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Call
from grader.records.key import AnswerKey
from grader.records.signatures import Suspects
from grader.worker import importing
from grader.worker.calls import Runner
from grader.worker.names import Group, tensor_name
from grader.worker.protocol import Action

_KEY_REPEATS = 10  # times as many masks stand behind the reference's training statistics


def write_answer_key(order: KeyOrder) -> BuiltKey:
    """Build a key, keep it, and return it with the runs of all bugs; raises CourseError."""
    folder = load_course(order.course)
    exercise = folder.course.exercise(order.exercise)
    built = _build(folder, exercise, order.split, order.secret)
    write_key(order.into, built.runner.key)
    return built


def write_missing_key(order: KeyOrder) -> None:
    """Build a key and keep it, where nobody else has by now; raises CourseError."""
    with alone(order.into, order.exercise, order.split):
        try:
            read_key(order.into, order.exercise, order.split)
        except (OSError, DamagedKey):
            write_answer_key(order)


@contextlib.contextmanager
def open_runner(order: KeyOrder) -> Iterator[MutantRunner]:
    """Give what runs mutants on a key that is there; solutions import each other meanwhile."""
    folder = load_course(order.course)
    exercise = folder.course.exercise(order.exercise)
    source = read_solution(folder.solutions / exercise.file)
    key = read_key(order.into, exercise.id, order.split)
    with reference_imports(folder):
        yield MutantRunner(folder, exercise, source, key)


def pairs_of(order: KeyOrder, runner: MutantRunner) -> Mapping[str, Suspects]:
    """Return the signatures of two bugs at once by target, built on first need and kept."""
    with alone(order.into, order.exercise, order.split, PAIRS):
        with contextlib.suppress(OSError, DamagedKey):
            return read_pairs(order.into, order.exercise, order.split)
        pairs = build_pairs(runner)
        write_pairs(order.into, order.exercise, order.split, pairs)
    return pairs


def build_answer_key(
    folder: CourseFolder, exercise: Exercise, split: str, secret: bytes
) -> AnswerKey:
    """Return an exercise's key; raises CourseError."""
    return _build(folder, exercise, split, secret).runner.key


def _build(folder: CourseFolder, exercise: Exercise, split: str, secret: bytes) -> BuiltKey:
    """Draw the plan, run the reference on it, and then each known bug."""
    importing.load(folder.course.framework_of(exercise))  # whose names are looked up next
    refuse_unknown_names(folder, exercise)
    source = read_solution(folder.solutions / exercise.file)
    with reference_imports(folder):
        reference = Reference(exercise, source, folder)
        rules = load_rules(folder)
        refuse_unknown_rules(folder, exercise, rules)
        plan = build_plan(folder.course, exercise, split, secret, reference.describe, rules)
        runner = reference.runner(plan.tensors)
        runner.announce(plan.calls, exercise.forbidden_for(*exercise.targets))
        refuse_other_defaults(folder, exercise, plan, partial(make_answer, runner))
        answers = {}
        begun = set()
        for call in plan.calls:
            if call.target not in begun:
                begun.add(call.target)
                tell_step(f"{exercise.id}/{call.target}")
            answer = _expected(runner, call, exercise, folder)
            refuse_unexpected(folder, exercise, plan, call, answer)
            if call.chances:
                table = chances_of(folder, rules, call, runner)
                with_it = {**answer.tensors, tensor_name(Group.CHANCES): table}
                answer = replace(answer, tensors=with_it)
            answers[call.id] = answer
        for call in plan.trainings:  # the reference is not trained: what is due is known
            answers[call.id] = Answer(AnswerStatus.OK, plan.withheld[call.id])
        return add_bugs(folder, exercise, source, AnswerKey(plan, answers))


def _expected(runner: Runner, call: Call, exercise: Exercise, folder: CourseFolder) -> Answer:
    """The reference's answer, with its named steps."""
    if call.action is Action.TRAIN:
        call = replace(call, repeats=call.repeats * _KEY_REPEATS)
    steps: dict[str, torch.Tensor] = {}
    wanted = exercise.target(call.target).step_names if call.action is Action.FORWARD else []
    with recorded_steps(str(folder.solutions), wanted, steps):
        answer = make_answer(runner, call)
    arrays = {tensor_name(Group.STEP, name): array for name, array in arrays_of(steps).items()}
    return replace(answer, tensors={**answer.tensors, **arrays})
