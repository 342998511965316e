"""Runs the calls of a plan on a submission, with fresh children after hangs and crashes."""

import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from grader.course.models import Limits
from grader.execute.answers import Answer, AnswerStatus, Greeting, parse_answer, parse_greeting
from grader.execute.channel import Channel, Closed, Late
from grader.execute.launch import Death, WarmProcess
from grader.plan.records import Call
from grader.worker.wire import Violation, pack

Units = Sequence[tuple[str, str]]
_TOGETHER = 8  # times what one answer may take, all answers of a child may


@dataclass(frozen=True)
class Job:
    """What a child runs: the submission's text and what its imports find."""

    stem: str
    units: Units
    notebook: bool
    earlier: Mapping[str, Units]  # stem -> what an import of it runs
    own_earlier: Mapping[str, Units]  # those of `earlier` that are the submission's own
    forbids: Sequence[str]
    mixing: int = 0  # the order in which the rows of fused layers lie

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The number of lines of each unit of the submission's own, by label."""
        groups = [self.units, *self.own_earlier.values()]
        return {label: text.count("\n") + 1 for units in groups for label, text in units}

    def header(self, calls: Sequence[dict[str, Any]], dtype: str, limits: Limits) -> dict[str, Any]:
        """Return the frame that begins a child's life."""
        return {
            "stem": self.stem,
            "units": list(self.units),
            "notebook": self.notebook,
            "earlier": dict(self.earlier),
            "own_earlier": dict(self.own_earlier),
            "forbids": list(self.forbids),
            "mixing": self.mixing,
            "calls": list(calls),
            "dtype": dtype,
            "message_bytes": limits.message_kib * 1024 // 4,  # characters, of up to 4 bytes
            "answer_bytes": int(limits.answer_mib * 2**20 * 0.9),
        }


@dataclass
class Collected:
    """All answers of one submission to one plan."""

    answers: dict[str, Answer] = field(default_factory=dict)
    greeting: Greeting | None = None
    output: bytes = b""


def collect(
    warm: WarmProcess,
    job: Job,
    calls: Sequence[Call],
    payload: bytes,
    limits: Limits,
    dtype: str = "float64",
    *,
    end: float | None = None,
) -> Collected:
    """Make every call and return one answer for each, whatever the submission does.

    `payload` holds the plan's tensors as safetensors bytes. At `end`, in time.monotonic's seconds,
    all is over: those who make several rounds of calls give one for all of them.
    """
    collected = Collected()
    waiting = [(call.id, call.target, call.to_json()) for call in calls]
    restarts: Counter[str] = Counter()
    spent: dict[str, float] = {}
    end = time.monotonic() + limits.submission_seconds if end is None else end
    while waiting:
        run = _Run(warm, job, limits, dtype, payload, spent, end)
        reached = run.answer(waiting, collected)
        if reached >= len(waiting):
            break
        failed = waiting[reached][1]
        restarts[failed] += 1
        answer = run.ending
        collected.answers[waiting[reached][0]] = answer
        waiting = waiting[reached + 1 :]
        if collected.greeting is None or time.monotonic() > end:
            given_up = waiting
        elif restarts[failed] > limits.restarts or spent.get(failed, 0.0) > limits.target_seconds:
            given_up = [w for w in waiting if w[1] == failed]
        else:
            given_up = []
        collected.answers |= {call_id: answer for call_id, _, _ in given_up}
        waiting = [w for w in waiting if w not in given_up]
    return collected


class Interview:
    """A child that loads the submission once and answers single calls."""

    def __init__(self, warm: WarmProcess, job: Job, limits: Limits) -> None:
        """Start the child; raises Late, Closed or Violation where it does not get ready."""
        self._warm = warm
        self._limits = limits
        self._end = time.monotonic() + limits.submission_seconds
        self._child = warm.start(limits.model_dump())
        self._channel = Channel(
            self._child,
            payload_cap=int(limits.answer_mib * 2**20),
            output_cap=limits.output_kib * 1024,
        )
        self._channel.send(pack(job.header([], "float64", limits)))
        parse_greeting(self._channel.receive(self._deadline())[0])

    def ask(self, call: Call, payload: bytes) -> Answer:
        """Make one call with its tensors; raises Late, Closed or Violation."""
        self._channel.send(pack(call.to_json(), payload))
        header, data = self._channel.receive(self._deadline())
        return parse_answer(header, data, call.id)

    def close(self) -> None:
        """End the child."""
        self._channel.close()
        self._warm.end(self._child, grace=False)

    def _deadline(self) -> float:
        return min(time.monotonic() + self._limits.case_seconds, self._end)


