"""Judges single calls: did an answer come, is its form right, and are its values."""

from dataclasses import replace

from grader.compare.arrays import Difference, match, shape_difference
from grader.compare.beside import (
    loses_ones,
    of_slope,
    other_item,
    several,
    slope_of_changed,
    who_returns,
    with_spare_axes,
)
from grader.compare.evidence import (
    COMPARE_SHAPES,
    LOST_AXIS,
    NOT_FINITE,
    Evidence,
    Fault,
    Judgement,
    unknown_step,
)
from grader.compare.explain import describe_student_error, explain_status, explain_stub
from grader.compare.lost import cut_at, returned_none, thrown_away, unreturned
from grader.course.expressions import NUMBER, OPAQUE
from grader.course.models import Target
from grader.records.answers import Answer, AnswerStatus, Info, ReturnedValue
from grader.records.calls import PLAIN, Call, DrawnCase
from grader.records.ids import BIASES
from grader.records.results import Facts, Status
from grader.records.text import clean, shown_shape, with_article
from grader.worker.names import Group, compared, group_of, name_of, tensor_name
from grader.worker.protocol import Action, TargetKind

_NUMBERS = ("int", "float", "float64")  # numpy's float64 is a float of Python's, too
_TENSORS = ("Tensor", "Parameter")
NUMBER_STEP = "return a number of Python's: .item() makes one of a tensor or an array"
_TRUTHS_STEP = "return true and false: a comparison gives them"
_BUILT = "counts once it can be built from the course's own parts"
_AS_STUBS = "import earlier exercises, and call their classes as the stubs do"
_ALIKE = "counts once it has as many parameters, and as large ones, as the lesson asks for"
_COUNT = "compare the number and the sizes of its parameters with what the lesson says"
_SAID = {
    Fault.SHAPE: "has the wrong shape",
    Fault.DTYPE: "has the wrong dtype",
    Fault.FINITE: "holds numbers that are not finite",
    Fault.VALUES: "has the right shape but wrong values",
}


def judge_call(evidence: Evidence, call: Call, group: Group) -> Judgement:
    """Judge the outputs or the gradients of a call, in float64 or else float32.

    Several checks look at the same call: what was judged is kept with the evidence.
    """
    asked = (call.id, group)
    if asked not in evidence.judged:
        evidence.judged[asked] = _judge_both(evidence, call, group)
    return evidence.judged[asked]


def sound_calls(evidence: Evidence, action: Action) -> list[Call]:
    """Return the calls on which a property is judged: without an option, or with right values.

    What an option that is not heard makes wrong costs the option's points, and no property.
    """
    plan, calls = evidence.key.plan, []
    for group in plan.groups(evidence.target.name):
        forward = evidence.numeric_calls(Action.FORWARD, group)
        if group == PLAIN or all(judge_call(evidence, c, Group.OUTPUT).passed for c in forward):
            calls += evidence.numeric_calls(action, group)
    return calls or [evidence.first_call]


def _judge_both(evidence: Evidence, call: Call, group: Group) -> Judgement:
    answer, again = evidence.answers[call.id], evidence.answers32.get(call.id)
    outcome = _judge(evidence, call, group, answer, "float64")
    if again is None or answer.status is not AnswerStatus.RAISED:
        return outcome  # one answer counts, and no second one beside it
    other = _judge(evidence, call, group, again, "float32")
    return other if other.passed else outcome


def _judge(evidence: Evidence, call: Call, group: Group, answer: Answer, dtype: str) -> Judgement:
    case = evidence.case(call)
    if answer.status is not AnswerStatus.OK:
        return unanswered(evidence, call, answer)
    if group is Group.OUTPUT and (wrong := _form(evidence, answer)):
        return replace(wrong, case=case)
    precision, tolerances = dtype, evidence.course.tolerances
    tolerances = tolerances.of_gradients if group is Group.GRADIENT else tolerances
    for name, expected in compared(evidence.key.answers[call.id].tensors, group).items():
        actual = answer.tensors.get(name)
        label = called(evidence, name)
        if actual is None and _is_of_missing_bias(call, name):
            continue  # which costs the points of the case of biases
        if actual is None:
            return Judgement(Status.FAILED, f"{label} did not come back as numbers", case=case)
        matched = match(actual, expected, tolerances, free=call.free)
        if (wrong_here := matched.difference) is not None:
            whole = _whole_shape(evidence, answer, name) if group is Group.OUTPUT else actual.shape
            if wrong_here.fault is Fault.SHAPE:
                wrong_here = shape_difference(whole, expected.shape)
            found = _differs(evidence, answer, group, label, wrong_here, case)
            if wrong_here.fault is Fault.VALUES and len(whole) > actual.ndim:
                found = replace(found, message=f"{label} has an axis too many and wrong values")
            sloping = group is Group.GRADIENT and wrong_here.fault is Fault.VALUES
            return of_slope(found, label, actual, expected) if sloping else found
        if matched.precision == "float32":
            precision = "float32"
    return Judgement(Status.PASSED, case=case, precision=precision)


