"""Lines of a target that lose something: a new tensor, the graph of gradients, a layer."""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial

from grader.compare.evidence import Evidence
from grader.compare.statement import shown
from grader.handin.syntax import parse
from grader.records.results import Diagnosis
from grader.worker.frameworks import FrameworkName

# what leaves the tensor as it is that it is called on, in each framework
_NEW = (
    *("contiguous", "exp", "expand", "flatten", "log_softmax", "masked_fill", "matmul", "movedim"),
    *("moveaxis", "mT", "permute", "reshape", "softmax", "sqrt", "squeeze", "sum", "swapaxes"),
    *("swapdims", "T", "transpose", "tril", "triu", "unflatten", "unsqueeze", "view"),
)
_ANEW = "`{}` makes new weights in each call, and they never learn: make it in `__init__`"
_CLASS_ITSELF = "`{0}` is the class itself: make a module, as in `{0}(…)`"
_HIDDEN = (
    "The method `{0}` hides the layer that you keep as `self.{0}`, which is never run: give one of "
    "them another name"
)
# what has a matrix, in each framework
_LAYERS = (
    *("Bilinear", "Conv1d", "Conv1D", "Conv2d", "Conv2D", "Dense", "EinsumDense", "Embedding"),
    *("GRU", "Linear", "LSTM", "Parameter"),
)
_UNKEPT = "`{}` makes a new tensor, and nothing keeps it"
_IDLE_ROWS = ("padding_idx",)  # arguments that keep a row of a table from learning
# by which a class may make what no line of it names
_MAKERS = {"setattr", "__setattr__", "add_module", "register_module", "update", "vars"}
_OF_ANY_MODULE = {"apply", "get_parameter", "get_submodule", "register_buffer", "to", "train"}
SILENT = "end it with a return"  # how the step of `returns_nothing` is known
_NEVER_MADE = "`{}` is called, and nothing of that name is made in `__init__`"
_NOT_RETURNED = "end with `return {}`, if that is the output: so far nothing is returned"
_IN_PLACE = re.compile(r"\binplace\b|ReLU\(True")  # layers that write into what they are given
_OF_ONES = re.compile(r"\.(un)?squeeze_?\(")
_CUTS = ("data", "detach", "no_grad", "numpy")
_Look = Callable[[str, str], Sequence[tuple[int, str]]]


def thrown_away(
    evidence: Evidence, read: Collection[str] | None = None, *, of_values: bool = False
) -> str:
    """Say which line of a target makes a new tensor that nothing keeps, "" where none does.

    With `read`, the names that a line reads: only a tensor made of one of these. An axis of one
    that is put in or taken out is not why values `of_values` are wrong.
    """

    def look(text: str, target: str) -> Sequence[tuple[int, str]]:
        found = _thrown(text, target)
        kept = [place for place, names in found if read is None or names.intersection(read)]
        return [one for one in kept if not (of_values and _OF_ONES.search(one[1]))]

    return _told(evidence, look, _UNKEPT)


def forgotten(evidence: Evidence) -> set[tuple[int, int]]:
    """Return where a target makes a new tensor that nothing keeps, as `place_of` counts.

    These are the numbers of the file or cell and of the line. A last line that lacks its `return`
    is none of them: what it makes on the way is used.
    """
    texts = [text for _, text in sorted(evidence.source.units)]
    name, method = evidence.target.name, evidence.words.method
    return {
        (i, line)
        for i, text in enumerate(texts)
        for (line, code), _ in _thrown(text, name)
        if (line, code) not in _unreturned(method, text, name)
    }


def cut_at(evidence: Evidence) -> str:
    """Say which line of a target cuts what it makes off from the inputs, "" where none does."""
    return _told(evidence, _cut, "`{}` cuts the gradient off: do without it")


def astray(evidence: Evidence) -> str:
    """Say which layer of a target is no part of the module, "" where none is.

    It is called and never made, a class is kept in its place, a constructor forgets what it makes,
    or each call makes it anew.
    """
    return (
        unmade(evidence)
        or _told(evidence, _kept_class, _CLASS_ITSELF)
        or _told(evidence, _local, "`{0}` is forgotten when __init__ ends: write `self.{0}`")
        or _told(evidence, partial(_remade, evidence.words.method), _ANEW)
    )


