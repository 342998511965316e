"""The scores of a class as they leave grader: one record a person."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from grader.batch.people import Member
from grader.errors import UsageError


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
