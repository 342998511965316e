"""What to do about an exception: one next step, from its type, its text and its line."""

import difflib
import re

from grader.compare.evidence import NEW_TENSOR, READ_LINE, Evidence
from grader.course.models import Target
from grader.handin.read import method_names
from grader.records.answers import StudentError

_ARGUMENTS = re.compile(r"(?:(\w+)\.)?(\w+)\(\) takes (\d+) positional arguments? but (\d+) w")
_NOT_TENSOR = re.compile(r"must be Tensor, not (\w+)")
_NO_ATTRIBUTE = re.compile(r"'(int|float|str|tuple|list|dict|NoneType|ndarray)' object has no attr")
_NO_SUCH_NAME = re.compile(r"cannot import name '(\w+)'")
_UNPACKED = "count the values on the right of the =: a tensor has as many as its first axis is long"
_MEANT = {  # what an exception says, and what to do about it
    "before Module.__init__": "call super().__init__() first in __init__",
    "super(type, obj)": "write super().__init__() with no class in super(): the one there is wrong",
    "inplace operation": NEW_TENSOR,
    "CUDA": "stay where the input is: no .cuda(), no fixed device",
    "torch.dtype": "`from torch import *` hides Python's own float, int and bool: import torch by "
    "name",
    "a NoneType, not an nn.Module": "check that every path ends in a return",
    "a type, not an nn.Module": "return an instance of the module, not its class",
    "'list' object is not callable": "nn.Sequential(*layers) can be called, a list cannot",
    "list is not a Module": "nn.Sequential takes the layers one by one: write a * before the list",
    "too many values to unpack": _UNPACKED,
    "not enough values to unpack": _UNPACKED,
}
_FLOAT_SIZE = re.compile(
    r"shape\(\) takes 1 positional|element of type float|got \((?:int, )*float"
)
_BY_TYPE = {
    "NameError": "check the spelling, and that the name is defined or imported above",
    "AttributeError": "check the spelling of the attribute, and that __init__ sets it",
    "TypeError": "compare the signature and the arguments with the stub",
    "ImportError": "import only torch, the standard library and earlier exercises",
    "ModuleNotFoundError": "import only torch, the standard library and earlier exercises",
    "MemoryError": "look for a tensor that grows without need",
    "RecursionError": "the function calls itself endlessly: check which one you want to call",
    "NotImplementedError": "look for a class without `forward`, and for an nn.ModuleList that is "
    "called",
}


def advise_on_error(evidence: Evidence, error: StudentError) -> str:
    """Return the next step after an exception of the submission's.

    In the hidden split a text, which is the submission's to choose, chooses nothing.
    """
    if _own_refusal(evidence, error):
        return (
            "your own check refuses what is right here: look at its condition, and at the order "
            "of the arguments"
        )
    said = "" if evidence.hidden else _from_text(evidence, error)
    return said or _BY_TYPE.get(error.type, READ_LINE)


def advise_loading(evidence: Evidence, error: StudentError) -> str:
    """Return the next step after an exception that a file ended in."""
    if error.type in ("SyntaxError", "IndentationError", "TabError"):
        return "fix that line, or the one above it, where the mistake may begin"
    message = "" if evidence.hidden else error.message
    earlier = evidence.course.earlier(evidence.exercise)
    if name := _NO_SUCH_NAME.search(message):
        targets = [target.name for exercise in earlier for target in exercise.targets]
        near = difflib.get_close_matches(name[1], targets, 1)
        return f"import `{near[0]}`: that is its name there" if near else "check the name there"
    if error.type == "ModuleNotFoundError":
        sought = message.rpartition("named ")[2].strip("'")
        stems = {n: exercise.stem for exercise in earlier for n in (exercise.stem, exercise.id)}
        near = difflib.get_close_matches(sought, stems, 1, cutoff=0.75)
        return f"import from `{stems[near[0]]}`" if near else advise_on_error(evidence, error)
    if "torch.dtype" in message:
        return advise_on_error(evidence, error)
    return "make the file run by itself first, with python or in an editor"


def _own_refusal(evidence: Evidence, error: StudentError) -> bool:
    """Whether a line of this file's own raised it on purpose."""
    frame = error.frames[-1] if error.frames else None
    line = evidence.source.line(frame.label, frame.line) if frame else ""
    return bool(re.match(r"\s*assert\b|(.*:)?\s*raise\b", line))


def _from_text(evidence: Evidence, error: StudentError) -> str:
    for words, step in _MEANT.items():
        if words in error.message:
            return step
    if _FLOAT_SIZE.search(error.message):
        return "a size is a whole number: divide with //, not with /"
    if (found := _NOT_TENSOR.search(error.message)) and found[1] != "ndarray":
        return _instead_of_tensor(found[1])
    if found := _NO_ATTRIBUTE.search(error.message):
        return f"print what stands before the dot: it is of type {found[1]} there, not a tensor"
    if found := _ARGUMENTS.search(error.message):
        return _about_arguments(evidence, found[1] or "", found[2], int(found[4]) - int(found[3]))
    return ""


def _instead_of_tensor(kind: str) -> str:
    if kind == "NoneType":
        return "what was called before it returns None: check that it ends in a return"
    if kind in ("tuple", "list", "dict", "str", "int", "float", "bool"):
        return f"print what you pass: it is of type {kind} there"
    return f"{kind}(...) makes a layer: make it in __init__, and call it with the tensor"


def _about_arguments(evidence: Evidence, owner: str, function: str, surplus: int) -> str:
    named = owner or function
    if not evidence.source.says(named) or not _is_own(evidence, named):
        return "pass by name what has a default, as in dropout=dropout" if owner else ""
    methods = method_names(evidence.source, owner) if function == "__init__" else []
    if methods and "__init__" not in methods:
        near = difflib.get_close_matches("__init__", methods, 1)
        return f"rename `{near[0]}` to `__init__`" if near else "define `__init__` in the class"
    return "compare the signature with the stub: is `self` its first argument?" * (surplus == 1)


def _is_own(evidence: Evidence, name: str) -> bool:
    """Whether a class or function is written in this file."""
    written = re.compile(rf"^\s*(class|def)\s+{re.escape(name)}\b", re.MULTILINE)
    return any(written.search(text) for _, text in evidence.source.units)


def renamed_forward(evidence: Evidence, target: Target) -> str:
    """Return the method of a target's class that may be meant to be `forward`, "" where none is."""
    methods = [m for m in method_names(evidence.source, target.name) if not m.startswith("_")]
    near = difflib.get_close_matches("forward", methods, 1)
    common = [m for m in methods if m in ("call", "run", "apply")]
    return next(iter([*near, *common]), "")
