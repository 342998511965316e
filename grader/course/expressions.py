"""The small language of course.yml: sizes, literals and shapes over named dims.

h*d               a size              float[b, t, h*d]     a tensor of reals
0.37, true, 'x'   a literal           int[b, t] < vocab    a tensor of indices below vocab
mixing[k]         a given module      bool[t, t] by causal a tensor that a rule draws
2..4              a range to draw from bool[b, s] or none   a tensor that need not be given
"""

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.worker.protocol import Scalar

# the given modules of the worker, and how many sizes each has
PROBES = {
    "mixing": 1,
    "pointwise": 1,
    "dropping": 1,
    "masked": 1,
    "crossing": 1,
    "predicting": 2,
    "deciding": 2,
}

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_RANGE = re.compile(r"^(\d+)\.\.(\d+)$")
_INTEGERS = ("int", "int32", "int16", "int8", "uint8")  # `int` is torch's usual int64
_TENSOR = re.compile(
    rf"^(float|bool|{'|'.join(_INTEGERS)})\[([^\]]*)\](?:\s*<\s*(.+?))?(?:\s+by\s+(\w+))?$"
)
_LARGEST = 1024  # numbers that stand in course.yml themselves
NUMBER = "number"  # an output that is no tensor
OPAQUE = "opaque"  # an output that nobody looks at, such as a cache
# what grader can draw by itself: the kinds of tensor that a rule is for
RULES: dict[str, tuple[str, ...]] = {
    "causal": ("bool",),
    "lengths": ("bool",),
    "some_true": ("bool",),
    "some_rows_false": ("bool",),
    "sorted": ("float", "int"),
    "distinct": ("int",),
}
_OR_NONE = re.compile(r"\s+or none$")
_PROBE = re.compile(r"^([a-z]+)\[([^\]]+)\](\s+training)?$")
_TOOL = re.compile(r"^(?:squared error|(used )?momentum of (\w+))$")
_AFTER = re.compile(r"^(.+?)\s+after\s+(\w+)$")


@dataclass(frozen=True)
class Size:
    """An expression over dims, as `h*d` or `4*k + 1`; literals are expressions too."""

    text: str

    def names(self) -> frozenset[str]:
        """Return the dims that the expression reads."""
        return frozenset(n.id for n in ast.walk(_parse(self.text)) if isinstance(n, ast.Name))

    def value(self, dims: Mapping[str, int]) -> Scalar:
        """Evaluate over `dims`; raises ValueError for a dim that is not there."""
        return _evaluate(_parse(self.text), dims)

    def size(self, dims: Mapping[str, int]) -> int:
        """Evaluate to a whole number; raises ValueError where it is none."""
        value = self.value(dims)
        if not isinstance(value, int):
            raise ValueError(f"'{self.text}' is not a whole number")
        return value


@dataclass(frozen=True)
class Range:
    """The sizes that a dim is drawn from, both ends included."""

    low: int
    high: int


