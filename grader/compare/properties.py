"""Judges the properties of a target: what holds for every right answer.

A property that holds earns its points only where the values are right too (see checks.py):
a constant is equivariant as well.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.compare.arrays import find_difference
from grader.compare.evidence import PASSED, Evidence, Outcome, clean
from grader.compare.explain import describe_student_error, explain_status
from grader.compare.outcomes import judge_call, unanswered
from grader.course.models import (
    Agrees,
    Allowed,
    Device,
    Dropout,
    Dtype,
    Equivariant,
    Fits,
    Independent,
    InputsUnchanged,
    Property,
    Raises,
    Registered,
    Reusable,
    RowsSumToOne,
    Trained,
    Varies,
)
from grader.execute.answers import Answer, AnswerStatus
from grader.plan.records import Array, Call
from grader.records import Status

_STILL = 1e-9  # variance of an output that does not vary
_SIGMAS = 7.0  # a right dropout is this far off once in 10^11 elements


def judge_property(evidence: Evidence, prop: Property) -> Outcome:
    """Return the outcome of one property, regardless of the target's values."""
    judge: Callable[[Evidence, Any], Outcome] = _JUDGES[type(prop)]
    return judge(evidence, prop)


def _agrees(evidence: Evidence, prop: Agrees) -> Outcome:
    for call in evidence.calls(f"{prop.name}/"):
        outcome = judge_call(evidence, call, "output")
        if not outcome.passed:
            if outcome.kind in ("todo", "missing", "timeout", "crashed"):
                return outcome
            name = evidence.case(call).name
            return replace(outcome, message=f"{name}: {outcome.message}")
    return PASSED


def _raises(evidence: Evidence, prop: Raises) -> Outcome:
    call = evidence.calls(prop.name)[0]
    answer = evidence.answers[call.id]
    case = evidence.case(call)
    if answer.status is AnswerStatus.RAISED and answer.error is not None:
        if prop.error in answer.error.bases:
            return PASSED
        written = evidence.answers[evidence.calls("main-1/forward")[0].id].status is AnswerStatus.OK
        if answer.error.type == "NotImplementedError" and not written:
            return explain_status(evidence, answer, case)
        said = describe_student_error(evidence, answer.error)
        message = f"{case.name} should raise {prop.error}, it raised {said}"
    elif answer.status is AnswerStatus.OK:
        message = f"{case.name} goes unnoticed: it should raise {prop.error}"
    else:
        return explain_status(evidence, answer, case)
    step = f"check for it and raise {prop.error} with a helpful text"
    return Outcome(Status.FAILED, message, next_step=step, case=case)


def _rows(evidence: Evidence, prop: RowsSumToOne) -> Outcome:
    tolerance = evidence.course.tolerances.float32
    for call in evidence.numeric_calls("forward") or evidence.calls("main-1/forward"):
        answer = evidence.answers[call.id]
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, evidence.case(call))
        for name, array in _outputs(answer):
            with np.errstate(all="ignore"):
                values = np.exp(array) if prop.log else array
            if array.ndim == 0:
                continue
            sums = values.sum(axis=prop.axis)
            if (values < 0).any() or find_difference(sums, np.ones_like(sums), tolerance):
                rows = "exp of each row" if prop.log else "each row"
                worst = sums.ravel()[int(np.abs(np.nan_to_num(sums - 1, nan=1e9)).argmax())]
                return Outcome(
                    Status.FAILED,
                    f"{rows} of `{name}` should be a distribution: not negative, and sum to one",
                    f"a row sums to {worst:.4g}",
                    "check the axis of the softmax, and that nothing follows it",
                    case=evidence.case(call),
                )
    return PASSED


def _equivariant(evidence: Evidence, prop: Equivariant) -> Outcome:
    dim = prop.dim

    def expected(array: Array, axis: int, _: str) -> Array:
        return np.roll(array, 1, axis)

    return _metamorphic(
        evidence,
        evidence.calls(f"{prop.name}/"),
        dim,
        expected,
        f"reordering the input along {dim} should reorder the output alike, and do no more",
        f"look for a place where the order along {dim} matters",
    )


def _independent(evidence: Evidence, prop: Independent) -> Outcome:
    dim = prop.dim

    def expected(array: Array, axis: int, call_id: str) -> Array:
        # a slice, for what came may be empty along any axis
        first = call_id.endswith("/first")
        return np.split(array, [1] if first else [max(0, array.shape[axis] - 1)], axis)[not first]

    return _metamorphic(
        evidence,
        evidence.calls(f"{prop.name}/"),
        dim,
        expected,
        f"each item along {dim} should be treated alike, alone or among others",
        f"look for an operation that mixes along {dim}: a softmax, a mean or a reshape",
    )


