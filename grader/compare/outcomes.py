"""Judges single calls: did an answer come, is its form right, and are its values."""

import builtins
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.compare.arrays import match, shown_shape
from grader.course.models import Course, Exercise, Target
from grader.execute.answers import Answer, AnswerStatus, Greeting, Part, StudentError
from grader.key.store import AnswerKey
from grader.plan.records import PUBLIC, Call, DrawnCase
from grader.records import Status
from grader.submission import Source, nested_line


@dataclass(frozen=True)
class Forbidden:
    """A forbidden name found in a submission's source."""

    name: str
    label: str  # of the unit of source
    line: int


@dataclass(frozen=True)
class Evidence:
    """All that the checks of one target may look at."""

    course: Course
    exercise: Exercise
    target: Target
    key: AnswerKey
    source: Source
    answers: Mapping[str, Answer]  # by call, from a child whose default dtype is float64
    answers32: Mapping[str, Answer]  # the same in float32; empty where nothing asked for it
    greeting: Greeting | None
    forbidden: Sequence[Forbidden]
    judged: dict[tuple[str, str], "Outcome"] = field(default_factory=dict, init=False, repr=False)

    @property
    def hidden(self) -> bool:
        """Whether messages must keep inputs, expected values and differences to themselves."""
        return self.key.plan.split != PUBLIC

    def calls(self, prefix: str) -> list[Call]:
        """Return this target's calls whose name begins with `prefix`, in order."""
        start = f"{self.target.name}/{prefix}"
        return [c for c in self.key.plan.of_target(self.target.name) if c.id.startswith(start)]

    def numeric_calls(self, action: str) -> list[Call]:
        """Return the calls of the numeric cases, smallest first."""
        sizes = {c.id: _volume(c) for c in self.key.plan.numeric_cases(self.target.name)}
        calls = [
            c
            for c in self.key.plan.of_target(self.target.name)
            if c.case in sizes and c.id == f"{self.target.name}/{c.case}/{action}"
        ]
        return sorted(calls, key=lambda call: sizes[call.case])

    def case(self, call: Call) -> DrawnCase:
        """Return the case of a call."""
        return self.key.plan.cases[f"{call.target}/{call.case}"]


@dataclass(frozen=True)
class Outcome:
    """What one judgement came to."""

    status: Status
    message: str = ""  # plain, and free of inputs, values and differences
    detail: str = ""  # adds what only the public split may show
    next_step: str = ""
    expected: dict[str, Any] = field(default_factory=dict)
    actual: dict[str, Any] = field(default_factory=dict)
    case: DrawnCase | None = None
    precision: str = "float64"
    kind: str = ""  # "shape", "dtype", "finite", "values", or the answer's status

    @property
    def passed(self) -> bool:
        """Whether the answer is right, at some precision."""
        return self.status is Status.PASSED


PASSED = Outcome(Status.PASSED)
_ARGUMENTS = re.compile(r"takes (\d+) positional arguments? but (\d+) w")
_MEANT = {  # what an exception says, and what to do about it
    "before Module.__init__": "call super().__init__() first in __init__",
    "inplace operation": "make a new tensor in place of +=, or of a method that ends in _",
    "CUDA": "stay where the input is: no .cuda(), no device written out",
    "torch.dtype": "`from torch import *` hides Python's own float, int and bool: import torch by "
    "name",
}
_TYPES = ("Tensor", "Parameter", "ndarray", "function", "generator")  # beside Python's own
_HOMES = {
    "module": "nn.ModuleList or nn.ModuleDict",
    "parameter": "nn.ParameterList or nn.ParameterDict",
}
CUT_OFF = "CutOffError"  # how a worker calls a gradient that cannot flow
BY_HAND = "work the smallest case through by hand, line by line"  # where nothing better is known


def judge_call(evidence: Evidence, call: Call, group: str) -> Outcome:
    """Judge the tensors `group` ("output" or "grad") of a call, in float64 or else float32.

    Several checks look at the same call: what was judged is kept with the evidence.
    """
    asked = (call.id, group)
    if asked not in evidence.judged:
        evidence.judged[asked] = _judge_both(evidence, call, group)
    return evidence.judged[asked]


def _judge_both(evidence: Evidence, call: Call, group: str) -> Outcome:
    outcome = _judge(evidence, call, group, evidence.answers[call.id], "float64")
    if not outcome.passed and call.id in evidence.answers32:
        again = _judge(evidence, call, group, evidence.answers32[call.id], "float32")
        if again.passed:
            return again
    return outcome


def _judge(evidence: Evidence, call: Call, group: str, answer: Answer, dtype: str) -> Outcome:
    case = evidence.case(call)
    if answer.status is not AnswerStatus.OK:
        return unanswered(evidence, call, answer)
    if group == "output" and (wrong := _form(evidence.target, answer, hidden=evidence.hidden)):
        return replace(wrong, case=case)
    precision = dtype
    for name, expected in evidence.key.answers[call.id].tensors.items():
        if name.partition("/")[0] != group:
            continue
        actual = answer.tensors.get(name)
        label = _label(evidence.target, name)
        if actual is None:
            return Outcome(Status.FAILED, f"{label} did not come back as numbers", case=case)
        matched = match(actual, expected, evidence.course.tolerances, free=call.free)
        if (wrong_here := matched.difference) is not None:
            return Outcome(
                Status.FAILED,
                _plain_sentence(label, wrong_here.kind),
                wrong_here.message,
                _next_step(wrong_here.kind, group),
                wrong_here.expected,
                wrong_here.actual,
                case,
                kind=wrong_here.kind,
            )
        if matched.precision == "float32":
            precision = "float32"
    return Outcome(Status.PASSED, case=case, precision=precision)


