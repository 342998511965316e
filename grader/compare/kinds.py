"""Reasons of exceptions about what stands where something else is due: a class, a number, None."""

import ast
import difflib
import re

from grader.compare.lost import kept_class
from grader.compare.scene import Reason, Scene
from grader.compare.statement import shown
from grader.handin.read import arguments_of, bases_of, keyword_only, method_names
from grader.records.text import with_article

Found = re.Match[str]
_PLAIN = (
    "int",
    "float",
    "bool",
    "str",
    "tuple",
    "list",
    "dict",
    "NoneType",
    "ndarray",
    "complex",
    "Size",
)
_BARE_TRUTH = re.compile(
    r"\b(?:el)?if\s+(?P<no>not\s+)?(?P<name>[A-Za-z_][\w.]*)\s*(?::|and\b|or\b|else\b)"
)
_FUNCTIONS = ("builtin_function_or_method", "method", "function", "method_descriptor")


def class_in_a_stack(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that a class stands where a layer is due."""
    name = found[1]
    if name == "NoneType":
        return Reason("one of the layers is None: check what makes it")
    if not name[:1].isupper():
        return Reason(f"a stack holds layers, and `{name}` is none")
    return Reason(f"write `{name}()` where a layer is due: without brackets it is the class")


def not_a_tensor(found: Found, scene: Scene) -> Reason | None:
    """Say what stands where a tensor is due."""
    function, kind = found[1], found[2]
    if kind in ("int", "float") and function in ("sqrt", "exp", "log", "sin", "cos", "pow"):
        return Reason(
            f"torch.{function} takes a tensor: for a plain number there is math.{function}"
        )
    if kind == "NoneType":
        return Reason("what was called before it returns None: check that it ends in a return")
    if kind in _PLAIN:
        return Reason(f"print what you pass: it is of type {kind} there")
    return _made_in_call(kind, scene) if _is_of_torch(kind) else None


def _made_in_call(kind: str, scene: Scene) -> Reason:
    if kept := kept_class(scene.evidence, kind):
        return Reason(kept)
    written = scene.evidence.words.layer.format(kind)
    function = scene.line.function
    if f"{kind}(" in (ast.unparse(function) if function else scene.code):
        step = "make it in __init__, and call it with the tensor"
        return Reason(f"{written}(...) makes a layer: {step}")
    stands = f"`{written}` stands there, a layer and not what it returns"
    return Reason(f"{stands}: call the layer with the tensor, as in `layer(x)`")


def called(found: Found, scene: Scene) -> Reason | None:
    """Say what is called that cannot be."""
    kind = found[1]
    plain = {
        layer.name: [made for made in scene.line.made(layer.name) if not isinstance(made, ast.Call)]
        for layer in scene.line.layers
    }
    given = [(name, values[-1]) for name, values in plain.items() if values]
    if len(given) == 1 and kind not in ("list", "Tensor"):
        name, value = given[0]
        made = [one for one in scene.line.made(name) if isinstance(one, ast.Call)]
        what = f"`self.{name}` is `{shown(value)}`, of type {kind}"
        if made:
            return Reason(f"{what}, and hides `{shown(made[0])}`: give each its own name")
        return Reason(f"{what}: make a layer of it in __init__, or call a function with it")
    function = scene.line.function
    own = {one.arg for one in function.args.args} if function else set[str]()
    handed = [shown(call.func) for call in scene.line.calls if shown(call.func) in own]
    if kind == "Tensor" and handed:
        return Reason(f"`{handed[0]}` calls what it gets: are the arguments in its order?")
    said = {
        "list": "nn.Sequential(*layers) can be called, a list cannot",
        "Tensor": "a tensor is followed by a bracket there: is an operator missing, or does a "
        "tensor have the name of a function?",
        "module": "what is called is a module: name the function in it",
        "NoneType": "what is called there is None: follow it back to where it is set",
    }
    return Reason(said[kind]) if kind in said else None


def size_is_float(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that a size is no whole number."""
    return Reason("a size is a whole number: divide with //, not with /")


def size_is_other(found: Found, scene: Scene) -> Reason | None:  # noqa: ARG001 - as all rules
    """Say what stands where a size is due."""
    kind = next(one for one in found.groups() if one)
    if kind == "NoneType":
        return Reason("a size is None there: fill in its default first")
    if kind == "Tensor":
        return Reason("a layer is made with sizes, in __init__, and called with a tensor")
    if kind in _FUNCTIONS:
        return _uncalled()
    if kind in _PLAIN:
        return Reason(
            f"a size is a whole number, and {with_article(kind)} came: look at the arguments' order"
        )
    return _exchanged(kind)


def computed_with(found: Found, scene: Scene) -> Reason | None:
    """Say what stands beside an operator."""
    kinds = [found[2], found[3]]
    if "NoneType" in kinds:
        return Reason("one of the two is None: follow it back to where it is set or returned")
    if any(kind.startswith("torch.return_types.m") for kind in kinds):
        return Reason("with an axis, max and min give values and indices: take `.values`, or amax")
    if "tuple" in kinds or "list" in kinds:
        kind = "tuple" if "tuple" in kinds else "list"
        return Reason(f"one of the two is {with_article(kind)}: take the tensor out of it")
    if any(kind in _FUNCTIONS for kind in kinds):
        return _uncalled()
    others = [kind for kind in kinds if kind not in (*_PLAIN, "Tensor", "Parameter")]
    if others and "Tensor" in kinds and _is_of_torch(others[0]):
        return _made_in_call(others[0], scene)
    if others and ("Tensor" in kinds or "Parameter" in kinds):
        return Reason(f"one of the two is a {others[0]}, not a tensor: print both")
    return _exchanged(others[0]) if others and scene.line.function else None


def not_iterable(found: Found, scene: Scene) -> Reason | None:
    """Say what stands where a size or a list is due."""
    if found[1] in _FUNCTIONS:
        return _uncalled()
    if scene.line.loops:
        return Reason(f"a {found[1]} cannot be gone through item by item: print what it is")
    return None if found[1] in _PLAIN else _exchanged(found[1])


def not_subscriptable(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say what has no items."""
    if found[1] in _FUNCTIONS:
        return _uncalled()
    return Reason(f"what stands before the [ is of type {found[1]}, which has no items")


def _uncalled() -> Reason:
    return Reason("a function stands there, not what it returns: call it, as in x.size(0)")


def _exchanged(kind: str) -> Reason:
    return Reason(
        f"{with_article(kind)} stands where a number is due: are two arguments exchanged? Pass by "
        "name what has a default"
    )


def none_unpacked(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that a call gave nothing."""
    return Reason("what stands on the right of the = is None: check that it ends in a return")


def not_unpacked(found: Found, scene: Scene) -> Reason:
    """Say what cannot be taken apart: a layer that is not called, for one."""
    assigned = scene.line.node
    value = assigned.value if isinstance(assigned, ast.Assign) else None
    if isinstance(value, ast.Attribute):
        code = shown(value)
        return Reason(f"`{code}` is a {found[1]}, not what comes out of it: call it, `{code}(...)`")
    return Reason(f"what stands on the right of the = is one {found[1]}, not several things")


def without_attribute(found: Found, scene: Scene) -> Reason | None:
    """Say what has no such attribute."""
    kind, name = found[1], found[2]
    if kind in _PLAIN and scene.line.node and name not in scene.line.names:
        return Reason(
            f"something that this line calls asks for `.{name}` of a value of type {kind}: check "
            "what it is given, and in which order"
        )
    if kind in _PLAIN:
        return Reason(f"print what stands before the dot: it is of type {kind} there, not a tensor")
    if kind == "Tensor":
        return Reason(f"a tensor has no `{name}`: look at its spelling")
    if method_names(scene.evidence.source, kind) and not scene.sets(name):
        if base := _replaced(kind, scene):
            return Reason(
                f"`{kind}` inherits from `{base}`, and is graded with a `{base}` that has the "
                f"layers of its docstring alone: set `self.{name}` in `{kind}` itself"
            )
        if name in arguments_of(scene.evidence.source, "__init__", kind):
            return Reason(f"nothing sets `self.{name}`: write `self.{name} = {name}` in __init__")
        if near := difflib.get_close_matches(name, scene.attributes_of(kind), 1):
            return Reason(
                f"nothing sets `self.{name}`, but `self.{near[0]}` is set: "
                "write the same name in both places"
            )
        return Reason(f"nothing in `{kind}` sets `self.{name}`: set it in __init__")
    return None


def _replaced(kind: str, scene: Scene) -> str:
    """The class of an earlier exercise that a class inherits from: another stands in its place."""
    evidence = scene.evidence
    earlier = [
        target.name for e in evidence.course.earlier(evidence.exercise) for target in e.targets
    ]
    bases = [base for base in bases_of(evidence.source, kind) if base in earlier]
    return next((base for base in bases if not method_names(evidence.source, base)), "")


def undefined(found: Found, scene: Scene) -> Reason | None:
    """Say of a name that it wants `self.` or an import, or that only the constructor knows it."""
    name, target = found[1], scene.evidence.target.name
    if any(name == one.name for one in scene.evidence.exercise.targets):
        near = scene.evidence.meant_by(name)
        step = f"rename `{near}` to `{name}`" if near else f"define `{name}` first"
        return Reason(f"that is a name of the exercise: {step}")
    if name in scene.attributes_of(target):
        return Reason(f"write `self.{name}`: that is how your constructor keeps it")
    if name in arguments_of(scene.evidence.source, "__init__", target):
        return Reason(
            f"`{name}` is known in __init__ alone: keep it there as `self.{name}`, and write "
            "that here"
        )
    if (line := _IMPORTS.get(name)) is not None:
        return Reason(f"write `{line}` at the top of the file")
    return None


_IMPORTS = {
    "F": "from torch.nn import functional as F",
    "einsum": "from torch import einsum",
    "keras": "import keras",
    "math": "import math",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "ops": "from keras import ops",
    "rearrange": "from einops import rearrange",
    "torch": "import torch",
}


def one_truth_value(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that a tensor of many numbers is asked for one truth value."""
    if made := re.search(r"\b(?:nn\.)?((?:Alpha|Feature)?Dropout\w*)\(", scene.code):
        return _made_in_call(made[1], scene)
    if bare := _BARE_TRUTH.search(scene.code):
        asked = f"{bare['name']} is {'None' if bare['no'] else 'not None'}"
        return Reason(
            f"a tensor of several numbers is neither true nor false: write `{asked}` to ask "
            "whether there is one"
        )
    return Reason(
        "a tensor of several numbers is neither true nor false: compare with .all() or .any()"
    )


def one_number(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that a tensor of many numbers is asked for one."""
    functions = scene.evidence.words.functions
    return Reason(f"float() and the functions of math take one number: {functions} for a tensor")


def by_numpy(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that numpy knows no gradient."""
    return Reason(f"numpy carries no gradient: {scene.evidence.words.no_numpy}")


def two_dtypes(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that two dtypes meet."""
    return Reason(f"tensors of two dtypes meet: {scene.evidence.words.one_dtype}")


def looked_up(found: Found, scene: Scene) -> Reason:  # noqa: ARG001 - as all rules
    """Say that a table is looked up with numbers that are not whole."""
    table = scene.line.made_as("Embedding")
    name = f"`{table[0].name}`" if table else "an embedding"
    return Reason(f"{name} looks up whole numbers, and gets others: give it indices, as of arange")


def unknown_argument(found: Found, scene: Scene) -> Reason:
    """Say which argument a function does not know."""
    owner, name = found[1], found[2]
    if scene.defines(owner.split(".")[0]):
        return Reason(f"`{owner}` has no argument `{name}`: compare its signature with the stub")
    return Reason(f"`{owner}` has no argument `{name}`: look at its spelling")


def missing_argument(found: Found, scene: Scene) -> Reason:
    """Say which arguments a call lacks, or that a function has a method's first one."""
    if arguments_of(scene.evidence.source, found[1], "")[:1] == ["self"]:
        return Reason(f"`{found[1]}` is a function of its own: take `self` out of its arguments")
    return Reason(f"`{found[1]}` is called without {found[2]}: compare the call with its signature")


def surplus_arguments(found: Found, scene: Scene) -> Reason | None:
    """Say why a call has too many arguments."""
    owner, function, surplus = found[1] or "", found[2], int(found[4]) - int(found[3])
    if function == scene.evidence.words.method and owner and not scene.defines(owner):
        takes = "one tensor" if found[3] == "2" else f"{int(found[3]) - 1} arguments"
        return Reason(f"what is called there takes {takes}: give it just that")
    if not scene.defines(owner or function):
        return Reason("pass by name what has a default, as in dropout=dropout") if owner else None
    methods = method_names(scene.evidence.source, owner)
    if function == "__init__" and "__init__" not in methods:
        near = difflib.get_close_matches("__init__", methods, 1)
        step = f"rename `{near[0]}` to `__init__`" if near else "define `__init__` in the class"
        return Reason(step)
    if named := keyword_only(scene.evidence.source, function, owner):
        return Reason(f"`{named[0]}` stands behind the *: give it by name, as in {named[0]}=…")
    if surplus == 1 and owner:
        with_self = arguments_of(scene.evidence.source, function, owner)[:1] == ["self"]
        look = "an argument is not there" if with_self else "is `self` its first argument?"
        return Reason(f"compare the signature with the stub: {look}")
    return Reason("compare the call with the signature") if not owner else None


RULES = (
    (r"(?:(\w+)\.)?(\w+)\(\) takes (\d+) positional arguments? but (\d+) [pw]", surplus_arguments),
    (r"(?:[\w]+\.)*(\w+) is not a Module subclass", class_in_a_stack),
    (r"list is not a Module", lambda *_: Reason(
        "nn.Sequential takes the layers one by one: write a * before the list")),
    (r"(\w+)\(\): argument '\w+' \(position \d+\) must be Tensor, not (\w+)", not_a_tensor),
    (r"^'(\w+)' object is not callable", called),
    (r"^name '(\w+)' is not defined", undefined),
    (r"(?:shape|expand|zeros|ones)\(\) takes 1 positional|element of type float|"
     r"(?:got|int,) float\b|"
     r"'float' object cannot be interpreted as an integer|got \((?:int, )*float", size_is_float),
    (r"tuple of ints, ?but (?:got (\w+)|found element of type (\w+))", size_is_other),
    (r"unsupported operand type\(s\) for (.+): '([\w.]+)' and '([\w.]+)'", computed_with),
    (r"^'(\w+)' object is not iterable", not_iterable),
    (r"^'(\w+)' object is not subscriptable", not_subscriptable),
    (r"cannot unpack non-iterable NoneType", none_unpacked),
    (r"cannot unpack non-iterable (\w+) object", not_unpacked),
    (r"^'(\w+)' object has no attribute '(\w+)'", without_attribute),
    (r"^module '([\w.]+)' has no attribute '(\w+)'", lambda found, _: Reason(
        f"there is no `{found[2]}` in {found[1]}: look at its spelling")),
    (r"Boolean value of Tensor with more than one value", one_truth_value),
    (r"only one element tensors can be converted", one_number),
    (r"cannot assign '[\w.]+' as (child module|parameter) '(\w+)'", lambda found, _: Reason(
        f"`self.{found[2]}` is a {found[1].split()[-1]}: keep what you compute in a name without "
        "`self.`")),
    (r"Can't call numpy\(\) on Tensor that requires grad", by_numpy),
    (r"device type tensor to numpy", lambda *_: Reason(
        "numpy knows what is on the CPU alone: compute with torch, which does it where `x` is")),
    (r"(?:must|to) have the same dtype|expected scalar type", two_dtypes),
    (r"'indices' to have one of the following scalar types", looked_up),
    (r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'", unknown_argument),
    (r"([\w.]+)\(\) missing \d+ required positional arguments?: (.+)", missing_argument),
)  # fmt: skip


def _is_of_torch(kind: str) -> bool:
    """Whether a class has the name of one of torch's common layers."""
    return kind in _LAYERS


_LAYERS = (
    "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softmax", "LogSoftmax", "Dropout", "LayerNorm",
    "Linear", "Embedding", "Identity", "Sequential", "BatchNorm1d",
)  # fmt: skip