def _metamorphic(
    evidence: Evidence,
    calls: Sequence[Call],
    dim: str,
    expected: Callable[[Array, int, str], Array],
    sentence: str,
    step: str,
) -> Outcome:
    """Compare the submission's answers on changed inputs with its own on the first case."""
    # Wide on purpose: a violation is of order one, and precision is another check's business.
    tolerance = evidence.course.tolerances.float32
    main = evidence.calls("main-1/forward")[0]
    answers = _answers_of(evidence, [main, *calls])
    for call in [main, *calls]:
        if answers[call.id].status is not AnswerStatus.OK:
            return explain_status(evidence, answers[call.id], evidence.case(call))
    for name, spec in evidence.target.output_specs.items():
        axis = spec.axis_of(dim)
        whole = answers[main.id].tensors.get(f"output/{name}")
        if axis is None or whole is None or axis >= whole.ndim:
            continue
        for call in calls:
            part = answers[call.id].tensors.get(f"output/{name}")
            difference = part is None or find_difference(
                part, expected(whole, axis, call.id), tolerance
            )
            if difference:
                return Outcome(
                    Status.FAILED,
                    sentence,
                    "" if difference is True else difference.message,
                    step,
                    case=evidence.case(call),
                )
    return PASSED


def _answers_of(evidence: Evidence, calls: Sequence[Call]) -> dict[str, Answer]:
    """The float64 answers, or those in float32 where float64 is refused throughout."""
    answers = {call.id: evidence.answers[call.id] for call in calls}
    if evidence.answers32 and any(a.status is AnswerStatus.RAISED for a in answers.values()):
        return {call.id: evidence.answers32.get(call.id, answers[call.id]) for call in calls}
    return answers


def _unchanged(evidence: Evidence, _: InputsUnchanged) -> Outcome:
    for call in evidence.numeric_calls("forward") or evidence.calls("main-1/forward"):
        answer = _answers_of(evidence, [call])[call.id]
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, evidence.case(call))
        for index, (name, argument) in enumerate(
            zip(evidence.target.inputs, call.inputs, strict=True)
        ):
            if "tensor" not in argument:
                continue
            before = evidence.key.plan.tensors[argument["tensor"]]
            after = answer.tensors.get(f"input/{index}")
            same = after is not None and after.shape == before.shape
            if after is None or not same or not np.array_equal(after, before.astype(after.dtype)):
                return Outcome(
                    Status.FAILED,
                    f"`{name}`, the caller's tensor, is changed by the call",
                    next_step="make a new tensor in place of +=, or of a method that ends in _",
                    case=evidence.case(call),
                )
    return PASSED


def _dtype(evidence: Evidence, _: Dtype) -> Outcome:
    for call in evidence.numeric_calls("forward"):
        outcome = judge_call(evidence, call, "output")
        if outcome.passed and outcome.precision != "float64":
            dtypes = {a.dtype.name for _, a in _outputs(evidence.answers[call.id])}
            came = (
                f"it came as {min(dtypes)}"
                if dtypes - {"float64"}
                else "its last digits are wrong, as those of float32 are"
            )
            return Outcome(
                Status.FAILED,
                f"with float64 inputs the output should be float64: {came}",
                next_step="follow the input's dtype: no .float(), no dtype=torch.float32, and no "
                "epsilon that the formula has not",
                expected={"dtype": "float64"},
                actual={"dtype": "float32"},
                case=evidence.case(call),
            )
        if not outcome.passed and outcome.kind != "values":
            return outcome
    return PASSED


def _device(evidence: Evidence, prop: Device) -> Outcome:
    call = evidence.calls(prop.name)[0]
    answer = evidence.answers[call.id]
    if answer.error is not None and answer.error.device:
        place = describe_student_error(evidence, answer.error).partition(" at ")[2]
        return Outcome(
            Status.FAILED,
            "a tensor is made on a fixed device, so the code fails on a GPU",
            f"{clean(answer.error.message, 200)}{f' at {place}' if place else ''}",
            "make new tensors with device=x.device, and keep tables as buffers",
        )
    if answer.status in (AnswerStatus.OK, AnswerStatus.RAISED) and (
        answer.error is None or answer.error.type != "NotImplementedError"
    ):
        return PASSED  # an error of another kind is not about devices; other checks tell it
    return explain_status(evidence, answer, evidence.case(call))


