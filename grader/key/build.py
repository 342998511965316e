"""Builds the answer key of a course: draws the plan and runs the reference on it.

Runs as a process of its own (`python -m grader.key.build`), for it needs torch and trusts the
solutions, and the grader that reads the key needs neither.
"""

import contextlib
import json
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from grader.course.load import CourseFolder, load_course
from grader.course.models import Exercise, Target
from grader.errors import CourseError, GraderError
from grader.execute.answers import Answer, AnswerStatus, Info, StudentError
from grader.key.store import AnswerKey, write_key
from grader.plan.build import build_plan
from grader.plan.records import Array, Call, Role
from grader.worker.binding import own_items
from grader.worker.calls import Runner
from grader.worker.loading import EarlierExercises, describe_error, new_module, run_units

_KEY_REPEATS = 20_000  # masks behind the reference's training statistics
_ANSWER_BYTES = 1 << 28
_MESSAGE = 1000


class Reference:
    """An exercise's solution, loaded from its text."""

    def __init__(self, exercise: Exercise, source: str, folder: CourseFolder) -> None:
        """Run the text; raises CourseError where it fails."""
        self.exercise = exercise
        self.path = folder.solutions / exercise.file
        torch.set_default_dtype(torch.float64)
        module = new_module(exercise.stem, str(self.path))
        error = run_units(module, [(str(self.path), source)], go_on=False)
        if error is not None:
            raise CourseError(f"{self.path}: {_where(error, self.path)}")
        self.namespace: dict[str, Any] = module.__dict__
        missing = [t.name for t in exercise.targets if t.name not in self.namespace]
        if missing:
            raise CourseError(f"{self.path}: the target '{missing[0]}' of course.yml is not there")

    def describe(
        self,
        target: Target,
        construct: list[dict[str, Any]],
        options: dict[str, Any],
        tensors: Mapping[str, Array],
    ) -> list[Role]:
        """Return the roles of the module that these arguments make."""
        runner = self.runner(tensors)
        call = {"target": target.name, "construct": construct, "options": options}
        try:
            module, given = runner._construct(self.namespace[target.name], call)
        except Exception as error:  # noqa: BLE001 - whatever the solution raises is a course error
            where = _where(error, self.path)
            raise CourseError(f"{self.path}: {target.name} cannot be made: {where}") from None
        owners = dict(module.named_modules())
        roles = []
        for item in own_items(module, given):
            stem, _, last = item.name.rpartition(".")
            roles.append(
                Role(
                    item.name,
                    item.shape,
                    _kind(owners[stem], last),
                    tuple(target.aliases.get(stem or last, ())),
                )
            )
        return roles

    def runner(self, tensors: Mapping[str, Array]) -> Runner:
        """Return what makes calls of the reference with these tensors."""
        values = {name: torch.from_numpy(array) for name, array in tensors.items()}
        return Runner(self.namespace, values, torch.float64, _ANSWER_BYTES)


def build_answer_key(folder: CourseFolder, exercise: Exercise, split: str, secret: bytes) -> AnswerKey:
    """Return an exercise's plan and the reference's answers to it; raises CourseError."""
    with reference_imports(folder):
        reference = Reference(exercise, read_solution(folder, exercise), folder)
        plan = build_plan(folder.course, exercise, split, secret, reference.describe)
        runner = reference.runner(plan.tensors)
        runner.announce([c.to_json() for c in plan.calls], exercise.forbids)
        answers = {}
        for call in plan.calls:
            target = exercise.target(call.target)
            answers[call.id] = _expected(runner, call, target, folder)
    return AnswerKey(plan, answers)


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


def _expected(runner: Runner, call: Call, target: Target, folder: CourseFolder) -> Answer:
    """The reference's answer; only a call that must be refused may raise."""
    data = call.to_json()
    if call.action == "train":
        data["extra"] = {**data["extra"], "repeats": _KEY_REPEATS}
    steps: dict[str, torch.Tensor] = {}
    wanted = target.steps if call.action == "forward" else []
    try:
        with _recorded(str(folder.solutions), wanted, steps):
            made = runner.make(data)
    except Exception as error:  # noqa: BLE001 - a refused call raises what the course declares
        described = describe_error(error, frozenset(), _MESSAGE)
        return Answer(AnswerStatus.RAISED, error=StudentError.model_validate(described))
    tensors = {**made.tensors, **{f"step/{name}": value for name, value in steps.items()}}
    pairs = {k: [tuple(p) for p in made.info.get(k, [])] for k in ("names", "loose")}
    info = Info.model_validate({**made.info, **pairs})
    arrays = {k: v.detach().contiguous().numpy().copy() for k, v in tensors.items()}
    return Answer(AnswerStatus.OK, arrays, info)


@contextlib.contextmanager
def _recorded(root: str, wanted: Sequence[str], steps: dict[str, torch.Tensor]) -> Iterator[None]:
    """Keep the named local variables of the solutions' functions as these return."""

    def note(frame: types.FrameType, event: str, _: Any) -> None:
        if event == "return" and frame.f_code.co_filename.startswith(root):
            for name in wanted:
                value = frame.f_locals.get(name)
                if isinstance(value, torch.Tensor) and name not in steps:
                    steps[name] = value.detach().clone()

    if not wanted:
        yield
        return
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def _kind(owner: nn.Module, last: str) -> str:
    if isinstance(owner, nn.Embedding):
        return "table"
    if isinstance(owner, nn.Linear):
        return "linear" if last == "weight" else "bias"
    parameter = getattr(owner, last)
    return "linear" if parameter.dim() == 2 else "vector"


def _where(error: BaseException, path: Path) -> str:
    described = describe_error(error, frozenset({str(path)}), _MESSAGE)
    line = f" (line {described['frames'][-1]['line']})" if described["frames"] else ""
    return f"{described['type']}: {described['message']}{line}"


def main() -> int:
    """Build the keys that the request on standard input asks for; one line a key on output."""
    request = json.loads(sys.stdin.buffer.readline())
    torch.set_num_threads(1)
    secret = bytes.fromhex(request["secret"])
    try:
        folder = load_course(Path(request["course"]))
        for exercise_id in request["exercises"]:
            exercise = folder.course.exercise(exercise_id)
            key = build_answer_key(folder, exercise, request["split"], secret)
            write_key(Path(request["into"]), key)
            print(json.dumps({"built": exercise_id}), flush=True)
    except GraderError as error:
        print(json.dumps({"error": str(error), "exit_code": error.exit_code}), flush=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
