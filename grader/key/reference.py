"""Runs a solution, or a solution with a mistake in it, on the calls of a plan."""

import contextlib
import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from grader.course.load import CourseFolder
from grader.course.models import Exercise, Target
from grader.errors import CourseError
from grader.execute.answers import Answer, AnswerStatus, Info, StudentError
from grader.plan.records import Array, Role
from grader.worker.binding import Unbound, own_items
from grader.worker.calls import Runner
from grader.worker.device import DeviceMix
from grader.worker.loading import describe_error, new_module, run_units
from grader.worker.parts import locate_parts

_ANSWER_BYTES = 1 << 28
_MESSAGE = 1000
_PAIRS = ("names", "loose", "sought", "present")


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
        self.earlier = frozenset(e.id for e in folder.course.earlier(exercise))
        self.path = folder.solutions / exercise.file
        torch.set_default_dtype(dtype)
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
        places = locate_parts(module, self.earlier)
        roles = []
        for item in own_items(module, given):
            stem, _, last = item.name.rpartition(".")
            aliases = tuple(target.aliases.get(stem or last, ()))
            role = Role(item.name, item.shape, _kind(owners[stem], last), aliases)
            if place := places.get(item.name):
                role = replace(role, part=place.part, number=place.number, inner=place.inner)
            roles.append(role)
        return roles

    def runner(self, tensors: Mapping[str, Array], **options: Any) -> Runner:
        """Return what makes calls of the reference with these tensors; `options` are Runner's."""
        values = {name: torch.from_numpy(array) for name, array in tensors.items()}
        cast = {n: v.to(self.dtype) if v.is_floating_point() else v for n, v in values.items()}
        return Runner(self.namespace, cast, self.dtype, _ANSWER_BYTES, **options)


def make_answer(runner: Runner, call: dict[str, Any]) -> Answer:
    """Make one call in this process, and return the answer that a worker would have sent."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            made = runner.make(call)
    except Unbound as unbound:
        info = Info(
            sought=_pairs(unbound.sought),
            present=_pairs(unbound.present[:64]),
            loose=unbound.loose,
        )
        return Answer(AnswerStatus.UNBOUND, info=info)
    except Exception as error:  # noqa: BLE001 - whatever the code raises is its answer
        described = describe_error(error, frozenset(), _MESSAGE)
        described["device"] = isinstance(error, DeviceMix)
        return Answer(AnswerStatus.RAISED, error=StudentError.model_validate(described))
    paired = {k: [tuple(p) for p in made.info[k]] for k in _PAIRS if k in made.info}
    info = Info.model_validate({**made.info, **paired})
    arrays = {k: v.detach().contiguous().numpy().copy() for k, v in made.tensors.items()}
    return Answer(AnswerStatus.OK, arrays, info)


def _pairs(rows: list[tuple[str, tuple[int, ...]]]) -> list[tuple[str, list[int]]]:
    return [(name, list(shape)) for name, shape in rows]


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
