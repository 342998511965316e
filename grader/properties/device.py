"""Tensors on the input's device."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from grader.compare.arrays import exactly_equal, find_difference
from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import describe_place, explain_status, place_of
from grader.course.limits import Tolerance
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind, answers_of, needs_tensor, outputs_of
from grader.records.answers import AnswerStatus
from grader.records.calls import Array
from grader.records.results import Status
from grader.records.text import clean
from grader.worker.protocol import Action, Cause


class Device(Kind):
    """No tensor is made on a device of the code's own choosing."""

    claim: ClassVar[bool] = True

    kind: Literal["device"]

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """There has to be an input that has a device."""
        return needs_tensor(target)

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case on a pretended device."""
        planner.add(planner.derived(self.name, Action.DEVICE))

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        homes = evidence.words.homes
        main, call = evidence.first_call, evidence.call_of(self.name)
        answers = answers_of(evidence, [main, call])
        before, answer = answers[main.id], answers[call.id]
        if answer.error is not None and answer.error.cause is Cause.DEVICE:
            if hidden := [one for one in before.info.loose if one.what in homes]:
                path = clean(hidden[0].path, 80)
                return Judgement(
                    Status.FAILED,
                    f"`{path}` stays on the CPU when the module moves to a GPU, for torch does not "
                    "see what it holds",
                    next_step=f"keep it in {homes[hidden[0].what]}",
                )
            place = describe_place(evidence, answer.error)
            return Judgement(
                Status.FAILED,
                "a tensor is made on a fixed device, so the code fails on a GPU",
                f"{clean(answer.error.message, 200)}{f' at {place}' if place else ''}",
                "make new tensors with device=x.device, and keep tables as buffers",
                place=place_of(evidence, answer.error),
            )
        if answer.status is AnswerStatus.OK:
            tolerance = evidence.course.tolerances.float32
            return _compare(outputs_of(before), outputs_of(answer), tolerance)
        outcome = explain_status(evidence, answer, evidence.case(call))
        if before.status is not AnswerStatus.OK:
            return outcome  # it has nothing to do with devices
        return replace(outcome, message=f"on a GPU, {outcome.message}")


def _compare(before: Mapping[str, Array], came: Mapping[str, Array], wide: Tolerance) -> Judgement:
    """Compare with the outputs on the CPU: an early return there is no answer.

    Both ran on the same numbers with the same seed. The tolerance is wide, for precision is another
    check's business.
    """
    for name, array in before.items():
        other = came.get(name)
        if other is None or not (
            exactly_equal(other, array) or find_difference(other, array, wide) is None
        ):
            return Judgement(
                Status.FAILED,
                "on a GPU, the code gives another output than on the CPU",
                next_step="compute the same on every device: make new tensors with device=x.device",
            )
    return PASSED
