"""Points of a part of a course."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Subtotal:
    """What the exercises of one part come to together."""

    part: str  # its name
    title: str
    score: float
    max_score: float
