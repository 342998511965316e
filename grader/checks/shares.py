"""What each check of a target is worth: the one table of it."""

from dataclasses import dataclass

from grader.course.models import Course, Exercise, Target
from grader.properties.base import kinds_of
from grader.records.calls import PLAIN, Plan
from grader.records.ids import CheckId, Kind
from grader.records.key import AnswerKey

_ROUNDING = 6  # digits of a check's points: shares of a point may not be round


@dataclass(frozen=True)
class Share:
    """A check and its points."""

    check: CheckId
    points: float

    @property
    def kind(self) -> Kind:
        """What kind of check it is."""
        return self.check.kind

    @property
    def name(self) -> str:
        """The group of cases, the property or the known bug that is checked."""
        return self.check.name


def shares_of(course: Course, exercise: Exercise, target: Target, key: AnswerKey) -> list[Share]:
    """Return every check of a target with its points, in the order of a report.

    Shape, numeric and gradient points are shared among groups of cases: `points.plain` of them for
    the plain cases, and as much of the rest for each other group.
    """
    points = target.points
    properties = kinds_of(course, exercise, target)
    weights = sum(p.weight for p in properties)
    bugs = key.book.checked(target.name)
    worth = [
        *_by_group(Kind.SHAPE, points.shape, target, key.plan),
        *_by_group(Kind.NUMERIC, points.numeric, target, key.plan),
        *_by_group(Kind.GRADIENT, points.gradient, target, key.plan),
        *((Kind.PROPERTY, p.name, points.property * p.weight / weights) for p in properties),
        *((Kind.BUG, bug.id, points.bug / len(bugs)) for bug in bugs),
    ]
    return [
        Share(CheckId(exercise.id, target.name, kind, name), round(value, _ROUNDING))
        for kind, name, value in worth
        if value or kind in (Kind.PROPERTY, Kind.BUG)
    ]


def _by_group(
    kind: Kind, points: float, target: Target, plan: Plan
) -> list[tuple[Kind, str, float]]:
    groups = plan.groups(target.name, gradient=kind is Kind.GRADIENT) or [PLAIN]
    options = len(groups) - (PLAIN in groups)
    plain = target.points.plain if options and PLAIN in groups else float(PLAIN in groups)
    rest = (1 - plain) / options if options else 0.0
    return [(kind, group, points * (plain if group == PLAIN else rest)) for group in groups]