def _differs(
    evidence: Evidence,
    answer: Answer,
    group: Group,
    label: str,
    found: Difference,
    case: DrawnCase,
) -> Judgement:
    step = _next_step(found, group, evidence)
    if group is Group.OUTPUT and len(answer.info.inside) > 1:
        label = f"{several(evidence.target, answer.info)}, and the first of them"
        step = other_item(answer.info, found.expected.shape or ()) or step
    said, facts = f"{label} {_SAID[found.fault]}", (found.expected, found.actual)
    return Judgement(Status.FAILED, said, found.message, step, *facts, case, fault=found.fault)


def _whole_shape(evidence: Evidence, answer: Answer, name: str) -> tuple[int, ...]:
    """The shape of an output as it was returned, with axes of one that are left out elsewhere."""
    outputs, parts = list(evidence.target.outputs), answer.info.parts
    alike = len(parts) == len(outputs)  # else they came stacked, or among others
    shape = parts[outputs.index(name_of(name))].shape if alike else None
    return answer.tensors[name].shape if shape is None else tuple(shape)


def _is_of_missing_bias(call: Call, tensor: str) -> bool:
    """Whether a tensor is the gradient of a bias that is zero here, and that is not there."""
    optional = {tensor_name(Group.GRADIENT, role.name) for role in call.roles if role.optional}
    return tensor in optional


def lacks_bias(evidence: Evidence, call: Call) -> bool:
    """Whether nothing but biases is missing, which the case of biases tells, and it alone."""
    answer = evidence.answers[call.id]
    always = {role.name for role in evidence.first_call.roles if role.optional}
    sought = {one.name for one in answer.info.sought}
    own = evidence.case(call).group == BIASES
    return answer.status is AnswerStatus.UNBOUND and not own and bool(sought) and sought <= always


def unanswered(evidence: Evidence, call: Call, answer: Answer) -> Judgement:
    """Judge a call that came to no answer.

    Where correct earlier exercises do not fit a factory that its own ones serve well, nothing is
    known of its values: it may have other names for things, and it may be a fake.
    """
    case = evidence.case(call)
    if not uncompared(evidence, call, answer):
        return explain_status(evidence, answer, case)
    waits, step = (_BUILT, _AS_STUBS) if answer.error else (_ALIKE, _COUNT)
    return Judgement(Status.SKIPPED, waits, next_step=step, fault=Fault.UNBOUND)


def note_uncompared(evidence: Evidence) -> list[str]:
    """Say where a factory could not be put together of correct earlier exercises."""
    for call in evidence.calls:
        answer = evidence.answers[call.id]
        if uncompared(evidence, call, answer):
            if answer.error is None:
                why = "does not have the parameters that the lesson asks for"
            else:
                raised = describe_student_error(evidence, answer.error)
                why = f"cannot be built from the course's own parts ({raised})"
            return [f"`{call.target}` {why}, so its values were not compared"]
    return []


def uncompared(evidence: Evidence, call: Call, answer: Answer) -> bool:
    """Whether a factory answers by itself, and never with correct earlier exercises."""
    own = evidence.answers[evidence.first_call.id]
    misfit = answer.status in (AnswerStatus.RAISED, AnswerStatus.UNBOUND)
    if call.kind is not TargetKind.FACTORY or call.free or not misfit:
        return False
    assembled = [c.id for c in evidence.calls if not c.free and not c.refused]
    made = [evidence.answers[one] for one in assembled if one in evidence.answers]
    fits = any(one.status is AnswerStatus.OK for one in made)
    return own.status is AnswerStatus.OK and not fits


