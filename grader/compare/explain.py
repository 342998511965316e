"""Says why a call came to no answer: what happened, where in the student's file, and what next."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from grader.compare.advice import (
    advise_loading,
    advise_on_error,
    lesson_of,
    renamed_forward,
)
from grader.compare.biases import lacking_bias
from grader.compare.evidence import SEEK_LAYER, Evidence, Fault, Judgement
from grader.compare.lost import astray, cut_at, turned_within
from grader.compare.sizes import fitting, missized
from grader.compare.vocabulary import Vocabulary
from grader.handin.read import hidden_at, method_names, nested_line
from grader.records.answers import Answer, AnswerStatus, Frame, LooseThing, StudentError
from grader.records.calls import DrawnCase
from grader.records.results import Facts, Place, Sized, Status
from grader.records.text import clean, shown_shape, without_folder
from grader.worker.protocol import Cause

_TURNED = "exchange the two lengths where the layer is made: the one that comes in stands first"
_TODO = "raise NotImplementedError"  # what stands in a stub
_NO_MODULE = ", not an nn.Module"
_DEBUGGER = "BdbQuit"  # what Python's debugger raises where nobody answers it
_NO_FORWARD = re.compile(r'Module \[(\w+)\] is missing the required "forward"')


def explain_status(evidence: Evidence, answer: Answer, case: DrawnCase | None) -> Judgement:
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
            return Judgement(
                Status.TIMEOUT,
                f"{where} did not finish: {answer.reason}",
                next_step="look for a loop whose condition never changes",
                case=case,
                fault=Fault.TIMEOUT,
            )
        case AnswerStatus.REFUSED:
            return Judgement(
                Status.FAILED,
                f"`{name}` gave no answer that can be read: {answer.reason}",
                next_step="remove the calls of print"
                if answer.flooded
                else "return tensors, and leave the process and its files alone",
                fault=Fault.CRASHED,
            )
        case _:
            where = f"`{name}`" if evidence.greeting else f"loading {evidence.source.label}"
            return Judgement(
                Status.FAILED,
                f"{where} ended the Python process: {answer.reason}",
                next_step="look for exit(), ctypes, or endless recursion",
                fault=Fault.CRASHED,
            )


def _explain_missing(evidence: Evidence) -> Judgement:
    name, greeting, label = evidence.target.name, evidence.greeting, evidence.source.label
    if greeting is not None and greeting.error is not None:
        if absent := _absent_exercise(evidence, greeting.error):
            return explain_stub(evidence) or _explain_absent(evidence, absent)
        said = describe_student_error(evidence, greeting.error)
        return Judgement(
            Status.FAILED,
            f"{label} could not be loaded: {said}",
            next_step=advise_loading(evidence, greeting.error),
            place=place_of(evidence, greeting.error),
            fault=Fault.MISSING,
        )
    if near := evidence.meant_by(name):
        message = f"`{name}` is not defined, but `{near}` is"
        step = f"rename `{near}` to `{name}`"
    else:
        message = f"`{name}` is not defined in {label}"
        step = evidence.source.next_step or f"define `{name}` as in the stub"
    return Judgement(Status.FAILED, message, next_step=step, fault=Fault.MISSING)


def _absent_exercise(evidence: Evidence, error: StudentError) -> str:
    """Return the file of an earlier exercise that an import did not find, else ""."""
    for earlier in evidence.course.earlier(evidence.exercise):
        names = (earlier.stem, earlier.id)
        sought = [f"No module named '{place}{n}'" for n in names for place in ("", "exercises.")]
        if error.type == "ModuleNotFoundError" and error.message in sought:
            return earlier.file
    return ""


def _explain_absent(evidence: Evidence, file: str) -> Judgement:
    label = evidence.source.label
    return Judgement(
        Status.SKIPPED,
        f"`{evidence.target.name}` needs your {file}, which is not beside {label}",
        next_step=f"put {file} into the same folder as {label}",
        fault=Fault.INCOMPLETE,
    )


def _explain_error(evidence: Evidence, error: StudentError, case: DrawnCase | None) -> Judgement:
    name = evidence.target.name
    if outcome := _explain_todo(evidence, error) or _explain_unread(evidence, error):
        return outcome
    if absent := _absent_exercise(evidence, error):
        return explain_stub(evidence) or _explain_absent(evidence, absent)
    if error.cause is Cause.CUT_OFF:
        return Judgement(
            Status.FAILED,
            f"no gradient can flow: what `{name}` returns is cut off from its inputs",
            next_step=cut_at(evidence) or evidence.words.uncut,
            case=case,
            fault=Fault.RAISED,
        )
    if error.type == _DEBUGGER:
        return _explain_debugger(name, error, case)
    reason = advise_on_error(evidence, error, case)
    of_ours = not error.frames and _NO_MODULE in error.message  # the code itself raised nothing
    if of_ours and "NoneType" in error.message and (stub := explain_stub(evidence)):
        return stub
    raised = f"`{name}` raised {describe_student_error(evidence, error)}"
    return Judgement(
        Status.FAILED,
        f"`{name}` {clean(error.message.removeprefix(name), 120)}" if of_ours else raised,
        next_step=reason.text,
        case=case,
        place=place_of(evidence, error),
        trap=lesson_of(evidence, reason),
        fault=Fault.RAISED,
    )


def _explain_debugger(name: str, error: StudentError, case: DrawnCase | None) -> Judgement:
    return Judgement(
        Status.FAILED,
        f"a debugger stops `{name}`{f' ({_place(error)})' if error.frames else ''}",
        next_step="take out `breakpoint()` or `set_trace()`",
        case=case,
        fault=Fault.RAISED,
    )


def _explain_todo(evidence: Evidence, error: StudentError) -> Judgement | None:
    """Say what is not written yet: this target, another of the file, or an earlier exercise."""
    if error.type != "NotImplementedError":
        return None
    name = evidence.target.name
    place = f" ({_place(error)})" if error.frames else ""
    last = error.frames[-1] if error.frames else None
    if last is None:
        return _explain_no_forward(evidence) if evidence.words.method in error.message else None
    others = {t.name for t in evidence.exercise.targets} - {name}
    if not evidence.source.holds(last.label):
        what = f"`{name}` needs an earlier exercise that is not written yet{place}"
        step = "finish the earlier exercise first"
        return Judgement(Status.SKIPPED, what, next_step=step, fault=Fault.UNWRITTEN)
    if "NotImplementedError" not in evidence.source.line(last.label, last.line):
        return _explain_not_called(evidence, error, others)
    function = last.name.split(".")[0]
    if function in others:
        what, step = f"`{name}` needs `{function}`, not written yet", f"write `{function}` first"
        return Judgement(Status.SKIPPED, what, next_step=step, fault=Fault.UNWRITTEN)
    return _unwritten(evidence, place, _TODO)


def explain_stub(evidence: Evidence) -> Judgement | None:
    """Say that a target is not written yet where its text says so, though nothing ran it."""
    found = evidence.unwritten_at
    if found is None:
        return None
    text = evidence.source.line(*found)
    place = f" ({clean(found[0], 120)}, line {found[1]})"
    left = _TODO if "NotImplementedError" in text else clean(text.strip(), 20)
    return _unwritten(evidence, place, left)


def _unwritten(evidence: Evidence, place: str, left: str) -> Judgement:
    name = evidence.target.name
    what = f"`{name}` is not written yet{place}"
    step = f"replace `{left}` by your code"
    if again := hidden_at(evidence.source, name):
        where = f"{clean(again[0], 120)}, line {again[1]}"
        step = f"{where} defines `{name}` again, and the last one counts: take that one out"
    return Judgement(Status.FAILED, what, next_step=step, fault=Fault.UNWRITTEN)


def _explain_not_called(
    evidence: Evidence, error: StudentError, others: Collection[str]
) -> Judgement | None:
    """Say which module is called though it has no `forward`."""
    if not (found := _NO_FORWARD.search(error.message)):
        return None
    name, called, place = evidence.target.name, found[1], _place(error)
    if called in ("ModuleList", "ModuleDict"):
        what = f"`{name}` calls an nn.{called}, which only holds layers ({place})"
        step = "call the layers in it, one by one, each with what it is to work on"
        return Judgement(Status.FAILED, what, next_step=step, fault=Fault.RAISED)
    what = f"`{name}` calls `{clean(called, 80)}`, which has no method `forward` ({place})"
    step = f"define `forward` in `{clean(called, 80)}`"
    status = Status.SKIPPED if called in others else Status.FAILED
    return Judgement(status, what, next_step=step, fault=Fault.RAISED)


def _explain_unread(evidence: Evidence, error: StudentError) -> Judgement | None:
    """Say what lacks the method that would tell the shape which an earlier method raised on."""
    before, name = evidence.words.before, evidence.target.name
    if not before or not error.frames or not error.frames[-1].name.endswith(f".{before}"):
        return None
    written = method_names(evidence.source, name)
    told = not written or evidence.words.method in written
    return (
        None
        if told or not renamed_forward(evidence, evidence.target)
        else (_explain_no_forward(evidence))
    )


def _explain_no_forward(evidence: Evidence) -> Judgement:
    """Say that a class has no method that computes, and where it stands by mistake."""
    name, method = evidence.target.name, evidence.words.method
    what, step = f"`{name}` has no method `{method}`", f"define `{method}` in the class"
    if other := renamed_forward(evidence, evidence.target):
        step = f"rename `{other}` to `{method}`"
    for label, text in evidence.source.units:
        if line := nested_line(text, name, "__init__", method):
            what += f": at {label}, line {line} it stands inside `__init__`"
            step = f"move `{method}` one level to the left, to where `__init__` begins"
    return Judgement(Status.FAILED, what, next_step=step, fault=Fault.INCOMPLETE)


def describe_student_error(evidence: Evidence, error: StudentError) -> str:
    """Return an exception in words: what, and where in the student's own file."""
    place = describe_place(evidence, error)
    where = f" at {place}" if place else ""
    text = clean(without_folder(error.message), 400).removesuffix(" (unknown location)").rstrip(".")
    asked = (target.name for target in evidence.exercise.targets)  # these are not to be renamed
    due = any(f"name '{name}' is not defined" in error.message for name in asked)
    near = f" (did you mean `{clean(error.near, 80)}`?)" if error.near and not due else ""
    return f"{clean(error.type, 80)}{f': {text}' if text else ''}{near}{where}"


