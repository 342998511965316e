"""The signature of a target's answers: numbers by which ways of going wrong are told apart.

Of each call it keeps how the call ended, what was registered or changed, and three projections
of the values on fixed random directions: equal for equal values, and of no use for finding them.
"""

import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from grader.records.answers import Answer, AnswerStatus
from grader.records.calls import PLAIN, Array, Call, Plan
from grader.records.ids import BIASES, CallId, is_main
from grader.records.key import AnswerKey
from grader.records.results import CheckResult, Status
from grader.records.signatures import Code, Signature, Suspects
from grader.worker.names import Drew, Group, compared, of_group, tensor_name
from grader.worker.protocol import SAMPLE_SOURCES, Action, Cause, Probe, TargetKind, TensorKey

STRICT = 1e-9  # distance of projections that are the same in float64
LAX = 1e-4  # where the submission computes in float32, or has an epsilon of its own
_APART = 1e-2  # a distance that neither explains
_DIRECTIONS = 3
_LONGEST = 1 << 14  # numbers of an answer that are projected; directions take memory, and are kept
_TRAINED = Action.FIT  # whose values say nothing: only whether it came to its end
_OTHERS_VALUES = (Action.DEVICE, Action.FLOAT32)  # another call has them already
_SAMPLED = (Action.TRAIN, Action.SAMPLE)  # whose values are statistics
_STATUSES = list(AnswerStatus)
_LOOSE = ("tensor", "parameter", "module")  # as a child calls them
_NEVER = np.full(1 + _DIRECTIONS, np.nan)  # of a step that was not made


def beyond(tolerance: float) -> float:
    """Return the distance beyond which values differ by more than what a tolerance allows for."""
    return tolerance if tolerance == STRICT else _APART


def sign(
    calls: Sequence[Call],
    answers: Mapping[str, Answer],
    inputs: Mapping[str, Array],
    results: Iterable[CheckResult],
) -> Signature:
    """Return the signature of a target; `calls` and `results` are in the plan's order.

    `inputs` are the plan's tensors; what an answer sends back of them shows what was changed.
    """
    codes = [_code(call, answers[call.id], inputs) for call in calls]
    values = [_project(call, answers[call.id]) for call in calls]
    return Signature(
        np.array(codes, dtype=np.int64).reshape(len(calls), len(Code)),
        np.array(values, dtype=np.float64).reshape(len(calls), _DIRECTIONS),
        failing(results),
        np.array([call.action in _SAMPLED for call in calls], dtype=bool),
    )


def failing(results: Iterable[CheckResult]) -> Array:
    """Return which checks failed, as a signature has it."""
    found = [result.status not in (Status.PASSED, Status.SKIPPED) for result in results]
    return np.array(found, dtype=np.uint8)


def _code(call: Call, answer: Answer, inputs: Mapping[str, Array]) -> list[int]:
    info = answer.info
    ended = _STATUSES.index(answer.status)
    if call.refused or call.action is Action.FLOAT32:  # a check of its own says what is due
        wider = not call.refused and any(one.dtype == "float64" for one in info.parts)
        told = {Code.ENDED: ended, Code.FORM: int(wider)}
        return [told.get(code, 0) for code in Code]
    if answer.error is not None:
        text = zlib.crc32(re.sub(r"'[^']*'", "#", answer.error.message).encode())
        error = zlib.crc32(answer.error.type.encode())
    else:
        text, error = 0, zlib.crc32(repr(_form(call, answer)).encode())
    if call.action is Action.DEVICE:
        mixed = answer.error is not None and answer.error.cause is Cause.DEVICE
        ended, error, text = int(mixed), 0, 0
    if call.action is _TRAINED:
        error = 0
    # a factory that no correct parts fit holds loose what they hold, which are not the reference's
    unfit = call.kind is TargetKind.FACTORY and answer.status is not AnswerStatus.OK
    codes = {
        Code.ENDED: ended,
        Code.ERROR: error,
        Code.CHANGED: _changed(call, answer, inputs),
        Code.REGISTERED: -1 if info.registered is None else info.registered,
        Code.LOOSE: 0 if unfit else _kinds({one.what for one in info.loose}),
        # a special case may leave a layer without a gradient, but not what it is fused with
        Code.UNTRAINED: len(info.untrained) if is_main(call.case) else 0,
        Code.FORBIDDEN: int(bool(info.forbidden or info.modules)),
        Code.TEXT: text,
        Code.FORM: zlib.crc32(repr(_other_forms(call, answer)).encode()),
        Code.DEFAULTS: zlib.crc32(repr(sorted(one.name for one in info.defaults)).encode()),
    }
    return [codes[code] for code in Code]


