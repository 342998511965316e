"""adjustments.yml beside a class's results: due dates, and what people decide about scores.

A mistake in it is one line with file and line, as in course.yml. All of it is read as text: a
student's number keeps its zeros, and a date is what stands there.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)

from grader.classes.people import Member, Roster
from grader.course.load import parse_yaml
from grader.course.record import Record, error_at
from grader.errors import UsageError
from grader.records.people import Person, folded
from grader.records.text import listed

# ---- moments and times ---------------------------------------------------------------------------


_DURATION = re.compile(r"(?P<number>\d{1,4}) ?(?P<unit>minute|hour|day|week)s?")
_CLOCK = re.compile(r"[T ]\d\d:?\d\d")
_DAY = timedelta(days=1)


def _read_moment(value: object) -> datetime:
    text = str(value).strip()
    try:
        moment = datetime.fromisoformat(re.sub(r" (?=[+Z-])", "", text))
    except ValueError as error:
        raise ValueError(f"{text!r} is no time, as 2026-10-25 23:59 is: {error}") from None
    if not _CLOCK.search(text):
        raise ValueError(f"{text!r} has no hour: write {text} 23:59, or what is meant")
    return moment


def _read_duration(value: object) -> timedelta:
    text = str(value).strip()
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no length of time, as 15 minutes, 36 hours or 3 days is")
    return timedelta(**{f"{found['unit']}s": int(found["number"])})


def _read_zone(value: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(value))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{str(value)!r} is no time zone, as Europe/Amsterdam is") from None


Moment = Annotated[datetime, BeforeValidator(_read_moment)]  # of no zone where it says none
Duration = Annotated[timedelta, BeforeValidator(_read_duration)]
Zone = Annotated[ZoneInfo, BeforeValidator(_read_zone)]


def in_zone(moment: datetime, zone: ZoneInfo | None) -> datetime:
    """Return a moment by a zone's clock; raises ValueError where it is not clear which it is."""
    if moment.tzinfo is not None:
        return moment.astimezone(zone) if zone else moment
    if zone is None:
        raise ValueError(
            f"{moment} has no time zone: write `zone: Europe/Amsterdam` at the top, or the offset "
            f"behind it, as {moment}+01:00"
        )
    first, second = (moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    if first.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != moment:
        raise ValueError(f"{moment} is left out in {zone}, as clocks are changed: write another")
    offset = first.strftime("%z")
    raise ValueError(
        f"{moment} is twice in {zone}, as clocks are changed: write the offset behind it, as "
        f"{moment}{offset[:3]}:{offset[3:]}"
    )


def moved(moment: datetime, by: timedelta) -> datetime:
    """Return a later moment: whole days by the clock on the wall, the rest by time that passes."""
    days = timedelta(days=by.days)
    rest = (moment + days).astimezone(UTC) + (by - days)
    return rest.astimezone(moment.tzinfo)


def days_late(handed_in: datetime, due: datetime, grace: timedelta) -> int:
    """Return how many days have begun since `due` by the clock on the wall; 0 within the grace."""
    if handed_in.astimezone(UTC) <= moved(due, grace).astimezone(UTC):
        return 0
    wall = handed_in.astimezone(due.tzinfo).replace(tzinfo=None) - due.replace(tzinfo=None)
    return max(1, math.ceil(wall / _DAY))


def shown_moment(moment: datetime) -> str:
    """Return a moment as people write it."""
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzname()}"


# ---- the file ------------------------------------------------------------------------------------


FILE = "adjustments.yml"
ALL = "all"  # the due date of every exercise that has none of its own
_MARK = re.compile(r"[0-9a-f]{8}")
_DUE_DATE = {"extension": "due date", "until": "due date"}
_CHANGES = ("points", "excuse", "extension", "until", "handed_in", "comment")


def _known_mark(text: str) -> str:
    if not _MARK.fullmatch(text):
        raise ValueError(f"{text!r} is no mark of a note: grade report shows them in front")
    return text


class LatePenalty(Record):
    """What lateness costs."""

    percent_a_day: Decimal = Field(
        gt=0, le=100, description="of an exercise's points, for each day that has begun"
    )
    at_most: Decimal = Field(
        default=Decimal(100), gt=0, le=100, description="percent of an exercise's points"
    )


class Decision(Record):
    """What a person decided for one student."""

    student: str = Field(min_length=1, description="number, login, address or name")
    exercise: str = Field(default="", description="the one that it is about; else all")
    points: Decimal | None = Field(
        default=None, decimal_places=2, description="added to the score, or with - taken off"
    )
    excuse: bool = Field(default=False, description="the exercise does not count")
    extension: Duration | None = Field(default=None, description="as 3 days, after the due date")
    until: Moment | None = Field(default=None, description="a due date of this student's own")
    handed_in: Moment | None = Field(
        default=None, description="when it was handed in, where the platform does not tell"
    )
    comment: str = Field(default="", description="for the student")
    by: str = Field(min_length=1, description="who decided")
    why: str = Field(min_length=1, description="for those who grade; students do not see it")

    @property
    def set_fields(self) -> tuple[str, ...]:
        """What it changes."""
        return tuple(name for name in _CHANGES if getattr(self, name) not in (None, False, ""))

    @model_validator(mode="after")
    def _changes_something(self) -> "Decision":
        if not self.set_fields:
            raise ValueError(f"changes nothing: give one of {', '.join(_CHANGES)}")
        if self.points is not None and not self.exercise:
            raise ValueError("points need an exercise")
        if self.extension is not None and self.until is not None:
            raise ValueError("has both an extension and until: one of them says when it is due")
        return self


