"""Tensors on the input's device."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import Field

from grader.compare.arrays import exactly_equal, find_difference
from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.explain import describe_place, explain_status, place_of
from grader.course.cases import Case
from grader.course.expressions import TensorSpec
from grader.course.limits import Tolerance
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind, answers_of, needs_tensor, outputs_of
from grader.records.answers import Answer, AnswerStatus, StudentError
from grader.records.calls import Array, Call
from grader.records.results import Status
from grader.records.text import clean
from grader.worker.protocol import Action, Cause, TargetKind


class Device(Kind):
    """No tensor is made on a device of the code's own choosing."""

    claim: ClassVar[bool] = True

    kind: Literal["device"]
    argument: str = Field(
        default="",
        description="the argument by which a function is told the device, where no input has one",
    )
    case: Case | None = Field(
        default=None, description="on which it is judged, too, beside the first main case"
    )

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """There has to be an input that has a device, or an argument of a function."""
        if not self.argument:
            return needs_tensor(target)
        return "" if target.kind is TargetKind.FUNCTION else "`argument` is for functions"

    def plan(self, planner: TargetPlanner) -> None:
        """Add the first main case on a pretended device, and another case here and there."""
        device = self.argument
        planner.add(planner.derived(self.name, Action.DEVICE, device=device))
        if self.case is not None:
            drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
            for part, action in (("cpu", Action.FORWARD), ("gpu", Action.DEVICE)):
                call = planner.call(drawn, self.case, self.name, action, part=part, device=device)
                planner.add(call)

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        main, *own = evidence.calls_of(self.name)
        found = self._judge_call(evidence, evidence.first_call, main)
        return self._judge_call(evidence, *own) if own and found == PASSED else found

    def _judge_call(self, evidence: Evidence, here: Call, there: Call) -> Judgement:
        """Judge a call on the pretended device by the same call on the CPU."""
        answers = answers_of(evidence, [here, there])
        before, answer = answers[here.id], answers[there.id]
        if answer.error is not None and answer.error.cause is Cause.DEVICE:
            if before.status is not AnswerStatus.OK:  # which comes first, and may be why
                return explain_status(evidence, before, evidence.case(here))
            found = self._explain_mix(evidence, before, answer.error)
            return replace(found, case=evidence.case(there) if self.case else None)
        if answer.status is AnswerStatus.OK:
            tolerance = evidence.course.tolerances.float32
            step = self._step(evidence)
            return self._compare(outputs_of(before), outputs_of(answer), tolerance, step)
        outcome = explain_status(evidence, answer, evidence.case(there))
        if before.status is not AnswerStatus.OK:
            return outcome  # it has nothing to do with devices
        where = f"given `{self.argument}`" if self.argument else "on a GPU"
        return replace(outcome, message=f"{where}, {outcome.message}")

    def _explain_mix(self, evidence: Evidence, before: Answer, error: StudentError) -> Judgement:
        """Say what stayed on the CPU."""
        homes = evidence.words.homes
        if hidden := [one for one in before.info.loose if one.what in homes]:
            path = clean(hidden[0].path, 80)
            return Judgement(
                Status.FAILED,
                f"`{path}` stays on the CPU when the module moves to a GPU, for torch does not "
                "see what it holds",
                next_step=f"keep it in {homes[hidden[0].what]}",
            )
        place = describe_place(evidence, error)
        return Judgement(
            Status.FAILED,
            "a tensor is not made on the input's device, so the code can fail on a GPU",
            f"{clean(error.message, 200)}{f' at {place}' if place else ''}",
            f"{self._step(evidence)}{'' if self.argument else ', and keep tables as buffers'}",
            place=place_of(evidence, error),
        )

    def _step(self, evidence: Evidence) -> str:
        """What to do where a tensor is not made on the input's device."""
        specs = evidence.target.input_specs.items()
        first = next((name for name, spec in specs if isinstance(spec, TensorSpec)), "x")
        named = self.argument
        return f"make new tensors with {f'{named}={named}' if named else f'device={first}.device'}"

    def _compare(
        self, before: Mapping[str, Array], came: Mapping[str, Array], wide: Tolerance, step: str
    ) -> Judgement:
        """Compare with the outputs on the CPU: an early return there is no answer.

        Both ran on the same numbers with the same seed. The tolerance is wide, for precision is
        another check's business.
        """
        for name, array in before.items():
            other = came.get(name)
            if other is None or not (
                exactly_equal(other, array) or find_difference(other, array, wide) is None
            ):
                return Judgement(
                    Status.FAILED,
                    "on a GPU, the code gives another output than on the CPU",
                    next_step=f"compute the same on every device: {step}",
                )
        return PASSED