def _signal_name(number: int) -> str:
    named = {one.value: one.name for one in signal.Signals}
    return named.get(number, f"signal {number}")  # those for real time have no names


def _heard(answer: Answer, call: Mapping[str, Any], job: Job) -> Answer:
    """Hold an answer's words to what the parent knows; raises Violation.

    A child has inputs, and whatever it says freely could carry them.
    """
    roles = {(role["name"], tuple(role["shape"])) for role in call["roles"]}
    if not {(name, tuple(shape)) for name, shape in answer.info.sought} <= roles:
        raise Violation("parameters sought that nobody asked for")
    if answer.error is None:
        return answer
    frames = [f for f in answer.error.frames if 0 < f.line <= job.lines.get(f.label, 0)]
    return replace(answer, error=answer.error.model_copy(update={"frames": frames}))


@dataclass
class _Run:
    """One child's life, seen from the parent."""

    warm: WarmProcess
    job: Job
    limits: Limits
    dtype: str
    payload: bytes
    spent: dict[str, float]
    end: float
    ending: Answer = field(default_factory=lambda: Answer(AnswerStatus.OK))

    def answer(self, calls: Sequence[tuple[str, str, dict[str, Any]]], collected: Collected) -> int:
        """Fill in answers and return how many of `calls` were answered."""
        child = self.warm.start(self.limits.model_dump())
        channel = Channel(
            child,
            payload_cap=int(self.limits.answer_mib * 2**20),
            output_cap=self.limits.output_kib * 1024,
        )
        channel.send(
            pack(self.job.header([c[2] for c in calls], self.dtype, self.limits), self.payload)
        )
        done = 0
        problem: Exception | None = None
        try:
            header, _ = channel.receive(self._deadline(self.limits.case_seconds))
            collected.greeting = parse_greeting(header)
            room = _TOGETHER * channel.payload_cap
            for call_id, target, call in calls:
                begun = time.monotonic()
                try:
                    left = self.limits.target_seconds - self.spent.get(target, 0.0)
                    header, data = channel.receive(
                        self._deadline(min(self.limits.case_seconds, left))
                    )
                finally:
                    used = time.monotonic() - begun
                    self.spent[target] = self.spent.get(target, 0.0) + used
                room -= len(data)
                if room < 0:
                    raise Violation("answers larger than asked for")
                collected.answers[call_id] = _heard(
                    parse_answer(header, data, call_id), call, self.job
                )
                done += 1
        except (Late, Closed, Violation) as error:
            problem = error
        channel.close()
        collected.output = (collected.output + channel.output)[: channel.output_cap]
        death = self.warm.end(child, grace=isinstance(problem, Closed))
        if problem is not None:
            self.ending = self._explain(problem, death)
        return done

    def _deadline(self, seconds: float) -> float:
        return min(time.monotonic() + seconds, self.end)

    def _explain(self, problem: Exception, death: Death) -> Answer:
        out_of_cpu = death.signal == signal.SIGXCPU or (
            death.signal == signal.SIGKILL and death.cpu >= self.limits.cpu_seconds - 0.5
        )
        if isinstance(problem, Late) or out_of_cpu:
            seconds = self.limits.cpu_seconds if out_of_cpu else self.limits.case_seconds
            plural = "" if seconds == 1 else "s"
            return Answer(
                AnswerStatus.TIMEOUT, reason=f"no answer within {seconds:g} second{plural}"
            )
        if isinstance(problem, Violation):
            return Answer(AnswerStatus.REFUSED, reason=str(problem))
        if death.signal:
            return Answer(AnswerStatus.CRASHED, reason=f"it crashed ({_signal_name(death.signal)})")
        return Answer(AnswerStatus.CRASHED, reason="it left without an answer")
