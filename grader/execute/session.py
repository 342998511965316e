"""Runs the calls of a plan on a submission, with fresh children after hangs and crashes.

A child serves one job of a submission after the other while that cannot make a difference; else
each job has a child of its own.
"""

import math
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from grader.course.limits import Limits
from grader.execute.channel import Channel, Closed, Flood, Late
from grader.execute.child import limits_of
from grader.execute.claims import heard
from grader.execute.clock import Clock, End, shown_seconds
from grader.execute.launch import WarmProcess
from grader.handin.plain import is_plain
from grader.records.answers import (
    Answer,
    AnswerStatus,
    Greeting,
    StudentError,
    parse_answer,
    parse_greeting,
)
from grader.records.calls import Call
from grader.worker import protocol
from grader.worker.control import Death
from grader.worker.data import DataFiles
from grader.worker.wire import Frame, Violation, pack

_TOGETHER = 8  # times what one answer may take, all answers of a child may


@dataclass(frozen=True)
class Job(protocol.Texts):
    """What a child runs, and what can be read from it."""

    data: DataFiles | None = None  # of the course, that it may read

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The number of lines of each unit of the submission's own, by label."""
        groups = [self.units, *self.own_earlier.values()]
        return {label: text.count("\n") + 1 for units in groups for label, text in units}

    @property
    def standins(self) -> set[str]:
        """The stems for which an import finds a correct stand-in."""
        return {s for s, units in self.earlier.items() if units != self.own_earlier.get(s)}

    @cached_property
    def plain(self) -> bool:
        """Whether it leaves its child as it was."""
        names = {name for stem in self.earlier for name in (stem, stem.partition("_")[0])}
        served = {"exercises", *names, *(f"exercises.{name}" for name in names)}
        groups = [self.units, *self.own_earlier.values()]
        return all(is_plain(units, served) for units in groups)

    def sent(self, dtype: str, limits: Limits) -> protocol.Job:
        """Return what a child gets of it."""
        return protocol.Job(
            self.stem,
            self.units,
            self.notebook,
            self.earlier,
            self.own_earlier,
            self.forbids,
            dtype,
            framework=self.framework,
            message_characters=limits.message_kib * 1024 // 4,  # of up to 4 bytes
            answer_bytes=int(limits.answer_mib * 2**20 * 0.9),
        )

    def frame(
        self, dtype: str, limits: Limits, calls: Sequence[Call] = (), payload: bytes = b""
    ) -> bytes:
        """Return the frame that begins it, with the calls that are known to come."""
        job = protocol.to_json(self.sent(dtype, limits))
        texts = ",".join(call.sent_text for call in calls)
        return pack(f'{{"job":{job},"calls":[{texts}]}}', payload)


@dataclass
class Collected:
    """All answers of one submission to one plan."""

    answers: dict[str, Answer] = field(default_factory=dict)
    greeting: Greeting | None = None
    output: bytes = b""


class SharedChild:
    """The children of a submission's last jobs, for its next one: two, and one has no stand-ins.

    Plain code alone shares a child, after code that ended every call and printed nothing: it
    leaves nothing behind, and looks for nothing. No job comes to a child that has had a correct
    stand-in which the job itself is not to have.
    """

    def __init__(self) -> None:
        self._lines: list[_WorkerChannel] = []  # the one that was used last comes last
        self._closed = False

    def collect(
        self,
        job: Job,
        calls: Sequence[Call],
        payload: bytes,
        limits: Limits,
        end: End | None = None,
    ) -> Collected | None:
        """Make every call in a kept child; None where none is of use."""
        line = self._take(job, limits)
        if line is None:
            self.make_room()
            return None
        collected = Collected()
        run = _Run(line, job, limits, {}, end or End.of_file(limits))
        if run.answer(calls, payload, "float64", collected) < len(calls):
            return None
        self.keep(line, job)
        errors = [answer.error for answer in collected.answers.values()]
        if collected.greeting is not None:
            errors.append(collected.greeting.error)
        # what ran out of memory here might not in a fresh child
        return None if any(map(_is_for_memory, errors)) else collected

    def keep(self, line: "_WorkerChannel", job: Job) -> None:
        """Keep a child that has done a job; end it where it is of no use."""
        if job.plain and not self._closed:
            line.served |= job.standins
            self._lines.append(line)
        else:
            line.end()

    def make_room(self) -> None:
        """Leave one child at most beside one that is to come: no more may live at once."""
        self._end(self._lines[:-1])

    def close(self) -> None:
        """End the children, and keep no other."""
        self._closed = True
        self._end(self._lines)

    def _take(self, job: Job, limits: Limits) -> "_WorkerChannel | None":
        """Take out the child that has had most of what a job may have; None where none fits."""
        held = _held_to(limits)
        self._end([one for one in self._lines if one.held_to != held or not one.channel.quiet])
        fitting = [one for one in self._lines if job.plain and one.served <= job.standins]
        line = max(fitting, key=lambda one: len(one.served), default=None)
        if line is not None:
            self._lines.remove(line)
        return line

    def _end(self, lines: Sequence["_WorkerChannel"]) -> None:
        self._lines = [line for line in self._lines if line not in lines]
        for line in lines:
            line.end()


