"""Running and comparing take turns: the rounds of calls that an exercise of a submission gets.

1. first: every call, in float64
2. arranged: all of a target once more, where its parameters are found to be meant in other roles
3. float32: the calls of the targets that raise in float64, for they may insist on float32
   here the answers are judged; then, for what failed,
4. the smallest input that breaks a property, which `shrink` looks for
5. recorded: one call, with every tensor that it makes, for the first step that went wrong

What a round runs follows from what was compared before it. All rounds share one limit of time.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import safetensors.numpy

from grader.compare.diagnosis import known_by_values
from grader.compare.retry import agrees, calls_to_retry, plain_calls
from grader.course.models import Course
from grader.execute.launch import WarmProcess
from grader.execute.session import Collected, Job, SharedChild, collect
from grader.grading.arrangements import Arrangement, arrangements_of, settled
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, Call
from grader.records.key import AnswerKey
from grader.worker.protocol import Action, Earlier, Scalar


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
    # by target and case, where it is unusual
    arranged: dict[str, dict[str, Arrangement]] = field(default_factory=dict)

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
            self._run_arranged(kind)
            self._run_float32(kind)

    def record(self, calls: Sequence[Call]) -> dict[str, Answer]:
        """Make calls of one target once more and return every tensor that they made."""
        if not calls:
            return {}
        recording = [replace(call, action=Action.RECORD, watch=False) for call in calls]
        return self._run_in(calls[0].earlier, recording)

    def try_options(
        self, call: Call, options: Mapping[str, Sequence[Mapping[str, Scalar]]]
    ) -> dict[str, list[Answer]]:
        """Make a call once more with each of some sets of options, its parameters as they are.

        An option that is heard makes a difference, if only that the parameters no longer fit.
        """
        calls = {
            name: [
                replace(
                    call,
                    id=f"{call.id}~{name}~{number}",
                    options={**call.options, **some},
                    watch=False,
                )
                for number, some in enumerate(sets)
            ]
            for name, sets in options.items()
        }
        every = [one for some in calls.values() for one in some]
        answers = self._run_in(call.earlier, every) if every else {}
        return {name: [answers[one.id] for one in some] for name, some in calls.items()}

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

    def _run_arranged(self, kind: Earlier) -> None:
        """Look for the roles of parameters, guessed at first, in which all values are right."""
        for target in dict.fromkeys(call.target for call in self._calls(kind)):
            calls = plain_calls(self.key, target)
            if not calls or calls[0].earlier != kind or not calls[0].roles:
                continue
            right = self._agree(calls, self.answers)
            way = None if right else self._find_arrangement(kind, calls)
            bound = {c.case: self.answers[c.id].info.bound for c in self._forward(kind, target)}
            self.arranged[target] = settled(way or Arrangement({}), calls[0].case, bound)
            own = [call for call in self._calls(kind) if call.target == target]
            if changed := [call for call in own if self._way(call) != Arrangement({})]:
                self.firsts[kind].answers |= self._run_in(kind, changed)

    def _find_arrangement(self, kind: Earlier, calls: Sequence[Call]) -> Arrangement | None:
        """Return the first way in which some calls have right values, or those of a known bug."""
        first, answers = calls[0], self.answers
        if any(answers[call.id].status is not AnswerStatus.OK for call in calls):
            return None
        ways = arrangements_of(first, answers[first.id].info.bound)
        tried = self._try(kind, first, ways)
        for agree in (self._agree, self._known):
            if agree(calls, answers):
                return None  # as they are
            for way, answer in zip(ways, tried, strict=True):
                if agree([first], {first.id: answer}) and agree(
                    calls, self._run_in(kind, calls, way=way)
                ):
                    return way
        return None

    def _try(self, kind: Earlier, call: Call, ways: Sequence[Arrangement]) -> list[Answer]:
        """Return what a call comes to in each of some ways; all are tried in one round."""
        tensors: dict[str, Array] = {}
        calls = []
        for number, way in enumerate(ways):
            changed, added = way.arranged(call, self.key.plan.tensors)
            tried = replace(changed, id=f"{call.id}~{number}", watch=False)
            renamed = {key: f"{key}~{number}" for key in added}
            keys = {role: renamed.get(key, key) for role, key in tried.parameters.items()}
            tensors |= {renamed[key]: value for key, value in added.items()}
            calls.append(replace(tried, parameters=keys))
        answers = self._collect(kind, calls, tensors=tensors).answers if calls else {}
        return [answers[one.id] for one in calls]

    def _way(self, call: Call) -> Arrangement:
        """The roles that a call's parameters are found to play."""
        ways = self.arranged.get(call.target, {})
        return ways.get(call.case, ways.get("", Arrangement({})))

    def _forward(self, kind: Earlier, target: str) -> list[Call]:
        calls = [call for call in self._calls(kind) if call.target == target]
        return [call for call in calls if call.action is Action.FORWARD]

    def _run_in(
        self,
        kind: Earlier,
        calls: Sequence[Call],
        dtype: str = "float64",
        *,
        way: Arrangement | None = None,
    ) -> dict[str, Answer]:
        """Make calls with parameters in other roles, and return the answers by the real roles."""
        ways = [way or self._way(call) for call in calls]
        tensors_of = self.key.plan.tensors
        pairs = [one.arranged(call, tensors_of) for one, call in zip(ways, calls, strict=True)]
        tensors = {key: value for _, added in pairs for key, value in added.items()}
        answers = self._collect(kind, [c for c, _ in pairs], dtype, tensors=tensors).answers
        return {
            call.id: one.restored(call, answers[call.id])
            for one, call in zip(ways, calls, strict=True)
        }

    def _known(self, calls: Sequence[Call], answers: Mapping[str, Answer]) -> bool:
        return known_by_values(self.key, calls[0].target, calls, answers)

    def _agree(self, calls: Sequence[Call], answers: Mapping[str, Answer]) -> bool:
        return all(agrees(c, self.key, answers, self.course.tolerances) for c in calls)

    def _run_float32(self, kind: Earlier) -> None:
        retried = calls_to_retry(self.key, self.firsts[kind].answers)
        again = [call for call in retried if call.earlier == kind]
        if again:
            self.answers32 |= self._run_in(kind, again, "float32")

    def _calls(self, kind: Earlier) -> list[Call]:
        return [call for call in self.key.plan.calls if call.earlier == kind]

    def _collect(
        self,
        kind: Earlier,
        calls: list[Call],
        dtype: str = "float64",
        *,
        tensors: Mapping[str, Array] | None = None,
        kept: SharedChild | None = None,
    ) -> Collected:
        """Make calls; `tensors` are those that they name beside the plan's."""
        payload = self.key.payload
        if tensors:
            payload = safetensors.numpy.save({**self.key.plan.tensors, **tensors})
        return collect(
            self.warm,
            self.jobs[kind],
            calls,
            payload,
            self.course.limits,
            dtype,
            end=self.end,
            kept=kept,
        )
