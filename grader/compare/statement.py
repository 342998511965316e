"""The statement that raised an exception: what it calls, and how that was made."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.handin.read import Source
from grader.handin.syntax import parse
from grader.records.answers import StudentError
from grader.records.text import clean

_SHOWN = 60  # characters of code that are quoted


@dataclass(frozen=True)
class Layer:
    """An attribute of self that a statement calls."""

    name: str
    arguments: tuple[ast.expr, ...]

    @property
    def argument(self) -> str:
        """The only argument where it is a plain name, else ""."""
        one = self.arguments[0] if len(self.arguments) == 1 else None
        return one.id if isinstance(one, ast.Name) else ""


@dataclass(frozen=True)
class Statement:
    """A statement of a submission's, with the function and the class that it stands in."""

    line: int
    node: ast.stmt | None = None  # None where the text is not there or cannot be parsed
    function: ast.FunctionDef | None = None
    owner: ast.ClassDef | None = None

    @cached_property
    def _here(self) -> list[ast.expr]:
        """The expressions on the line itself: those of a block's body are not."""
        nodes = ast.walk(self.node) if self.node else iter(())
        return [
            node
            for node in nodes
            if isinstance(node, ast.expr)
            and node.lineno <= self.line <= (node.end_lineno or node.lineno)
        ]

    @cached_property
    def calls(self) -> list[ast.Call]:
        """The calls on the line."""
        return [node for node in self._here if isinstance(node, ast.Call)]

    @cached_property
    def names(self) -> set[str]:
        """The plain names and the attributes that the line reads."""
        names = {node.id for node in self._here if isinstance(node, ast.Name)}
        return names | {node.attr for node in self._here if isinstance(node, ast.Attribute)}

    @cached_property
    def layers(self) -> list[Layer]:
        """The attributes of self, or items of them, that the line calls."""
        found = []
        for call in self.calls:
            what = call.func.value if isinstance(call.func, ast.Subscript) else call.func
            if _of_self(what):
                found.append(Layer(what.attr, tuple(call.args)))  # type: ignore[attr-defined]
        return found

    def made_as(self, kind: str) -> tuple[Layer, ast.Call] | None:
        """Return the one layer that the line calls, and the call that made it of a class."""
        layer = self.layers[0] if len(self.layers) == 1 else None
        made = self.made(layer.name) if layer else []
        last = made[-1] if made else None
        if layer is None or not isinstance(last, ast.Call):
            return None
        return (layer, last) if shown(last.func).split(".")[-1] == kind else None

    @property
    def fills_slice(self) -> bool:
        """Whether it assigns to a part of something."""
        targets = self.node.targets if isinstance(self.node, ast.Assign) else []
        return any(isinstance(target, ast.Subscript) for target in targets)

    @property
    def multiplies(self) -> bool:
        """Whether it is a product number by number, of two things that may be tensors."""
        value = getattr(self.node, "value", None)  # of an assignment or a return
        return (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Mult)
            and not any(isinstance(one, ast.Constant) for one in (value.left, value.right))
        )

    @property
    def input_name(self) -> str:
        """What the function around calls its first argument beside self."""
        if self.function is None:
            return ""
        names = [argument.arg for argument in self.function.args.args]
        return next((name for name in names if name != "self"), "")

    def assigned(self, name: str) -> int:
        """Return the last line of the function, before this one, that assigns to a name; or 0."""
        nodes = ast.walk(self.function) if self.function else iter(())
        lines = [
            node.lineno
            for node in nodes
            if isinstance(node, ast.Assign)
            and (node.end_lineno or node.lineno) < self.line
            and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        ]
        return max(lines, default=0)

    def made(self, attribute: str) -> list[ast.expr]:
        """Return what the class assigns to an attribute of self, in order."""
        nodes = ast.walk(self.owner) if self.owner else iter(())
        return [
            node.value
            for node in nodes
            if isinstance(node, ast.Assign)
            and any(_of_self(target, attribute) for target in node.targets)
        ]

    @property
    def loops(self) -> bool:
        """Whether it goes through something, item by item."""
        going = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp, ast.Starred)
        return isinstance(self.node, ast.For) or any(isinstance(n, going) for n in self._here)

    def sums(self) -> Iterator[str]:
        """Yield the reductions that drop an axis, on the line or on the way to a name in it."""
        before = ast.walk(self.function) if self.function else iter(())
        values = [
            node.value
            for node in before
            if isinstance(node, ast.Assign)
            and node.lineno < self.line
            and any(isinstance(t, ast.Name) and t.id in self.names for t in node.targets)
        ]
        for call in [*self.calls, *(value for value in values if isinstance(value, ast.Call))]:
            if (
                isinstance(call.func, ast.Attribute)
                and call.func.attr in _REDUCTIONS
                and not _of_self(call.func)
                and _along_an_axis(call, call.func)
                and all(word.arg != "keepdim" for word in call.keywords)
            ):
                yield call.func.attr


_REDUCTIONS = ("sum", "mean", "amax", "max", "var", "std", "norm", "logsumexp")


def find_statement(source: Source, error: StudentError) -> Statement:
    """Return the statement of the file itself that raised an error, or called what did."""
    own = [frame for frame in error.frames if source.holds(frame.label)]
    if not own:
        return Statement(0)
    frame = own[-1]
    tree = next((parse(text) for label, text in source.units if label == frame.label), None)
    node: ast.stmt | None = None
    function: ast.FunctionDef | None = None
    owner: ast.ClassDef | None = None
    inside: list[ast.stmt] = list(tree.body) if tree else []
    while around := [n for n in inside if n.lineno <= frame.line <= (n.end_lineno or n.lineno)]:
        node = around[0]
        function = node if isinstance(node, ast.FunctionDef) else function
        owner = node if isinstance(node, ast.ClassDef) else owner
        inside = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)]
    return Statement(frame.line, node, function, owner)


def shown(node: ast.expr) -> str:
    """Return an expression as code to quote, cut to a length."""
    try:
        text = clean(ast.unparse(node), 400)
    except RecursionError:  # which only code that nobody wants to read comes to
        return "…"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _along_an_axis(call: ast.Call, function: ast.Attribute) -> bool:
    """Whether a reduction is told its axis: x.sum(-1), and torch.sum(x, -1)."""
    of_torch = isinstance(function.value, ast.Name) and function.value.id == "torch"
    return bool(call.keywords) or len(call.args) > of_torch


def _of_self(node: ast.expr, name: str = "") -> bool:
    """Whether an expression is an attribute of self, of some name."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        and name in ("", node.attr)
    )
