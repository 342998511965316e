"""Times commands in interleaved pairs: what slows the machine down slows both halves of a pair."""

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Command = Sequence[str]


@dataclass(frozen=True)
class Timed:
    """A command's times beside those of the base, in seconds."""

    median: float
    base: float
    ratio: float  # the median of the pairs' ratios, not the ratio of the medians
    spread: tuple[float, float]  # the quartiles of the pairs' ratios


def time_against(
    base: Command, commands: Mapping[str, Command], *, pairs: int, folder: Path
) -> dict[str, Timed]:
    """Time each command right after a run of `base`, in turns; one round first is not counted."""
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for number in range(pairs + 1):
        for name, command in commands.items():
            pair = _run(base, folder), _run(command, folder)
            if number:
                rounds[name].append(pair)
    return {name: _sum_up(found) for name, found in rounds.items()}


def _sum_up(found: list[tuple[float, float]]) -> Timed:
    ratios = [taken / base for base, taken in found]
    quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [*ratios, 0.0, *ratios]
    return Timed(
        statistics.median(taken for _, taken in found),
        statistics.median(base for base, _ in found),
        statistics.median(ratios),
        (quarters[0], quarters[2]),
    )


def _run(command: Command, folder: Path) -> float:
    """Return wall seconds; bytecode may be written, as on anybody's machine."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    taken = time.perf_counter() - begun
    if done.returncode not in (0, 1):  # 1: something failed in the submission
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode(errors='replace').strip()}")
    return taken
