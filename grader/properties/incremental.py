"""Outputs that are the same piece by piece."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from grader.compare.arrays import find_difference
from grader.compare.evidence import NO_IDEA, PASSED, Evidence, Judgement
from grader.compare.explain import explain_status
from grader.course.cases import Case
from grader.course.expressions import TensorSpec
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind, answers_of, outputs_of
from grader.records.answers import AnswerStatus
from grader.records.calls import Call
from grader.records.ids import MAIN, CallId
from grader.records.results import Status
from grader.worker.protocol import Action, Pieces

_WORDS = ("at once", "piece by piece")
_TWICE = "twice"  # ends the part of a call that gives each state again
_AT_ONCE = (
    "hand on all that later pieces need of earlier ones, let positions and masks begin where the "
    "piece before ended, and look for what depends on a piece's length"
)
_ITS_OWN = "return what belongs to the piece that came, and nothing of those before it"
_UNCHANGED = (
    "make a new one, with torch.cat for example: no .append, no += and no writing into what was "
    "given"
)


class Incremental(Kind):
    """Inputs given piece by piece along `dim`, with a state that is handed on, give the same.

    Pieces are of one item and of several. A state that was given is of use again, if not `once`.
    """

    compares: ClassVar[bool] = True

    kind: Literal["incremental"]
    dim: str = Field(description="along which the inputs are cut")
    state: str = Field(description="the output that the next call gets behind its inputs")
    once: bool = Field(
        default=False, description="whether a state is given once alone, and may be used up"
    )

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """The state has to be an output; an input and another output have to have the dim."""
        if self.state not in target.outputs:
            return f"'{self.state}' is no output"
        for what, axes in (("input", _inputs(target, self.dim)), ("output", self._joined(target))):
            if max(axes) < 0:
                return f"no {what} has an axis '{self.dim}'"
        return ""

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case cut into single items, and into pieces of several lengths."""
        size, target = planner.main.dims[self.dim], planner.target
        other = replace(planner.main, slug=self.name, number=2)
        again = planner.inputs(other, Case(name=MAIN))
        half = size // 2
        # what a long piece sees of itself tells several mistakes apart
        several = {
            "single": (1,) * size,
            "uneven": (half, 1, size - half - 1),
            "long": (1, size - 1),
        }
        cuts = {name: tuple(n for n in lengths if n) for name, lengths in several.items()}
        for name, lengths in cuts.items():
            for twice in (False,) if self.once else (False, True):
                pieces = Pieces(
                    lengths,
                    _inputs(target, self.dim),
                    self._joined(target),
                    list(target.outputs).index(self.state),
                    twice,
                )
                part = f"{name}-{_TWICE}" if twice else name
                planner.add(
                    planner.derived(self.name, Action.PIECES, part=part, again=again, pieces=pieces)
                )

    def judge(self, evidence: Evidence) -> Judgement:
        """Hold what pieces give against what the submission gives at once."""
        main, calls = evidence.first_call, evidence.calls_of(self.name)
        answers = answers_of(evidence, [main, *calls])
        if answers[main.id].status is not AnswerStatus.OK:
            return explain_status(evidence, answers[main.id], evidence.case(main))
        for call in sorted(calls, key=_is_twice):
            case = evidence.case(call)
            said = (
                f"`{self.state}` that was given is changed by the call, or what is kept beside it"
            )
            step = _UNCHANGED
            if not _is_twice(call):
                said = (
                    f"given piece by piece along {self.dim}, it gives something else than at once"
                )
                step = _AT_ONCE
            if answers[call.id].status is not AnswerStatus.OK:
                outcome = explain_status(evidence, answers[call.id], case)
                detail = (
                    f"{outcome.message}: {outcome.detail}" if outcome.detail else outcome.message
                )
                known = outcome.next_step not in ("", *NO_IDEA)  # why this very error came
                told = outcome.next_step if known else step
                return replace(outcome, message=said, detail=detail, next_step=told)
            wrong, other = self._difference(evidence, main, call)
            if wrong:
                return Judgement(Status.FAILED, said, wrong, other or step, case=case)
        return PASSED

    def _difference(self, evidence: Evidence, main: Call, call: Call) -> tuple[str, str]:
        """Say how the joined outputs differ from those at once, "" where they do not.

        With it comes what to do about it, where that is known.
        """
        # wide on purpose: precision is another check's business
        tolerance = evidence.course.tolerances.float32
        answers = answers_of(evidence, [main, call])
        whole, came = (outputs_of(answers[one.id]) for one in (main, call))
        for name, axis in zip(evidence.target.outputs, self._joined(evidence.target), strict=True):
            if axis < 0:
                continue
            if name not in came or name not in whole:
                return f"`{name}` is missing", ""
            due, seen = (some[name].shape[axis : axis + 1] for some in (whole, came))
            if seen > due:
                many = f"has {seen[0]} places along {self.dim} in all, where {due[0]} were given"
                return f"`{name}` {many}", _ITS_OWN
            if difference := find_difference(came[name], whole[name], tolerance, _WORDS):
                return f"`{name}`: {difference.message}", ""
        return "", ""

    def _joined(self, target: Target) -> list[int]:
        """Return the axis along which each output's pieces are joined, -1 where none is."""
        found = [spec.axis_of(self.dim) for spec in target.output_specs.values()]
        return [
            -1 if axis is None or name == self.state else axis
            for name, axis in zip(target.outputs, found, strict=True)
        ]


def _inputs(target: Target, dim: str) -> list[int]:
    """Return the axis along which each input is cut, -1 where it is given whole."""
    specs = target.input_specs.values()
    axes = [spec.axis_of(dim) if isinstance(spec, TensorSpec) else None for spec in specs]
    return [-1 if axis is None else axis for axis in axes]


def _is_twice(call: Call) -> bool:
    return CallId.parse(call.id).part.endswith(_TWICE)
