"""Tells code that leaves its process as it was from code that might not.

What is plain may share a process with what comes after it. What is listed here is known to be
harmless; whatever else a submission does costs it nothing but a process of its own.
"""

import ast
import builtins
from collections.abc import Collection, Iterable

from grader.syntax import parse

Units = Iterable[tuple[str, str]]
_MODULES = frozenset({
    "__future__", "abc", "collections", "collections.abc", "copy", "dataclasses", "enum",
    "functools", "itertools", "math", "numbers", "numpy", "operator", "torch", "torch.linalg",
    "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.parameter", "typing",
    "typing_extensions",
})  # fmt: skip
_BUILTINS = frozenset({
    "ArithmeticError", "AssertionError", "AttributeError", "Exception", "False", "IndexError",
    "KeyError", "None", "NotImplemented", "NotImplementedError", "RuntimeError",
    "StopIteration", "True", "TypeError", "ValueError", "abs", "all", "any", "bool", "callable",
    "classmethod", "complex", "dict", "divmod", "enumerate", "filter", "float", "format",
    "frozenset", "hasattr", "id", "int", "isinstance", "issubclass", "iter", "len", "list",
    "map", "max", "min", "next", "object", "pow", "print", "property", "range", "repr",
    "reversed", "round", "set", "slice", "sorted", "staticmethod", "str", "sum", "super",
    "tuple", "type", "zip", "__name__",
})  # fmt: skip
_OTHER_BUILTINS = frozenset(dir(builtins)) - _BUILTINS | {"__builtins__"}
_DUNDERS = frozenset({"__init__", "__name__", "__call__", "__class__", "__version__", "__file__"})
_OWN = frozenset({"bias", "data", "eps", "grad", "p", "requires_grad", "training", "weight"})
_SETTERS = ("set_", "use_", "register")
# parts of torch and numpy that hold settings, or lead to such
_REACHING = frozenset({
    "_C", "accelerator", "autograd", "backends", "classes", "compile", "compiler",
    "distributed", "dynamo", "export", "func", "futures", "fx", "hub", "jit", "library",
    "load", "lib", "ctypeslib", "monitor", "multiprocessing", "ops", "overrides",
    "package", "profiler", "random", "save", "serialization", "seterr", "seterrcall",
    "setbufsize", "storage", "testing", "utils", "version",
})  # fmt: skip
_LOOKED_AT = (ast.Name, ast.Attribute, ast.Subscript, ast.AugAssign, ast.Import, ast.ImportFrom)


def is_plain(units: Units, served: Collection[str]) -> bool:
    """Whether running this text, and calling what it defines, leaves nothing behind.

    It imports what needs no more than torch and mathematics, or is `served`, assigns to attributes
    of `self` alone, and names nothing that changes settings. Only text is looked at: code
    that hides what it does can pass, and then changes a process that serves its own submission.
    """
    nodes: list[ast.AST] = []
    for _, text in units:
        tree = parse(text)
        if tree is None:
            return False
        nodes += ast.walk(tree)
    found = [node for node in nodes if isinstance(node, _LOOKED_AT)]
    imports = [node for node in found if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {(a.asname or a.name).partition(".")[0] for node in imports for a in node.names}
    known = _MODULES.union(served)
    return all(_is_harmless(node, names, known) for node in found)


def _is_harmless(node: ast.AST, imported: Collection[str], known: Collection[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return not (name in _OTHER_BUILTINS or _is_setting(name))
        case ast.Attribute(attr=name, ctx=ast.Load()):
            return _is_readable(node, name)
        case ast.Attribute():
            return _is_own(node)
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            return _root(node) not in ("", *imported)
        case ast.AugAssign(target=ast.Name(id=name)):
            return name not in imported
        case ast.Import(names=names):
            return all(alias.name in known for alias in names)
        case ast.ImportFrom(module=module, names=names):
            settings = any(_is_setting(a.name) or a.name in _REACHING for a in names)
            return module in known and not settings
    return True


def _is_setting(name: str) -> bool:
    return name.startswith(_SETTERS)


def _is_own(node: ast.Attribute) -> bool:
    """Whether an attribute that is assigned to belongs to `self`, or to a layer that it holds."""
    if node.attr.startswith("__"):
        return False
    inner = node.value
    if isinstance(inner, ast.Name):
        return inner.id == "self"
    return node.attr in _OWN and _root(node) == "self"


def _is_readable(node: ast.Attribute, name: str) -> bool:
    own = isinstance(node.value, ast.Name) and node.value.id == "self"
    if name.startswith("__"):
        return name in _DUNDERS
    if own:
        return True
    return not (name.startswith("_") or _is_setting(name) or name in _REACHING)


def _root(node: ast.expr) -> str:
    """The name at which a chain of attributes and subscripts begins, "" where it is a call's."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
