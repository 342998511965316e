"""A result as text: how it is kept, and what tables read of it.

It is written where it was made: a pool's processes and a cluster's workers hand over texts, of
which each takes a moment, and not a thousand records of checks.
"""

import json
from dataclasses import dataclass

from grader.batch.history import Mistake, mistake_of
from grader.records.results import (
    Diagnosis,
    ExerciseResult,
    Status,
    diagnosis_from_json,
    result_to_json,
)


@dataclass(frozen=True)
class WrittenResult:
    """What one exercise came to, and what is kept of it beside the text."""

    status: Status
    score: float
    max_score: float
    mistakes: tuple[Mistake, ...]
    text: str  # JSON of `result_to_json`

    @staticmethod
    def of(result: ExerciseResult) -> "WrittenResult":
        """Write a result."""
        mistakes = tuple(mistake for d in result.diagnoses if (mistake := mistake_of(d)))
        text = json.dumps(result_to_json(result), ensure_ascii=False)
        return WrittenResult(result.status, result.score, result.max_score, mistakes, text)


@dataclass(frozen=True)
class StoredResult:
    """What a text tells of one exercise."""

    diagnoses: tuple[Diagnosis, ...]
    message: str  # of the first check that is not passed and says something, else ""

    @staticmethod
    def parse(text: str) -> "StoredResult":
        """Read the text of a row's result."""
        document = json.loads(text)
        failed = (c for c in document["checks"] if c["status"] != Status.PASSED)
        return StoredResult(
            tuple(diagnosis_from_json(one) for one in document["diagnoses"]),
            next((check["message"] for check in failed if check["message"]), ""),
        )