def describe_place(evidence: Evidence, error: StudentError) -> str:
    """Return where an exception was raised, and what stands there; "" where nobody knows."""
    place = place_of(evidence, error)
    if place is None:
        return ""
    caller = place.caller
    called = f", called in line {caller.line} of {caller.label}" if caller else ""
    return f"{_place(error)}{_code(evidence, error)}{called}"


def place_of(evidence: Evidence, error: StudentError) -> Place | None:
    """Return the line that raised an exception, None where none of the submission's did."""
    if not error.frames:
        return None
    last = error.frames[-1]
    own = [frame for frame in error.frames if evidence.source.holds(frame.label)]
    others = {one.name for one in evidence.exercise.targets} - {evidence.target.name}
    inside = _of_what(last) if last in own and _of_what(last) in others else ""
    around = [frame for frame in own if _of_what(frame) != inside] if inside else own
    calls = around[-1] if around and around[-1] is not last else None
    caller = Place(clean(calls.label, 120), calls.line) if calls else None
    return Place(clean(last.label, 120), last.line, caller, inside if caller else "")


def _of_what(frame: Frame) -> str:
    """The function or class whose line a frame shows."""
    return frame.name.partition(".")[0]


def _place(error: StudentError) -> str:
    frame = error.frames[-1]
    return f"{clean(frame.label, 120)}, line {frame.line}"


