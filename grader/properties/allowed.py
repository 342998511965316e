"""Names that the exercise forbids."""

from typing import ClassVar, Literal

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.course.models import Exercise, Target
from grader.properties.base import Kind
from grader.records.results import Status
from grader.worker.protocol import THREAD


class Allowed(Kind):
    """None of the forbidden names is used; advice, for it can be evaded."""

    claim: ClassVar[bool] = True
    for_a_person: ClassVar[bool] = True

    kind: Literal["allowed"]

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """The exercise, or the target, has to forbid something."""
        return "" if exercise.forbidden_for(target) else "nothing is forbidden"

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        called = evidence.answers[evidence.first_call.id].info
        seen = [*called.forbidden, *called.modules]
        own = evidence.forbidden
        forbidden = evidence.exercise.forbidden_for(evidence.target)
        if own:
            where, name = f"{own[0].label}, line {own[0].line}", own[0].name
        elif named := [name for name in seen if name in forbidden]:
            where, name = "it, or what stands behind it, is called when the code runs", named[0]
        elif THREAD in seen:
            return Judgement(
                Status.FAILED,
                "the code starts a thread, and what a thread calls cannot be watched",
                next_step="compute in the function itself, without threads",
            )
        else:
            return PASSED
        return Judgement(
            Status.FAILED,
            f"`{name}` does what this exercise asks you to write ({where})",
            next_step="write the steps with basic tensor operations",
        )
