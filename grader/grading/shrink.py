"""Shrinks a failed property: the smallest input, found by Hypothesis, that still shows it."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
import safetensors.numpy

from grader.checks.plan import plan_property
from grader.compare.evidence import PASSED, Evidence, Judgement
from grader.course.expressions import Range, TensorSpec
from grader.course.models import Target
from grader.execute.channel import Closed, Late
from grader.execute.clock import End
from grader.execute.launch import WarmProcess
from grader.execute.session import Interview, Job
from grader.plan.draw import Dims, nothing_kept, resolve_dims, small_numbers
from grader.properties.base import Kind as PropertyKind
from grader.properties.base import kinds_of
from grader.records.calls import Array, Plan
from grader.records.ids import CallId
from grader.records.key import AnswerKey
from grader.records.results import CheckResult, Kind, ShownCase, Status
from grader.worker.protocol import TensorKey
from grader.worker.wire import Violation

_EXAMPLES = 60  # inputs that are tried before shrinking begins
_TRIALS = 300  # in all: a count, for a clock would give other inputs on a busy machine
_VALUES = 48  # numbers that an input's bytes give; the rest is zero
_KINDS = 5  # of numbers: 0 1 -1 2 -2
_SIZES = 4  # a dim is 1 to 4: what shows at all shows on small inputs
_NAME = "the smallest input that shows it"


def shrunk(
    evidence: Evidence, result: CheckResult, warm: WarmProcess, job: Job, end: End
) -> CheckResult:
    """Return a failed property's result with the smallest failing input as its case.

    Other results come back as they are.
    """
    if result.kind is not Kind.PROPERTY or result.status is not Status.FAILED:
        return result
    properties = kinds_of(evidence.course, evidence.exercise, evidence.target)
    prop = {p.name: p for p in properties}[result.id.name]
    answered = any(a.tensors for a in evidence.answers.values())
    if not prop.shrinkable or not answered:
        return result
    found = _find(evidence, prop, warm, job, end)
    if found is None:
        return result
    plan, outcome = found
    message = f"{outcome.message}: {outcome.detail}" if outcome.detail else outcome.message
    return replace(result, case=_case(plan, evidence), message=message, place=outcome.place)


def _find(
    evidence: Evidence, prop: PropertyKind, warm: WarmProcess, job: Job, end: End
) -> tuple[Plan, Judgement] | None:
    """Search with one child; None where nothing small fails, or the submission misbehaves."""
    import hypothesis  # slow to import, and only failed properties need it
    from hypothesis import strategies as st

    free = [n for n, spec in evidence.target.dim_specs.items() if isinstance(spec, Range)]
    settings = hypothesis.settings(
        max_examples=_EXAMPLES,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],  # and explain nothing
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    inputs = st.tuples(small_numbers(len(free), len(free)), small_numbers(0, _VALUES))
    try:
        limits = evidence.course.limits_of(evidence.exercise)
        trial = _Trial(evidence, prop, Interview(warm, job, limits, end))
    except (Late, Closed, Violation):
        return None
    try:
        with nothing_kept():
            found = hypothesis.find(inputs, trial.fails, settings=settings, random=Random(0))  # noqa: S311 - not a secret
        return trial.judge(*found)
    except (hypothesis.errors.NoSuchExample, hypothesis.errors.Flaky, Late, Closed, Violation):
        return None
    finally:
        trial.interview.close()


@dataclass(frozen=True)
class _Trial:
    evidence: Evidence
    prop: PropertyKind
    interview: Interview
    tried: dict[tuple[bytes, bytes], bool] = field(default_factory=dict)
    used: dict[bytes, int] = field(default_factory=dict)  # numbers that inputs of some sizes take

    def plan(self, sizes: bytes, values: bytes) -> Plan:
        """Turn drawn bytes into the calls of the property."""
        target = self.evidence.target
        free = [n for n, spec in target.dim_specs.items() if isinstance(spec, Range)]
        ones = {
            n: replace(s, low=1, high=_SIZES) if isinstance(s, Range) else s
            for n, s in target.dim_specs.items()
        }
        dims: Dims = resolve_dims(ones, dict(zip(free, sizes, strict=True)), target.name)
        if not _are_in_order(target, dims):
            raise ValueError("what is due of these sizes may be an exception")
        fill = _Filler(iter(values))
        plan = plan_property(
            self.evidence.course, self.evidence.exercise, target, self.prop, dims, fill
        )
        self.used[sizes] = fill.taken
        return plan

    def judge(self, sizes: bytes, values: bytes) -> tuple[Plan, Judgement]:
        """Run the property on drawn inputs."""
        plan = self.plan(sizes, values)
        payload = bytes(safetensors.numpy.save(plan.tensors))
        answers = {call.id: self.interview.ask(call, payload) for call in plan.calls}
        evidence = replace(self.evidence, key=AnswerKey(plan, {}), answers=answers, answers32={})
        return plan, self.prop.judge(evidence)

    def fails(self, drawn: tuple[bytes, bytes]) -> bool:
        """Whether the submission breaks the property on these inputs; "no" after enough trials."""
        inputs = self._plain(*drawn)
        if inputs not in self.tried and len(self.tried) < _TRIALS:
            try:
                outcome = self.judge(*inputs)[1]
            except ValueError:  # of these sizes nothing is drawn, or is the course's own
                outcome = PASSED
            inputs = self._plain(*inputs)  # now that it is known how many numbers they take
            self.tried[inputs] = outcome.status is Status.FAILED and outcome.fault is None
        return self.tried.get(inputs, False)

    def _plain(self, sizes: bytes, values: bytes) -> tuple[bytes, bytes]:
        """Return what all that gives the same inputs has in common: most of what is drawn does."""
        sizes = bytes(n % _SIZES for n in sizes)
        taken = values[: self.used.get(sizes, _VALUES)]
        return sizes, bytes(n % _KINDS for n in taken).rstrip(b"\0")


def _are_in_order(target: Target, dims: Dims) -> bool:
    """Whether sizes that no input has, as the greatest length, are not below those that they bound.

    What they bound is what the course declares to be smaller always.
    """
    ranges = {n: s for n, s in target.dim_specs.items() if isinstance(s, Range)}
    tensors = [spec for spec in target.input_specs.values() if isinstance(spec, TensorSpec)]
    bounds = [n for n in ranges if all(spec.axis_of(n) is None for spec in tensors)]
    below = [(n, b) for b in bounds for n in ranges if ranges[n].high < ranges[b].low]
    return all(dims[name] <= dims[bound] for name, bound in below)


@dataclass
class _Filler:
    """Fills tensors with small whole numbers, 0 1 -1 2 -2, from bytes in turn, then with zeros."""

    numbers: Iterator[int]
    taken: int = 0

    def __call__(self, shape: tuple[int, ...], _: int) -> Array:
        size = int(np.prod(shape))
        self.taken += size
        flat = [next(self.numbers, 0) % _KINDS for _ in range(size)]
        return np.array([(n + 1) // 2 * (1 if n % 2 else -1) for n in flat], float).reshape(shape)


def _case(plan: Plan, evidence: Evidence) -> ShownCase:
    target = evidence.target.name
    call = plan.call(CallId.first(target))
    inputs = {
        name: plan.tensors[argument.tensor].tolist()
        for name, argument in zip(evidence.target.inputs, call.inputs, strict=False)
        if isinstance(argument, TensorKey)
    }
    return ShownCase(_NAME, plan.first_case(target).dims, {}, {}, inputs)
