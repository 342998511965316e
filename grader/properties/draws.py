"""What the kinds that draw have in common."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.compare.outcomes import unanswered
from grader.course.cases import Case
from grader.course.models import Exercise, Target
from grader.plan.planner import TargetPlanner
from grader.properties.base import Kind, answers_of, needs_tensor
from grader.records.answers import AnswerStatus
from grader.records.calls import Array
from grader.records.results import Status
from grader.worker.names import Group, of_group, tensor_name
from grader.worker.protocol import Action

ALARM = 1e-10  # how often right draws of one call are taken for wrong ones, at most

Runs = Mapping[str, Array]  # what was drawn, by run


class Draws(Kind):
    """What both kinds of draws have: a case, and how probable each draw is."""

    by_values: ClassVar[bool] = True
    claim: ClassVar[bool] = True

    case: Case = Field(description="on which is drawn")
    chances: str = Field(
        description="a function in `solutions/drawing.py`: called as the target is, it returns how "
        "probable each draw is, (rows, v) where a row ends in one drawn number below v, "
        "(rows, v, v) where it ends in two"
    )
    generator: str = Field(
        default="", description="the argument by which a `torch.Generator` is given, if any"
    )

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """Whole numbers have to come back, for inputs that can be repeated."""
        if [spec.kind for spec in target.output_specs.values()] != ["int"]:
            return "it does not return one tensor of whole numbers"
        return needs_tensor(target)

    def add(self, planner: TargetPlanner, generators: Mapping[str, str], copies: int) -> None:
        """Add a call for each argument that gives a generator, by part; "" is torch's own."""
        drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        for part, generator in generators.items():
            planner.add(
                planner.call(
                    drawn,
                    self.case,
                    self.name,
                    Action.SAMPLE,
                    part=part,
                    repeats=copies,
                    chances=self.chances,
                    generator=generator,
                )
            )

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        calls = evidence.calls_of(self.name)
        heard = [call for call in calls if call.generator not in evidence.unknown_options]
        for call in heard or calls:
            answer = answers_of(evidence, [call])[call.id]
            if answer.status is not AnswerStatus.OK:
                found = unanswered(evidence, call, answer)
                alone = evidence.answers[evidence.first_call.id].status is AnswerStatus.OK
                if not alone or found.status is not Status.FAILED:
                    return found
                several = f"with its inputs several times in one batch, {found.message}"
                case = evidence.case(call)
                shown = replace(case, name=f"{case.name}, {call.repeats} times in one batch")
                return replace(found, message=several, case=shown)  # alone they raise nothing
            key = evidence.key.answers[call.id].tensors
            due, chances = of_group(key, Group.DRAWN), key[tensor_name(Group.CHANCES)]
            runs = of_group(answer.tensors, Group.DRAWN)
            wrong, step = self.wrong(runs, due, chances)
            if wrong:
                return Judgement(Status.FAILED, wrong, next_step=step, case=evidence.case(call))
            if self.is_hidden(runs, chances):
                return Judgement(Status.SKIPPED, "counts once equal rows get draws of their own")
        return PASSED

    def is_hidden(self, runs: Runs, chances: Array) -> bool:
        """Whether what was drawn cannot show whether it holds."""
        return False

    @abstractmethod
    def wrong(self, runs: Runs, due: Runs, chances: Array) -> tuple[str, str]:
        """Say what is wrong with the numbers that were drawn, "" where nothing is; next step."""


def are_alike(run: Array, rows: int) -> bool:
    """Whether all copies of some rows drew the same in a run."""
    copies = run.reshape(-1, rows, *run.shape[1:])
    return bool((copies == copies[:1]).all())


def unlike(runs: Runs, due: Runs) -> str:
    """Say where what was drawn has another form than is due, "" where nothing has."""
    for run, reference in due.items():
        came = runs.get(run)
        if came is None or came.shape != reference.shape or came.dtype.kind not in "iu":
            return "what is drawn has another shape or dtype than is due"
    return ""
