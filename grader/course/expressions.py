"""The small language of course.yml: sizes, literals and shapes over named dims.

h*d               a size              float[b, t, h*d]     a tensor of reals
0.37, true, 'x'   a literal           int[b, t] < vocab    a tensor of indices below vocab
mixing[k]         a given sublayer    2..4                 a range to draw a dim from
"""

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from grader.worker.protocol import Scalar

PROBES = ("mixing", "pointwise")  # the given sublayers that the worker knows

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_RANGE = re.compile(r"^(\d+)\.\.(\d+)$")
_TENSOR = re.compile(r"^(float|int)\[([^\]]*)\](?:\s*<\s*(.+))?$")
_PROBE = re.compile(r"^([a-z]+)\[([^\]]+)\]$")


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
    """`float[b, t, k]` or `int[b, t] < vocab`."""

    kind: str  # "float" or "int"
    axes: tuple[Size, ...]
    below: Size | None  # exclusive upper bound of an int tensor

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
    """`mixing[k]`: a given sublayer that maps (b, t, k) to (b, t, k)."""

    probe: str
    size: Size

    def names(self) -> frozenset[str]:
        """Return the dims that the size reads."""
        return self.size.names()


ArgumentSpec = TensorSpec | ProbeSpec | Size


def parse_argument(text: str) -> ArgumentSpec:
    """Read a tensor, a given sublayer or a plain value; raises ValueError."""
    text = text.strip()
    if found := _TENSOR.match(text):
        kind, axes, below = found.groups()
        if (below is None) != (kind == "float"):
            raise ValueError(f"'{text}': an int tensor needs '< bound', a float tensor has none")
        sizes = tuple(map(parse_size, axes.split(","))) if axes.strip() else ()
        return TensorSpec(kind, sizes, None if below is None else parse_size(below))
    if found := _PROBE.match(text):
        probe, size = found.groups()
        if probe not in PROBES:
            raise ValueError(f"'{probe}' is no tensor or given sublayer (float, int, {PROBES})")
        return ProbeSpec(probe, parse_size(size))
    return parse_size(text)


def parse_tensor(text: str) -> TensorSpec:
    """Read a tensor; raises ValueError for anything else."""
    spec = parse_argument(text)
    if not isinstance(spec, TensorSpec):
        raise ValueError(f"'{text}' is not a tensor such as float[b, t, k]")
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
