"""Scores as due dates and people have them: what adjustments.yml makes of what was graded.

First the lateness is taken off what was graded, never below zero; then come a person's points,
never below zero nor above the exercise's. Points are fractions until they are kept as hundredths.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction

from grader.batch.adjustments import ALL, Adjustments, Decision, Known
from grader.batch.people import UNGRADED, Member
from grader.batch.scored import ExerciseScore, to_hundredths
from grader.batch.times import days_late, in_zone, moved, shown_moment, told_moment
from grader.records.text import counted

_HOW_LATE = (
    "late, and the platform does not tell by how much: give `handed_in` or an extension in "
    "adjustments.yml"
)


@dataclass(frozen=True)
class _Decided:
    """What was decided for one person in one exercise, in one."""

    points: Fraction = Fraction(0)
    excused: bool = False
    due: datetime | None = None
    handed_in: datetime | None = None
    comments: tuple[str, ...] = ()
    told: tuple[str, ...] = ()  # who decided what, and why


class Judge:
    """Makes the scores that count of those that were graded."""

    def __init__(self, file: Adjustments, known: Known) -> None:
        self._file = file
        self._adjustments = file.by_member(known)
        self._due = {e: in_zone(moment, file.zone) for e, moment in file.due.items()}
        self._timed = {
            label for (label, _), own in self._adjustments.items() if any(a.handed_in for a in own)
        }
        self.seen = file.seen

    def scores(self, member: Member, graded: Sequence[ExerciseScore]) -> tuple[ExerciseScore, ...]:
        """Return somebody's scores with what was decided; none where nothing is to be told."""
        found = tuple(self._judged(member, one) for one in graded)
        if UNGRADED in member.marks:
            return ()
        nothing = not member.submission and not any(one.excused or one.points for one in found)
        return () if nothing else found

    def remarks(self, members: Sequence[Member]) -> Iterator[tuple[str, str]]:
        """Yield what of lateness is not known, each with a member's label or "" for the class."""
        unclear = [m for m in members if self._due and m.submission and not self._is_timed(m)]
        for member in unclear:
            if member.identity and member.identity.late:
                yield member.label, _HOW_LATE
        silent = sum(not (m.identity and m.identity.late) for m in unclear)
        if silent:
            yield "", f"{counted(silent, 'student')} of no known time count as on time"

    def _is_timed(self, member: Member) -> bool:
        """Whether it is known when a member handed in."""
        time = member.identity.time if member.identity else ""
        return member.label in self._timed or told_moment(time, self._file.zone) is not None

    def _judged(self, member: Member, one: ExerciseScore) -> ExerciseScore:
        decided = self._decided(member, one.exercise)
        days = 0 if one.absent else self._days_late(member, one, decided)
        most, graded = Fraction(str(one.max_score)), Fraction(str(one.graded))
        penalty = min(self._penalty(days, most), graded)
        left = graded - penalty
        points = min(max(decided.points, -left), most - left)
        told = [] if one.absent and not (decided.excused or points) else list(decided.told)
        if decided.excused:
            days, penalty, points = 0, Fraction(0), Fraction(0)
        elif points != decided.points:
            told.append(f"points end at {_shown(left + points)}")
        said = list(_said(days, penalty, points, decided))
        if days:
            told.insert(0, f"{counted(days, 'day')} late, {_shown(penalty)} points off")
        return replace(
            one,
            comment="\n".join(filter(None, [*said, *decided.comments, one.comment])),
            penalty=to_hundredths(penalty),
            points=to_hundredths(points),
            excused=decided.excused,
            days_late=days,
            judged=tuple(told),
        )

    def _decided(self, member: Member, exercise: str) -> _Decided:
        zone = self._file.zone
        decided = _Decided(due=self._due.get(exercise, self._due.get(ALL)))
        for one in self._adjustments.get((member.label, exercise), ()):
            if one.until is not None:
                decided = replace(decided, due=in_zone(one.until, zone))
            if one.extension is not None and decided.due is not None:
                decided = replace(decided, due=moved(decided.due, one.extension))
            if one.handed_in is not None:
                decided = replace(decided, handed_in=in_zone(one.handed_in, zone))
            decided = replace(
                decided,
                points=decided.points + Fraction(one.points or 0),
                excused=decided.excused or one.excuse,
                comments=(*decided.comments, *filter(None, [one.comment])),
                told=(*decided.told, _told(one, decided.due)),
            )
        return decided

    def _days_late(self, member: Member, one: ExerciseScore, decided: _Decided) -> int:
        time = one.time or (member.identity.time if member.identity else "")
        handed_in = decided.handed_in or told_moment(time, self._file.zone)
        if decided.due is None or handed_in is None:
            return 0
        return days_late(handed_in, decided.due, self._file.grace or timedelta())

    def _penalty(self, days: int, most: Fraction) -> Fraction:
        rule = self._file.penalty
        if rule is None:
            return Fraction(0)
        percent = min(Fraction(rule.percent_a_day) * days, Fraction(rule.at_most))
        return Fraction(str(to_hundredths(percent * most / 100)))


def _told(one: Decision, due: datetime | None) -> str:
    """Say to those who grade what was decided, by whom and why."""
    what = []
    if one.points is not None:
        what.append(f"{one.points:+} points")
    if one.excuse:
        what.append("excused")
    if one.extension is not None or one.until is not None:
        what.append(f"due {shown_moment(due)}" if due else "an extension of no due date")
    if one.handed_in is not None:
        what.append("handed in at another time")
    if one.comment:
        what.append("a comment")
    return f"{', '.join(what)} by {one.by}: {one.why}"


def _said(days: int, penalty: Fraction, points: Fraction, decided: _Decided) -> Iterator[str]:
    """Say to a student what is not as graded."""
    if decided.excused:
        yield "You are excused: this does not count."
    if days:
        yield f"Handed in {counted(days, 'day')} late: {_shown(penalty)} points off."
    if points:
        yield f"Changed by hand: {'+' if points > 0 else ''}{_shown(points)} points."


def _shown(points: Fraction) -> str:
    return f"{to_hundredths(points):g}"
