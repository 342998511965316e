"""What a page shows beside words: values expected and actual, and where a run left the path."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.compare.occurrence import occurs
from grader.course.models import Exercise, Target
from grader.grading.exercise import Run
from grader.grading.learnt import Learnt
from grader.grading.trace import Step, Trace, traces_of
from grader.records.calls import Array
from grader.records.results import State
from grader.worker.protocol import TargetKind

_MISSING = {  # why a step has no picture
    State.RIGHT: "made piece by piece, with the same values",
    State.NOT_REACHED: "not reached",
    State.OPEN: "not told",
}
_MOST = 24  # rows or columns of a picture; what is larger is cut


@dataclass(frozen=True)
class Panel:
    """Two tensors, one slice of each, to be drawn on one scale."""

    title: str
    expected: Array  # 2-D
    actual: Array | None  # 2-D, None where nothing came
    expected_shape: tuple[int, ...]  # of the whole tensor
    actual_shape: tuple[int, ...] | None
    slice: str  # which part is drawn, "" where it is all
    probable: bool = False  # the submission's is taken for this one by its shape alone
    missing: str = "not found in your run"  # why nothing came, where it is so


@dataclass(frozen=True)
class Drawing:
    """A component as its steps in order, with what is known of them."""

    inputs: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]  # steps side by side follow from those before
    right: frozenset[str]
    wrong: tuple[str, ...]  # in order


@dataclass(frozen=True)
class Exhibit:
    """Pictures of one target."""

    target: str
    case: str
    panels: tuple[Panel, ...]
    drawing: Drawing | None
    learnt: Learnt | None = None  # in place of all else


def exhibits_of(
    exercise: Exercise,
    run: Run,
    *,
    targets: Collection[str] | None = None,
) -> tuple[Exhibit, ...]:
    """Return the pictures of an exercise or of some targets of it; they show public cases."""
    named = {t.name for t in exercise.targets} if targets is None else set(targets)
    # a factory's values are its own, drawn at construction
    named -= {t.name for t in exercise.targets if t.kind is TargetKind.FACTORY}
    return exhibits_from(exercise, traces_of(exercise, run, named))


def exhibit_training(learnt: Learnt) -> Exhibit:
    """Return what is shown of a training."""
    return Exhibit(learnt.target, "", (), None, learnt)


def exhibits_from(exercise: Exercise, traces: Mapping[str, Trace | None]) -> tuple[Exhibit, ...]:
    """Return the pictures of recorded runs."""
    exhibits = []
    for target in exercise.targets:
        trace = traces.get(target.name)
        if trace is None or target.kind is TargetKind.FACTORY:
            continue  # a factory's values are its own, drawn at construction
        if trace.trouble and all(made.given for made in trace.made):
            continue  # it ended before it made anything: there is nothing to compare
        exhibits.append(_exhibit(target, trace))
    return tuple(exhibits)


def _exhibit(target: Target, trace: Trace) -> Exhibit:
    passed = _all_close(trace)
    others = _otherwise_made(trace) if passed else set()
    panels = _step_panels(trace, others) + _output_panels(target, trace)
    return Exhibit(
        target.name,
        trace.shown_case,
        tuple(panels),
        _drawing(target, trace, passed=passed) if trace.steps else None,
    )


def _otherwise_made(trace: Trace) -> set[str]:
    """The steps whose part another tensor plays, on a way that comes to the right output."""
    return {
        step.name
        for step in trace.steps
        if (own := _counterpart(step, trace)) is not None and not occurs(step.values, [own])
    }


def _all_close(trace: Trace) -> bool:
    expected, actual = trace.expected or {}, trace.actual or {}
    return all(
        name in actual
        and actual[name].shape == values.shape
        and bool(np.allclose(actual[name], values, rtol=1e-4, atol=1e-4))
        for name, values in expected.items()
    )


def _output_panels(target: Target, trace: Trace) -> list[Panel]:
    expected, actual = trace.expected or {}, trace.actual or {}
    steps = {step.name: step for step in trace.steps}
    panels = [make_panel(n, expected[n], actual.get(n)) for n in target.outputs if n in expected]
    return [_returned(panel, steps.get(panel.title)) for panel in panels]


def _said(panel: Panel, step: Step | None) -> Panel:
    """A panel with the reason why nothing came, as `grade explain` gives it."""
    return panel if step is None else replace(panel, missing=_MISSING.get(step.state, step.lacking))


def _returned(panel: Panel, step: Step | None) -> Panel:
    """The same of an output, which is what came back."""
    made = step is not None and step.state is State.RIGHT
    return replace(panel, missing="made, but nothing came back") if made else _said(panel, step)


def _step_panels(trace: Trace, others: Collection[str]) -> list[Panel]:
    """The first wrong step, and steps whose rows are distributions: attention weights, say."""
    outputs = {*(trace.expected or {}), *others}
    chosen = [s for s in trace.steps if s.name == trace.wrong or _is_distribution(s.values)]
    return [_step_panel(s, trace) for s in chosen if s.name not in outputs]


def _step_panel(step: Step, trace: Trace) -> Panel:
    actual = _counterpart(step, trace)
    only = _only_one(step, trace) if actual is None else None
    panel = make_panel(step.name, step.values, actual if only is None else only)
    return _said(replace(panel, probable=only is not None), step)


def _is_distribution(values: Array) -> bool:
    if values.ndim < 2 or values.shape[-1] < 2 or (values < 0).any():
        return False
    return bool(np.allclose(values.sum(-1), 1.0))


def _counterpart(step: Step, trace: Trace) -> Array | None:
    """The submission's tensor that plays a step's part; None where several may be meant.

    It is what a variable of the step's name holds, else what has the step's values, else the one
    tensor of its form that is no other step and not returned. A wrong step has other values.
    """
    expected = step.values
    if step.held is not None and step.held.shape == expected.shape:
        return step.held
    alike = [m for m in trace.made if m.values.shape == expected.shape]
    same = [m.values for m in alike if occurs(expected, [m.values])]
    if same:
        return None if step.state is State.WRONG else same[0]
    kind = _is_distribution(expected)
    return _alone(step, [v for v in _free(step, trace) if _is_distribution(v) == kind])


def _only_one(step: Step, trace: Trace) -> Array | None:
    """The one tensor of a wrong step's shape that is no other step, whatever it holds."""
    free = _free(step, trace) if step.state is State.WRONG else []
    return None if occurs(step.values, free) else _alone(step, free)


