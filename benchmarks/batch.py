"""Figures of `grade batch`: against bare runs, by size of the class, and under kills."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from classroom import make_class
from figures import GRADE, ROOT, Figure
from isolation import measure_isolation

from grader.course.load import load_course
from grader.execute.isolation import Level, probe

_BARE = 24  # submissions that are run bare, too
_SMALL, _LARGE = 100, 1000
_KILLS = 20
_KILLED = 120  # submissions of the batch that is killed


@dataclass(frozen=True)
class _Run:
    """What one run of `grade batch` took."""

    seconds: float
    peak_kib: int  # of the process that keeps the results, without its workers


def measure_batch() -> list[Figure]:
    """Measure all of it; takes some ten minutes."""
    with tempfile.TemporaryDirectory(prefix="grade-bench-class-") as temporary:
        place = Path(temporary)
        make_class(load_course(ROOT), place / "class", _LARGE)
        return [
            *_against_bare(place),
            *_by_size(place),
            *_under_kills(place),
            *_of_isolation(),
        ]


def _against_bare(place: Path) -> list[Figure]:
    part = _part(place, _BARE)
    _batch(part, place / "warm-up", "--jobs", "1")
    core = min(os.sched_getaffinity(0))
    pinned = [sys.executable, "-c", _PINNED, str(core)]
    ratios = []
    for number in range(3):
        bare = _seconds([*pinned, sys.executable, "benchmarks/bare.py", str(ROOT), str(part)])
        command = _command(part, place / f"bare-{number}", "--public", "--jobs", "1")
        ratios.append((_seconds([*pinned, *command]) / bare, bare))
    ratio, bare = sorted(ratios)[1]
    note = f"{_BARE} submissions on one core, the middle of 3; bare {bare:.1f} s"
    return [Figure("batch / bare runs on the same cases", ratio, "x", 2.5, note)]


_PINNED = (
    "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def _by_size(place: Path) -> list[Figure]:
    small = _batch(_part(place, _SMALL), place / "small")
    large = _batch(_part(place, _LARGE), place / "large")
    rate = _LARGE / large.seconds * 60
    growth = large.peak_kib / small.peak_kib - 1
    return [
        Figure(
            f"{_LARGE} submissions / {_SMALL} submissions",
            large.seconds / small.seconds,
            "x",
            10.5,
            f"{large.seconds:.0f} s and {small.seconds:.0f} s: {rate:.0f} submissions a minute",
        ),
        Figure(
            "growth of the parent's peak memory",
            100 * growth,
            "%",
            10,
            f"{small.peak_kib // 1024} MiB and {large.peak_kib // 1024} MiB",
        ),
    ]


def _under_kills(place: Path) -> list[Figure]:
    """Kill one batch at random moments; count what is lost or there twice in the end."""
    part, results = _part(place, _KILLED), place / "killed"
    chance = random.Random(1)
    for _ in range(_KILLS):
        process = subprocess.Popen(
            _command(part, results), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT
        )
        time.sleep(2 + 3 * chance.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = _scores(results)
    _batch(part, results)
    _batch(part, place / "whole")
    ended, whole = _scores(results), _scores(place / "whole")
    wrong = sum(ended.get(name) != score for name, score in whole.items())
    changed = sum(ended.get(name) != score for name, score in kept.items())
    twice = len(ended) - len(whole)
    note = f"{len(kept)} results before the last run, {changed} of them changed by it"
    return [Figure(f"results lost or doubled by {_KILLS} kills", wrong + twice, "", 0, note)]


def _of_isolation() -> list[Figure]:
    """Time a child that is started, locked and ended, at each level that this machine has."""
    levels = [level for level in Level if Level.PROCESS.rank < level.rank <= probe().level.rank]
    costs = [measure_isolation(level) for level in levels]
    return [
        Figure(f"isolation at level {c.level}, median", c.whole, "ms", 15, "100 children")
        for c in costs
    ]


def _scores(results: Path) -> dict[tuple[str, str], float]:
    with sqlite3.connect(results / "results.sqlite") as database:
        rows = database.execute("SELECT student, exercise, score FROM results").fetchall()
    database.close()
    return {(student, exercise): score for student, exercise, score in rows}


def _part(place: Path, size: int) -> Path:
    """Return a folder with the first of the class."""
    part = place / f"first-{size}"
    if not part.exists():
        part.mkdir()
        for student in sorted((place / "class").iterdir())[:size]:
            (part / student.name).mkdir()
            for file in student.iterdir():
                os.link(file, part / student.name / file.name)
    return part


def _command(submissions: Path, results: Path, *options: str) -> list[str]:
    # training takes a minute a submission, and bare runs leave it out, too
    return [GRADE, "batch", str(submissions), "-o", str(results), "--skip-slow", *options]


def _batch(submissions: Path, results: Path, *options: str) -> _Run:
    begun = time.perf_counter()
    process = subprocess.Popen(
        _command(submissions, results, *options), stdout=subprocess.DEVNULL, cwd=ROOT
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, _peak_kib(process.pid))
        time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f"grade batch ended with {process.returncode}")
    return _Run(time.perf_counter() - begun, peak)


def _peak_kib(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
    except OSError:
        return 0
    fields = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields.get("VmHWM", "0 kB").split()[0])


def _seconds(command: Sequence[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - begun