def unanswered(evidence: Evidence, call: Call, answer: Answer) -> Outcome:
    """Judge a call that came to no answer.

    Where correct earlier exercises do not fit a factory that its own ones serve well, nothing is
    known of its values: it may have other names for things, and it may be a fake.
    """
    case = evidence.case(call)
    if not uncompared(evidence, call, answer):
        return explain_status(evidence, answer, case)
    return Outcome(
        Status.SKIPPED,
        "counts once it can be put together of the course's own parts",
        next_step="import earlier exercises, and call their classes as the stubs do",
        kind="unbound",
    )


def note_uncompared(evidence: Evidence) -> list[str]:
    """Say where a factory could not be put together of correct earlier exercises."""
    for call in evidence.calls(""):
        answer = evidence.answers[call.id]
        if uncompared(evidence, call, answer):
            why = describe_student_error(evidence, answer.error) if answer.error else "other parts"
            return [
                f"`{call.target}` cannot be put together of the course's own parts ({why}), "
                "so its values were not compared"
            ]
    return []


def uncompared(evidence: Evidence, call: Call, answer: Answer) -> bool:
    """Whether a factory answers by itself and not with correct earlier exercises."""
    own = evidence.answers[f"{call.target}/main-1/forward"]
    misfit = answer.status in (AnswerStatus.RAISED, AnswerStatus.UNBOUND)
    assembled = call.kind == "factory" and not call.free
    return assembled and misfit and own.status is AnswerStatus.OK


def _plain_sentence(label: str, kind: str) -> str:
    sentences = {
        "shape": f"{label} has the wrong shape",
        "dtype": f"{label} has the wrong dtype",
        "finite": f"{label} holds numbers that are not finite",
        "values": f"{label} has the right shape but wrong values",
    }
    return sentences[kind]


def _next_step(kind: str, group: str) -> str:
    if kind == "shape":
        return "print the shape after each line of your code and compare it with the lesson's table"
    if kind == "dtype":
        return "follow the input's dtype: no .long(), no .float(), no dtype written out"
    if kind == "finite":
        return "look for a division by zero or an overflow in exp"
    if group == "grad":
        return "look for .detach(), .data, no_grad or an operation that cuts the graph"
    return BY_HAND


def _label(target: Target, name: str) -> str:
    """What a student calls a tensor of an answer."""
    group, _, rest = name.partition("/")
    if group == "output":
        return "the output" if len(target.outputs) == 1 else f"`{rest}`"
    inputs = list(target.inputs)
    what = f"`{inputs[int(rest)]}`" if rest.isdigit() else f"the parameter `{rest}`"
    return f"the gradient of {what}"


def _form(target: Target, answer: Answer, *, hidden: bool) -> Outcome | None:
    """Judge the types of what was returned; None where they are right."""
    names = list(target.outputs)
    info = answer.info
    many = f"{len(names)} tensors ({', '.join(names)})"
    if len(names) > 1 and (info.count != len(names) or not info.returned):
        alone = info.parts[0] if info.count == 1 and info.parts else None
        came = f"one {_told_type(alone.type, hidden=hidden)}" if alone else f"{info.count}"
        came = came if alone or not hidden else "another number of things"
        return Outcome(
            Status.FAILED,
            f"`{target.name}` should return {many}, it returned {came}",
            next_step=f"end with: return {', '.join(names)}",
            kind="type",
        )
    for name, part in zip(names, info.parts, strict=False):
        if f"output/{name}" in answer.tensors:
            continue
        label = "a tensor" if len(names) == 1 else f"a tensor as `{name}`"
        came = _shown_part(part, hidden=hidden)
        return Outcome(
            Status.FAILED,
            f"`{target.name}` should return {label}, it returned {came}",
            next_step=_return_step(part.type),
            kind="type",
        )
    return None


def _return_step(returned: str) -> str:
    if returned == "NoneType":
        return "check that every path ends in a return"
    if returned in ("Tensor", "Parameter"):
        return "return numbers of the input's dtype, on the input's device"
    if returned in ("tuple", "list", "dict", "generator"):
        return "return the tensor itself, and nothing beside it"
    return "stay with torch's tensors to the end: no .numpy(), no .tolist(), no .item()"


def _shown_part(part: Part, *, hidden: bool) -> str:
    if part.type == "NoneType":
        return "None"
    kind = _told_type(part.type, hidden=hidden)
    if part.shape is not None and not hidden:
        shape = shown_shape(tuple(part.shape))
        return f"a {kind} of shape {shape} and dtype {clean(part.dtype or '', 80)}"
    return f"a {kind}"


def _told_type(name: str, *, hidden: bool) -> str:
    """A type's name; in the hidden split a common one only, for the submission may make it up."""
    common = isinstance(getattr(builtins, name, None), type) or name in _TYPES
    return clean(name, 80) if common or not hidden else "thing of another type"


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
        if absent := _absent_exercise(evidence, greeting.error):
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
    if error.type == CUT_OFF and not error.frames:
        return Outcome(
            Status.FAILED,
            f"no gradient can flow: what `{name}` returns is cut off from its inputs",
            next_step=_next_step("values", "grad"),
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


def _code(evidence: Evidence, error: StudentError) -> str:
    frame = error.frames[-1]
    code = clean(evidence.source.line(frame.label, frame.line), 120)
    return f": `{code}`" if code else ""


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


def clean(text: str, limit: int) -> str:
    """Return a submission's text without control and bidirectional characters, cut to `limit`."""
    kept = "".join(c if c.isprintable() or c == " " else " " for c in text)
    kept = " ".join(kept.split())
    return kept if len(kept) <= limit else kept[: limit - 1] + "…"


def _volume(case: DrawnCase) -> int:
    volume = 1
    for size in case.dims.values():
        volume *= size
    return volume
