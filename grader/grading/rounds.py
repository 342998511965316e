"""Running and comparing take turns: the rounds of calls that an exercise of a submission gets.

1. first: every call, in float64
2. ordered: all once more, where the rows of a fused layer are found to lie in another order
3. float32: the calls of the targets that raise in float64, for they may insist on float32
   here the answers are judged; then, for what failed,
4. the smallest input that breaks a property, which `shrink` looks for
5. recorded: one call, with every tensor that it makes, for the first step that went wrong

What a round runs follows from what was compared before it. All rounds share one limit of time.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from grader.compare.retry import agrees, calls_to_mix, calls_to_retry
from grader.course.models import Course
from grader.execute.launch import WarmProcess
from grader.execute.session import Collected, Job, SharedChild, collect
from grader.records.answers import Answer
from grader.records.calls import Call
from grader.records.key import AnswerKey
from grader.worker.protocol import Action, Earlier


@dataclass
class Rounds:
    """The rounds of one exercise; `answers` and the rest are there once `run` has been called."""

    course: Course
    key: AnswerKey
    warm: WarmProcess
    jobs: dict[Earlier, Job]  # by what imports of earlier exercises find; a child each
    end: float = 0.0  # when all is over, in time.monotonic's seconds
    firsts: dict[Earlier, Collected] = field(default_factory=dict)
    answers32: dict[str, Answer] = field(default_factory=dict)

    @property
    def answers(self) -> Mapping[str, Answer]:
        """What came in float64, by call."""
        return {k: a for first in self.firsts.values() for k, a in first.answers.items()}

    @property
    def output(self) -> bytes:
        """What the submission printed."""
        return b"".join(first.output for first in self.firsts.values())

    def run(self, kept: SharedChild | None) -> None:
        """Run every round that comes before judging; `kept` is as in `grading.exercise`."""
        self._run_first(kept)
        for kind in self.jobs:
            self._run_ordered(kind)
            self._run_float32(kind)

    def record(self, call: Call) -> Answer:
        """Make a call once more and return every tensor that it made."""
        recording = replace(call, action=Action.RECORD, watch=False)
        return self._collect(call.earlier, [recording]).answers[call.id]

    def _run_first(self, kept: SharedChild | None) -> None:
        begun = time.monotonic()
        limits, payload = self.course.limits, self.key.payload
        if kept is not None:
            for kind, job in self.jobs.items():
                found = kept.collect(job, self._calls(kind), payload, limits)
                if found is not None:
                    self.firsts[kind] = found
        if not self.firsts:
            begun = time.monotonic()  # time spent on a try of no use does not count
        self.end = begun + limits.submission_seconds
        for kind in self.jobs:
            if kind not in self.firsts:
                self.firsts[kind] = self._collect(kind, self._calls(kind), kept=kept)

    def _run_ordered(self, kind: Earlier) -> None:
        """Look for the order of a fused layer's rows in which all values are right."""
        first = self.firsts[kind].answers
        calls = calls_to_mix(self.key, first, self.course.tolerances)
        usual = self.jobs[kind]
        for mixing in range(1, 1 + max((first[call.id].info.mixes for call in calls), default=0)):
            self.jobs[kind] = replace(usual, mixing=mixing)
            tried = self._collect(kind, calls).answers
            if all(agrees(call, self.key, tried, self.course.tolerances) for call in calls):
                self.firsts[kind] = self._collect(kind, self._calls(kind))
                return
        self.jobs[kind] = usual

    def _run_float32(self, kind: Earlier) -> None:
        retried = calls_to_retry(self.key, self.firsts[kind].answers)
        again = [call for call in retried if call.earlier == kind]
        if again:
            self.answers32 |= self._collect(kind, again, "float32").answers

    def _calls(self, kind: Earlier) -> list[Call]:
        return [call for call in self.key.plan.calls if call.earlier == kind]

    def _collect(
        self,
        kind: Earlier,
        calls: list[Call],
        dtype: str = "float64",
        *,
        kept: SharedChild | None = None,
    ) -> Collected:
        return collect(
            self.warm,
            self.jobs[kind],
            calls,
            self.key.payload,
            self.course.limits,
            dtype,
            end=self.end,
            kept=kept,
        )
