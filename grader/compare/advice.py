"""What to do about an exception: one next step, from its type, its text and its line."""

import difflib
import re

from grader.compare import kinds, shapes
from grader.compare.evidence import NEW_TENSOR, READ_LINE, REFUSALS, Evidence, own_refusal
from grader.compare.lost import returns_nothing, thrown_away
from grader.compare.parent import advise_on_parent
from grader.compare.scene import Reason, Scene
from grader.compare.terms import terms_of
from grader.course.models import Target
from grader.course.traps import Trap
from grader.handin.read import method_names
from grader.records.answers import StudentError
from grader.records.calls import DrawnCase

_NO_SUCH_NAME = re.compile(r"cannot import name '(\w+)'")
_TYPE_OF_TORCH = "'torch.dtype'"
_MEANT = {  # what an exception says, and what to do about it
    "super(type, obj)": "write super().__init__() with no class in super(): the one there is wrong",
    "inplace operation": NEW_TENSOR,
    "in-place operation": NEW_TENSOR,
    "CUDA": "stay where the input is: no .cuda(), no device of your own choice",
    "running_mean should contain": "a batch norm takes the axis behind the batch for its numbers: "
    "is it the norm that is asked for?",
    "device string": "torch knows no device of that name: take the input's, as in `x.device`",
    _TYPE_OF_TORCH: "`from torch import *` hides Python's own float, int and bool: import torch "
    "by name",
    "a NoneType, not an nn.Module": "check that every path ends in a return",
    "the given model takes tokens": "hand on (batch, tokens), and no more tokens than it takes: "
    "the last ones",
    "the given sublayer takes": "print the shape and the dtype of what the line hands on to it",
    "a type, not an nn.Module": "return an instance of the module, not its class",
    "a method, not an nn.Module": "return the module itself: is a pair of brackets missing?",
    "a tuple, not an nn.Module": "return the module alone, and nothing beside it",
}
_ALWAYS = {  # what is true of each exception of a type, whatever its text
    "NameError": "check the spelling, and that the name is defined or imported above",
    "UnboundLocalError": "no line that runs before it gives that name a value",
    "RecursionError": "the function calls itself endlessly: check which one you want to call",
    "ZeroDivisionError": "what it divides by is 0: check whether the line should run in this "
    "case at all",
}
_READ_MESSAGE = "read the line, and print just before it what it works on"
_NO_LINE = "call it by itself, with the sizes of the case, and read the whole traceback"
_SEARCHED = 1000  # characters of a message: some rules take the square of its length
_RULES = tuple((re.compile(pattern), rule) for pattern, rule in (*shapes.RULES, *kinds.RULES))


def advise_on_error(
    evidence: Evidence, error: StudentError, case: DrawnCase | None = None
) -> Reason:
    """Return why an exception of the submission's came, and what to do next."""
    if own_refusal(evidence, error):
        return Reason(
            "what was given is right, and a line of your own refuses it: is its condition the "
            "right one? If so, look at the order of the arguments, and at what runs before it"
        )
    message = error.message[:_SEARCHED]
    if error.type == "ModuleNotFoundError":
        return Reason(_in_place_of_missing(evidence, message))
    if "NoneType" in message and (said := returns_nothing(evidence)):
        return Reason(said)
    if said := next((step for words, step in _MEANT.items() if words in message), ""):
        return Reason(said)
    scene = Scene(evidence, error, case)
    if said := advise_on_parent(scene):
        return Reason(said)
    for pattern, rule in (*terms_of(evidence.framework).rules, *_RULES):
        found = pattern.search(message)
        if found and (reason := rule(found, scene)) is not None:
            of_sizes = error.type == "RuntimeError"
            lost = thrown_away(evidence, scene.line.names) if of_sizes else ""
            return Reason(lost, Trap.THROWN_AWAY) if lost else reason
    return Reason(_of_any(evidence, error))


def _of_any(evidence: Evidence, error: StudentError) -> str:
    """Return what to do where no rule knows the text of an exception."""
    if not error.frames:
        return _ALWAYS.get(error.type, _NO_LINE)
    own = [frame for frame in error.frames if evidence.source.holds(frame.label)]
    if own and own[-1] is not error.frames[-1] and error.type in REFUSALS:  # in an earlier file
        return f"look at what line {own[-1].line} hands on, and in which order"
    other = READ_LINE if error.type in ("RuntimeError", "IndexError") else _READ_MESSAGE
    return _ALWAYS.get(error.type, other)


def lesson_of(evidence: Evidence, reason: Reason) -> str:
    """Return how the lesson's passage on a reason begins, "" where there is none."""
    return evidence.exercise.traps.get(reason.trap, "") if reason.trap else ""


def advise_loading(evidence: Evidence, error: StudentError) -> str:
    """Return the next step after an exception that a file ended in."""
    if error.type in ("SyntaxError", "IndentationError", "TabError"):
        return "fix that line, or the one above it, where the mistake may begin"
    message = error.message
    if error.type == "ModuleNotFoundError":
        return _in_place_of_missing(evidence, message)
    if name := _NO_SUCH_NAME.search(message):
        earlier = evidence.course.earlier(evidence.exercise)
        targets = [target.name for exercise in earlier for target in exercise.targets]
        near = difflib.get_close_matches(name[1], targets, 1)
        return f"import `{near[0]}`: that is its name there" if near else "check the name there"
    if _TYPE_OF_TORCH in message:
        return _MEANT[_TYPE_OF_TORCH]
    return "make the file run by itself first, with python or in an editor"


def _in_place_of_missing(evidence: Evidence, message: str) -> str:
    """Return what to import in place of a module that is not there."""
    sought = message.rpartition("named ")[2].strip("'")
    earlier = evidence.course.earlier(evidence.exercise)
    stems = {n: exercise.stem for exercise in earlier for n in (exercise.stem, exercise.id)}
    near = difflib.get_close_matches(sought, stems, 1, cutoff=0.75)
    if near:
        return f"import from `{stems[near[0]]}`"
    terms = terms_of(evidence.framework)
    return terms.in_place_of(sought, evidence.source) or terms.imports


def renamed_forward(evidence: Evidence, target: Target) -> str:
    """Return the method of a target's class that may be meant to compute, "" where none is."""
    words = evidence.words
    methods = [m for m in method_names(evidence.source, target.name) if not m.startswith("_")]
    near = difflib.get_close_matches(words.method, methods, 1)
    common = [m for m in methods if m in words.others]
    return next(iter([*near, *common]), "")