def _kinds(found: Collection[str]) -> int:
    """Which kinds of things are not registered, as one number."""
    return sum(1 << place for place, kind in enumerate(_LOOSE) if kind in found)


def _form(call: Call, answer: Answer) -> list[object]:
    """What came but for its numbers: shapes and types, or the parameters that could not be bound.

    What is opaque may be of any type. Places without a number are part of it, as NaN has no
    distance to anything.
    """
    info = answer.info
    valued = [(name, answer.tensors[name]) for name in _valued(answer)]
    shapes = [(n, one.shape, zlib.crc32(np.isfinite(one).tobytes())) for n, one in valued]
    # what came in another form has the same values: a check of its own tells them apart
    free = [
        place
        for place, name in enumerate(call.outputs)
        if name in call.opaque or tensor_name(Group.OUTPUT, name) in answer.tensors
    ]
    types = [p.type for i, p in enumerate(info.parts) if p.shape is None and i not in free]
    # what of a factory's module is left over depends on the names of all that it is made of
    missing = info.sought if call.kind is not TargetKind.FACTORY else []
    # a layer fused, or split by heads, has as many numbers as the layers of the reference
    unbound = [sum(prod(one.shape) for one in info.present)] if missing else []
    sought = sorted((one.name, one.shape) for one in missing)
    stacked = info.count == 1 and len(shapes) == len(call.outputs)
    count = len(call.outputs) if stacked else len(info.parts)
    return [*shapes, types, count, sought, unbound]


def _other_forms(call: Call, answer: Answer) -> list[object]:
    """How each output came that has the values of another form: its type, axes and dtype.

    Of numbers drawn at random, whether more than dropout drew them.
    """
    forms: list[object] = [Drew.MORE] if answer.info.drew is Drew.MORE else []
    for name, part in zip(call.outputs, answer.info.parts, strict=False):
        came = answer.tensors.get(tensor_name(Group.OUTPUT, name))
        if came is not None and part.shape is None and name not in call.numbers:
            forms.append(part.type)
        elif came is not None and part.shape is not None:
            numbers = came.dtype.name == "bool" and part.dtype != "bool"
            forms.append((len(part.shape) - came.ndim, numbers, name in call.numbers))
    return forms


def _valued(answer: Answer) -> list[str]:
    outputs, gradients = (compared(answer.tensors, g) for g in (Group.OUTPUT, Group.GRADIENT))
    return sorted([*outputs, *gradients])


def _changed(call: Call, answer: Answer, inputs: Mapping[str, Array]) -> int:
    changed = 0
    for index, argument in enumerate(call.inputs):
        after = answer.tensors.get(tensor_name(Group.INPUT, index))
        before = inputs.get(argument.tensor) if isinstance(argument, TensorKey) else None
        if isinstance(argument, Probe):
            before = np.array(argument.training)
        if after is not None and before is not None and after.shape == before.shape:
            changed |= int(not np.array_equal(after, before)) << index
    return changed


def _project(call: Call, answer: Answer) -> Array:
    if call.free or call.refused or call.action in _OTHERS_VALUES:
        return np.zeros(_DIRECTIONS)
    if call.action in _SAMPLED:
        return _of_draws(call, answer) if call.action is Action.SAMPLE else _moments(answer)
    names = [] if call.action is _TRAINED else _valued(answer)
    if not names:
        return np.zeros(_DIRECTIONS)
    size = sum(answer.tensors[n].size for n in names)
    if size > _LONGEST:
        return np.full(_DIRECTIONS, float(size))  # like no known bug's
    flat = np.concatenate([answer.tensors[n].ravel().astype(np.float64) for n in names])
    projected: Array = directions(flat.size) @ np.where(np.isfinite(flat), flat, 0.0)
    return projected


def _moments(answer: Answer) -> Array:
    """Means over all elements of what dropout leaves: size, spread and its tails."""
    found = np.zeros(_DIRECTIONS)
    for index, moment in enumerate((Group.MEAN, Group.SECOND, Group.FOURTH)):
        arrays = of_group(answer.tensors, moment).values()
        found[index] = sum(float(np.abs(a).mean()) for a in arrays if a.size)
    return found


