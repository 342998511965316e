"""What `grade check` is asked for; light, for it is imported before torch loads."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CheckRequest:
    """What `grade check` was asked for."""

    exercises: Sequence[str]  # as typed; empty for all
    submission: Path | None
    course: Path | None
    hidden: bool
    as_json: bool
    html: Path | None = None  # where to write a page
    trains: bool = False  # whether trainings are run, which take long


def screen_width() -> int:
    """Return how many columns a report may take."""
    return min(shutil.get_terminal_size().columns, 100)
