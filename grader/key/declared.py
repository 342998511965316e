"""Holds what course.yml declares to torch and to the reference, where a model alone cannot."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace

from grader.compare.retry import same_outputs
from grader.course.cases import Case
from grader.course.expressions import NUMBER, RULES, TensorSpec
from grader.course.load import COURSE_FILE, CourseFolder
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.key.drawing import RULES_FILE
from grader.plan.rules import Rule
from grader.records.answers import Answer
from grader.records.calls import Array, Call, Plan
from grader.records.ids import MAIN, CallId
from grader.records.text import shown_shape
from grader.worker.forbidden import resolve
from grader.worker.names import Group, of_group
from grader.worker.protocol import Action

_DTYPE_KINDS = {"float": "f", "int": "iu", "bool": "b", NUMBER: "f"}  # in numpy's letters


def refuse_unknown_names(folder: CourseFolder, exercise: Exercise) -> None:
    """Raise CourseError where a forbidden name does not exist: nothing would ever find it."""
    for name in exercise.forbidden_for(*exercise.targets):
        if resolve(name) is None:
            near = _nearest(name)
            raise CourseError(
                f"{folder.root / COURSE_FILE}: {exercise.id} forbids '{name}', which does not exist"
                + (f"; did you mean '{near}'?" if near else "")
            )


def refuse_unknown_rules(folder: CourseFolder, exercise: Exercise, own: Mapping[str, Rule]) -> None:
    """Raise CourseError where nothing is called like a rule that an input is drawn by."""
    known = [*RULES, *own]
    for target in exercise.targets:
        properties = [one.own_case for one in folder.course.properties(exercise, target)]
        cases = [Case(name=MAIN), *target.cases, *(case for case in properties if case)]
        for case in cases:
            for name, spec in case.input_specs(target.input_specs).items():
                rule = spec.rule if isinstance(spec, TensorSpec) else ""
                if rule and rule not in known:
                    near = difflib.get_close_matches(rule, known, 1)
                    where = f"{folder.root / COURSE_FILE}: {exercise.id}.{target.name}"
                    raise CourseError(
                        f"{where}: inputs.{name}: there is no rule '{rule}', neither of grader's "
                        f"nor in solutions/{RULES_FILE}"
                        + (f"; did you mean '{near[0]}'?" if near else "")
                    )


def _nearest(name: str) -> str:
    """Return the existing name that is spelt most like this one, part by part, else ""."""
    found = ""
    for part in name.split("."):
        beside = dir(resolve(found)) if found else ["torch"]
        near = difflib.get_close_matches(part, beside, 1)
        if not near:
            return ""
        found = f"{found}.{near[0]}" if found else near[0]
    return found


def refuse_unexpected(
    folder: CourseFolder, exercise: Exercise, plan: Plan, call: Call, answer: Answer
) -> None:
    """Raise CourseError where the reference's answer to a call is not what course.yml declares.

    It raises where a property says so, and nowhere else; the outputs of numeric cases have the
    declared dtypes and shapes.
    """
    target = exercise.target(call.target)
    where = f"{folder.solutions / exercise.file}: on {call.id} the reference"
    asks = CallId.parse(call.id).what
    properties = folder.course.properties(exercise, target)
    due = next((prop.error_due for prop in properties if prop.name == asks), "")
    if answer.error is not None and due not in answer.error.bases:
        raise CourseError(f"{where} raises {answer.error.type}: {answer.error.message}")
    if answer.error is None and due:
        raise CourseError(f"{where} should raise {due}, and does not")
    if call.id == str(CallId(target.name, call.case, Action.FORWARD)):
        drawn = plan.case(target.name, call.case)
        case = next((c for c in target.cases if c.slug == drawn.slug), Case(name=MAIN))
        declared = case.output_specs(target.output_specs)
        for name, came in of_group(answer.tensors, Group.OUTPUT).items():
            _refuse_other_form(f"{where}'s `{name}`", declared[name], drawn.dims, came)


def refuse_other_defaults(
    folder: CourseFolder, exercise: Exercise, plan: Plan, answer: Callable[[Call], Answer]
) -> None:
    """Raise CourseError where the reference has other defaults than course.yml declares."""
    for target in exercise.targets:
        first = plan.call(CallId.first(target.name))
        if first.defaults:
            given = {**first.defaults, **first.options}
            left, named = (
                answer(replace(first, defaults={}, options=options))
                for options in (first.options, given)
            )
            if not same_outputs(left, named) or left.info.registered != named.info.registered:
                where = f"{folder.solutions / exercise.file}: {target.name}"
                raise CourseError(f"{where} has other defaults than course.yml declares")


def _refuse_other_form(
    where: str, declared: TensorSpec, dims: Mapping[str, int], came: Array
) -> None:
    """Raise CourseError where an output is not of the declared dtype and shape."""
    if came.dtype.kind not in _DTYPE_KINDS[declared.kind]:
        raise CourseError(
            f"{where} is of dtype {came.dtype.name}; course.yml declares {declared.kind}"
        )
    if came.shape != (shape := declared.shape(dims)):
        raise CourseError(
            f"{where} has the shape {shown_shape(came.shape)}; course.yml declares "
            f"{shown_shape(shape)}"
        )
