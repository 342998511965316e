"""The changes that mutation testing makes: general to torch code, with no knowledge of a course.

Each operator takes a node and its scope and yields nodes that may stand in its place. None makes
work or memory grow without bound: there is no product turned into a power, and no loop made longer
but by the names in scope.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

_ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.Div),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div, ast.Mult),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
}
_ORDERED = (ast.MatMult, ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)  # operands matter
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_SIBLINGS = (
    ("softmax", "log_softmax"), ("Softmax", "LogSoftmax"), ("sin", "cos"), ("mean", "sum", "amax"),
    ("max", "min"), ("relu", "gelu"), ("ReLU", "GELU"), ("tanh", "sigmoid"), ("zeros", "ones"),
    ("zeros_like", "ones_like"), ("tril", "triu"), ("exp", "log"), ("var", "std"),
    ("sqrt", "rsqrt"), ("LayerNorm", "RMSNorm"), ("floor", "ceil"), ("argmax", "argmin"),
)  # fmt: skip
_NEW = ("arange", "zeros", "ones", "full", "empty", "eye", "linspace", "tensor")  # hold no gradient
_DIMS = (-2, -1, 0, 1, 2)
_AXES = ("dim", "axis")
_NAMES = 12  # names tried in place of one, the latest first
_ARGUMENTS = 6  # positional arguments that are exchanged pair by pair
_OTHER_ERROR = "ArithmeticError"  # no base or child of what courses ask for
N = TypeVar("N", bound=ast.AST)


@dataclass(frozen=True)
class Scope:
    """What an operator may use at its place."""

    names: tuple[str, ...]  # parameters and local names assigned above, the latest first
    attributes: tuple[str, ...]  # of self, set in the constructor
    sizes: tuple[str, ...]  # those parameters that are annotated as int
    tensors: bool  # whether a parameter may be a tensor, so that gradients may pass


Operator = Callable[[ast.AST, Scope], Iterator[ast.AST]]


def _with(node: N, **fields: object) -> N:
    """A shallow copy with other fields; parts that are lists are copied too."""
    new = copy.copy(node)
    for name, value in {**dict(ast.iter_fields(node)), **fields}.items():
        setattr(new, name, list(value) if isinstance(value, list) else value)
    return new


def _exchanged(items: list[ast.expr], first: int, second: int) -> list[ast.expr]:
    new = list(items)
    new[first], new[second] = new[second], new[first]
    return new


def _without(items: list[N], item: N) -> list[N]:
    return [other for other in items if other is not item]


def _number(node: ast.AST) -> int | float | None:
    """The value of a literal number, a minus included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    return None


def is_number(node: ast.AST) -> bool:
    """Whether a node is a literal number, a minus included."""
    return _number(node) is not None


def _swap_arithmetic(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp | ast.AugAssign):
        for other in _ARITHMETIC.get(type(node.op), ()):
            yield _with(node, op=other())
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ORDERED):
        yield _with(node, left=node.right, right=node.left)


