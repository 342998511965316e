"""What every part of the benchmark shares: the record of a figure, and where things are."""

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRADE = str(Path(sys.executable).with_name("grade"))


@dataclass(frozen=True)
class Figure:
    """One measured figure beside its target."""

    name: str
    measured: float
    unit: str
    target: float  # at most
    note: str = ""

    @property
    def reached(self) -> bool:
        """Whether the target is reached."""
        return self.measured <= self.target