@dataclass(frozen=True)
class TensorSpec:
    """`float[b, t, k]`, `int[b, t] < vocab` or `bool[t, t] by causal`.

    `number` and `opaque` have no axes.
    """

    kind: str  # "float", "int", "bool", NUMBER for a plain number of Python's, or OPAQUE
    axes: tuple[Size, ...]
    below: Size | None  # exclusive upper bound of an int tensor
    dtype: str = "int64"  # of an int tensor
    rule: str = ""  # what draws it, "" for values that know nothing of each other
    after: str = ""  # the given module whose parameters it is, once the call is over
    optional: bool = False  # an input that need not be given, and is not in the main case

    @property
    def held(self) -> str:
        """The dtype of its values as a plan keeps them."""
        return {"float": "float64", "bool": "bool"}.get(self.kind, self.dtype)

    def shape(self, dims: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape over `dims`."""
        return tuple(axis.size(dims) for axis in self.axes)

    def axis_of(self, dim: str) -> int | None:
        """Return the axis that is exactly `dim`, or None."""
        texts = [axis.text for axis in self.axes]
        return texts.index(dim) if dim in texts else None

    def names(self) -> frozenset[str]:
        """Return the dims that the shape reads."""
        sizes = self.axes if self.below is None else (*self.axes, self.below)
        return frozenset().union(*(size.names() for size in sizes))


@dataclass(frozen=True)
class ProbeSpec:
    """`mixing[k]`: a given module, such as a sublayer that maps (b, t, k) to (b, t, k)."""

    probe: str
    sizes: tuple[Size, ...]
    training: bool = False  # its mode when it is given

    def names(self) -> frozenset[str]:
        """Return the dims that the sizes read."""
        return frozenset().union(*(size.names() for size in self.sizes))


@dataclass(frozen=True)
class LiteralSpec:
    """The values of a tensor as a case gives them, in place of drawn ones."""

    tensor: TensorSpec
    values: NDArray[Any]

    def names(self) -> frozenset[str]:
        """Return the dims that its shape reads."""
        return self.tensor.names()

    def of_shape(self, dims: Mapping[str, int]) -> NDArray[Any]:
        """Return the values; raises ValueError where shape or dtype have no room for them."""
        if (came := self.values.shape) != (due := self.tensor.shape(dims)):
            raise ValueError(f"a case gives values of the shape {came}, {due} is declared")
        made = self.values.astype(self.tensor.held)
        if not np.array_equal(made, self.values, equal_nan=True):
            raise ValueError(f"a value that a case gives is none of {self.tensor.held}")
        return made


@dataclass(frozen=True)
class ToolSpec:
    """`momentum of model` or `squared error`: what training needs beside a model."""

    of: str  # the input that is a given module, "" for a loss
    used: bool = False  # its parameters have gradients from before

    def names(self) -> frozenset[str]:
        """Return the dims that it reads: none."""
        return frozenset()


ArgumentSpec = TensorSpec | ProbeSpec | LiteralSpec | ToolSpec | Size


def parse_argument(text: str) -> ArgumentSpec:
    """Read a tensor, a given module or a plain value; raises ValueError."""
    text = text.strip()
    if found := _OR_NONE.search(text):
        spec = parse_argument(text[: found.start()])
        if not isinstance(spec, TensorSpec):
            raise ValueError(f"'{text}': 'or none' stands behind a tensor")
        return replace(spec, optional=True)
    if found := _TENSOR.match(text):
        return _tensor(text, *found.groups())
    if found := _TOOL.match(text):
        return ToolSpec(found[2] or "", used=bool(found[1]))
    if found := _PROBE.match(text):
        probe, texts, training = found.groups()
        if probe not in PROBES:
            known = ("float", "bool", *_INTEGERS, *PROBES)
            raise ValueError(f"'{probe}' is no tensor or given module: {', '.join(known)}")
        sizes = tuple(map(parse_size, texts.split(",")))
        if len(sizes) != (due := PROBES[probe]):
            raise ValueError(f"'{text}': '{probe}' has {due} size{'s' * (due > 1)}")
        return ProbeSpec(probe, sizes, training=training is not None)
    return parse_size(text)


def _tensor(text: str, dtype: str, axes: str, below: str | None, rule: str | None) -> TensorSpec:
    kind = "int" if dtype in _INTEGERS else dtype
    if (below is None) == (kind == "int"):
        needs = (
            "an int tensor needs '< bound'" if below is None else f"a {kind} tensor has no bound"
        )
        raise ValueError(f"'{text}': {needs}")
    if rule in RULES and kind not in RULES[rule]:
        raise ValueError(f"'{text}': '{rule}' draws {' and '.join(RULES[rule])} tensors only")
    return TensorSpec(
        kind,
        tuple(map(parse_size, axes.split(","))) if axes.strip() else (),
        None if below is None else parse_size(below),
        "int64" if dtype in ("int", "float", "bool") else dtype,
        rule or "",
    )


def parse_output(text: str) -> TensorSpec:
    """Read what comes back: a tensor, a plain number or what is opaque; raises ValueError."""
    if found := _AFTER.match(text.strip()):
        return replace(parse_output(found[1]), after=found[2])
    if text.strip() in (NUMBER, OPAQUE):
        return TensorSpec(text.strip(), (), None)
    spec = parse_argument(text)
    if not isinstance(spec, TensorSpec):
        raise ValueError(f"'{text}' is not a tensor such as float[b, t, k], and no '{NUMBER}'")
    if spec.rule:
        raise ValueError(f"'{text}': what comes back is not drawn, so it has no rule")
    if spec.optional:
        raise ValueError(f"'{text}': what comes back is always there")
    return spec


def parse_dim(text: str | int) -> Range | Size:
    """Read a dim: a range `2..4`, a number, or an expression over other dims."""
    if found := _RANGE.match(str(text)):
        low, high = int(found[1]), int(found[2])
        if low > high:
            raise ValueError(f"'{text}': the range is empty")
        return Range(low, high)
    return parse_size(str(text))


def parse_size(text: str) -> Size:
    """Read an expression; raises ValueError where it is none."""
    _evaluate(_parse(text.strip()), None)
    return Size(text.strip())


def literal(value: Scalar) -> Size:
    """Turn a YAML scalar into an expression: strings are read, all else stands for itself."""
    return parse_size(value) if isinstance(value, str) else Size(repr(value))


def literal_array(values: list[object]) -> NDArray[Any]:
    """Return numbers, or true and false, in lists in lists as an array; raises ValueError."""
    kinds = {type(leaf) for leaf in _leaves(values)}
    if not (kinds <= {bool} or kinds <= {int, float}):
        raise ValueError("a list has numbers, or true and false, and nothing else")
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        raise ValueError("the lists inside a list should all have the same length") from None
    if array.dtype.kind not in "fib" or array.size > _LARGEST:
        raise ValueError(f"a list has at most {_LARGEST} numbers, none beyond 64 bits")
    return array


def _leaves(values: list[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, list):
            yield from _leaves(value)
        else:
            yield value


@lru_cache(maxsize=1024)  # a course has the same few sizes again and again
def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        raise ValueError(f"'{text}' is not an expression") from None


def _evaluate(node: ast.expr, dims: Mapping[str, int] | None) -> Scalar:
    """Evaluate; with `dims` None only the form is checked and names count as 1."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            if dims is None:
                return 1
            if name not in dims:
                raise ValueError(f"'{name}' is not a dim; known: {', '.join(dims)}")
            return dims[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _evaluate(operand, dims)
            if isinstance(value, int | float):
                return -value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _evaluate(left, dims), _evaluate(right, dims)
            if isinstance(a, int) and isinstance(b, int):
                if b == 0 and isinstance(op, ast.FloorDiv):
                    if dims is None:
                        return 1
                    raise ValueError(f"'{ast.unparse(node)}' divides by zero")
                return _OPERATORS[type(op)](a, b)
    raise ValueError(f"'{ast.unparse(node)}' is not a size: use numbers, dims, + - * //")