class Shared:
    """What the exercises of one submission share: its time, and a child at a time.

    No child is given cases of both splits, and none that saw hidden ones is there while public ones
    run: what it saw could come out in words.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._split, self._child = "", SharedChild()

    def __enter__(self) -> "Shared":
        return self

    def __exit__(self, *error: object) -> None:
        self._child.close()

    def child(self, split: str) -> SharedChild:
        """Return the child that sees a split's cases; one that saw others is ended first."""
        if split != self._split:
            self._child.close()
            self._split, self._child = split, SharedChild()
        return self._child


def collect(
    warm: WarmProcess,
    job: Job,
    calls: Sequence[Call],
    payload: bytes,
    limits: Limits,
    dtype: str = "float64",
    *,
    end: End | None = None,
    kept: SharedChild | None = None,
) -> Collected:
    """Make every call and return one answer for each, whatever the submission does.

    `payload` holds the plan's tensors as safetensors bytes. At `end` all is over: those who make
    several rounds of calls give one for all of them. A child that is still of use goes to `kept`.
    """
    collected = Collected()
    waiting = list(calls)
    restarts: Counter[str] = Counter()
    spent: dict[str, float] = {}
    end = end or End.of_file(limits)
    while waiting:
        line = _WorkerChannel(warm, limits, job)
        run = _Run(line, job, limits, spent, end)
        reached = run.answer(waiting, payload, dtype, collected)
        if reached >= len(waiting):
            kept.keep(line, job) if kept else line.end()
            break
        failed = waiting[reached].target
        restarts[failed] += 1
        collected.answers[waiting[reached].id] = answer = run.ending
        waiting = waiting[reached + 1 :]
        hopeless = restarts[failed] > limits.restarts or run.spent_up(failed)
        over = collected.greeting is None or time.monotonic() > end.at
        for call in waiting:
            if over or (hopeless and call.target == failed):
                collected.answers[call.id] = answer
        waiting = [call for call in waiting if call.id not in collected.answers]
    return collected


class Interview:
    """A child that loads the submission once and answers single calls.

    What it answers explains, and earns nothing: for each answer it has what all calls of a target
    may take, so that what is told is the same on a busy machine.
    """

    def __init__(self, warm: WarmProcess, job: Job, limits: Limits, end: End | None = None) -> None:
        """Start the child; raises Late, Closed or Violation where it does not get ready."""
        self._job, self._limits = job, limits
        self._end = (end or End.of_file(limits)).at
        self._line = _WorkerChannel(warm, limits, job)
        try:
            self._line.channel.send(job.frame("float64", limits))
            parse_greeting(self._line.channel.receive(self._deadline()).header)
        except BaseException:
            self.close()
            raise

    def ask(self, call: Call, payload: bytes) -> Answer:
        """Make one call with its tensors; raises Late, Closed or Violation."""
        self._line.channel.send(pack(f'{{"calls":[{call.sent_text}]}}', payload))
        frame = self._line.channel.receive(self._deadline())
        return heard(parse_answer(frame.header, frame.payload, call.id), call, self._job.lines)

    def close(self) -> None:
        """End the child."""
        self._line.end()

    def _deadline(self) -> float:
        return min(time.monotonic() + self._limits.target_seconds, self._end)


class _WorkerChannel:
    """A child and its channel."""

    def __init__(self, warm: WarmProcess, limits: Limits, job: Job) -> None:
        self._warm = warm
        self.held_to = _held_to(limits)
        self.served: set[str] = set()  # stems whose stand-ins the child has had
        self.child = warm.start(limits_of(limits), job.framework, job.data)
        self.channel = Channel(
            self.child,
            payload_cap=int(limits.answer_mib * 2**20),
            output_cap=limits.output_kib * 1024,
        )

    def end(self, *, grace: bool = False) -> Death:
        """End the child, with `grace` after a moment, and tell how it died."""
        self.channel.close()
        return self._warm.end(self.child, grace=grace)