def _registered(evidence: Evidence, _: Registered) -> Outcome:
    for call in evidence.numeric_calls("forward") or evidence.calls("main-1/forward"):
        answer, expected = _answers_of(evidence, [call])[call.id], evidence.key.answers[call.id]
        case = evidence.case(call)
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, case)
        count, due = answer.info.registered, expected.info.registered
        if answer.info.loose:
            path, what = answer.info.loose[0]
            # names are the submission's to choose, when it runs, and so are counts
            holder = "an attribute" if evidence.hidden else f"`{clean(path, 80)}`"
            kind = what if what in ("tensor", "module") else "parameter"
            return Outcome(
                Status.FAILED,
                f"{holder} holds a {kind} that is not registered",
                next_step={
                    "tensor": "keep it by register_buffer, so that .to() and state_dict() see it",
                    "module": "keep modules in nn.ModuleList or nn.ModuleDict, not in a list",
                }.get(what, "keep it as an attribute of its own, an nn.Parameter"),
                case=case,
            )
        if answer.info.given != expected.info.given:
            return Outcome(
                Status.FAILED,
                "the given sublayers are not registered on the module",
                next_step="store each given sublayer as an attribute",
                case=case,
            )
        if count != due:
            more = "more" if (count or 0) > (due or 0) else "fewer"
            named = ", ".join(f"`{clean(n, 60)}` {tuple(s)}" for n, s in answer.info.names[:8])
            return Outcome(
                Status.FAILED,
                f"the module registers {more} trainable numbers than it needs"
                if evidence.hidden
                else f"the module registers {count} trainable numbers, {more} than the {due} "
                "it needs",
                f"it has {named or 'nothing'}",
                "look for a layer or a bias that nobody asked for"
                if more == "more"
                else "look for a layer that is shared, or a bias that is left out",
                {"parameters": due},
                {"parameters": count},
                case,
            )
    return PASSED


def judge_trained(evidence: Evidence) -> Outcome:
    """Whether a gradient reached every registered parameter that the reference trains."""
    for call in evidence.numeric_calls("gradient"):
        answer, expected = evidence.answers[call.id], evidence.key.answers[call.id]
        if call.id in evidence.answers32 and answer.status is AnswerStatus.RAISED:
            answer = evidence.answers32[call.id]
        case = evidence.case(call)
        if answer.status is not AnswerStatus.OK:
            return explain_status(evidence, answer, case)
        idle = {
            name.removeprefix("grad/")
            for name, array in expected.tensors.items()
            if name.startswith("grad/") and np.abs(array).max(initial=0.0) < 1e-12
        }
        for untrained in answer.info.untrained:
            if not untrained.roles or not set(untrained.roles) <= idle:
                named = f"the parameter `{clean(untrained.name, 80)}`"
                return Outcome(
                    Status.FAILED,
                    f"no gradient reaches {'a parameter' if evidence.hidden else named}",
                    next_step="check that forward uses it, and that nothing is detached",
                    case=case,
                )
    return PASSED


def _trained(evidence: Evidence, _: Trained) -> Outcome:
    return judge_trained(evidence)


def _reusable(evidence: Evidence, prop: Reusable) -> Outcome:
    outcome = judge_call(evidence, evidence.calls(prop.name)[0], "output")
    if outcome.passed or outcome.kind in ("todo", "missing", "unbound"):
        return PASSED if outcome.passed else outcome
    return Outcome(
        outcome.status,
        f"a second input of another shape fails on the same module: {outcome.message}",
        outcome.detail,
        "read the sizes from the input at each call, and keep nothing between calls",
        case=outcome.case,
    )