@dataclass(frozen=True)
class Known:
    """What the names in adjustments.yml can mean."""

    members: Sequence[Member]
    exercises: Sequence[str]  # of the course
    possible: Mapping[str, float]  # points, of the exercises that there are results of

    def member(self, name: str) -> Member:
        """Return whom a name means; raises ValueError where that is nobody, or not clear."""
        wanted = folded(name)
        found = list(self._by_label.get(wanted, []))
        # one who is called like another's number could else get what the other is given
        found += [m for m in self._by_name.get(wanted, []) if m not in found]
        if not found and (row := self._roster.find(Person(name=name))) is not None:
            found = [self.members[row]]
        if len(found) > 1:
            labels = listed([member.label for member in found])
            raise ValueError(f"{name!r} may be {len(found)} students: say which of {labels}")
        if not found:
            raise ValueError(f"no student {name!r} in these results")
        return found[0]

    @cached_property
    def _by_label(self) -> Mapping[str, list[Member]]:
        return _index((member.label, member) for member in self.members)

    @cached_property
    def _by_name(self) -> Mapping[str, list[Member]]:
        return _index((name, member) for member in self.members for name in _names(member))

    @cached_property
    def _roster(self) -> Roster:
        return Roster([member.person for member in self.members])


def _index(named: Iterable[tuple[str, Member]]) -> Mapping[str, list[Member]]:
    found: defaultdict[str, list[Member]] = defaultdict(list)
    for name, member in named:
        if name and member not in found[folded(name)]:
            found[folded(name)].append(member)
    return found


def _names(member: Member) -> tuple[str, ...]:
    person = member.person
    return (person.id, person.login, person.email, person.name, member.told.id)


class Adjustments(Record):
    """The whole file."""

    zone: Zone | None = Field(default=None, description="of all times that tell no offset")
    due: dict[str, Moment] = Field(
        default={}, description="by exercise, and with `all` of those that have none of their own"
    )
    grace: Duration | None = Field(
        default=None, description="how long after the due date nothing counts as late"
    )
    penalty: LatePenalty | None = Field(default=None, description="what lateness costs")
    adjustments: tuple[Decision, ...] = Field(
        default=(), description="what people decided, each for one student"
    )
    seen: dict[Annotated[str, AfterValidator(_known_mark)], str] = Field(
        default={}, description="notes that are ticked off, by mark, with who did it and why"
    )

    @model_validator(mode="after")
    def _due_dates_are_clear(self, info: ValidationInfo) -> "Adjustments":
        for exercise, moment in self.due.items():
            place = ("due", exercise)
            if exercise != ALL:
                _check_exercise(place, exercise, info)
            try:
                in_zone(moment, self.zone)
            except ValueError as error:
                raise error_at(place, str(error)) from None
        return self

    @model_validator(mode="after")
    def _adjustments_are_clear(self, info: ValidationInfo) -> "Adjustments":
        known = cast(Known, info.context)
        for number, one in enumerate(self.adjustments):
            _check_adjustment(("adjustments", number), one, info, self.zone)
        before: dict[tuple[str, str, str], int] = {}
        for number, one in enumerate(self.adjustments):
            label = known.member(one.student).label
            for exercise in [one.exercise] if one.exercise else known.exercises:
                for field in one.set_fields:
                    what = _DUE_DATE.get(field, field)
                    if before.setdefault((label, exercise, what), number) != number:
                        said = f"a second {what} for {label} in {exercise}"
                        raise error_at(("adjustments", number, "student"), said)
        return self

    def by_member(self, known: Known) -> Mapping[tuple[str, str], Sequence[Decision]]:
        """Return what was decided, by the label of a member and exercise."""
        found: defaultdict[tuple[str, str], list[Decision]] = defaultdict(list)
        for one in self.adjustments:
            label = known.member(one.student).label
            for exercise in [one.exercise] if one.exercise else known.exercises:
                found[label, exercise].append(one)
        return found


def _check_adjustment(
    place: tuple[str, int], one: Decision, info: ValidationInfo, zone: Zone | None
) -> None:
    known = cast(Known, info.context)
    try:
        known.member(one.student)
    except ValueError as error:
        raise error_at((*place, "student"), str(error)) from None
    if one.exercise:
        _check_exercise((*place, "exercise"), one.exercise, info)
    for field, moment in (("until", one.until), ("handed_in", one.handed_in)):
        try:
            if moment is not None:
                in_zone(moment, zone)
        except ValueError as error:
            raise error_at((*place, field), str(error)) from None
    most = known.possible.get(one.exercise)
    if one.points is not None and most is None:
        raise error_at((*place, "exercise"), f"nobody has results of {one.exercise} yet")
    if one.points is not None and most is not None and abs(one.points) > Decimal(str(most)):
        raise error_at(
            (*place, "points"), f"{one.points} points are more than the {most:g} of {one.exercise}"
        )


def _check_exercise(place: tuple[str | int, ...], exercise: str, info: ValidationInfo) -> None:
    known = cast(Known, info.context)
    if exercise not in known.exercises:
        raise error_at(place, f"no exercise {exercise!r}: known are {listed(known.exercises, 20)}")


def read_adjustments(folder: Path, known: Known) -> Adjustments:
    """Read the file in a results folder, if there is one; raises UsageError with one line."""
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Adjustments()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8 text") from None
    adapter = TypeAdapter(Adjustments)
    return parse_yaml(text, str(path), adapter, Adjustments, context=known, as_text=True)
