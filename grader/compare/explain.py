"""Says why a call came to no answer: what happened, where in the student's file, and what next."""

import builtins
import difflib
import re
from collections.abc import Collection
from dataclasses import replace

from grader.compare.advice import advise, advise_loading, renamed_forward
from grader.compare.arrays import shown_shape
from grader.compare.evidence import GRADIENT_STEP, Evidence, Outcome, clean
from grader.execute.answers import Answer, AnswerStatus, StudentError
from grader.plan.records import DrawnCase
from grader.records import Status
from grader.submission import nested_line

_HOMES = {
    "module": "nn.ModuleList or nn.ModuleDict",
    "parameter": "nn.ParameterList or nn.ParameterDict",
}
_NO_FORWARD = re.compile(r'Module \[(\w+)\] is missing the required "forward"')
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
            next_step=advise_loading(evidence, greeting.error),
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
    if outcome := _explain_todo(evidence, error):
        return outcome
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
        next_step=advise(evidence, error),
        case=case,
        kind="raised",
    )


def _explain_todo(evidence: Evidence, error: StudentError) -> Outcome | None:
    """Say what is not written yet: this target, another of the file, or an earlier exercise."""
    if error.type != "NotImplementedError":
        return None
    name = evidence.target.name
    place = f" ({_place(error)})" if error.frames else ""
    last = error.frames[-1] if error.frames else None
    if last is None:
        return _explain_no_forward(evidence) if "forward" in error.message else None
    others = {t.name for t in evidence.exercise.targets} - {name}
    if not evidence.source.holds(last.label):
        what = f"`{name}` needs an earlier exercise that is not written yet{place}"
        step = "finish the earlier exercise first"
        return Outcome(Status.SKIPPED, what, next_step=step, kind="todo")
    if "NotImplementedError" not in evidence.source.line(last.label, last.line):
        return None if evidence.hidden else _explain_not_called(evidence, error, others)
    function = last.name.split(".")[0]
    if function in others:
        what, step = f"`{name}` needs `{function}`, not written yet", f"write `{function}` first"
        return Outcome(Status.SKIPPED, what, next_step=step, kind="todo")
    what = f"`{name}` is not written yet{place}"
    step = "replace `raise NotImplementedError` by your code"
    return Outcome(Status.FAILED, what, next_step=step, kind="todo")


def _explain_not_called(
    evidence: Evidence, error: StudentError, others: Collection[str]
) -> Outcome | None:
    """Say which module is called though it has no `forward`."""
    if not (found := _NO_FORWARD.search(error.message)):
        return None
    name, called, place = evidence.target.name, found[1], _place(error)
    if called in ("ModuleList", "ModuleDict"):
        what = f"`{name}` calls an nn.{called}, which only holds layers ({place})"
        step = "call its layers one after the other, or put them into an nn.Sequential"
        return Outcome(Status.FAILED, what, next_step=step, kind="raised")
    what = f"`{name}` calls `{clean(called, 80)}`, which has no method `forward` ({place})"
    step = f"define `forward` in `{clean(called, 80)}`"
    status = Status.SKIPPED if called in others else Status.FAILED
    return Outcome(status, what, next_step=step, kind="raised")


def _explain_no_forward(evidence: Evidence) -> Outcome:
    """Say that a module has no `forward`, and where it stands by mistake."""
    name = evidence.target.name
    what, step = f"`{name}` has no method `forward`", "define `forward` in the class"
    if other := renamed_forward(evidence, evidence.target):
        step = f"rename `{other}` to `forward`"
    for label, text in evidence.source.units:
        if line := nested_line(text, name, "__init__", "forward"):
            what += f": at {label}, line {line} it stands inside `__init__`"
            step = "move `forward` one level to the left, to where `__init__` begins"
    return Outcome(Status.FAILED, what, next_step=step, kind="todo")


def describe_student_error(evidence: Evidence, error: StudentError) -> str:
    """Return an exception in words: what, and where in the student's own file.

    In the hidden split only the type of a built-in exception and the place are told, since its
    text is the submission's to choose.
    """
    where = f" at {_place(error)}{_code(evidence, error)}" if error.frames else ""
    where += _caller(evidence, error)
    if evidence.hidden:
        known = isinstance(getattr(builtins, error.type, None), type)
        return f"{error.type if known else 'an exception'}{where}"
    text = clean(error.message, 400).removesuffix(" (unknown location)").rstrip(".")
    near = f" (did you mean `{clean(error.near, 80)}`?)" if error.near else ""
    return f"{clean(error.type, 80)}{f': {text}' if text else ''}{near}{where}"


def _caller(evidence: Evidence, error: StudentError) -> str:
    """Where this file calls the earlier one in which it ended."""
    own = [frame for frame in error.frames if evidence.source.holds(frame.label)]
    if not own or own[-1] is error.frames[-1]:
        return ""
    return f", called in line {own[-1].line} of {clean(own[-1].label, 120)}"


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
        verb = "have no bias, and should" if len(layers) > 1 else "has no bias, and should"
        return replace(
            outcome,
            message="a layer has no bias, and it should"
            if evidence.hidden
            else f"{named} {verb}: nothing fits {sought}",
            detail="",
            next_step="give it one: torch makes it unless told otherwise",
        )
    if plain := [clean(path, 80) for path, what in answer.info.loose if what == "tensor"]:
        holder = "an attribute" if evidence.hidden else f"`{plain[0]}`"
        step = f"{outcome.next_step}; {holder} is a plain tensor: what is trained is nn.Parameter"
        return replace(outcome, next_step=step)
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