def _dropout(evidence: Evidence, prop: Dropout) -> Outcome:
    call = evidence.calls(prop.name)[0]
    answer = _answers_of(evidence, [call])[call.id]
    expected = evidence.key.answers[call.id].tensors
    case = evidence.case(call)
    if answer.status is not AnswerStatus.OK:
        return unanswered(evidence, call, answer)
    for name in evidence.target.outputs:
        mean, second = answer.tensors.get(f"mean/{name}"), answer.tensors.get(f"second/{name}")
        due = [expected[f"{moment}/{name}"] for moment in ("mean", "second", "fourth")]
        if (
            mean is None
            or second is None
            or mean.shape != due[0].shape
            or second.shape != mean.shape
        ):
            return Outcome(
                Status.FAILED, "in training mode the output has another shape", case=case
            )
        repeats = call.extra["repeats"]
        room = 1e-4 * (1 + np.abs(due[0]))
        mean_room = _SIGMAS * np.sqrt(due[1] / repeats) + room
        spread_room = _SIGMAS * np.sqrt(np.maximum(due[2] - due[1] ** 2, 0) / repeats)
        if not (np.abs(second - due[1]) <= spread_room + 1e-4 * (1 + due[1])).all():
            still = float(np.nan_to_num(second).max()) < _STILL
            what = (
                "dropout changes nothing"
                if still
                else "dropout changes the output too much or too little"
            )
        elif not (np.abs(mean - due[0]) <= mean_room).all():
            what = "dropout shifts the mean of the output"
        else:
            continue
        return Outcome(
            Status.FAILED,
            f"in training mode {what}",
            next_step="check where dropout stands, its probability, and that survivors are scaled",
            case=case,
        )
    return PASSED


def _varies(evidence: Evidence, prop: Varies) -> Outcome:
    call = evidence.calls(prop.name)[0]
    answer = _answers_of(evidence, [call])[call.id]
    case = evidence.case(call)
    if answer.status is not AnswerStatus.OK:
        return explain_status(evidence, answer, case)
    spread = [a for name, a in answer.tensors.items() if name.startswith("second/") and a.size]
    if any(float(np.nan_to_num(a).max()) > _STILL for a in spread):
        return PASSED
    return Outcome(
        Status.FAILED,
        "in training mode dropout changes nothing",
        next_step="pass `dropout` on to every part that takes it",
        case=case,
    )


def _fits(evidence: Evidence, prop: Fits) -> Outcome:
    call = evidence.calls(prop.name)[0]
    answer = evidence.answers[call.id]
    case = evidence.case(call)
    if answer.status is not AnswerStatus.OK:
        return explain_status(evidence, answer, case)
    labels = evidence.key.plan.tensors[call.extra["labels"]]
    losses = [_loss(answer.tensors.get(when), labels) for when in ("before", "after")]
    if losses[1] <= prop.share * losses[0]:
        return PASSED
    return Outcome(
        Status.FAILED,
        f"{prop.steps} steps of training on one small batch do not bring the loss down",
        f"from {losses[0]:.3g} to {losses[1]:.3g}",
        "check that every layer is registered and used, and that the output is log-probabilities",
        case=case,
    )


def _loss(log_probabilities: Array | None, labels: Array) -> float:
    """Mean negative log-likelihood; infinite for anything that is no (b, c)."""
    if log_probabilities is None or log_probabilities.ndim != 2:
        return float("inf")
    if len(log_probabilities) != len(labels) or log_probabilities.shape[1] <= labels.max():
        return float("inf")
    loss = -log_probabilities[np.arange(len(labels)), labels].mean()
    sums = np.exp(log_probabilities).sum(axis=1)
    right = np.isfinite(loss) and np.abs(sums - 1).max() < 1e-3
    return float(loss) if right else float("inf")


def _allowed(evidence: Evidence, _: Allowed) -> Outcome:
    called = evidence.answers[evidence.calls("main-1/forward")[0].id].info
    seen = [*called.forbidden, *called.modules]
    own = evidence.forbidden
    if own:
        where, name = f"{own[0].label}, line {own[0].line}", own[0].name
    elif named := [name for name in seen if name in evidence.exercise.forbids]:
        where, name = "it is called when the code runs", named[0]
    else:
        return PASSED
    return Outcome(
        Status.FAILED,
        f"`{name}` does what this exercise asks you to write ({where})",
        next_step="write the steps with basic tensor operations",
    )


def _outputs(answer: Answer) -> list[tuple[str, Array]]:
    return [
        (name.removeprefix("output/"), array)
        for name, array in answer.tensors.items()
        if name.startswith("output/")
    ]


_JUDGES: dict[type, Callable[[Evidence, Any], Outcome]] = {
    Agrees: _agrees,
    Raises: _raises,
    RowsSumToOne: _rows,
    Equivariant: _equivariant,
    Independent: _independent,
    InputsUnchanged: _unchanged,
    Dtype: _dtype,
    Device: _device,
    Registered: _registered,
    Trained: _trained,
    Reusable: _reusable,
    Dropout: _dropout,
    Varies: _varies,
    Fits: _fits,
    Allowed: _allowed,
}