def unmade(evidence: Evidence) -> str:
    """Say which layer a target calls and nowhere makes, "" where there is none."""
    return _told(evidence, partial(_never_made, evidence.words.method), _NEVER_MADE)


def led_by_text(evidence: Evidence, found: Diagnosis | None) -> Diagnosis | None:
    """Return what is known with a better hint, where the text alone shows the cause.

    A module of torch keeps its layers apart from its attributes: a method comes before them.
    """
    own = found and evidence.framework is FrameworkName.TORCH
    told = _told(evidence, _hidden, _HIDDEN) if own else ""
    told = told or (_told(evidence, _unused, _UNKEPT) if found else "")
    return replace(found, hint=f"{told}.") if found and told else found


def turned_within(evidence: Evidence) -> str:
    """Say which line of a target makes a module of the file, whose layers are turned, "" if none.

    The lengths may be exchanged in either of two places.
    """
    return _told(
        evidence, _made_of_own, "look at `{}`: are two lengths exchanged there, or in its layers?"
    )


def unreturned(evidence: Evidence) -> str:
    """Say what the last line of a target that has no return computes, "" where another thing is.

    It is the method that computes, where the target is a class.
    """
    return _told(evidence, partial(_unreturned, evidence.words.method), _NOT_RETURNED)


def returns_nothing(evidence: Evidence) -> str:
    """Say which helper of a target returns nothing, or not always, "" where none does."""
    return _told(evidence, _silent_helpers, f"{{}}: {SILENT}")


def returned_none(evidence: Evidence) -> str:
    """Say which line of a target returns None, "" where none says so."""
    return _told(evidence, partial(_empty_returns, evidence.words.method), "look at `{}`")


def unraised(evidence: Evidence, error: str) -> str:
    """Say which line of a target makes an exception and does not raise it, "" where none does."""
    look = partial(_idle_errors, error)
    return _told(evidence, look, "`{}` is made, and not raised: write `raise` before it")


def kept_class(evidence: Evidence, name: str) -> str:
    """Say which attribute gets a class of that name, and no module, "" where none does."""

    def look(text: str, target: str) -> Sequence[tuple[int, str]]:
        kept = _kept_class(text, target)
        return [(line, code) for line, code in kept if code.rpartition(".")[2] == name]

    return _told(evidence, look, _CLASS_ITSELF)


def _told(evidence: Evidence, look: _Look, words: str) -> str:
    for label, text in evidence.source.units:
        for line, code in look(text, evidence.target.name):
            return f"{words.format(code)} ({label}, line {line})"
    return ""


@lru_cache(maxsize=32)  # each check of a target that fails asks
def _thrown(text: str, target: str) -> Sequence[tuple[tuple[int, str], set[str]]]:
    """The statements that are nothing but a new tensor, and the names that each reads."""
    found = []
    own = list(_inside(text, target))
    kept = {shown(node) for node in own if isinstance(node, ast.Attribute) and _is_stored(node)}
    loops = [node for node in own if isinstance(node, ast.For) and "self." in shown(node.iter)]
    each = {shown(loop.target) for loop in loops}
    layers = set[str]() if _IN_PLACE.search(text) else kept | each
    for node in own:
        if isinstance(node, ast.Expr):
            made = node.value.func if isinstance(node.value, ast.Call) else node.value
            new = isinstance(made, ast.Attribute) and made.attr in _NEW
            called = isinstance(node.value, ast.Call) and bool(node.value.args)
            new = new or (called and shown(made) in layers)
            if new or isinstance(made, ast.BinOp | ast.UnaryOp | ast.Compare):
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                found.append(((node.lineno, shown(node.value)), names))
    return found


def _unused(text: str, target: str) -> Sequence[tuple[int, str]]:
    """The statements that are nothing but what the target's own layers or tensors make."""
    return [place for place, _ in _thrown(text, target) if place[1].startswith("self.")]


