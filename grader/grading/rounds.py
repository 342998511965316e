"""Running and comparing take turns: the rounds of calls that an exercise of a submission gets.

1. first: every call, in float64
2. arranged: all of a target once more, where its parameters are found to be meant in other roles
3. float32: the calls of the targets that raise in float64, for they may insist on float32, these
   in other roles, too; and a call that is not float32 where all is
   here the answers are judged; then, for what failed,
4. the smallest input that breaks a property, which `shrink` looks for
5. options: an ordinary call with each option that may be unheard
6. recorded: two calls, with every tensor that they make, for the first step that went wrong

Trainings, which take long, come after the third where they are asked for. Each has its own time.

What a round runs follows from what was compared before it. All rounds share one limit of time.
Points are given for one answer a call: that of the first round; or, where other roles were found
and confirmed, that of a last one; or, where the first raised, that in float32.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

import safetensors.numpy

from grader.compare.retry import agrees, calls_to_retry, plain_calls, same_outputs, telling_calls
from grader.compare.signature import known_by_values
from grader.compare.steps import rank_steps
from grader.course.limits import Limits
from grader.course.models import Course
from grader.execute.clock import Clock, End
from grader.execute.launch import WarmProcess
from grader.execute.session import Collected, Job, SharedChild, collect
from grader.grading.arrangements import Arrangement, arrangements_of, kept_within, settled
from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import Array, Call
from grader.records.key import AnswerKey
from grader.worker.names import Group, compared
from grader.worker.protocol import Action, Earlier

_CONFIRMED = 3  # ways that are run once more, at most
_RECORDED = 40  # ways whose steps are looked at
Arranged = Mapping[str, Mapping[str, Arrangement]]  # by target and case, "" for all other cases
_Fit = Callable[[Sequence[Call], Mapping[str, Answer]], bool]


@dataclass(frozen=True)
class _Made:
    """What some calls came to at a precision."""

    kind: Earlier
    calls: list[Call]
    answers: dict[str, Answer]  # by call
    dtype: str = "float64"


@dataclass
class Rounds:
    """The rounds of one exercise; `answers` and the rest are there once `run` has been called."""

    course: Course
    limits: Limits  # of the exercise
    key: AnswerKey
    warm: WarmProcess
    jobs: dict[Earlier, Job]  # by what imports of earlier exercises find; a child each
    clock: Clock  # of the whole submission
    uses: Mapping[str, Sequence[str]]  # by target, those of the same file that its text names
    trains: bool = False  # whether trainings are run
    only: str = ""  # the one target whose calls are made; "" for all
    left: float = field(init=False, default=0.0)  # seconds that children may still run
    told: str = field(init=False, default="")  # the limit that is reached then
    firsts: dict[Earlier, Collected] = field(default_factory=dict)
    answers32: dict[str, Answer] = field(default_factory=dict)
    trained: dict[str, Answer] = field(default_factory=dict)
    arranged: dict[str, dict[str, Arrangement]] = field(default_factory=dict)
    _parts: set[str] = field(init=False, default_factory=set)  # targets whose ways a part tells
    # for what is run to explain and earns nothing; of no use once the exercise is graded
    kept: SharedChild = field(init=False, default_factory=SharedChild)
    _recorded: dict[str, Answer] = field(init=False, default_factory=dict)

    @property
    def answers(self) -> Mapping[str, Answer]:
        """What came in float64, by call."""
        quick = {k: a for first in self.firsts.values() for k, a in first.answers.items()}
        return {**quick, **self.trained}

    @property
    def output(self) -> bytes:
        """What the submission printed."""
        return b"".join(first.output for first in self.firsts.values())

    @property
    def end(self) -> End:
        """When all is over, if children run from now on."""
        return End(time.monotonic() + self.left, self.told)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time of children; what grader takes between them costs nobody anything."""
        begun = time.monotonic()
        try:
            with self.clock.running():
                yield
        finally:
            self.left -= time.monotonic() - begun

    def run(self, kept: SharedChild) -> None:
        """Run every round that comes before judging, the first in a kept child if it is of use."""
        self.kept = kept
        self._run_first(kept)
        for kind in self.jobs:
            first = _Made(kind, self._calls(kind), self.firsts[kind].answers)
            self._run_arranged(first)
            self._run_float32(first)
        for call in self.key.plan.trainings if self.trains else ():
            self._run_training(call)

    def record(self, calls: Sequence[Call]) -> dict[str, Answer]:
        """Make calls once more and return every tensor that they made; each is recorded once.

        Plain code does all in one child, in a kept one if it is of use; else a target has its own.
        """
        new = [call for call in calls if call.id not in self._recorded]
        recording = [replace(call, action=Action.RECORD, watch=False) for call in new]
        for kind, job in self.jobs.items():
            own = [call for call in recording if call.earlier == kind]
            targets = [""] if job.plain else list(dict.fromkeys(call.target for call in own))
            for target in targets if own else ():
                some = [call for call in own if target in ("", call.target)]
                kept = self.kept if job.plain else None
                self._recorded |= self._run_in(kind, some, kept=kept)
        return {call.id: self._recorded[call.id] for call in calls}

    def arrange_by_steps(self, call: Call, names: Sequence[str]) -> Mapping[str, Answer] | None:
        """Take a target's layers as most of the reference's steps come up in `call`.

        `names` are the steps, in order. Return all answers in that way, None where it is the way
        they are taken already. They tell what is wrong, and earn nothing.
        """
        ways = arrangements_of(call, self.answers[call.id].info.bound)[:_RECORDED]
        if not ways or call.target in self._parts or self._way(call) != Arrangement({}):
            return None
        steps = self.key.steps(call.id)
        usual = rank_steps(names, steps, self.record([call])[call.id])
        recording = replace(call, action=Action.RECORD)
        tried = [rank_steps(names, steps, a) for a in self._try(call.earlier, recording, ways)]
        most = max(tried)
        if most <= usual:
            return None
        made = _Made(call.earlier, self._calls(call.earlier), self.firsts[call.earlier].answers)
        self.arranged[call.target] = _settled(ways[tried.index(most)], call, made)
        self._recorded.clear()  # what was recorded in another way
        return {**self.answers, **self._run_in(made.kind, made.calls)}

    def make(self, calls: Sequence[Call]) -> Mapping[str, Answer]:
        """Make some more calls of one target, with its parameters as they are taken."""
        return self._run_in(calls[0].earlier, calls, kept=self.kept) if calls else {}

    def _run_first(self, kept: SharedChild) -> None:
        self._begin()
        for kind, job in self.jobs.items():
            payload = self.key.payloads[kind]
            with self.running():
                found = kept.collect(job, self._calls(kind), payload, self.limits, self.end)
            if found is not None:
                self.firsts[kind] = found
        if not self.firsts:
            self._begin()  # what a try of no use took is not the file's
        for kind in self.jobs:
            if kind not in self.firsts:
                self.firsts[kind] = self._collect(kind, self._calls(kind), kept=kept)

    def _run_training(self, call: Call) -> None:
        """Run a training in a child of its own, in float32 as one trains."""
        seconds = call.learning.seconds if call.learning else 0
        names = ("case_seconds", "target_seconds", "submission_seconds", "cpu_seconds")
        limits = self.limits.model_copy(update=dict.fromkeys(names, seconds))
        job, payload = self.jobs[call.earlier], self.key.payload
        self.kept.make_room()
        self.trained |= collect(self.warm, job, [call], payload, limits, "float32").answers

    def _begin(self) -> None:
        end = self.clock.end()
        self.left, self.told = end.at - time.monotonic(), end.told

    def _run_arranged(self, made: "_Made") -> None:
        """Look for the roles of parameters, guessed at first, in which all values are right."""
        for target in dict.fromkeys(call.target for call in made.calls):
            calls = telling_calls(self.key, target)
            if not calls or calls[0].id not in made.answers:
                continue
            if self._way(calls[0]) != Arrangement({}):
                continue  # found in float64
            way = self._way_of_part(made, calls[0])
            if way is None:
                way = self._find_arrangement(made, calls) or Arrangement({})
            else:
                self._parts.add(target)
            self.arranged[target] = _settled(way, calls[0], made)
            own = [call for call in made.calls if call.target == target]
            if changed := [call for call in own if self._way(call) != Arrangement({})]:
                again = self._run_in(made.kind, made.calls, made.dtype)
                made.answers.update({call.id: again[call.id] for call in changed})

    def _way_of_part(self, made: "_Made", first: Call) -> Arrangement | None:
        """Return the way in which a target that this one holds is right by itself.

        One part's rows do not lie in one order here and in another there. None where no such
        part is held, or it is not right.
        """
        answers = {**self.answers, **made.answers}
        for part in self.uses[first.target]:
            own = plain_calls(self.key, part)
            if own and self._agree(own, answers):
                bound = [answers[call.id].info.bound for call in (own[0], first)]
                way = kept_within(self._way(own[0]), *bound) if bound[0] else None
                if way is not None:
                    return way
        return None

    def _find_arrangement(self, made: "_Made", calls: Sequence[Call]) -> Arrangement | None:
        """Return the first way in which some calls have right values, or those of a known bug."""
        first, answers = calls[0], made.answers
        answered = all(answers[call.id].status is AnswerStatus.OK for call in calls)
        ways = arrangements_of(first, answers[first.id].info.bound)
        if not ways or not answered or self._agree(calls, answers):
            return None
        tried = self._try(made.kind, first, ways, made.dtype)
        # an ordinary case that is right as it is settles what plays which role
        main = [call for call in calls if self.key.plan.case(call.target, call.case).main]
        sure = any(self._agree([call], answers) for call in main)
        for fit in (self._agree, *(() if sure else (self._known,))):
            if fit(calls, answers):
                return None  # as they are
            pairs = zip(ways, tried, strict=True)
            fitting = [way for way, answer in pairs if fit([first], {first.id: answer})]
            for way in fitting[:_CONFIRMED]:
                if self._confirms(made, calls, way, fit):
                    return way
        return None

    def _confirms(self, made: "_Made", calls: Sequence[Call], way: Arrangement, fit: _Fit) -> bool:
        """Whether the code that answered at first is the one that a way makes right.

        A fresh child gets the calls of the first one. In half of the cases, which it cannot tell
        from the others, values are exchanged. There they have to fit, and elsewhere be as at first:
        code that answers otherwise from child to child, by a try or by chance, does not pass.
        """
        own = [call for call in made.calls if call.target == calls[0].target]
        plain = {call.case for call in calls}
        chosen = _half(self.key, calls, [call for call in own if call.case not in plain])
        way_of = _settled(way, calls[0], made)
        usual = Arrangement({})
        mixed = {c: way_of.get(c, way_of.get("", usual)) for c in chosen}
        arranged = {calls[0].target: mixed}
        again = self._run_in(made.kind, made.calls, made.dtype, arranged=arranged)
        same = [call for call in own if call.case not in mixed]
        return fit([call for call in calls if call.case in mixed], again) and all(
            same_outputs(made.answers[call.id], again[call.id]) for call in same
        )

    def _try(
        self, kind: Earlier, call: Call, ways: Sequence[Arrangement], dtype: str = "float64"
    ) -> list[Answer]:
        """Return what a call comes to in each of some ways; all are tried in one round.

        A child can tell that something is tried here: what it answers only suggests a way. It gets
        the target's other cases as well, whose sizes tell how matrices of its own lie.
        """
        tensors: dict[str, Array] = {}
        calls = []
        for number, way in enumerate(ways):
            values = way.arranged(call, self.key.plan.tensors)
            tensors |= {f"{key}~{number}": value for key, value in values.items()}
            keys = {role: f"{key}~{number}" for role, key in call.parameters.items()}
            one = replace(call, id=f"{call.id}~{number}", parameters=keys, watch=False)
            calls.append(one)
        others = [
            other
            for other in self._calls(kind)
            if (other.target, other.action) == (call.target, Action.FORWARD) and other.id != call.id
        ]
        answers = self._collect(kind, [*calls, *others], dtype, tensors=tensors).answers
        return [answers[one.id] for one in calls]

    def _way(self, call: Call, arranged: Arranged | None = None) -> Arrangement:
        """The roles that a call's parameters are found to play."""
        ways = (self.arranged if arranged is None else arranged).get(call.target, {})
        return ways.get(call.case, ways.get("", Arrangement({})))

    def _run_in(
        self,
        kind: Earlier,
        calls: Sequence[Call],
        dtype: str = "float64",
        *,
        arranged: Arranged | None = None,
        kept: SharedChild | None = None,
    ) -> dict[str, Answer]:
        """Make calls with parameters in other roles, and return the answers by the real roles."""
        ways = {call.id: self._way(call, arranged) for call in calls}
        tensors: dict[str, Array] = {}
        for call in calls:
            if ways[call.id] != Arrangement({}):
                tensors |= ways[call.id].arranged(call, self.key.plan.tensors)
        answers = self._collect(kind, list(calls), dtype, tensors=tensors, kept=kept).answers
        return {call.id: ways[call.id].restored(call, answers[call.id]) for call in calls}

    def _known(self, calls: Sequence[Call], answers: Mapping[str, Answer]) -> bool:
        return known_by_values(self.key, calls[0].target, calls, answers)

    def _agree(self, calls: Sequence[Call], answers: Mapping[str, Answer]) -> bool:
        return all(agrees(c, self.key, answers, self.course.tolerances) for c in calls)

    def _run_float32(self, first: "_Made") -> None:
        retried = calls_to_retry(self.key, first.answers)
        again = [call for call in retried if call.earlier == first.kind]
        if again:
            answers = self._run_in(first.kind, again, "float32")
            self._run_arranged(_Made(first.kind, again, answers, "float32"))
            self.answers32 |= answers

    def _calls(self, kind: Earlier) -> list[Call]:
        plan = self.key.plan
        calls = plan.of_target(self.only) if self.only else plan.calls
        return [call for call in calls if call.earlier == kind]

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
        if tensors or len(calls) < len(self._calls(kind)):
            own = self.key.plan.tensors_of(calls)
            payload = bytes(safetensors.numpy.save({**own, **(tensors or {})}))
        else:
            payload = self.key.payloads[kind]
        job = self.jobs[kind]
        with self.running():
            if kept is None:
                self.kept.make_room()
            found = kept.collect(job, calls, payload, self.limits, self.end) if kept else None
            return found or collect(
                self.warm,
                job,
                calls,
                payload,
                self.limits,
                dtype,
                end=self.end,
                kept=kept,
            )


def _settled(way: Arrangement, first: Call, made: _Made) -> dict[str, Arrangement]:
    """Return the way of each case of a target, from that of its first."""
    bound = {
        call.case: made.answers[call.id].info.bound
        for call in made.calls
        if call.target == first.target and call.action is Action.FORWARD
    }
    return settled(way, first.case, bound)


def _half(key: AnswerKey, plain: Sequence[Call], others: Sequence[Call]) -> set[str]:
    """Half of the cases of some calls, and of others, by what no child knows: a right output."""
    right = compared(key.answers[plain[0].id].tensors, Group.OUTPUT)
    drawn = Random(b"".join(value.tobytes() for value in right.values()))  # noqa: S311 - as above
    chosen: set[str] = set()
    for calls in (plain, others):
        cases = sorted({call.case for call in calls})
        chosen |= set(drawn.sample(cases, (len(cases) + 1) // 2))
    return chosen