def _of_draws(call: Call, answer: Answer) -> Array:
    """What numbers are drawn, and how often the same; of single copies, which runs are the same."""
    found = np.zeros(_DIRECTIONS)
    runs = [answer.tensors.get(tensor_name(Group.DRAWN, run)) for run in SAMPLE_SOURCES]
    drawn = [run for run in runs if run is not None and run.size and run.dtype.kind in "iu"]
    if call.repeats == 1:
        same = [np.array_equal(drawn[1], other) for other in drawn[2:]]
        found[: len(same)] = same
    elif drawn and drawn[0].size % call.repeats == 0:
        copies = drawn[0].reshape(call.repeats, -1).astype(np.float64)
        counts = [np.unique(column, return_counts=True)[1] for column in copies.T]
        often = np.mean([np.square(one / call.repeats).sum() for one in counts])
        found[:] = often, np.abs(copies).mean(), np.square(copies).mean()
    return found


@lru_cache(maxsize=256)
def directions(size: int) -> Array:
    """Return the directions that values are projected on, (directions, size); always the same."""
    generator = np.random.Generator(np.random.PCG64(size))
    return np.asarray(generator.standard_normal((_DIRECTIONS, size)) / max(size, 1) ** 0.5)


def step_calls(plan: Plan, target: str) -> list[Call]:
    """Return the calls whose steps are kept for known bugs.

    They are the first two without an option, and the first with each.
    """
    numeric = plan.numeric_cases(target)
    cases = [case.id for case in numeric if case.main and case.group == PLAIN][:2]
    for group in plan.groups(target):
        if group not in (PLAIN, BIASES):
            cases.append(next(case.id for case in numeric if case.group == group))
    return [plan.call(CallId(target, case, Action.FORWARD)) for case in cases]


def sign_steps(names: Sequence[str], made: Sequence[Mapping[str, Array]]) -> Array:
    """Return what is kept of named steps, made in some calls: (calls, steps, 4)."""
    signs = [[sign_step(steps[n]) if n in steps else _NEVER for n in names] for steps in made]
    return np.array(signs, dtype=np.float64).reshape(len(made), len(names), len(_NEVER))


def sign_step(values: Array) -> Array:
    """Return how many numbers a tensor has, and three projections of them."""
    flat = values.ravel().astype(np.float64)
    if flat.size > _LONGEST:
        return _NEVER
    projected = directions(flat.size) @ np.where(np.isfinite(flat), flat, 1e6)
    return np.array([flat.size, *projected])


def value_rows(calls: Sequence[Call]) -> list[int]:
    """Return the places of the calls that tell wrong values: all outputs, one gradient.

    Calls with free values tell the least, and are left out where there are others.
    """
    rows = pair_rows(calls)
    bound = [i for i in rows if not calls[i].free]
    told = any(calls[i].action is Action.FORWARD for i in bound)
    return [i for i in rows if i in bound or not told or calls[i].action is Action.GRADIENT]


def pair_rows(calls: Sequence[Call]) -> list[int]:
    """Return the places of the calls that are made for two bugs at once."""
    forward = [i for i, c in enumerate(calls) if c.action is Action.FORWARD and not c.refused]
    gradient = [i for i, c in enumerate(calls) if c.action is Action.GRADIENT]
    pieces = [i for i, c in enumerate(calls) if c.action is Action.PIECES]
    return forward + gradient[:1] + pieces


def of_calls(pairs: Suspects, calls: Sequence[Call], rows: Sequence[int]) -> Suspects:
    """Return the values that pairs of bugs come to in some calls of a target."""
    places = pair_rows(calls)
    return pairs.of_values([places.index(row) for row in rows])


def branches(calls: Sequence[Call]) -> list[Array]:
    """Return the sets of calls that share an option, such as pre-norm, and their opposites."""
    options = dict.fromkeys((k, repr(v)) for call in calls for k, v in call.options.items())
    given = [
        np.array([repr(call.options.get(name)) == value for call in calls])
        for name, value in options
    ]
    return [mask for one in given for mask in (one, ~one)]


def known_by_values(
    key: AnswerKey, target: str, calls: Sequence[Call], answers: Mapping[str, Answer]
) -> bool:
    """Whether the values of some calls are those of a known bug."""
    suspects = key.suspects.get(target)
    if suspects is None:
        return False
    places = {call.id: place for place, call in enumerate(key.plan.of_target(target))}
    seen = sign(calls, answers, key.plan.tensors, []).of_values(range(len(calls)))
    return bool(suspects.of_values([places[c.id] for c in calls]).matching(seen, STRICT))