def _drop_sign(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and _number(node) is None:
        yield node.operand


def _swap_comparison(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for other in _COMPARISONS[type(node.ops[0])]:
            yield _with(node, ops=[other(), *node.ops[1:]])


def _swap_logic(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        yield from node.values


def _change_constant(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    value = _number(node)
    if isinstance(value, float):
        for new in (value * 2, value / 10, value + 1.0):
            yield ast.Constant(new)
    elif value is not None:
        for new in (value + 1, value - 1):
            yield ast.Constant(new)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield ast.Constant("")


def _change_axes(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    """Other dims by keyword; other pairs of dims in a call such as transpose(1, 2)."""
    if isinstance(node, ast.keyword) and node.arg in _AXES and _number(node.value) is not None:
        for dim in _DIMS:
            yield _with(node, value=ast.Constant(dim))
    if isinstance(node, ast.Call) and len(node.args) == 2:
        values = [_number(argument) for argument in node.args]
        if all(isinstance(value, int) for value in values):
            for pair in combinations((0, 1, 2), 2):
                if set(pair) != set(values):
                    yield _with(node, args=[ast.Constant(dim) for dim in pair])


def _exchange_arguments(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call) and 2 <= len(node.args) <= _ARGUMENTS:
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return
        values = [_number(argument) for argument in node.args]
        if len(values) == 2 and None not in values:
            return  # a pair of dims: in this order or that, it is the same pair
        for first, second in combinations(range(len(node.args)), 2):
            yield _with(node, args=_exchanged(node.args, first, second))


def _exchange_items(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    """Two items of a tuple: what is returned or unpacked, and places in an index."""
    if isinstance(node, ast.Tuple):
        for first in range(len(node.elts) - 1):
            yield _with(node, elts=_exchanged(node.elts, first, first + 1))


def _exchange_name(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in scope.names:
        others = [name for name in scope.names if name != node.id]
        for name in others[:_NAMES]:
            yield ast.Name(name, ast.Load())


def _hard_code(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in scope.sizes:
        yield ast.Constant(1)


def _exchange_attribute(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=own, ctx=ast.Load()):
            if own in scope.attributes:
                for name in [a for a in scope.attributes if a != own][:_NAMES]:
                    yield _with(node, attr=name)


def _delete_statement(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Statements without which the code may still run; a first assignment is not one."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Name(id=name)]) if name not in scope.names:
            return
        case ast.Assign():
            yield ast.Pass()


def _change_raise(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        error = ast.Name(_OTHER_ERROR, ast.Load())
        yield _with(node, exc=_with(node.exc, func=error))


def _change_branch(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    """A condition negated, always true, never true; branches of an expression exchanged."""
    if isinstance(node, ast.If):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        yield _with(node, test=ast.Constant(True))
        yield _with(node, test=ast.Constant(False))
    elif isinstance(node, ast.IfExp):
        yield _with(node, body=node.orelse, orelse=node.body)
        yield node.body
        yield node.orelse


def _drop_call(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """f(x) becomes x, and x.m() becomes x; a class called is left alone."""
    if not isinstance(node, ast.Call):
        return
    function = node.func
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if last[:1].isupper():
        return
    if isinstance(function, ast.Attribute) and _is_value(function.value, scope):
        yield function.value
    elif node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]


def _is_value(node: ast.expr, scope: Scope) -> bool:
    """Whether a method's owner is computed here, and no module, class or self."""
    if isinstance(node, ast.Name):
        return node.id in scope.names
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name) and node.attr in scope.attributes
    return isinstance(node, ast.Call | ast.BinOp | ast.Subscript)


def _drop_keyword(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            yield _with(node, keywords=_without(node.keywords, keyword))


def _drop_bound(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    """A slice without its lower bound (unless that is zero), upper bound or step."""
    if isinstance(node, ast.Slice):
        if node.lower is not None and _number(node.lower) != 0:
            yield _with(node, lower=None)
        if node.upper is not None:
            yield _with(node, upper=None)
        if node.step is not None:
            yield _with(node, step=None)


def _exchange_function(node: ast.AST, _: Scope) -> Iterator[ast.AST]:
    """A function of torch for one of the same signature."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        for family in _SIBLINGS:
            for other in family if name in family else ():
                if other != name:
                    yield _with(node, attr=other)


def _detach(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """Cut the graph after what is computed and kept under a name; sizes have no graph."""
    if not scope.tensors or not isinstance(node, ast.Assign):
        return
    match node.targets[0], node.value:
        case _, ast.Call(func=ast.Attribute(attr=name)) if name in (*_NEW, "size", "dim", "numel"):
            return
        case _, ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
            return
        case ast.Name(), ast.BinOp() | ast.Call():
            cut = ast.Attribute(node.value, "detach", ast.Load())
            yield _with(node, value=ast.Call(cut, [], []))


OPERATORS: tuple[tuple[str, Operator], ...] = (
    ("arith", _swap_arithmetic),
    ("sign", _drop_sign),
    ("compare", _swap_comparison),
    ("logic", _swap_logic),
    ("constant", _change_constant),
    ("axes", _change_axes),
    ("arguments", _exchange_arguments),
    ("order", _exchange_items),
    ("name", _exchange_name),
    ("literal", _hard_code),
    ("attribute", _exchange_attribute),
    ("delete", _delete_statement),
    ("raise", _change_raise),
    ("branch", _change_branch),
    ("call", _drop_call),
    ("keyword", _drop_keyword),
    ("slice", _drop_bound),
    ("sibling", _exchange_function),
    ("detach", _detach),
)
