"""The scores of a class: as graded, and as due dates and people have them.

First the lateness is taken off what was graded, never below zero; then come a person's points,
never below zero nor above the exercise's. Points are fractions until they are kept as hundredths.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction

from grader.batch.platforms import told_moment
from grader.classes.adjustments import (
    ALL,
    Adjustments,
    Decision,
    Known,
    days_late,
    in_zone,
    moved,
    shown_moment,
)
from grader.classes.people import UNGRADED, Member
from grader.errors import UsageError
from grader.records.text import counted


@dataclass(frozen=True)
class ExerciseScore:
    """What one person has in one exercise."""

    exercise: str
    graded: float  # as the checks say, whatever was decided later
    max_score: float
    comment: str = ""  # text for the student
    penalty: float = 0.0  # off for lateness
    points: float = 0.0  # that a person added, or with - took off
    excused: bool = False  # it does not count
    days_late: int = 0
    absent: bool = False  # nothing was handed in
    judged: tuple[str, ...] = ()  # what is not as graded, for those who grade
    time: str = ""  # when it was handed in, as a platform tells

    @property
    def score(self) -> float:
        """The score that counts."""
        return 0.0 if self.excused else round(self.graded - self.penalty + self.points, 4)


@dataclass(frozen=True)
class StudentScores:
    """One person's scores."""

    member: Member
    scores: tuple[ExerciseScore, ...] = ()  # none where nothing was handed in

    @property
    def counted(self) -> tuple[ExerciseScore, ...]:
        """The exercises that count."""
        return tuple(one for one in self.scores if not one.excused)

    @property
    def excused(self) -> bool:
        """Whether no exercise counts."""
        return bool(self.scores) and not self.counted

    @property
    def total(self) -> float | None:
        """The points of all exercises that count, None where nothing was handed in."""
        handed_in = self.member.submission or any(not one.absent for one in self.counted)
        if not self.counted or not (handed_in or any(one.points for one in self.counted)):
            return None
        return round(sum(one.score for one in self.counted), 4)

    @property
    def possible(self) -> float:
        """The points of all exercises that count."""
        return round(sum(one.max_score for one in self.counted), 4)

    @property
    def graded(self) -> float | None:
        """The points as the checks say."""
        return round(sum(one.graded for one in self.scores), 4) if self.scores else None

    def total_of(self, possible: float) -> float | None:
        """Return the total where only one number can be told: for who is excused, its share."""
        if self.total is None or len(self.counted) == len(self.scores):
            return self.total
        share = Fraction(str(self.total)) / Fraction(str(self.possible))
        return to_hundredths(share * Fraction(str(possible)))


def to_hundredths(points: Fraction) -> float:
    """Return points as they are kept, with halves rounded up: the one rounding of a score."""
    return math.floor(points * 100 + Fraction(1, 2)) / 100


@dataclass(frozen=True)
class Scores:
    """What a gradebook or a folder of results holds."""

    assignment: str
    students: tuple[StudentScores, ...]
    possible: float  # points
    notes: tuple[str, ...] = ()  # what whoever exports them should know: scores not final, say
    origin: str = ""  # what they are of: course, cases, secret
    named: bool = False  # whether somebody chose the assignment's name
    parts: Mapping[str, Sequence[str]] = field(default_factory=dict)  # exercises of each part

    def of_part(self, name: str) -> "Scores":
        """Return the scores of one part of the course; raises UsageError."""
        if name not in self.parts:
            known = f"known: {', '.join(self.parts)}" if self.parts else "there are no parts"
            raise UsageError(f"no part '{name}'; {known}")
        own = self.parts[name]
        students = tuple(
            replace(s, scores=tuple(one for one in s.scores if one.exercise in own))
            for s in self.students
        )
        possible = {one.exercise: one.max_score for s in students for one in s.scores}
        if not possible:
            raise UsageError(f"there are no scores of part '{name}'")
        most = round(sum(possible.values()), 4)
        return replace(self, students=students, possible=most, parts={name: own})


# ---- due dates and decisions ---------------------------------------------------------------------


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
