"""Runs a solution, or a solution with a mistake in it, on the calls of a plan."""

import contextlib
import io
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from grader.course.derive import read_solution
from grader.course.load import CourseFolder
from grader.course.models import Exercise, Target
from grader.errors import CourseError
from grader.records.answers import Answer, AnswerStatus, Info, StudentError
from grader.records.calls import Array, Call
from grader.worker import importing
from grader.worker.binding import Unbound
from grader.worker.calls import Runner
from grader.worker.data import DATA
from grader.worker.loading import EarlierExercises, describe_error, new_module, run_units
from grader.worker.protocol import Argument, InfoClaim, Role, Scalar, WorkerCall

_ANSWER_BYTES = 1 << 28
_MESSAGE = 1000


class Reference:
    """An exercise's solution, loaded from its text."""

    def __init__(
        self,
        exercise: Exercise,
        source: str,
        folder: CourseFolder,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        """Run the text under a default dtype; raises CourseError where it fails."""
        self.dtype = dtype
        self.exercise = exercise
        earlier = folder.course.earlier(exercise)
        self.earlier = frozenset(e.id for e in earlier)
        self._parts = {f"{e.id}.{target.name}": target for e in earlier for target in e.targets}
        self.path = folder.solutions / exercise.file
        self.framework = importing.load(folder.course.framework_of(exercise))
        self.framework.set_dtype(dtype)
        with _put_back(exercise.stem):  # later exercises import the course's own, and no mutant
            module = new_module(exercise.stem, str(self.path))
            error = run_units(module, [(str(self.path), source)], go_on=False)
        if error is not None:
            raise CourseError(f"{self.path}: {error_of(error, self.path)}")
        self.namespace: dict[str, Any] = module.__dict__
        missing = [t.name for t in exercise.targets if t.name not in self.namespace]
        if missing:
            raise CourseError(f"{self.path}: the target '{missing[0]}' of course.yml is not there")

    def describe(
        self,
        target: Target,
        construct: Sequence[Argument],
        options: Mapping[str, Scalar],
        inputs: Sequence[Argument],
        tensors: Mapping[str, Array],
    ) -> list[Role]:
        """Return the roles of the module that these arguments make, and that takes these inputs."""
        targets = self.runner(tensors).targets
        try:
            made = targets.construct(target.name, construct, options)
            self.framework.build(made.module, partial(targets.inputs, inputs))
        except Exception as error:  # noqa: BLE001 - whatever the solution raises is a course error
            where = error_of(error, self.path)
            raise CourseError(f"{self.path}: {target.name} cannot be made: {where}") from None
        places = self.framework.places(made.module, self.earlier)
        roles = []
        for item in self.framework.items(made.module, made.given):
            role = self.framework.role(made.module, item)
            role = replace(role, aliases=_aliases(target, role.name))
            if place := places.get(item.name):
                role = replace(role, part=place.part, number=place.number, inner=place.inner)
                # in a stack of one's own the part's layers go by the names that they have in it
                held = self._parts.get(place.part)
                own = _aliases(held, place.inner) if held else ()
                role = replace(role, aliases=(_layer(place.inner), *own))
            roles.append(role)
        return roles

    def runner(self, tensors: Mapping[str, Array], **options: Any) -> Runner:
        """Return what makes calls of the reference with these tensors; `options` are Runner's."""
        values = {name: torch.from_numpy(array) for name, array in tensors.items()}
        cast = {n: v.to(self.dtype) if v.is_floating_point() else v for n, v in values.items()}
        return Runner(self.namespace, cast, self.dtype, _ANSWER_BYTES, self.framework, **options)


def _layer(name: str) -> str:
    """What a parameter's layer is called."""
    stem, _, last = name.rpartition(".")
    return stem or last


def _aliases(target: Target, name: str) -> tuple[str, ...]:
    return tuple(target.aliases.get(_layer(name), ()))


def make_answer(runner: Runner, call: WorkerCall) -> Answer:
    """Make one call in this process, and return the answer that a worker would have sent."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            made = runner.make(call)
    except Unbound as unbound:
        return Answer(AnswerStatus.UNBOUND, info=_info(unbound.info))
    except Exception as error:  # noqa: BLE001 - whatever the code raises is its answer
        described = describe_error(error, frozenset(), _MESSAGE)
        raised = StudentError.model_validate(described, from_attributes=True)
        return Answer(AnswerStatus.RAISED, error=raised)
    arrays = {k: v.detach().contiguous().numpy().copy() for k, v in made.tensors.items()}
    return Answer(AnswerStatus.OK, arrays, _info(made.info))


class AnswersOnDemand(Mapping[str, Answer]):
    """The answers to some calls, each made when it is first looked at."""

    def __init__(self, calls: Iterable[Call], make: Callable[[Call], Answer]) -> None:
        self.made: dict[str, Answer] = {}
        self._calls = {call.id: call for call in calls}
        self._make = make

    def __getitem__(self, call_id: str) -> Answer:
        if call_id not in self.made:
            self.made[call_id] = self._make(self._calls[call_id])
        return self.made[call_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)


def _info(claimed: InfoClaim) -> Info:
    return Info.model_validate(claimed, from_attributes=True)


def error_of(error: BaseException, path: Path) -> str:
    """Return what an exception of the course's own code says, with its line in a file."""
    described = describe_error(error, frozenset({str(path)}), _MESSAGE)
    line = f" (line {described.frames[-1].line})" if described.frames else ""
    return f"{described.type}: {described.message}{line}"


@contextlib.contextmanager
def _put_back(stem: str) -> Iterator[None]:
    """Leave what imports of an exercise find as it was."""
    before = {name: sys.modules.pop(name) for name in _called(stem)}
    try:
        yield
    finally:
        for name in _called(stem):
            del sys.modules[name]
        sys.modules.update(before)


def _called(stem: str) -> list[str]:
    """The modules of that name in any package; each mutant is loaded, so this has to be quick."""
    if stem not in "\n".join(sys.modules):
        return []
    inner = f".{stem}"
    return [name for name in sys.modules if name == stem or name.endswith(inner)]


@contextlib.contextmanager
def reference_imports(folder: CourseFolder) -> Iterator[None]:
    """Let solutions import each other's plain names, and read data, while the context lasts."""
    sources = {
        exercise.stem: [(str(path), read_solution(path))]
        for exercise in folder.course.exercises
        for path in [folder.solutions / exercise.file]
    }
    finder = EarlierExercises(sources)
    before = set(sys.modules)
    finder.install()
    has_data = (folder.root / DATA).is_dir()  # whose paths are relative
    try:
        with contextlib.chdir(folder.root) if has_data else contextlib.nullcontext():
            yield
    finally:
        sys.meta_path.remove(finder)
        for name in set(sys.modules) - before:
            if name.split(".")[-1] in finder.sources or name == "exercises":
                del sys.modules[name]


@contextlib.contextmanager
def recorded_steps(
    root: str, wanted: Sequence[str], steps: dict[str, torch.Tensor]
) -> Iterator[None]:
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


def arrays_of(tensors: Mapping[str, torch.Tensor]) -> dict[str, Array]:
    """Return the numbers of some tensors."""
    return {name: value.contiguous().numpy().copy() for name, value in tensors.items()}
