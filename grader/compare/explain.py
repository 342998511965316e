"""Says why a call came to no answer: what happened, where in the student's file, and what next."""

import builtins
import difflib
import re
from dataclasses import replace

from grader.compare.arrays import shown_shape
from grader.compare.evidence import GRADIENT_STEP, Evidence, Outcome, clean
from grader.execute.answers import Answer, AnswerStatus, StudentError
from grader.plan.records import DrawnCase
from grader.records import Status
from grader.submission import nested_line

_ARGUMENTS = re.compile(r"takes (\d+) positional arguments? but (\d+) w")
_MEANT = {  # what an exception says, and what to do about it
    "before Module.__init__": "call super().__init__() first in __init__",
    "inplace operation": "make a new tensor in place of +=, or of a method that ends in _",
    "CUDA": "stay where the input is: no .cuda(), no device written out",
    "torch.dtype": "`from torch import *` hides Python's own float, int and bool: import torch by "
    "name",
}
_HOMES = {
    "module": "nn.ModuleList or nn.ModuleDict",
    "parameter": "nn.ParameterList or nn.ParameterDict",
}
_CUT_OFF = "CutOffError"  # how a worker calls a gradient that cannot flow


def explain_status(evidence: Evidence, answer: Answer, case: DrawnCase | None) -> Outcome:
    """Say why no answer came."""
    name = evidence.target.name
    match answer.status:
        case AnswerStatus.MISSING:
            return _explain_missing(evidence)
        case AnswerStatus.RAISED if answer.error is not None:
            return _explain_error(evidence, answer.error, case)
        case AnswerStatus.UNBOUND:
            return _explain_unbound(evidence, answer, case)
        case AnswerStatus.TIMEOUT:
            where = f"`{name}`" if evidence.greeting else f"loading {evidence.source.label}"
            return Outcome(
                Status.TIMEOUT,
                f"{where} did not come to an end: {answer.reason}",
                next_step="look for a loop whose condition never changes",
                case=case,
                kind="timeout",
            )
        case AnswerStatus.REFUSED:
            return Outcome(
                Status.FAILED,
                f"`{name}` gave no answer that can be read: {answer.reason}",
                next_step="take out the calls of print"
                if "printed" in answer.reason
                else "return tensors, and leave the process and its files alone",
                kind="crashed",
            )
        case _:
            where = f"`{name}`" if evidence.greeting else f"loading {evidence.source.label}"
            return Outcome(
                Status.FAILED,
                f"{where} ended the Python process: {answer.reason}",
                next_step="look for exit(), ctypes, or recursion without end",
                kind="crashed",
            )


def _explain_missing(evidence: Evidence) -> Outcome:
    name, greeting, label = evidence.target.name, evidence.greeting, evidence.source.label
    if greeting is not None and greeting.error is not None:
        if not evidence.hidden and (absent := _absent_exercise(evidence, greeting.error)):
            return _explain_absent(evidence, absent)
        said = describe_student_error(evidence, greeting.error)
        return Outcome(
            Status.FAILED,
            f"{label} could not be loaded: {said}",
            next_step=_loading_advice(evidence, greeting.error),
            kind="missing",
        )
    own = {target.name for target in evidence.exercise.targets}  # not to be renamed
    claimed = greeting.names if greeting is not None else []
    names = [n for n in claimed if n not in own and evidence.source.says(n)]
    near = difflib.get_close_matches(name, names, 1, cutoff=0.6)
    if near:
        message = f"`{name}` is not defined, but `{near[0]}` is"
        step = f"rename `{near[0]}` to `{name}`"
    else:
        message = f"`{name}` is not defined in {label}"
        step = evidence.source.next_step or f"define `{name}` as in the stub"
    return Outcome(Status.FAILED, message, next_step=step, kind="missing")


