"""Makes the plan of an exercise: its cases, drawn, and the calls that the checks need."""

from collections.abc import Callable, Mapping

from grader.course.cases import Case
from grader.course.models import Course, Exercise, Target
from grader.errors import CourseError
from grader.plan.draw import Dims
from grader.plan.planner import Describe, TargetPlanner
from grader.plan.rules import Rule
from grader.properties.base import Kind, kinds_of
from grader.records.calls import PUBLIC, Array, DrawnCase, Plan
from grader.records.ids import MAIN
from grader.worker.protocol import Action


def build_plan(
    course: Course,
    exercise: Exercise,
    split: str,
    secret: bytes,
    describe: Describe,
    rules: Mapping[str, Rule],
) -> Plan:
    """Return the calls of all targets.

    `describe` tells the reference's parameters; `rules` are the course's own, which draw inputs.
    """
    plan = Plan(exercise.id, split, [], [], {})
    for target in exercise.targets:
        try:
            _plan_target(
                TargetPlanner(course, exercise, target, plan, secret, describe, rules=rules)
            )
        except ValueError as error:
            raise CourseError(f"{exercise.id}.{target.name}: {error}") from None
    return plan


def plan_property(
    course: Course,
    exercise: Exercise,
    target: Target,
    prop: Kind,
    dims: Dims,
    draw: Callable[[tuple[int, ...], int], Array],
) -> Plan:
    """Return the calls of one property on inputs that `draw` fills, of sizes `dims`.

    The module keeps its own parameters.
    """
    plan = Plan(exercise.id, PUBLIC, [], [], {})
    planner = TargetPlanner(course, exercise, target, plan, b"", lambda *_: [], draw)
    drawn = DrawnCase(MAIN, 1, "", target.name, dims, {}, {}, numeric=True, gradient=False)
    plan.cases.append(drawn)
    planner.add(planner.derived(drawn.id, Action.FORWARD, part=Action.FORWARD))
    prop.plan(planner)
    return plan


def _plan_target(planner: TargetPlanner) -> None:
    course, exercise, target = planner.course, planner.exercise, planner.target
    main = Case(name=MAIN, draws=course.draws)
    for case in [main, *target.cases]:
        for drawn in planner.draw_cases(case, case.slug, numeric=True):
            planner.add_numeric(drawn, case)
    planner.add_biases()
    for prop in kinds_of(course, exercise, target):
        prop.plan(planner)
