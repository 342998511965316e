"""What came beside what is due: other things in a tuple, axes of one, and another slope."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from grader.compare.arrays import exactly_equal, is_near, shape_difference
from grader.compare.evidence import Evidence, Fault, Judgement
from grader.course.models import Target
from grader.records.answers import Answer, AnswerStatus, Info
from grader.records.calls import Array, Call
from grader.records.results import Facts, Status
from grader.records.text import clean, with_article
from grader.worker.names import Group, compared, tensor_name
from grader.worker.protocol import Action, TargetKind, TensorKey

_OPPOSITE = 1e-6  # as a part of a gradient
_SIGN = "the sign is wrong on this way: look for a `-` where a `+` is due, or for sides exchanged"
_SLOPE = (
    "nothing is cut: compare each constant and each epsilon with the lesson's, for a slope shows "
    "them where a value does not"
)
_CHANGED = "the call changes `{}`, whose old numbers a gradient needs: mend that first"
_ORDINALS = ("first", "second", "third", "fourth")


def several(target: Target, info: Info) -> str:
    """Say that a target, or what a factory builds, returns several things."""
    came = with_article(clean(info.parts[0].type, 80))
    things = "tensors" if all(one.shape is not None for one in info.inside) else "things"
    return f"{who_returns(target)} returns {came} of {len(info.inside)} {things}"


def who_returns(target: Target) -> str:
    """Say who returns what is judged: of a factory it is the module that it builds."""
    builds = target.kind is TargetKind.FACTORY
    return f"what `{target.name}` builds" if builds else f"`{target.name}`"


def other_item(info: Info, due: tuple[int, ...]) -> str:
    """Say which item alone has the shape that is due, where the first has not; "" for none."""
    fits = [place for place, one in enumerate(info.inside) if tuple(one.shape or ()) == due]
    if len(fits) != 1 or fits[0] >= len(_ORDINALS) or not fits[0]:
        return ""
    return f"return the {_ORDINALS[fits[0]]} of them alone: it has the shape that is due"


def lacks_axes(came: Sequence[int], due: Sequence[int]) -> bool:
    """Whether axes of one are missing, and nothing else is."""
    return 0 < len(came) < len(due) and [n for n in due if n != 1] == [n for n in came if n != 1]


def loses_ones(evidence: Evidence) -> bool:
    """Whether outputs lack axes of length one, and nothing else, wherever one has a wrong shape."""
    pairs = [
        (came.shape, due.shape)
        for call in evidence.numeric_calls(Action.FORWARD)
        if call.id in evidence.answers  # a builder makes one call after the other
        for name, due in compared(evidence.key.answers[call.id].tensors, Group.OUTPUT).items()
        if (came := evidence.answers[call.id].tensors.get(name)) is not None
    ]
    wrong = [(came, due) for came, due in pairs if came != due]
    return bool(wrong) and all(lacks_axes(came, due) for came, due in wrong)


def changed_input(evidence: Evidence, call: Call, answer: Answer) -> str:
    """Return the tensor of the caller that a call has changed, "" where none is."""
    for place, (name, given) in enumerate(zip(evidence.target.inputs, call.inputs, strict=False)):
        if isinstance(given, TensorKey):
            before = evidence.key.plan.tensors[given.tensor]
            if before.dtype == np.float64 and answer is evidence.answers32.get(call.id):
                before = before.astype(np.float32)  # as it was handed out
            after = answer.tensors.get(tensor_name(Group.INPUT, place))
            if after is None or not exactly_equal(after, before):
                return name
    return ""


def slope_of_changed(evidence: Evidence) -> str:
    """Say that an input is changed, which gradients need as it was; "" where none is."""
    calls = [call for call in evidence.numeric_calls(Action.FORWARD) if call.id in evidence.answers]
    answers = [(call, evidence.answers[call.id]) for call in calls]
    sound = [(call, answer) for call, answer in answers if answer.status is AnswerStatus.OK]
    names = (changed_input(evidence, call, answer) for call, answer in sound)
    return next((_CHANGED.format(name) for name in names if name), "")


def of_slope(found: Judgement, label: str, came: Array, due: Array) -> Judgement:
    """Say of a wrong gradient what is known: that none came, that it is near, or its sign."""
    if not came.any():  # what reaches nothing is claimed as zeros
        message = f"{label} did not come, or is zero everywhere"
        return replace(found, message=message, detail="", expected=Facts(), actual=Facts())
    if is_near(came, due):
        return replace(found, next_step=_SLOPE)
    opposite = np.allclose(came, -due, rtol=_OPPOSITE, atol=0.0)
    return replace(found, next_step=_SIGN) if opposite else found


def with_spare_axes(
    label: str, came: tuple[int, ...], due: tuple[int, ...], *, always: bool
) -> Judgement:
    """Judge an output with axes of one too many, and say where they stand if sizes tell it.

    Where they are not there `always`, taking them away would take others away elsewhere.
    """
    wrong, count = shape_difference(came, due), max(len(came) - len(due), 0)
    what = "an axis of one" if count == 1 else f"{count} axes of one"
    ones = [place for place, size in enumerate(came) if size == 1]
    ways = [gone for gone in combinations(ones, count) if _without(came, gone) == due]
    (where, index) = _placed(ways[0], len(came)) if len(ways) == 1 else ("", "")
    step = (
        f"return it without: `[{index}]` at the end takes it away" if index else "return it without"
    )
    if not always:
        step = "with other inputs it does not come: does a parameter have more axes than x there?"
    return Judgement(
        Status.FAILED,
        f"{label} has {what}{where} that nobody asked for",
        wrong.message,
        step,
        wrong.expected,
        wrong.actual,
        fault=Fault.SHAPE,
    )


def _without(shape: tuple[int, ...], gone: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for place, size in enumerate(shape) if place not in gone)


def _placed(gone: Sequence[int], count: int) -> tuple[str, str]:
    """Say where axes stand among `count`, and by which index they go."""
    index = ", ".join("0" if place in gone else ":" for place in range(gone[-1] + 1))
    if gone[-1] == len(gone) - 1:
        return " in front", index
    if gone[0] == count - len(gone):
        return " at the end", ", ".join(["...", *["0"] * len(gone)])
    inside = gone[0] > 0 and gone[-1] < count - 1
    return " in between" if inside else "", index