@lru_cache(maxsize=32)
def _cut(text: str, target: str) -> Sequence[tuple[int, str]]:
    """What gives a tensor, or all that is made, no gradient.

    A call that nothing keeps, such as `x.data.copy_(y)`, cuts nothing off that is returned.
    """
    own = list(_inside(text, target))
    idle_calls = [node for node in own if isinstance(node, ast.Expr)]
    aside = {id(node) for call in idle_calls for node in ast.walk(call)}
    nodes = [node for node in own if id(node) not in aside]
    cuts = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr in _CUTS]
    idle = [node for node in nodes if isinstance(node, ast.keyword) and node.arg in _IDLE_ROWS]
    return [
        *((node.lineno, shown(node)) for node in cuts),
        *((node.value.lineno, f"{node.arg}={shown(node.value)}") for node in idle),
    ]


@lru_cache(maxsize=32)
def _local(text: str, target: str) -> Sequence[tuple[int, str]]:
    """The names of a constructor that get what a call makes, and that nothing reads."""
    for maker in _functions(text, target, "__init__"):
        names = [node for node in ast.walk(maker) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        return [
            (one.lineno, one.targets[0].id)
            for one in maker.body
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
            if isinstance(one.targets[0], ast.Name) and one.targets[0].id not in read
        ]
    return []


@lru_cache(maxsize=32)
def _kept_class(text: str, target: str) -> Sequence[tuple[int, str]]:
    """The classes that attributes get, by the case of their names: `self.a = QKVProjection`."""
    found = []
    for node in _inside(text, target):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            for value in _choices(node.value):
                name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
                if name[:1].isupper() and not name.isupper():
                    found.append((value.lineno, shown(value)))
    return found


@lru_cache(maxsize=32)
def _hidden(text: str, target: str) -> Sequence[tuple[int, str]]:
    """The methods that have the name of a module which the constructor makes."""
    own = (*_modules(text), *_LAYERS)
    kept = [node for node in _inside(text, target) if isinstance(node, ast.Assign)]
    made = {
        node.targets[0].attr
        for node in kept
        if isinstance(node.targets[0], ast.Attribute) and isinstance(node.value, ast.Call)
        if (name := shown(node.value.func)).startswith("nn.") or name.rpartition(".")[2] in own
    }
    classes = [node for node in _inside(text, target) if isinstance(node, ast.ClassDef)]
    methods = [one for own in classes for one in own.body if isinstance(one, ast.FunctionDef)]
    return [(method.lineno, method.name) for method in methods if method.name in made]


def _is_stored(node: ast.Attribute | ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_own(call: ast.Call) -> bool:
    """Whether a call hands something computed to an attribute of the module's own."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self")), args=[first, *_]) if (
            not isinstance(first, ast.Constant)
        ):
            return True
    return False


def _choices(value: ast.expr) -> list[ast.expr]:
    """What an expression may come to: both ends of a condition, the values of a dict."""
    match value:
        case ast.IfExp(body=one, orelse=other):
            return [one, *_choices(other)]
        case ast.Subscript(value=ast.Dict(values=several)):
            return several
    return [value]


@lru_cache(maxsize=32)
def _never_made(method: str, text: str, target: str) -> Sequence[tuple[int, str]]:
    """The attributes that the method which computes calls, and that nothing in the class makes.

    Where the class may make them by other means, or inherits from another one, none are told.
    """
    owners = [node for node in _inside(text, target) if isinstance(node, ast.ClassDef)]
    bases = [shown(base).rpartition(".")[2] for one in owners for base in one.bases]
    nodes = [node for one in owners for node in ast.walk(one)]
    called = {shown(n.func).rpartition(".")[2] for n in nodes if isinstance(n, ast.Call)}
    written = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    if {*bases} != {"Module"} or called & _MAKERS or "__getattr__" in written:
        return []
    made = {shown(n) for n in nodes if isinstance(n, ast.Attribute) and _is_stored(n)}
    made |= {f"self.{n.id}" for n in nodes if isinstance(n, ast.Name) and _is_stored(n)}
    made |= {f"self.{name}" for name in written | _OF_ANY_MODULE}
    calls = (n for f in _functions(text, target, method) for n in ast.walk(f))
    found = [(n.lineno, shown(n.func)) for n in calls if isinstance(n, ast.Call) and _is_own(n)]
    return [(line, name) for line, name in found if name not in made]


@lru_cache(maxsize=32)
def _remade(method: str, text: str, target: str) -> Sequence[tuple[int, str]]:
    """The layers and parameters that the method which computes makes, and modules of the file."""
    own = _modules(text)
    nodes = (node for maker in _functions(text, target, method) for node in ast.walk(maker))
    calls = (node for node in nodes if isinstance(node, ast.Call))
    return [
        (call.lineno, shown(call))
        for call in calls
        if shown(call.func).rpartition(".")[2] in own.union(_LAYERS)
    ]


def _unreturned(method: str, text: str, target: str) -> Sequence[tuple[int, str]]:
    """What the last statement computes, or the name that it gives it, where nothing is returned."""
    makers = _functions(text, target, target, method)
    if len(makers) != 1 or any(isinstance(node, ast.Return) for node in ast.walk(makers[0])):
        return []
    match makers[0].body[-1]:
        case ast.Assign(targets=[ast.Name(id=name), *_]) as last:
            return [(last.lineno, name)]
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[value])) as last:
            return [(last.lineno, shown(value))]
        case ast.Expr(value=ast.BinOp() | ast.Call() as value) as last:
            return [(last.lineno, shown(value))]
    return []


def _silent_helpers(text: str, target: str) -> Sequence[tuple[int, str]]:
    """The functions whose result a target uses, and that return none, or none on some way."""
    tree = parse(text)
    own = [*_inside(text, target)]
    helpers = [n for n in (*own, *(tree.body if tree else ())) if isinstance(n, ast.FunctionDef)]
    idle = {id(node.value) for node in own if isinstance(node, ast.Expr)}
    calls = [node for node in own if isinstance(node, ast.Call) and id(node) not in idle]
    used = {shown(call.func) for call in calls}
    found = []
    for one in helpers:
        nodes = list(ast.walk(one))
        makes = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)
        if used & {one.name, f"self.{one.name}"} and not makes and _falls_through(one.body):
            several = any(isinstance(node, ast.Return) for node in nodes)
            what = "does not return on every way" if several else "returns nothing"
            found.append((one.lineno, f"`{one.name}` {what}"))
    return found


def _falls_through(body: Sequence[ast.stmt]) -> bool:
    """Whether some way through some statements comes to no return, as far as that is plain."""
    match body[-1] if body else None:
        case ast.If(body=then, orelse=other):
            return _falls_through(then) or _falls_through(other)
        case ast.With(body=inner):
            return _falls_through(inner)
        case ast.Return() | ast.Raise() | ast.Try() | ast.While() | ast.Match():
            return False
    return True


def _empty_returns(method: str, text: str, target: str) -> Sequence[tuple[int, str]]:
    """The lines that return None, in so many words or without a word."""
    nodes = (n for maker in _functions(text, target, target, method) for n in ast.walk(maker))
    returns = (node for node in nodes if isinstance(node, ast.Return))
    bare = (node for node in returns if node.value is None or shown(node.value) == "None")
    return [(node.lineno, "return None") for node in bare]


def _idle_errors(error: str, text: str, target: str) -> Sequence[tuple[int, str]]:
    """The statements that are nothing but an exception of that name, where none is raised."""
    nodes = list(_inside(text, target))
    if any(isinstance(node, ast.Raise) for node in nodes):
        return []  # which of them is due is not known
    calls = [n.value for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)]
    return [(call.lineno, f"{error}(…)") for call in calls if shown(call.func) == error]


def _functions(text: str, target: str, *names: str) -> list[ast.FunctionDef]:
    """The functions and methods of some names within the definitions of a target."""
    nodes = _inside(text, target)
    return [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name in names]


@lru_cache(maxsize=32)
def _made_of_own(text: str, target: str) -> Sequence[tuple[int, str]]:
    """The calls that make a module of a class that the file defines."""
    own = _modules(text)
    calls = (node for node in _inside(text, target) if isinstance(node, ast.Call))
    return [(call.lineno, shown(call)) for call in calls if shown(call.func) in own]


def _modules(text: str) -> set[str]:
    """The names of the classes of modules that a file defines."""
    tree = parse(text)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)] if tree else []
    return {one.name for one in classes if any("Module" in shown(base) for base in one.bases)}


def _inside(text: str, target: str) -> Iterator[ast.AST]:
    """Everything within the definitions of a target."""
    tree = parse(text)
    for node in tree.body if tree else []:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == target:
            yield from ast.walk(node)
