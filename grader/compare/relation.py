"""Says in what simple relation a wrong output stands to the right one, if it does in every case.

What no known mistake explains may still be the right values times a number, moved by one place, or
rounded: that is measured here, and told as what it is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from grader.compare.evidence import Evidence, Fault
from grader.compare.outcomes import called, judge_call
from grader.compare.steps import UNEXPLAINED
from grader.course.expressions import TensorSpec
from grader.records.calls import PLAIN, Array, Call
from grader.records.results import Diagnosis
from grader.worker.names import Group, tensor_name
from grader.worker.protocol import Action, TensorKey

_LEAST = 2  # cases that show it: in one it may be so by chance
_TRIVIAL = 2  # different numbers that are right by themselves
_LONG = 3  # places along an axis that show an order
_NUMBERS = 4  # of an output that tells something
_PLACES = 6  # decimal places that a result may be rounded to
_SAME = 1e-6  # how far a factor may be from a size, as a part of it
_PRECISION = {"float64": 1e-9, "float32": 1e-4}  # of the greatest number
_FACTOR = "Look for a factor or a divisor that is missing, is one too many, or is another one."
_ORDER = "Look at each transpose, reshape and view, and at the order of what is joined."
_WHOLE = "Return the numbers as they are computed, and cut or round nothing."
_SUM = "Look at what is added, and at what is left out of the sum."
_RETURNED = "Look at which tensor is returned, and whether each line's result reaches it."
_ALIKE = "Look for what makes them alike, such as a factor of zero or a mean."
_PLACE = "Look at what is made for the places that are wrong, and at what is not."


@dataclass(frozen=True)
class Relation:
    """What came beside what is due, in words that follow "the output is"."""

    said: str
    hint: str
    firm: bool = field(default=True, compare=False)  # whether the pair is large enough to show it


@dataclass(frozen=True)
class _Pair:
    """The output of one wrong case, and the right one."""

    came: Array
    due: Array
    axes: Sequence[str]  # their sizes, as the lesson writes them
    dims: Mapping[str, int]
    inputs: Mapping[str, Array]
    near: float  # how far numbers may be apart

    def same(self, one: Array, other: Array) -> bool:
        return bool(np.all(np.abs(one - other) <= self.near))


_Rule = Callable[[_Pair], Iterable[Relation]]  # all that hold of one pair


def related(evidence: Evidence, located: Diagnosis | None) -> Diagnosis | None:
    """Add the relation to what is known of the steps, or tell it alone; `located` without one."""
    for name in evidence.target.outputs:
        if evidence.target.output_specs[name].after:
            continue  # most of what training leaves was there before it
        found = _relation(_pairs(evidence, name))
        if found is None:
            continue
        output = called(evidence, tensor_name(Group.OUTPUT, name))
        said = f"In each{_scope(evidence)} case where it is wrong, {output} is {found.said}."
        known = located or Diagnosis(evidence.target.name, (), "", "", UNEXPLAINED)
        return replace(known, hint=found.hint, evidence=f"{known.evidence} {said}")
    return located


def _scope(evidence: Evidence) -> str:
    """Of which cases alone it is known, as part of the sentence."""
    calls = evidence.numeric_calls(Action.FORWARD)
    others = (call for call in calls if evidence.case(call).group != PLAIN)
    right = all(judge_call(evidence, call, Group.OUTPUT).passed for call in others)
    return "" if right else " usual"


def _relation(pairs: Sequence[_Pair]) -> Relation | None:
    """Return the first relation that holds of all pairs."""
    if sum(pair.due.size >= _NUMBERS for pair in pairs) < _LEAST:
        return None
    for rule in _RULES:
        found = [list(rule(pair)) for pair in pairs]
        shared = [one for one in found[0] if all(one in other for other in found)]
        for one in shared:
            if any(other == one and other.firm for some in found for other in some):
                return one
    return None


def _pairs(evidence: Evidence, name: str) -> list[_Pair]:
    """Return the pairs of all ordinary cases whose values of an output are wrong.

    None at all where more than values is wrong in one of these, or only zeros are due.
    """
    found = []
    spec, named = evidence.target.output_specs[name], tensor_name(Group.OUTPUT, name)
    for call in evidence.numeric_calls(Action.FORWARD, PLAIN):
        judged = judge_call(evidence, call, Group.OUTPUT)
        if judged.passed:
            continue
        came, due = (
            of[call.id].tensors.get(named) for of in (evidence.answers, evidence.key.answers)
        )
        if judged.fault is not Fault.VALUES or came is None or due is None:
            return []
        if came.dtype.name not in _PRECISION or came.shape != due.shape or not due.any():
            return []
        near = _PRECISION[came.dtype.name] * float(np.abs(due).max())
        axes = [axis.text for axis in spec.axes]
        inputs = _inputs(evidence, call)
        pair = _Pair(came, due, axes, evidence.case(call).dims, inputs, near)
        if not pair.same(came, due):  # else another output of the same call is wrong
            found.append(pair)
    return found


def _inputs(evidence: Evidence, call: Call) -> dict[str, Array]:
    specs, tensors = evidence.target.input_specs, evidence.key.plan.tensors
    return {
        name: tensors[given.tensor]
        for (name, spec), given in zip(specs.items(), call.inputs, strict=False)
        if isinstance(spec, TensorSpec) and spec.kind == "float" and isinstance(given, TensorKey)
    }


def _of_an_input(pair: _Pair) -> Iterator[Relation]:
    """An input itself, or what is due with one added or taken away."""
    for name, value in pair.inputs.items():
        if value.shape != pair.due.shape:
            continue
        if pair.same(pair.came, value):
            yield Relation(f"`{name}` as it came in", _RETURNED)
        elif pair.same(pair.came, pair.due + value):
            yield Relation(f"what is due plus `{name}`", _SUM)
        elif pair.same(pair.came, pair.due - value):
            yield Relation(f"what is due minus `{name}`", _SUM)


def _alike(pair: _Pair) -> Iterator[Relation]:
    """The same at all places along an axis, where what is due is not."""
    if pair.same(pair.came, pair.came.flat[0]):
        one = float(pair.came.flat[0]) + 0.0  # zero has no sign
        yield Relation(f"{one:.4g} at each place", _RETURNED)
    for axis, dim in reversed([*enumerate(pair.axes)]):
        came, due = (np.take(one, [0], axis) for one in (pair.came, pair.due))
        if pair.same(pair.came, came) and not pair.same(pair.due, due):
            firm = pair.due.shape[axis] >= _LONG
            yield Relation(f"the same at each place along `{dim}`", _ALIKE, firm)


def _rounded(pair: _Pair) -> Iterator[Relation]:
    for places in range(_PLACES + 1):
        if pair.same(pair.came, np.round(pair.came, places)):
            half = 0.5 * 10.0**-places
            if half > pair.near and np.abs(pair.came - pair.due).max() <= half + pair.near:
                yield Relation(f"what is due, rounded to {places} decimal places", _WHOLE)
            return


def _cut(pair: _Pair) -> Iterator[Relation]:
    """What is due, but for numbers below or above a limit, which are set to it."""
    came, due = pair.came, pair.due
    low, high = float(came.min()), float(came.max())
    if low < high and pair.same(came, np.clip(due, low, high)):
        below = float(due.min()) < low - pair.near
        above = float(due.max()) > high + pair.near
        limits = [f"no number below {low:.4g}"] * below + [f"none above {high:.4g}"] * above
        yield Relation(f"what is due with {' and '.join(limits)}", _WHOLE)


def _times(pair: _Pair) -> Iterator[Relation]:
    """What is due times one number: a constant, or one that is made of a size."""
    at = int(np.abs(pair.due).argmax())
    factor = float(pair.came.flat[at] / pair.due.flat[at])
    if factor == 0 or not pair.same(pair.came, factor * pair.due):
        return
    if abs(factor + 1) < _SAME:
        yield Relation("what is due with the opposite sign", _FACTOR)
    # before sizes: where one number does for all, a size may have been the same by chance
    yield Relation(f"what is due, times {factor:.6g}", _FACTOR)
    for dim, size in pair.dims.items():
        if size > 1:
            for value, said in ((size, f"`{dim}`"), (size**0.5, f"the square root of `{dim}`")):
                if abs(factor / value - 1) < _SAME:
                    yield Relation(f"what is due, times {said}", _FACTOR)
                if abs(factor * value - 1) < _SAME:
                    yield Relation(f"what is due, divided by {said}", _FACTOR)
    yield Relation("what is due times a number, another one in each case", _FACTOR)


def _plus(pair: _Pair) -> Iterator[Relation]:
    apart = float((pair.came - pair.due).flat[0])
    if pair.same(pair.came, pair.due + apart):
        yield Relation(f"what is due plus {apart:.4g} at each place", _SUM)


def _moved(pair: _Pair) -> Iterator[Relation]:
    """What is due in reverse, or moved by one place, along one axis."""
    for axis, dim in enumerate(pair.axes):
        size = pair.due.shape[axis]
        firm = size >= _LONG
        if pair.same(pair.came, np.flip(pair.due, axis)):
            yield Relation(f"what is due, in reverse along `{dim}`", _ORDER, firm)
        for step in (1, -1):
            inner = partial(np.take, indices=range(1, size - 1), axis=axis)
            if pair.same(inner(pair.came), inner(np.roll(pair.due, step, axis))):
                yield Relation(f"what is due, moved by one place along `{dim}`", _ORDER, firm)


def _along(pair: _Pair) -> Iterator[Relation]:
    """What is due times a number for each place of the other axes."""
    for axis, dim in enumerate(pair.axes):
        at = np.expand_dims(np.abs(pair.due).argmax(axis), axis)
        most = np.take_along_axis(pair.due, at, axis)
        if np.any(np.abs(most) <= pair.near):
            continue
        factors = np.take_along_axis(pair.came, at, axis) / most
        if np.all(factors) and pair.same(pair.came, factors * pair.due):
            said = f"what is due, but for a number that all along `{dim}` are multiplied with"
            firm = pair.due.shape[axis] >= _LONG
            yield Relation(said, f"{_FACTOR[:-1]}, such as what a row is divided by.", firm)


def _right_elsewhere(pair: _Pair) -> Iterator[Relation]:
    """Wrong at some places along an axis only."""
    wrong = np.abs(pair.came - pair.due) > pair.near
    for axis, dim in enumerate(pair.axes):
        size = pair.due.shape[axis]
        others = tuple(other for other in range(wrong.ndim) if other != axis)
        places = np.flatnonzero(wrong.any(axis=others)).tolist()
        known = {
            "right but for the first place along": [0],
            "right but for the last place along": [size - 1],
            "right at even places, counted from 0, and wrong at odd ones along": [
                *range(1, size, 2)
            ],
            "wrong at even places, counted from 0, and right at odd ones along": [
                *range(0, size, 2)
            ],
            "right at the first place alone along": [*range(1, size)],
            "right at the last place alone along": [*range(size - 1)],
        }
        # as in the first row of a table, which is zeros and ones whatever the frequencies are
        telling = np.unique(np.delete(pair.due, places, axis)).size > _TRIVIAL
        for said, of in known.items():
            if places == of:
                yield Relation(f"{said} `{dim}`", _PLACE, size >= _LONG and telling)


def _reordered(pair: _Pair) -> Iterator[Relation]:
    came, due = np.sort(pair.came, axis=None), np.sort(pair.due, axis=None)
    if pair.same(came, due) and np.diff(due).max() > pair.near:
        yield Relation("made of the right numbers, but they stand at other places", _ORDER)


# from what says most to what says least
_RULES: Sequence[_Rule] = (
    _of_an_input,
    _alike,
    _rounded,
    _cut,
    _times,
    _plus,
    _moved,
    _right_elsewhere,
    _along,
    _reordered,
)