def _next_step(difference: Difference, group: Group, evidence: Evidence) -> str:
    fault, words = difference.fault, evidence.words
    if fault is Fault.SHAPE:
        return LOST_AXIS if loses_ones(evidence) else thrown_away(evidence) or COMPARE_SHAPES
    if fault is Fault.DTYPE:
        return _TRUTHS_STEP if difference.expected.dtype == "bool" else words.any_dtype
    if fault is Fault.FINITE:
        return NOT_FINITE
    if group is Group.GRADIENT:
        rough = f"{words.uncut}; or for a constant, such as an epsilon, that values hardly show"
        changed = cut_at(evidence) or slope_of_changed(evidence)
        return changed or (rough if difference.actual.value else words.uncut)
    return thrown_away(evidence, of_values=True) or unknown_step(evidence.target)


def other_form(evidence: Evidence, call: Call) -> Judgement | None:
    """Judge whether an output came in another form than is due, though it can be compared.

    It is a tensor or an array for a number, or an array for a tensor; it stands among others, has
    axes of one too many, or holds ones and zeros for true and false. Or several came stacked.
    """
    answer = evidence.answers[call.id]
    if _is_another_count(evidence.target, answer.info) and _is_stacked(evidence.target, answer):
        return _of_count(evidence.target, answer.info)
    for name, part in zip(evidence.target.outputs, answer.info.parts, strict=False):
        came = answer.tensors.get(tensor_name(Group.OUTPUT, name))
        if came is None:
            continue
        number = evidence.target.output_specs[name].kind == NUMBER
        if part.type not in _NUMBERS if number else part.shape is None:
            return _of_several(evidence, answer) or _of_other_type(evidence, name, part)
        found = []
        if not number and tuple(part.shape or ()) != came.shape:
            label = called(evidence, tensor_name(Group.OUTPUT, name))
            shape, always = tuple(part.shape or ()), _has_spare_axes(evidence, name)
            found.append(with_spare_axes(label, shape, came.shape, always=always))
        if came.dtype.name == "bool" and part.dtype not in (None, "bool"):
            found.append(_of_numbers(clean(part.dtype, 80)))
        if found:
            steps = "; ".join(one.next_step for one in found)
            said = "; and ".join(one.message for one in found)
            return replace(found[0], message=said, next_step=steps)
    return None


def _has_spare_axes(evidence: Evidence, output: str) -> bool:
    """Whether an output has axes of one too many wherever it came."""
    place = list(evidence.target.outputs).index(output)
    key = tensor_name(Group.OUTPUT, output)
    answers = (evidence.answers[c.id] for c in evidence.numeric_calls(Action.FORWARD))
    came = [
        (tuple(parts[place].shape or ()), answer.tensors[key].shape)
        for answer in answers
        if key in answer.tensors and len(parts := answer.info.parts) > place
    ]
    return all(len(shape) > len(due) for shape, due in came)


def _of_several(evidence: Evidence, answer: Answer) -> Judgement | None:
    """Say that several things came where one is due, None where it is not so."""
    if len(answer.info.inside) < 2:
        return None
    name = next(iter(evidence.target.outputs))
    calls = evidence.numeric_calls(Action.FORWARD)
    right = all(judge_call(evidence, call, Group.OUTPUT).passed for call in calls)
    compared = evidence.target.points.numeric  # a factory's model has parameters of its own
    why = ", which has the right values in the usual cases" if right and compared else ""
    return Judgement(
        Status.FAILED,
        f"{several(evidence.target, answer.info)}, where `{name}` alone is asked for",
        next_step=f"return the first of them alone{why}",
        fault=Fault.TYPE,
    )


def _of_numbers(dtype: str) -> Judgement:
    # the float's width is grader's choice, which makes float64 the default dtype
    came = "holds floating-point numbers" if "float" in dtype else f"is {dtype}"
    return Judgement(
        Status.FAILED,
        f"the output {came}, where true and false are asked for",
        next_step=_TRUTHS_STEP,
        expected=Facts(dtype="bool"),
        actual=Facts(dtype=dtype),
        fault=Fault.DTYPE,
    )


def called(evidence: Evidence, name: str) -> str:
    """What a student calls a tensor of an answer."""
    named, target = name_of(name), evidence.target
    match group_of(name):
        case Group.OUTPUT:
            return "the output" if len(target.outputs) == 1 else f"`{named}`"
        case Group.INPUT_GRADIENT:
            return f"the gradient of `{list(target.inputs)[int(named)]}`"
        case _:
            return f"the gradient of the parameter `{evidence.own_name(named)}`"