def _loading_advice(evidence: Evidence, error: StudentError) -> str:
    if error.type in ("SyntaxError", "IndentationError", "TabError"):
        return "mend that line, or the one above it, where the mistake may begin"
    star = "torch.dtype" in error.message and not evidence.hidden
    if not star and error.type != "ModuleNotFoundError":
        return "make the file run by itself first, with python or in an editor"
    sought = "" if evidence.hidden else error.message.rpartition("named ")[2].strip("'")
    stems = [exercise.stem for exercise in evidence.course.earlier(evidence.exercise)]
    near = difflib.get_close_matches(sought, stems, 1, cutoff=0.75)
    return f"import from `{near[0]}`" if near else _advice(error, hidden=evidence.hidden)


def _absent_exercise(evidence: Evidence, error: StudentError) -> str:
    """Return the file of an earlier exercise that an import did not find, else ""."""
    for earlier in evidence.course.earlier(evidence.exercise):
        names = (earlier.stem, earlier.id)
        sought = [f"No module named '{place}{n}'" for n in names for place in ("", "exercises.")]
        if error.type == "ModuleNotFoundError" and error.message in sought:
            return earlier.file
    return ""


def _explain_absent(evidence: Evidence, file: str) -> Outcome:
    label = evidence.source.label
    return Outcome(
        Status.SKIPPED,
        f"`{evidence.target.name}` needs your {file}, which is not beside {label}",
        next_step=f"put {file} into the same folder as {label}",
        kind="todo",
    )


def _explain_error(evidence: Evidence, error: StudentError, case: DrawnCase | None) -> Outcome:
    said = describe_student_error(evidence, error)
    name = evidence.target.name
    if error.type == "NotImplementedError":
        return _explain_todo(evidence, error)
    if not evidence.hidden and (absent := _absent_exercise(evidence, error)):
        return _explain_absent(evidence, absent)
    if error.type == _CUT_OFF and not error.frames:
        return Outcome(
            Status.FAILED,
            f"no gradient can flow: what `{name}` returns is cut off from its inputs",
            next_step=GRADIENT_STEP,
            case=case,
            kind="raised",
        )
    return Outcome(
        Status.FAILED,
        f"`{name}` raised {said}",
        next_step=_advice(error, hidden=evidence.hidden),
        case=case,
        kind="raised",
    )


def _explain_todo(evidence: Evidence, error: StudentError) -> Outcome:
    """Say what is not written yet: this target, another of the file, or an earlier exercise."""
    name = evidence.target.name
    place = f" ({_place(error)})" if error.frames else ""
    last = error.frames[-1] if error.frames else None
    if last is None and "forward" in error.message:
        return _explain_no_forward(evidence)
    function = last.name.split(".")[0] if last else ""
    others = {t.name for t in evidence.exercise.targets} - {name}
    if function in others:
        what, step = f"`{name}` needs `{function}`, not written yet", f"write `{function}` first"
        return Outcome(Status.SKIPPED, what, next_step=step, kind="todo")
    if last is not None and not evidence.source.holds(last.label):
        what = f"`{name}` needs an earlier exercise that is not written yet{place}"
        step = "finish the earlier exercise first"
        return Outcome(Status.SKIPPED, what, next_step=step, kind="todo")
    what = f"`{name}` is not written yet{place}"
    step = "replace `raise NotImplementedError` by your code"
    return Outcome(Status.FAILED, what, next_step=step, kind="todo")


def _explain_no_forward(evidence: Evidence) -> Outcome:
    """Say that a module has no `forward`, and where it stands by mistake."""
    name = evidence.target.name
    what, step = f"`{name}` has no method `forward`", "define `forward` in the class"
    for label, text in evidence.source.units:
        if line := nested_line(text, name, "__init__", "forward"):
            what += f": at {label}, line {line} it stands inside `__init__`"
            step = "move `forward` one level to the left, to where `__init__` begins"
    return Outcome(Status.FAILED, what, next_step=step, kind="todo")


