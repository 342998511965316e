"""Tells code that leaves its process as it was from code that might not.

What is plain may share a process with what comes after it. What is listed here is known to be
harmless; whatever else a submission does costs it nothing but a process of its own.
"""

import ast
import builtins
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from grader.handin.syntax import chain, nodes_of, parse

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
# __del__ runs whenever its object goes, with the next exercise perhaps
_OTHER_NAMES = frozenset(dir(builtins)) - _BUILTINS | {"__builtins__", "__del__"}
_DUNDERS = frozenset({"__init__", "__name__", "__call__", "__class__", "__version__", "__file__"})
_OWN = frozenset({"bias", "data", "eps", "grad", "p", "requires_grad", "training", "weight"})
_SETTERS = ("set_", "use_", "register", "Disable", "Exclude")
# parts of torch, numpy and Python that hold settings, or lead to such
_REACHING = frozenset({
    "_C", "accelerator", "attrgetter", "autograd", "backends", "bltns", "classes", "compile",
    "compiler", "ctypeslib", "delitem", "dispatch_table", "distributed", "dynamo", "export",
    "f2py", "func", "futures", "fx", "get_type_hints", "hub", "init_num_threads", "jit",
    "library", "load", "lib", "methodcaller", "monitor", "ops", "overrides", "package",
    "profiler", "save", "serialization", "seterr", "seterrcall", "setbufsize", "setitem",
    "storage", "testing", "update_wrapper", "utils", "version",
})  # fmt: skip
_CLIPPING = frozenset({"clip_grad_norm_", "clip_grad_value_"})  # of torch.nn.utils
# torch.sys is sys; some names mean something else there
_STDLIB = sys.stdlib_module_names - _MODULES - {"array", "chunk", "select", "trace"}
_WAITING = (ast.Yield, ast.YieldFrom)
_LOOKED_AT = (
    ast.Name, ast.Attribute, ast.Subscript, ast.AugAssign, ast.Import, ast.ImportFrom,
    ast.FunctionDef, ast.AsyncFunctionDef,
)  # fmt: skip


def is_plain(units: Units, served: Collection[str]) -> bool:
    """Whether running this text, and calling what it defines, leaves nothing behind.

    It imports what needs no more than torch and mathematics, or is `served`, assigns to attributes
    of `self` alone, and names nothing that changes settings. Only text is looked at: code
    that hides what it does can pass, and then changes a process that serves its own submission.
    """
    imported = _imports(tuple(text for _, text in units))
    return imported is not None and imported <= _MODULES.union(served)


@lru_cache(maxsize=16)  # a later exercise asks again for those that it imports
def _imports(texts: Sequence[str]) -> frozenset[str] | None:
    """Return the modules that some harmless texts import, None where one is not harmless."""
    nodes: list[ast.AST] = []
    for text in texts:
        tree = parse(text)
        if tree is None:
            return None
        own = nodes_of(text)
        if any(isinstance(node, _WAITING) for node in own) and _waits(tree):
            return None
        nodes += own
    found = [node for node in nodes if isinstance(node, _LOOKED_AT)]
    whole = [alias for node in found if isinstance(node, ast.Import) for alias in node.names]
    partly = [node for node in found if isinstance(node, ast.ImportFrom)]
    imported = [*whole, *(alias for node in partly for alias in node.names)]
    names = {(alias.asname or alias.name).partition(".")[0] for alias in imported}
    known = {id(n.value) for n in found if isinstance(n, ast.Attribute) and n.attr in _CLIPPING}
    if not all(_is_harmless(node, names) for node in found if not _is_utils(node, known)):
        return None
    return frozenset([*(alias.name for alias in whole), *(n.module or "" for n in partly)])


def _is_utils(node: ast.AST, known: Collection[int]) -> bool:
    """Whether a node is the `nn.utils` of something known."""
    return id(node) in known and isinstance(node, ast.Attribute) and node.attr == "utils"


def _is_harmless(node: ast.AST, imported: Collection[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return not (name in _OTHER_NAMES or _is_setting(name))
        case ast.Attribute(attr=name, ctx=ast.Load()):
            return _is_readable(node, name)
        case ast.Attribute():
            return _is_own(node)
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            return _root(node) not in ("", *imported)
        case ast.AugAssign(target=ast.Name(id=name)):
            return name not in imported
        case ast.ImportFrom(module=module, names=names):
            hidden = ("_", "*") if module in _MODULES else ()
            return not any(_leads_on(a.name) or a.name.startswith(hidden) for a in names)
        case ast.FunctionDef(name=name):
            return name not in _OTHER_NAMES
        case ast.AsyncFunctionDef():
            return False
    return True


def _waits(tree: ast.AST) -> bool:
    """Whether a generator waits inside a `with` or `try`: it runs on whenever it is thrown away."""
    waiting = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if inside and isinstance(node, _WAITING):
            return True
        inside = inside or isinstance(node, ast.With | ast.Try | ast.TryStar)
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
    return False


def _is_setting(name: str) -> bool:
    return name.startswith(_SETTERS)


def _leads_on(name: str) -> bool:
    """Whether a part of a module is a setting, or leads to one."""
    return _is_setting(name) or name in _REACHING or name in _STDLIB


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
    return not (name.startswith("_") or _leads_on(name))


def _root(node: ast.expr) -> str:
    """The name at which a chain of attributes and subscripts begins.

    It is "" where the chain begins at a call, and where it goes by an object's class.
    """
    *links, begin = chain(node)
    if any(isinstance(link, ast.Attribute) and link.attr == "__class__" for link in links):
        return ""
    return begin.id if isinstance(begin, ast.Name) else ""