def _form(evidence: Evidence, answer: Answer) -> Judgement | None:
    """Judge the types of what was returned; None where they are right."""
    target = evidence.target
    info = answer.info
    if answer.is_of("NoneType") and (stub := explain_stub(evidence)):
        return stub
    if target.as_dict and (wrong := _dict_form(target, info)):
        return wrong
    if _is_another_count(target, info) and not _is_stacked(target, answer):
        return _of_count(target, info)
    return _form_of_parts(evidence, answer)


def _is_another_count(target: Target, info: Info) -> bool:
    several = len(target.outputs) > 1 and not target.as_dict
    return several and (info.count != len(target.outputs) or not info.returned)


def _is_stacked(target: Target, answer: Answer) -> bool:
    """Whether one tensor came that holds all outputs, one after the other."""
    there = (tensor_name(Group.OUTPUT, name) in answer.tensors for name in target.outputs)
    return answer.info.count == 1 and all(there)


def _of_count(target: Target, info: Info) -> Judgement:
    names = list(target.outputs)
    alone = info.parts[0] if info.count == 1 and info.parts else None
    came = f"one {clean(alone.type, 80)}" if alone else f"{info.count}"
    return Judgement(
        Status.FAILED,
        f"`{target.name}` should return {len(names)} tensors ({', '.join(names)}), it returned "
        f"{came}",
        next_step=f"end with: return {', '.join(names)}",
        fault=Fault.TYPE,
    )


def _form_of_parts(evidence: Evidence, answer: Answer) -> Judgement | None:
    """Judge the type of each thing that was returned."""
    target = evidence.target
    names = list(target.outputs)
    for name, part in zip(names, answer.info.parts, strict=False):
        opaque = target.output_specs[name].kind == OPAQUE
        if not opaque and tensor_name(Group.OUTPUT, name) not in answer.tensors:
            return _of_other_type(evidence, name, part)
    return None


def _of_other_type(evidence: Evidence, name: str, part: ReturnedValue) -> Judgement:
    target = evidence.target
    number = target.output_specs[name].kind == NUMBER
    what = "a number" if number else "a tensor"
    label = what if len(target.outputs) == 1 else f"{what} as `{name}`"
    of_tensor = number and part.type in _TENSORS
    return Judgement(
        Status.FAILED,
        f"{who_returns(target)} should return {label}, it returned {_shown_part(part)}",
        next_step=NUMBER_STEP if of_tensor else _return_step(evidence, part.type, what),
        fault=Fault.TYPE,
    )


def _dict_form(target: Target, info: Info) -> Judgement | None:
    """Judge whether a dict of exactly the declared names was returned."""
    due = ", ".join(f"`{name}`" for name in target.outputs)
    said = f"`{target.name}` should return a dict with {due}"
    missing = [name for name in target.outputs if name not in info.keys]
    surplus = [clean(key, 80) for key in info.keys if key not in target.outputs]
    if not info.keys and info.count:
        said += f", it returned {_shown_part(info.parts[0])}" if info.parts else ""
    elif missing:
        said += f": `{missing[0]}` is missing"
    elif surplus or info.count != len(target.outputs):
        said += f" and no more: `{surplus[0]}` is there too" if surplus else " and no more"
    else:
        return None
    pairs = ", ".join(f'"{name}": {name}' for name in target.outputs)
    return Judgement(
        Status.FAILED,
        said,
        next_step=f"end with: return {{{pairs}}}",
        fault=Fault.TYPE,
    )


def _return_step(evidence: Evidence, returned: str, due: str) -> str:
    if returned == "NoneType":
        found = unreturned(evidence) or returned_none(evidence)
        return found or "check that every path ends in a return"
    if returned in _TENSORS:
        return "return numbers of the input's dtype, on the input's device"
    if returned in ("tuple", "list", "dict", "generator"):
        return f"return {due.replace('a ', 'the ', 1)} itself, and nothing beside it"
    if due == "a number":
        return NUMBER_STEP
    return evidence.words.tensors


def _shown_part(part: ReturnedValue) -> str:
    if part.type == "NoneType":
        return "None"
    kind = clean(part.type, 80)
    if part.shape is not None:
        shape = shown_shape(tuple(part.shape))
        return f"{with_article(kind)} of shape {shape} and dtype {clean(part.dtype or '', 80)}"
    return with_article(kind)