def _seek(
    evidence: Evidence, wanted: Sequence[Sized], left: Sequence[Sized], *, turned: bool
) -> str:
    """Say what to look for, where parameters are not there, or `turned`; others are `left`."""
    if turned:
        inside = all(one.name.count(".") > 1 for one in left)  # a module's within this one
        return (turned_within(evidence) if inside else "") or _TURNED
    names = [one.name for one in wanted if one.name in evidence.roles]
    lone = evidence.parts_of_norms(names) == 1  # of a norm one, and not the whole norm
    lone &= all(len(one.shape) != 1 for one in left)  # else theirs may have another size
    return evidence.words.affine if lone else SEEK_LAYER


def _explain_unbound(evidence: Evidence, answer: Answer, case: DrawnCase | None) -> Judgement:
    """Say what no parameter fits, and why: layers out of sight, or without a bias."""
    if stub := explain_stub(evidence):
        return stub  # what a constructor still lacks is no mistake yet
    words = evidence.words
    wanted = _sought(evidence, answer)
    left, taken = _left_and_taken(evidence, answer, case)
    there = [*left, *taken]
    sought, turned = _named(evidence, wanted), _is_turned(wanted, left)
    shown = ", ".join(f"`{one.name}` {shown_shape(one.shape)}" for one in there[:8])
    outcome = Judgement(
        Status.FAILED,
        f"no parameter fits {sought}",
        f"the {words.noun} has {shown or 'no parameters'}",
        astray(evidence) or _seek(evidence, wanted, left, turned=turned),
        Facts(parameters=tuple(wanted)),
        Facts(parameters=tuple(there)),
        case,
        fault=Fault.UNBOUND,
    )
    if hiding := [found for found in answer.info.loose if found.what in words.homes]:
        return _out_of_sight(words, hiding[0], sought, outcome)
    if lacking := lacking_bias(evidence, answer, outcome):
        return lacking
    if not turned and (resized := missized(evidence, answer, outcome)):
        return resized
    if plain := [clean(one.path, 80) for one in answer.info.loose if one.what == "tensor"]:
        trained = f"`{plain[0]}` holds a plain tensor: what is trained is {words.weight}"
        return replace(outcome, next_step=f"{trained}; {outcome.next_step}")
    return outcome


