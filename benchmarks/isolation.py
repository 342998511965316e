"""What isolation costs a submission: a child started, locked and ended, with nothing run in it.

`python benchmarks/isolation.py` prints the median of each level that this machine has.
"""

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from grader.course.load import load_course
from grader.execute.child import limits_of
from grader.execute.isolation import Level, probe
from grader.execute.launch import WarmProcess

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Cost:
    """Medians of one level, in milliseconds."""

    level: Level
    start: float  # fork and lock
    end: float  # kill, wait and clean up
    whole: float


def measure_isolation(level: Level, rounds: int = 100) -> Cost:
    """Start and end children that run nothing; raises UsageError for a level beyond reach."""
    limits = limits_of(load_course(ROOT).course.limits)
    warm = WarmProcess(level)
    starts, ends = [], []
    try:
        for _ in range(rounds + 5):
            begun = time.perf_counter()
            child = warm.start(limits)
            started = time.perf_counter()
            warm.end(child, grace=False)
            starts.append((started - begun) * 1e3)
            ends.append((time.perf_counter() - started) * 1e3)
    finally:
        warm.close()
    starts, ends = starts[5:], ends[5:]  # the first ones wait for torch and fill caches
    whole = statistics.median(a + b for a, b in zip(starts, ends, strict=True))
    return Cost(level, statistics.median(starts), statistics.median(ends), whole)


def main() -> None:
    """Print the medians of every level."""
    print("isolation, median ms a submission   start     end   whole")
    for level in Level:
        if level.rank <= probe().level.rank:
            cost = measure_isolation(level)
            print(f"{level:<32}{cost.start:>9.1f}{cost.end:>8.1f}{cost.whole:>8.1f}")


if __name__ == "__main__":
    main()
