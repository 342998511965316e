"""Moments and times that people write, by the clock of a time zone."""

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator

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


def told_moment(text: str, zone: ZoneInfo | None) -> datetime | None:
    """Return when something was handed in, as a platform tells; None where that is not clear."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return moment.replace(tzinfo=zone) if zone else None  # of two the first
    return moment


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
