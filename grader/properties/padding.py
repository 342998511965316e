"""Places that are padded and count for nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from grader.compare.arrays import find_difference
from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.course.cases import Case
from grader.course.expressions import LiteralSpec, TensorSpec
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind, answers_of, changed, outputs_of
from grader.records.answers import AnswerStatus
from grader.records.calls import Array, Call
from grader.records.ids import MAIN, TensorId
from grader.records.results import Status
from grader.worker.protocol import Action, TensorKey

_WORDS = ("before it is changed", "after that")
_STEP = "leave padded places out of every sum, mean and maximum"
_NAN = "a zero to multiply with does not: zero times infinity is NaN"


class Padding(Kind):
    """What stands in padded places moves no output, and makes no NaN."""

    compares: ClassVar[bool] = True

    kind: Literal["padding"]
    dim: str = Field(description="along which there are padded places")
    mask: str = Field(
        description="the input that tells them: true where a place counts, or how many places do"
    )
    fill: float = Field(default=1e12, description="what is written there, with both signs")
    case: Case | None = Field(default=None, description="in place of the first main case")

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """The mask has to have the dim, and so has an input that can be filled."""
        specs = _tensors(self._case, target)
        found = specs.get(self.mask)
        if found is None:
            return f"'{self.mask}' is no input that is a tensor"
        if found.kind == "float" or (found.kind == "bool" and found.axis_of(self.dim) is None):
            return f"'{self.mask}' is neither a mask with an axis '{self.dim}' nor lengths"
        others = [spec for name, spec in specs.items() if name != self.mask and spec.kind != "bool"]
        if all(spec.axis_of(self.dim) is None for spec in others):
            return f"no input to fill has an axis '{self.dim}'"
        return ""

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call, and the same with the padded places filled."""
        drawn = planner.main
        if self.case is not None:
            drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        before, after = (
            planner.call(drawn, self._case, self.name, Action.FORWARD, part=part)
            for part in ("as-drawn", "filled")
        )
        tensors, inputs = planner.plan.tensors, list(after.inputs)
        found = False
        for place, (name, spec) in enumerate(_all(self._case, planner.target).items()):
            argument = inputs[place] if place < len(inputs) else None
            padded = self._padded(before, planner.target, tensors, drawn.dims, spec)
            if name == self.mask or padded is None or not isinstance(argument, TensorKey):
                continue
            values = tensors[argument.tensor]
            key = str(TensorId(after.id, name))
            tensors[key] = np.where(padded, self._filling(values), values)
            inputs[place] = TensorKey(key)
            found = found or bool(padded.any())
        if not found:
            raise ValueError(f"the property '{self.name}' finds no padded place: draw the mask so")
        planner.add(before)
        planner.add(replace(after, inputs=tuple(inputs)))

    def judge(self, evidence: Evidence) -> Judgement:
        """Compare what comes out where places are filled with what came before."""
        before, after = evidence.calls_of(self.name)
        answers = answers_of(evidence, [before, after])
        case = evidence.case(before)
        for call in (before, after):
            if answers[call.id].status is not AnswerStatus.OK:
                return explain_status(evidence, answers[call.id], case)
        came = outputs_of(answers[after.id])
        for name, was in outputs_of(answers[before.id]).items():
            spec = evidence.target.output_specs[name]
            tensors = evidence.key.plan.tensors
            padded = self._padded(before, evidence.target, tensors, case.dims, spec)
            said = self._said(was, came.get(name), padded, evidence)
            if said:
                message = "what stands in padded places should change nothing"
                made = not np.isnan(was).any() and np.isnan(came.get(name, was)).any()
                step = f"{_STEP}: {_NAN}" if made else _STEP
                return Judgement(Status.FAILED, message, f"`{name}`: {said}", step, case=case)
        return PASSED

    def _said(
        self, was: Array, came: Array | None, padded: Array | None, evidence: Evidence
    ) -> str:
        """Say how an output is moved, "" where it is not."""
        if came is None:
            return "it is missing"
        if np.isnan(came).any():
            before = bool(np.isnan(was).any())
            return f"there is NaN in it{', whatever stands there' if before else ''}"
        if padded is not None and was.shape == came.shape == padded.shape:
            was, came = np.where(padded, 0, was), np.where(padded, 0, came)
        difference = find_difference(came, was, evidence.course.tolerances.float32, _WORDS)
        return difference.message if difference else ""

    @property
    def _case(self) -> Case:
        return self.case or Case(name=MAIN)

    def _filling(self, values: Array) -> Array:
        if values.dtype.kind != "f":
            return changed(values)
        signs = np.arange(values.size).reshape(values.shape) % 2 * 2 - 1
        return np.asarray(signs * self.fill)

    def _padded(
        self,
        call: Call,
        target: Target,
        tensors: Mapping[str, Array],
        dims: Mapping[str, int],
        of: TensorSpec | None,
    ) -> Array | None:
        """Return where a tensor is padded, None for one that has no axis of the dim."""
        if of is None or of.kind == "bool" or of.axis_of(self.dim) is None:
            return None
        mask = _tensors(self._case, target)[self.mask]
        argument = call.inputs[list(target.inputs).index(self.mask)]
        assert isinstance(argument, TensorKey)  # noqa: S101 - `misfit` has seen to it
        counts, axes = tensors[argument.tensor], [axis.text for axis in mask.axes]
        if mask.kind == "int":
            counts, axes = np.arange(dims[self.dim]) < counts[..., None], [*axes, self.dim]
        return np.broadcast_to(~_along(counts, axes, of, self.dim), of.shape(dims))


def _along(counts: Array, axes: list[str], of: TensorSpec, dim: str) -> Array:
    """Return which places of a tensor count for anything, in a shape that broadcasts to its own.

    The mask's axes are matched with the tensor's by the names of their sizes; a place counts where
    it does along any axis that the tensor lacks. Of two axes of the dim the last tells places.
    """
    own = [axis.text for axis in of.axes]
    place = len(axes) - 1 - axes[::-1].index(dim)
    kept = [i for i, name in enumerate(axes) if i == place or (name in own and name != dim)]
    lost = tuple(i for i in range(len(axes)) if i not in kept)
    names = [axes[i] for i in kept]
    counts = np.asarray(counts.any(axis=lost))
    order = sorted(range(len(names)), key=lambda i: own.index(names[i]))
    sizes = {names[i]: counts.shape[i] for i in order}
    firsts = [name if own.index(name) == i else "" for i, name in enumerate(own)]
    return counts.transpose(order).reshape([sizes.get(name, 1) for name in firsts])


def _all(case: Case, target: Target) -> dict[str, TensorSpec | None]:
    """Return the inputs of a case in order, None for what is no tensor."""
    specs = case.input_specs(target.input_specs)
    held = {n: s.tensor if isinstance(s, LiteralSpec) else s for n, s in specs.items()}
    return {name: s if isinstance(s, TensorSpec) else None for name, s in held.items()}


def _tensors(case: Case, target: Target) -> dict[str, TensorSpec]:
    return {name: spec for name, spec in _all(case, target).items() if spec is not None}