def _held_to(limits: Limits) -> tuple[object, ...]:
    """Return what a child and its channel are held to; for how long one waits, each job says."""
    return limits_of(limits), limits.answer_mib, limits.output_kib


def _is_for_memory(error: StudentError | None) -> bool:
    """Whether something failed for want of memory, as far as its words tell."""
    return error is not None and (
        "MemoryError" in (error.type, *error.bases)
        or any(word in error.message for word in ("memory", "bad_alloc"))
    )


def _signal_name(number: int) -> str:
    named = {one.value: one.name for one in signal.Signals}
    return named.get(number, f"signal {number}")  # those for real time have no names


@dataclass
class _Run:
    """A job in one child, seen from the parent."""

    line: _WorkerChannel
    job: Job
    limits: Limits
    spent: dict[str, float]
    end: End
    reached: str = ""  # the limit that is reached where the awaited frame does not come
    ending: Answer = field(default_factory=lambda: Answer(AnswerStatus.OK))

    def answer(
        self,
        calls: Sequence[Call],
        payload: bytes,
        dtype: str,
        collected: Collected,
    ) -> int:
        """Fill in answers and return how many of `calls` were answered: all, or the child ended."""
        channel = self.line.channel
        channel.send(self.job.frame(dtype, self.limits, calls, payload))
        done = 0
        problem: Exception | None = None
        try:
            collected.greeting = parse_greeting(self._receive().header)
            for call, answer in zip(calls, self._answers(calls), strict=True):
                collected.answers[call.id] = answer
                done += 1
        except (Late, Closed, Violation) as error:
            problem = error
        except BaseException:  # an interrupt: nobody else knows of the child
            self.line.end()
            raise
        channel.drain()
        collected.output = (collected.output + channel.output)[: channel.output_cap]
        if problem is not None:
            self.ending = self._explain(problem, self.line.end(grace=isinstance(problem, Closed)))
        return done

    def _answers(self, calls: Sequence[Call]) -> Iterator[Answer]:
        """Yield the answers as they come; raises Late, Closed or Violation."""
        room = _TOGETHER * self.line.channel.payload_cap
        for call in calls:
            frame = self._receive(call.target)
            room -= len(frame.payload)
            if room < 0:
                raise Violation("answers larger than asked for")
            answer = parse_answer(frame.header, frame.payload, call.id)
            yield heard(answer, call, self.job.lines)

    def _receive(self, target: str = "") -> Frame:
        """Return the next frame: the greeting, or an answer of `target`'s."""
        limits, begun = self.limits, time.monotonic()
        spent = self.spent.get(target, 0.0)
        left = limits.target_seconds - spent if target else math.inf
        ends = (begun + limits.case_seconds, self.end.at, begun + left)
        try:
            return self.line.channel.receive(min(ends))
        except Late:
            self.reached = (
                f"no answer within {shown_seconds(limits.case_seconds)}",
                self.end.told,
                f"all its calls together took more than {shown_seconds(limits.target_seconds)}",
            )[ends.index(min(ends))]
            raise
        finally:
            self.spent[target] = spent + time.monotonic() - begun

    def spent_up(self, target: str) -> bool:
        """Whether a target has had all of its time."""
        return self.spent.get(target, 0.0) > self.limits.target_seconds

    def _explain(self, problem: Exception, death: Death) -> Answer:
        if isinstance(problem, Late):
            return Answer(AnswerStatus.TIMEOUT, reason=self.reached)
        if isinstance(problem, Violation):
            flooded = isinstance(problem, Flood)
            return Answer(AnswerStatus.REFUSED, reason=str(problem), flooded=flooded)
        if death.signal == signal.SIGXCPU or (
            death.signal == signal.SIGKILL and death.cpu >= self.limits.cpu_seconds - 0.5
        ):
            told = f"it used more than {shown_seconds(self.limits.cpu_seconds)} of CPU time"
            return Answer(AnswerStatus.TIMEOUT, reason=told)
        if death.signal:
            return Answer(AnswerStatus.CRASHED, reason=f"it crashed ({_signal_name(death.signal)})")
        return Answer(AnswerStatus.CRASHED, reason="it ended without an answer")
