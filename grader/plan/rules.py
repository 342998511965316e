"""Rules that draw a tensor's values together: masks of some form, numbers in some order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grader.course.expressions import TensorSpec
from grader.records.calls import Array

if TYPE_CHECKING:
    from numpy.random import Generator  # takes long to load, and whoever draws nothing needs none

# takes the shape, the sizes of the case and what draws numbers
Rule = Callable[[tuple[int, ...], Mapping[str, int], "Generator"], Array]


def draw_by(
    spec: TensorSpec,
    dims: Mapping[str, int],
    seed: int,
    own: Mapping[str, Rule],
    plain: Callable[[], Array],
) -> Array:
    """Return the values of a tensor that has a rule; `plain` draws them without it.

    `own` are the course's rules by name. Raises ValueError for what a rule cannot draw.
    """
    shape, generator = spec.shape(dims), np.random.Generator(np.random.PCG64(seed))
    if spec.rule in own:
        return _checked(spec, dims, _by_course(own[spec.rule], spec, dims, generator))
    if spec.rule == "sorted":
        return np.sort(plain(), -1)
    if spec.rule == "distinct":
        return _distinct(shape, spec, dims, generator)
    if not shape or spec.rule not in _MASKS:
        raise ValueError(f"the rule '{spec.rule}' draws no {spec.kind} tensor of {len(shape)} axes")
    rows = _MASKS[spec.rule]((int(np.prod(shape[:-1])), shape[-1]), shape, generator)
    return rows.reshape(shape)


@dataclass(frozen=True)
class Samples:
    """What a module learns from, and what it is asked then."""

    samples: Array
    labels: Array
    unseen: Array
    due: Array  # the label of each unseen sample
    letters: str  # of tokens, "" where samples are no text


def draw_samples(
    own: Mapping[str, Rule], name: str, count: int, shape: tuple[int, ...], seed: int
) -> Samples:
    """Return what a function of the course's draws to learn from; raises ValueError."""
    said = f"the function '{name}' of the course"
    if name not in own:
        raise ValueError(f"there is no function '{name}' in the course's solutions/drawing.py")
    try:
        *made, letters = own[name](count, shape, np.random.Generator(np.random.PCG64(seed)))  # type: ignore[arg-type]
        samples, labels, unseen, due = (np.ascontiguousarray(one) for one in made)
    except ImportError as error:
        has = "pip install 'grader[instructor]' brings what the courses here need"
        raise ValueError(f"{said} needs {error.name}, which is not installed; {has}") from None
    except Exception as error:  # noqa: BLE001 - whatever the course's code raises is its error
        raise ValueError(f"{said} raises {type(error).__name__}: {error}") from None
    if len(samples) != count or len(labels) != count or unseen.shape != shape:
        raise ValueError(f"{said} draws other shapes than are due")
    if due.shape != shape[:1] or due.dtype.kind not in "iu" or labels.dtype.kind not in "iu":
        raise ValueError(f"{said} draws labels that are no whole numbers, one a sample")
    return Samples(samples, labels, unseen, due, str(letters))


def _causal(_: tuple[int, int], shape: tuple[int, ...], generator: "Generator") -> Array:  # noqa: ARG001 - as all rules
    if len(shape) < 2:
        raise ValueError("the rule 'causal' needs two axes")
    return np.broadcast_to(np.tri(shape[-2], shape[-1]) > 0, shape).copy()


def _lengths(flat: tuple[int, int], _: tuple[int, ...], generator: "Generator") -> Array:
    """Every row begins with at least one true; of several one is full, and another is not."""
    rows, size = flat
    lengths = generator.integers(1, size + 1, rows)
    if rows > 1:
        full, short = generator.permutation(rows)[:2]
        lengths[full], lengths[short] = size, generator.integers(1, max(size, 2))
    return np.arange(size) < lengths[:, None]


def _some_true(flat: tuple[int, int], _: tuple[int, ...], generator: "Generator") -> Array:
    """At least one true a row; and one false where a row has room for it."""
    mask = generator.random(flat) < 0.5
    places = np.argsort(generator.random(flat), -1)[:, :2]
    np.put_along_axis(mask, places, np.array([True, False])[: places.shape[1]], -1)
    return mask


def _some_rows_false(
    flat: tuple[int, int], shape: tuple[int, ...], generator: "Generator"
) -> Array:
    """As `some_true`, but for a third of the rows, at least one and never all of several."""
    mask = _some_true(flat, shape, generator)
    mask[generator.permutation(flat[0])[: max(1, flat[0] // 3)]] = False
    return mask


_MASKS = {
    "causal": _causal,
    "lengths": _lengths,
    "some_true": _some_true,
    "some_rows_false": _some_rows_false,
}


def _distinct(
    shape: tuple[int, ...],
    spec: TensorSpec,
    dims: Mapping[str, int],
    generator: "Generator",
) -> Array:
    below = spec.below.size(dims) if spec.below else 0
    count = shape[-1] if shape else 1
    if count > below:
        raise ValueError(f"{count} distinct numbers are due, and only {below} are below the bound")
    rows = [generator.permutation(below)[:count] for _ in range(int(np.prod(shape[:-1])))]
    return np.array(rows, np.int64).reshape(shape)


def _by_course(
    rule: Rule, spec: TensorSpec, dims: Mapping[str, int], generator: "Generator"
) -> Array:
    try:
        return np.asarray(rule(spec.shape(dims), dict(dims), generator))
    except Exception as error:  # noqa: BLE001 - whatever the course's code raises is its error
        said = f"{type(error).__name__}: {error}"
        raise ValueError(f"the rule '{spec.rule}' of the course raises {said}") from None


def _checked(spec: TensorSpec, dims: Mapping[str, int], values: Array) -> Array:
    """Return what a rule of the course's drew, of the dtype that is due; raises ValueError."""
    said = f"the rule '{spec.rule}' of the course"
    if values.shape != (due := spec.shape(dims)):
        raise ValueError(f"{said} draws the shape {values.shape}, {due} is declared")
    if values.dtype.kind not in {"float": "fiu", "int": "iu", "bool": "b"}[spec.kind]:
        raise ValueError(f"{said} draws {values.dtype.name}, {spec.kind} is declared")
    if spec.below and values.size and not 0 <= values.min() <= values.max() < spec.below.size(dims):
        raise ValueError(f"{said} draws numbers that are not from 0 to below the bound")
    if np.isnan(values).any():
        raise ValueError(f"{said} draws NaN")
    return values.copy()
