"""What every kind of property is made of."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Literal, cast

import numpy as np
from pydantic import Field

from grader.compare.evidence import Evidence, Judgement
from grader.compare.outcomes import judge_call
from grader.course.models import Course, Exercise, Property, Target
from grader.plan.planner import TargetPlanner
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, Call
from grader.worker.names import Drew, Group, of_group
from grader.worker.protocol import Action, Earlier, TargetKind

STILL = 1e-9  # variance of an output that does not vary
_NONE_ACTS = "no dropout acts where one is asked for"  # a deviation, beside wrong values
StandIns = Literal["stand-ins"] | None
EARLIER = Field(
    default=None,
    description="stand-ins: a factory of the submission's own earlier exercises gets correct "
    "ones here, with the reference's parameters in them, so that its values can be compared",
)


class Kind(Property):
    """A property with its calls and its judgement."""

    weight: float = Field(
        default=1, gt=0, description="how much of the target's property points it has, beside 1"
    )

    def plan(self, planner: TargetPlanner) -> None:
        """Add its calls; none where the answers of the numeric cases are judged."""

    @abstractmethod
    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission, regardless of the target's values.

        A property that holds earns its points only where the values are right too: a constant is
        equivariant as well.
        """

    def deviation(self, evidence: Evidence) -> str:
        """Say in a few words why it fails on a submission, where that touches nothing else.

        "" where its own sentence says it best.
        """
        return ""


def has_right_values(evidence: Evidence) -> bool:
    """Whether the first outputs that can be compared are right."""
    return judge_call(evidence, evidence.bound_call, Group.OUTPUT).passed


def acts(tensors: Mapping[str, Array]) -> bool:
    """Whether some number of an output varies from mask to mask."""
    spread = of_group(tensors, Group.SECOND).values()
    return any(float(np.nan_to_num(one).max(initial=0.0)) >= STILL for one in spread)


def draws_nothing(answer: Answer) -> bool:
    """Whether nothing is drawn, nor varies: what is drawn may not reach an output that is wrong."""
    return not acts(answer.tensors) and answer.info.drew is Drew.NOTHING


def none_acts(evidence: Evidence, call: Call) -> str:
    """Say that no dropout acts in training mode: in which case, unless it does in none."""
    trained = [one for one in evidence.calls if one.action is Action.TRAIN]
    due = [one for one in trained if acts(evidence.key.answers[one.id].tensors)]
    idle = [draws_nothing(one) for one in answers_of(evidence, due).values()]
    return _NONE_ACTS if all(idle) else f"{_NONE_ACTS}, in the case '{evidence.case(call).name}'"


def kinds_of(course: Course, exercise: Exercise, target: Target) -> list[Kind]:
    """Return a target's properties, of which each is of some kind."""
    return cast(list[Kind], course.properties(exercise, target))


def needs_factory(earlier: StandIns, target: Target) -> str:
    """Say so where `earlier` is given for what is no factory."""
    return "`earlier` is for factories" if earlier and target.kind is not TargetKind.FACTORY else ""


def needs_tensor(target: Target) -> str:
    """Say so where no input is a tensor."""
    return "" if target.has_tensors else "no input is a tensor"


def needs_parameters(target: Target) -> str:
    """Say so where there are no parameters."""
    return "a function has no parameters" if target.kind is TargetKind.FUNCTION else ""


def asked_of(earlier: StandIns) -> Earlier | None:
    """Return what a call's imports of earlier exercises find, None for what the target says."""
    return Earlier(earlier) if earlier else None


def answers_of(evidence: Evidence, calls: Sequence[Call]) -> dict[str, Answer]:
    """Return the float64 answers, or those in float32 where float64 is refused from the first."""
    answers = {call.id: evidence.answers[call.id] for call in calls}
    if evidence.answers[evidence.first_call.id].status is AnswerStatus.RAISED:
        return {call.id: evidence.answers32.get(call.id, answers[call.id]) for call in calls}
    return answers


def changed(array: Array) -> Array:
    """Return other numbers than these, whatever they are: whole ones from the same range."""
    if array.dtype.kind == "f":
        return np.asarray(np.arange(array.size).reshape(array.shape) % 3 + 1 - 2 * array)
    return array.max(initial=0) - array if array.dtype.kind in "iu" else array


def outputs_of(answer: Answer) -> dict[str, Array]:
    """Return the outputs of an answer by their names."""
    return of_group(answer.tensors, Group.OUTPUT)
