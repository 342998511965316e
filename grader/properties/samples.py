"""Draws that follow given probabilities."""

from math import log
from typing import ClassVar, Literal

import numpy as np
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
from grader.worker.protocol import SAMPLE_FEW, SAMPLE_MANY, Action

_ALARM = 1e-10  # how often right draws of one call are taken for wrong ones, at most
_STEP = "draw each number anew with torch.multinomial from the probabilities of its own row"
_SOURCE = "hand the generator on to torch.multinomial, and seed nothing yourself"


class Samples(Kind):
    """What is drawn follows given probabilities, with a generator that is given and with torch's.

    Every count of draws is held against its binomial distribution by Chernoff's bound, which
    holds for any number of draws. Right draws fail less than once in 10^9 times, and the same
    code gets the same verdict every time.
    """

    by_values: ClassVar[bool] = True

    kind: Literal["samples"]
    case: Case = Field(description="on which is drawn")
    chances: str = Field(
        description="a function in `solutions/drawing.py`: called as the target is, it returns how "
        "probable each draw is, (rows, v) where a row ends in one drawn number below v, "
        "(rows, v, v) where it ends in two"
    )
    generator: str = Field(
        default="", description="the argument by which a `torch.Generator` is given, if any"
    )
    draws: int = Field(default=4000, gt=0, description="copies of the inputs that are drawn for")

    def misfit(self, exercise: Exercise, target: Target) -> str:
        """Whole numbers have to come back, for inputs that can be repeated."""
        if [spec.kind for spec in target.output_specs.values()] != ["int"]:
            return "it does not return one tensor of whole numbers"
        return needs_tensor(target)

    def plan(self, planner: TargetPlanner) -> None:
        """Add a call with torch's own generator, and one with another, where it takes one."""
        drawn = planner.draw_cases(self.case, self.name, numeric=False)[0]
        for part, name in {"own": "", "given": self.generator}.items():
            if name or part == "own":
                planner.add(
                    planner.call(
                        drawn,
                        self.case,
                        self.name,
                        Action.SAMPLE,
                        part=part,
                        repeats=self.draws,
                        chances=self.chances,
                        generator=name,
                    )
                )

    def judge(self, evidence: Evidence) -> Judgement:
        """Judge it on the answers of a submission."""
        for call in evidence.calls_of(self.name):
            answer = answers_of(evidence, [call])[call.id]
            if answer.status is not AnswerStatus.OK:
                return unanswered(evidence, call, answer)
            key = evidence.key.answers[call.id].tensors
            chances = key[tensor_name(Group.CHANCES)]
            runs, due = of_group(answer.tensors, Group.DRAWN), of_group(key, Group.DRAWN)
            wrong, step = _misdrawn(runs, due, chances), _STEP
            if not wrong and _differs(chances):
                wrong, step = _misled(runs, self.generator if call.generator else ""), _SOURCE
            if wrong:
                return Judgement(Status.FAILED, wrong, next_step=step, case=evidence.case(call))
        return PASSED


def _misdrawn(runs: dict[str, Array], due: dict[str, Array], chances: Array) -> str:
    """Say what is wrong with the numbers that were drawn, "" where nothing is."""
    for run, reference in due.items():
        came = runs.get(run)
        if came is None or came.shape != reference.shape or came.dtype.kind not in "iu":
            return "what is drawn for several rows has another shape or dtype than is due"
    rows, sizes = len(chances), chances.shape[1:]
    draws = runs[SAMPLE_MANY].reshape(-1, rows, due[SAMPLE_MANY][0].size)[..., -len(sizes) :]
    if ((draws < 0) | (draws >= sizes)).any():
        return "a number is drawn that there is none of"
    for row, expected in enumerate(chances):
        places = np.ravel_multi_index(tuple(draws[:, row].T), sizes)
        counts = np.bincount(places, minlength=expected.size)
        excess = _information(counts, expected.ravel()) - log(2 * chances.size / _ALARM)
        worst = int(excess.argmax())
        if excess[worst] > 0:
            numbers = [int(n) for n in np.unravel_index(worst, sizes)]
            what = str(numbers[0]) if len(numbers) == 1 else " ".join(map(str, numbers))
            about = f"{expected.ravel()[worst] * len(draws):.0f}"
            times = f"{counts[worst]} times in {len(draws)}, where about {about} are due"
            return f"the draws do not follow the probabilities: {what} came {times}"
    return ""


def _information(counts: Array, chances: Array) -> Array:
    """Return n times the divergence of the shares that came from the due ones.

    By Chernoff's bound a count is as far as this, on either side, with a probability of at most
    exp(-this).
    """
    total = int(counts.sum())
    came, due = np.stack([counts, total - counts]), np.stack([chances, 1 - chances]) * total
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(came > 0, came * np.log(came / np.maximum(due, 0)), 0.0)
    return np.asarray(parts.sum(axis=0))


def _differs(chances: Array) -> bool:
    """Whether two runs of a few copies are as good as never the same by chance."""
    same = np.square(chances.reshape(len(chances), -1)).sum(axis=1)
    return bool(SAMPLE_FEW * np.log(same).sum() < log(_ALARM))


def _misled(runs: dict[str, Array], generator: str) -> str:
    """Say where draws do not come of the source that they should, "" where they do."""
    first, own, given = (runs[run] for run in ("few", "own-moved", "given-moved"))
    if generator and not np.array_equal(first, own):
        return f"`{generator}` is not what draws: the same one gives other draws the next time"
    if generator and np.array_equal(first, given):
        return f"two different generators as `{generator}` give the same draws"
    if not generator and np.array_equal(first, own):
        return "the draws are always the same, whatever torch's seed is"
    return ""
