"""The scores of a class as they leave grader: one record a person."""

from dataclasses import dataclass

from grader.batch.people import Member


@dataclass(frozen=True)
class ExerciseScore:
    """What one person has in one exercise."""

    exercise: str
    score: float  # late penalty already taken off
    max_score: float
    comment: str = ""  # text for the student
    penalty: float = 0.0


@dataclass(frozen=True)
class StudentScores:
    """One person's scores."""

    member: Member
    scores: tuple[ExerciseScore, ...] = ()  # none where nothing was handed in

    @property
    def total(self) -> float | None:
        """The points of all exercises, None where nothing was handed in."""
        return round(sum(one.score for one in self.scores), 4) if self.scores else None


@dataclass(frozen=True)
class Scores:
    """What a gradebook or a folder of results holds."""

    assignment: str
    students: tuple[StudentScores, ...]
    possible: float  # points
    notes: tuple[str, ...] = ()  # what whoever exports them should know: scores not final, say
    named: bool = False  # whether somebody chose the assignment's name