def _alone(step: Step, free: Sequence[Array]) -> Array | None:
    """The one of some tensors that may be a step's, as it has the step's shape; None for more.

    One that has the same numbers in another form, as behind a product that joins axes inside, is no
    other; what comes of it in that form is.
    """
    own = next((one for one in free if one.shape == step.values.shape), None)
    return None if own is None or any(not occurs(own, [one]) for one in free) else own


def _free(step: Step, trace: Trace) -> list[Array]:
    """The tensors of a step's size that are no other step and not returned."""
    size, last = step.values.size, step.values.shape[-1:]
    alike = [m for m in trace.made if m.values.size == size and m.values.shape[-1:] == last]
    own = [m.values for m in alike if not m.given and not m.steps]
    returned = list((trace.actual or {}).values())
    return [values for values in own if not occurs(values, returned)]


def make_panel(title: str, expected: Array, actual: Array | None) -> Panel:
    """Cut two tensors to slices that can be drawn: the first of each leading axis that differs."""
    alike = actual is not None and actual.shape == expected.shape
    leading = max(expected.ndim - 2, 0)
    first = (0,) * leading
    if alike and leading and actual is not None:
        apart = ~np.isclose(actual, expected, rtol=1e-4, atol=1e-4, equal_nan=True)
        first = next((tuple(one) for one in np.argwhere(apart.any(axis=(-2, -1)))), first)
    part = f"[{', '.join([*map(str, first), ':', ':'])}]" if leading else ""
    return Panel(
        title,
        _cut(expected, first),
        None if actual is None else _cut(actual, first if alike else ()),
        expected.shape,
        None if actual is None else actual.shape,
        part,
    )


def _cut(values: Array, first: Sequence[int]) -> Array:
    if not values.size:
        return np.zeros((0, 0))
    values = values[tuple(first)]
    while values.ndim > 2:
        values = values[0]
    return np.atleast_2d(values)[:_MOST, :_MOST].astype(np.float64)


def _drawing(target: Target, trace: Trace, *, passed: bool) -> Drawing:
    """The way, with what is right of it, as `grade explain` says it."""
    ticked = {s.name for s in trace.steps if s.state is State.RIGHT}
    right = ticked.union(trace.expected or ()) if passed else ticked
    inputs = tuple(name for name in target.inputs if name in target.input_specs)
    wrong = tuple(step.name for step in trace.steps if step.state is State.WRONG)
    return Drawing(inputs, trace.levels, frozenset(right), () if passed else wrong)
