"""Builds the answer key of a course: draws the plan and runs the reference on it.

Runs in processes of its own (see builders.py), for it needs torch and trusts the solutions, and
the grader that reads the key needs neither.
"""

import contextlib
import json
import os
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from grader.audit.trial import try_bugs, try_findings, try_pairs
from grader.course.load import CourseFolder, load_course
from grader.course.models import Exercise, Raises
from grader.errors import CourseError, GraderError
from grader.execute.answers import Answer
from grader.key.build_bugs import BuiltKey, Lab, add_bugs, build_pairs
from grader.key.builders import KEY, TRIED_KEY, Task
from grader.key.reference import Reference, make_answer
from grader.key.store import AnswerKey, read_key, read_pairs, write_key, write_pairs
from grader.plan.build import build_plan
from grader.plan.records import Call
from grader.worker.calls import Runner
from grader.worker.loading import EarlierExercises

_KEY_REPEATS = 10  # times as many masks stand behind the reference's training statistics


def build_answer_key(
    folder: CourseFolder, exercise: Exercise, split: str, secret: bytes
) -> AnswerKey:
    """Return an exercise's key; raises CourseError."""
    return _build(folder, exercise, split, secret).key


def _build(folder: CourseFolder, exercise: Exercise, split: str, secret: bytes) -> BuiltKey:
    """Draw the plan, run the reference on it, and then each known bug."""
    source = read_solution(folder, exercise)
    with reference_imports(folder):
        reference = Reference(exercise, source, folder)
        plan = build_plan(folder.course, exercise, split, secret, reference.describe)
        runner = reference.runner(plan.tensors)
        runner.announce([c.to_json() for c in plan.calls], exercise.forbids)
        answers = {}
        for call in plan.calls:
            answers[call.id] = _expected(runner, call, exercise, folder)
            _refuse_unexpected(folder, exercise, call, answers[call.id])
        return add_bugs(folder, exercise, source, AnswerKey(plan, answers))


def _refuse_unexpected(
    folder: CourseFolder, exercise: Exercise, call: Call, answer: Answer
) -> None:
    """A reference raises where the course says so, and nowhere else."""
    target = exercise.target(call.target)
    due = {
        f"{target.name}/{prop.name}": prop.error
        for prop in folder.course.properties(exercise, target)
        if isinstance(prop, Raises)
    }
    where = f"{folder.solutions / exercise.file}: on {call.id} the reference"
    if answer.error is not None and due.get(call.id) not in answer.error.bases:
        raise CourseError(f"{where} raises {answer.error.type}: {answer.error.message}")
    if answer.error is None and call.id in due:
        raise CourseError(f"{where} should raise {due[call.id]}, and does not")


def read_solution(folder: CourseFolder, exercise: Exercise) -> str:
    """Return the text of an exercise's solution; raises CourseError."""
    path = folder.solutions / exercise.file
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from None


@contextlib.contextmanager
def reference_imports(folder: CourseFolder) -> Iterator[None]:
    """Let solutions import each other's plain names while the context lasts."""
    sources = {
        exercise.stem: [(str(folder.solutions / exercise.file), read_solution(folder, exercise))]
        for exercise in folder.course.exercises
    }
    finder = EarlierExercises(sources)
    before = set(sys.modules)
    finder.install()
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if name.split(".")[-1] in finder.sources or name == "exercises":
                del sys.modules[name]


def _expected(runner: Runner, call: Call, exercise: Exercise, folder: CourseFolder) -> Answer:
    """The reference's answer, with its named steps."""
    data = call.to_json()
    if call.action == "train":
        repeats = data["extra"]["repeats"] * _KEY_REPEATS
        data["extra"] = {**data["extra"], "repeats": repeats}
    steps: dict[str, torch.Tensor] = {}
    wanted = exercise.target(call.target).step_names if call.action == "forward" else []
    with _recorded(str(folder.solutions), wanted, steps):
        answer = make_answer(runner, data)
    arrays = {f"step/{name}": value.contiguous().numpy().copy() for name, value in steps.items()}
    return replace(answer, tensors={**answer.tensors, **arrays})


@contextlib.contextmanager
def _recorded(root: str, wanted: Sequence[str], steps: dict[str, torch.Tensor]) -> Iterator[None]:
    """Keep the named local variables of the solutions' functions as these return."""

    def note(frame: types.FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "return" and code.co_filename.startswith(root) and code.co_name != "__init__":
            for name in wanted:
                value = frame.f_locals.get(name)
                if isinstance(value, torch.Tensor):  # the outermost function returns last
                    steps[name] = value.detach().clone()

    if not wanted:
        yield
        return
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def main() -> None:
    """Work off tasks from standard input, a line each; a reply is a line on standard output."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a solution prints must not pass for a reply
    torch.set_num_threads(1)
    for line in sys.stdin:
        task = Task(**json.loads(line))
        try:
            reply = _work(task)
        except GraderError as error:
            reply = {"error": str(error)}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _work(task: Task) -> dict[str, Any]:
    """Do one task and return its reply; raises GraderError."""
    folder = load_course(Path(task.course))
    exercise = folder.course.exercise(task.exercise)
    into = Path(task.into)
    if task.part in (KEY, TRIED_KEY):
        built = _build(folder, exercise, task.split, bytes.fromhex(task.secret))
        write_key(into, built.key)
        if task.part == KEY:
            return {}
        return {"bugs": try_findings(Lab(folder, exercise, built.key), built.findings)}
    lab = Lab(folder, exercise, read_key(into, exercise.id, task.split))
    source = read_solution(folder, exercise)
    with reference_imports(folder):
        match task.part:
            case "pairs":
                pairs = build_pairs(lab, source)
                write_pairs(into, exercise.id, task.split, pairs)
                return {}
            case "bugs":
                return {"bugs": try_bugs(lab, source)}
            case "tried pairs":
                pairs = read_pairs(into, exercise.id, task.split)
                return {"pairs": try_pairs(lab, source, pairs)}
            case _:
                return _mutants(lab)


def _mutants(lab: Lab) -> dict[str, Any]:
    """Return the mutation test's counts and survivors."""
    from grader.audit.mutation import mutation_report  # it builds on this module

    report = mutation_report(lab.folder, lab.exercise, lab.key)
    counts = {
        "total": report.total,
        "killed": report.killed,
        "equivalent": len(report.equivalent),
    }
    return {"mutants": counts, "survivors": [mutation.id for mutation in report.survived]}


if __name__ == "__main__":
    main()