def _advice(error: StudentError, *, hidden: bool) -> str:
    # in the hidden split a text, which is the submission's to choose, chooses nothing
    message = "" if hidden else error.message
    for words, step in _MEANT.items():
        if words in message:
            return step
    counts = _ARGUMENTS.search(message)
    if counts and int(counts[2]) == int(counts[1]) + 1:
        return "compare the signature with the stub: is `self` its first argument?"
    advice = {
        "NameError": "check the spelling, and that the name is defined or imported above",
        "AttributeError": "check the spelling of the attribute, and that __init__ sets it",
        "TypeError": "compare the signature and the arguments with the stub",
        "ImportError": "import only torch, the standard library and earlier exercises",
        "ModuleNotFoundError": "import only torch, the standard library and earlier exercises",
        "MemoryError": "look for a tensor that grows without need",
        "RecursionError": "the function calls itself without end: call the one that you mean",
    }
    return advice.get(error.type, "read the line, and print the shapes just before it")


def describe_student_error(evidence: Evidence, error: StudentError) -> str:
    """Return an exception in words: what, and where in the student's own file.

    In the hidden split only the type of a built-in exception and the place are told, since its
    text is the submission's to choose.
    """
    where = f" at {_place(error)}{_code(evidence, error)}" if error.frames else ""
    if evidence.hidden:
        known = isinstance(getattr(builtins, error.type, None), type)
        return f"{error.type if known else 'an exception'}{where}"
    text = clean(error.message, 400).rstrip(".")
    near = f" (did you mean `{clean(error.near, 80)}`?)" if error.near else ""
    return f"{clean(error.type, 80)}{f': {text}' if text else ''}{near}{where}"


def _place(error: StudentError) -> str:
    frame = error.frames[-1]
    return f"{clean(frame.label, 120)}, line {frame.line}"


def _explain_unbound(evidence: Evidence, answer: Answer, case: DrawnCase | None) -> Outcome:
    """Say what no parameter fits, and why: layers out of torch's sight, or without a bias."""
    sought = ", ".join(f"`{n}` {shown_shape(tuple(s))}" for n, s in answer.info.sought[:6])
    present = ", ".join(
        f"`{clean(n, 60)}` {shown_shape(tuple(s))}" for n, s in answer.info.present[:8]
    )
    outcome = Outcome(
        Status.FAILED,
        f"no parameter fits {sought}",
        f"the module has {present or 'no parameters'}",
        "name the layers as the stub's docstring does, and check their sizes",
        {"parameters": [[n, list(s)] for n, s in answer.info.sought]},
        {"parameters": [[clean(n, 60), list(s)] for n, s in answer.info.present]},
        case,
        kind="unbound",
    )
    if hiding := [found for found in answer.info.loose if found[1] in _HOMES]:
        path, what = hiding[0]
        # names are the submission's to choose, when it runs
        holder = "an attribute" if evidence.hidden else f"`{clean(path, 80)}`"
        things = "layers" if what == "module" else "parameters"
        return replace(
            outcome,
            message=f"{holder} holds {things} in a plain list or dict, where torch does not see "
            f"them, so no parameter fits {sought}",
            detail="",
            next_step=f"keep them in {_HOMES[what]}",
        )
    if layers := _without_bias(answer):
        named = " and ".join(f"`{clean(layer, 60)}`" for layer in layers)
        return replace(
            outcome,
            message="a layer has no bias, and it should"
            if evidence.hidden
            else f"{named} has no bias, and it should: nothing fits {sought}",
            detail="",
            next_step="leave out bias=False there",
        )
    return outcome


def _code(evidence: Evidence, error: StudentError) -> str:
    frame = error.frames[-1]
    code = clean(evidence.source.line(frame.label, frame.line), 120)
    return f": `{code}`" if code else ""


def _without_bias(answer: Answer) -> list[str]:
    """The layers that lack the biases sought; none where it is not biases alone, or not clear."""
    present = {name: tuple(shape) for name, shape in answer.info.present}
    layers = []
    for name, shape in answer.info.sought:
        stem, _, last = name.rpartition(".")
        bare = [n.removesuffix(".weight") for n in present if n.endswith(".weight")]
        bare = [n for n in bare if f"{n}.bias" not in present]
        fitting = [n for n in bare if present[f"{n}.weight"][:1] == tuple(shape)]
        found = [stem] if stem in bare else fitting
        if last != "bias" or len(found) != 1:
            return []
        layers += found
    return layers