def _sought(evidence: Evidence, answer: Answer) -> list[Sized]:
    """Return the parameters that are due and not there, as the framework calls them."""
    words = evidence.words
    return [
        Sized(words.name_of(role), words.shape_of(role, one.shape))
        if (role := evidence.roles.get(one.name))
        else Sized(one.name, tuple(one.shape))
        for one in answer.info.sought
    ]


def _named(evidence: Evidence, wanted: Sequence[Sized]) -> str:
    """Parameters that are due, by shapes alone where their names are the learner's to choose."""
    free = evidence.target.free_names
    return ", ".join(
        f"{'' if free else f'`{one.name}` '}{shown_shape(one.shape)}" for one in wanted[:6]
    )


def _left_and_taken(
    evidence: Evidence, answer: Answer, case: DrawnCase | None
) -> tuple[list[Sized], list[Sized]]:
    """What a module has: what is of no shape that another part has taken, and all else."""
    sought = {one.name for one in answer.info.sought}
    calls = [c for c in evidence.calls if case is not None and c.case == case.id]
    taken = [role.shape for call in calls[:1] for role in call.roles if role.name not in sought]
    left: list[Sized] = []
    others: list[Sized] = []
    for one, fits in fitting(answer.info.present, taken):
        (others if fits else left).append(Sized(clean(one.name, 60), tuple(one.shape)))
    return left, others


def _is_turned(wanted: Sequence[Sized], there: Sequence[Sized]) -> bool:
    """Whether each matrix that is due is there with rows for columns."""
    own = {one.name: one.shape for one in there}
    matrices = [one for one in wanted if len(one.shape) == 2]
    if any(own.get(one.name, one.shape[::-1]) != one.shape[::-1] for one in matrices):
        return False  # the one of that name is of another size
    due, shapes = [one.shape for one in matrices], {*own.values()}
    return bool(due) and all(rows != columns and (columns, rows) in shapes for rows, columns in due)


def _out_of_sight(
    words: Vocabulary, hiding: LooseThing, sought: str, outcome: Judgement
) -> Judgement:
    things = "layers" if hiding.what == "module" else "parameters"
    return replace(
        outcome,
        message=f"`{clean(hiding.path, 80)}` holds {things} {words.unseen}, so no "
        f"parameter fits {sought}",
        detail="",
        next_step=f"keep them in {words.homes[hiding.what]}",
    )


def _code(evidence: Evidence, error: StudentError) -> str:
    frame = error.frames[-1]
    code = clean(evidence.source.line(frame.label, frame.line), 120)
    return f": `{code}`" if code else ""
