"""Draws the sizes of cases with Hypothesis, and their values with numpy.

Sizes are decoded from numbers below 100: Hypothesis mixes constants that it finds in locally
installed modules into all else that it draws, and a case must not depend on how grader is
installed or on what is imported beside it.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from grader.course.expressions import Range, Size
from grader.errors import CourseError
from grader.records.calls import Array

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_EXAMPLES = (20, 100, 500)  # more where narrow ranges leave few distinct sizes
_REDRAWN = 20  # times at most that equal items of whole numbers are drawn anew
Dims = dict[str, int]


def seed_of(*parts: str | int | bytes) -> int:
    """Return a 128-bit seed that depends on every part and on nothing else."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return int.from_bytes(digest.digest()[:16], "little")


def draw_dims(
    declared: Mapping[str, Range | Size],
    overrides: Mapping[str, Range | Size],
    count: int,
    seed: int,
    where: str,
) -> list[Dims]:
    """Draw `count` different sets of sizes, smallest first; raises CourseError.

    Sizes of one set are distinct from each other, but for those that `overrides` pins.
    """
    specs = {**declared, **overrides}
    pinned = {name for name, spec in overrides.items() if _pins(spec)}
    ranges = [name for name, spec in specs.items() if isinstance(spec, Range)]
    for examples in _EXAMPLES:
        found: list[Dims] = []
        for data in _draw_bytes(len(ranges), examples, seed):
            dims = resolve_dims(specs, dict(zip(ranges, data, strict=True)), where)
            sizes = [size for name, size in dims.items() if name not in pinned]
            if len(set(sizes)) == len(sizes) and min(dims.values()) > 0 and dims not in found:
                found.append(dims)
        if len(found) >= count:
            break
    found = found[:count]
    if len(found) < count:
        raise CourseError(
            f"{where}: only {len(found)} of {count} sets of distinct sizes: widen the ranges"
        )
    return sorted(found, key=lambda dims: (prod(dims.values()), list(dims.values())))


def _draw_bytes(length: int, examples: int, seed: int) -> list[bytes]:
    import hypothesis  # slow to import, and only those who draw need it

    drawn: list[bytes] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(small_numbers(length, length))
    def collect(data: bytes) -> None:
        drawn.append(data)

    with nothing_kept():
        collect()
    return drawn


def small_numbers(fewest: int, most: int) -> "SearchStrategy[bytes]":
    """Return what draws so many numbers from 0 to 99, the same whatever modules are about."""
    from hypothesis import strategies as st

    return st.lists(st.integers(0, 99), min_size=fewest, max_size=most).map(bytes)


@contextlib.contextmanager
def nothing_kept() -> Iterator[None]:
    """Keep Hypothesis from writing `.hypothesis` into the working directory, often a student's."""
    from hypothesis.configuration import set_hypothesis_home_dir

    set_hypothesis_home_dir(os.devnull)  # below which no folder can be made
    try:
        yield
    finally:
        set_hypothesis_home_dir(None)


def _pins(spec: Range | Size) -> bool:
    """Whether a case gives a dim on purpose the value of a number or of another dim."""
    return isinstance(spec, Size) and (spec.text.isdigit() or spec.text.isidentifier())


def resolve_dims(specs: Mapping[str, Range | Size], drawn: Mapping[str, int], where: str) -> Dims:
    """Turn one byte a range into sizes, and evaluate the derived dims, in any order."""
    dims = {
        name: spec.low + drawn[name] % (spec.high - spec.low + 1)
        for name, spec in specs.items()
        if isinstance(spec, Range)
    }
    waiting = {name: spec for name, spec in specs.items() if isinstance(spec, Size)}
    while waiting:
        ready = [name for name, spec in waiting.items() if spec.names() <= dims.keys()]
        if not ready:
            raise CourseError(f"{where}: the dims {sorted(waiting)} have no value of their own")
        for name in ready:
            dims[name] = waiting.pop(name).size(dims)
    return {name: dims[name] for name in specs}


def draw_normal(shape: tuple[int, ...], seed: int) -> Array:
    """Return float64 values of zero mean and unit variance."""
    return np.random.Generator(np.random.PCG64(seed)).standard_normal(shape)


def draw_indices(shape: tuple[int, ...], below: int, seed: int) -> Array:
    """Return int64 values in [0, below), no two items the same where chance can help it.

    Between equal items nothing could be seen to change places.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = generator.integers(0, below, shape)
    for _ in range(_REDRAWN if len(shape) > 1 else 0):
        _, first = np.unique(drawn, axis=0, return_index=True)
        again = np.setdiff1d(np.arange(len(drawn)), first)
        if not again.size:
            break
        drawn[again] = generator.integers(0, below, (again.size, *shape[1:]))
    return drawn
