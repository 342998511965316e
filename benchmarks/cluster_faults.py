"""Kills workers and heads of a cluster at random, and counts what is lost, doubled or changed.

Grades a class of the course of statistics by two workers on this machine: in some runs a worker is
killed every few seconds, in others the head is, and started again. Ends only what it started.
Example: `python benchmarks/cluster_faults.py --workers-killed 20 --heads-killed 5`.
"""

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from distributed import LocalCluster
from figures import GRADE, ROOT

from grader.course.load import CourseFolder, load_course

_COURSE = ROOT / "tests" / "courses" / "statistics"
_ALONE = ("--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard")
_SECONDS = (3.0, 6.0)  # between two kills, at least and at most
_LONGEST = 300.0  # seconds in which nothing more is graded
Kept = dict[str, object]


def make_class(folder: CourseFolder, into: Path, size: int) -> None:
    """Write `size` submissions: right ones, stubs, and such as end their process."""
    for index in range(size):
        place = into / f"student{index:04}"
        place.mkdir(parents=True)
        for exercise in folder.course.exercises:
            right = (folder.solutions / exercise.file).read_text("utf-8")
            stub = (folder.exercises / exercise.file).read_text("utf-8")
            text = (right, stub, "import os\nos._exit(3)\n")[index % 3]
            (place / exercise.file).write_text(f"{text}\n# {index}\n", encoding="utf-8")


@dataclass
class Tally:
    """What some runs came to."""

    kills: int = 0
    lost: int = 0  # submissions without a result, or with another note
    doubled: int = 0  # rows or files more than there should be
    changed: int = 0  # submissions whose bytes are others


def kept(results: Path) -> Kept:
    """Return what is kept of each submission, and how many rows there are."""
    files: Kept = {path.name: path.read_bytes() for path in (results / "students").glob("*.json")}
    with closing(sqlite3.connect(results / "results.sqlite")) as database:
        for table in ("students", "results", "attempts"):
            (files[table],) = database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
    return files


def count(tally: Tally, found: Kept, whole: Kept) -> None:
    """Compare a run with one that nobody disturbed."""
    for name, content in whole.items():
        if name.endswith(".json"):
            tally.lost += name not in found or not json.loads(found[name])["results"]  # type: ignore[arg-type]
            tally.changed += name in found and found[name] != content
        else:
            tally.doubled += abs(int(str(found[name])) - int(str(content)))
    tally.doubled += len(found.keys() - whole.keys())


def refuse_empty(whole: Kept, students: int) -> None:
    """Refuse a reference in which somebody has no result: runs that grade nothing equal it, too."""
    files = [content for name, content in whole.items() if name.endswith(".json")]
    graded = sum(bool(json.loads(content)["results"]) for content in files)  # type: ignore[arg-type]
    if graded != students:
        raise RuntimeError(f"the undisturbed run has results for {graded} of {students} students")


class Workers:
    """Two workers, each a process; one that is killed is followed by another."""

    def __init__(self, address: str, chance: random.Random) -> None:
        self._command = [sys.executable, "-m", "dask", "worker", address, *_ALONE]
        self._chance = chance
        self._processes = [self._start(), self._start()]

    def kill_one(self) -> None:
        """Kill one of them, whatever it is at."""
        self._end(self._processes.pop(self._chance.randrange(2)))
        self._processes.append(self._start())

    def close(self) -> None:
        """End them."""
        for process in self._processes:
            self._end(process)

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        process.kill()
        process.wait()


class Trial:
    """A class, and a cluster that grades it."""

    def __init__(self, place: Path, address: str, chance: random.Random, workers: Workers) -> None:
        self._place, self._address = place, address
        self._chance, self._workers = chance, workers

    def head(self, results: Path, *options: str) -> "subprocess.Popen[bytes]":
        """Start `grade batch`."""
        command = [GRADE, "batch", str(self._place / "class"), "-o", str(results), *options]
        quiet = {"stdout": subprocess.DEVNULL}
        return subprocess.Popen(command, cwd=_COURSE, **quiet)  # type: ignore[call-overload, no-any-return]

    def with_workers_killed(self, results: Path) -> int:
        """Grade the class while workers are killed, and return how many were."""
        kills = 0
        head = self.head(results, "--scheduler", self._address, "--wait")
        while not self._ended(head, results):
            self._workers.kill_one()
            kills += 1
        return kills

    def with_heads_killed(self, results: Path) -> int:
        """Grade the class by heads that are killed, until one is done; return how many were."""
        for kills in range(100):
            head = self.head(results, "--scheduler", self._address, "--wait")
            if self._ended(head, results):
                return kills
            head.kill()
            head.wait()
        raise RuntimeError("a hundred heads were killed, and the class is not graded")

    def _ended(self, head: "subprocess.Popen[bytes]", results: Path) -> bool:
        """Wait some seconds, and until something more is graded; returns whether the head is done.

        So a slow machine, on which a worker takes longer to start than a kill, comes to an end.
        """
        before, begun = _files(results), time.monotonic()
        end = begun + self._chance.uniform(*_SECONDS)
        while head.poll() is None and (time.monotonic() < end or _files(results) <= before):
            if time.monotonic() > begun + _LONGEST:
                head.kill()
                raise RuntimeError("nothing more is graded")
            time.sleep(0.1)
        if head.returncode:
            raise RuntimeError(f"grade batch ended with {head.returncode}")
        return head.returncode is not None


def _files(results: Path) -> int:
    return len(list((results / "students").glob("*.json")))


def main() -> None:
    """Do the runs, and print what they came to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--students", type=int, default=150)
    parser.add_argument("--workers-killed", type=int, default=20, metavar="RUNS")
    parser.add_argument("--heads-killed", type=int, default=5, metavar="RUNS")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="grade-bench-faults-") as temporary:
        place = Path(temporary)
        make_class(load_course(_COURSE), place / "class", given.students)
        chance = random.Random(1)
        with (
            LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster,
            closing(Workers(cluster.scheduler_address, chance)) as workers,
        ):
            trial = Trial(place, cluster.scheduler_address, chance, workers)
            if trial.head(place / "whole", "--jobs", "2").wait():
                raise RuntimeError("the class cannot be graded on one machine")
            whole = kept(place / "whole")
            refuse_empty(whole, given.students)
            for runs, run in (
                (given.workers_killed, trial.with_workers_killed),
                (given.heads_killed, trial.with_heads_killed),
            ):
                tally = Tally()
                for number in range(runs):
                    results = place / f"{run.__name__}-{number}"
                    tally.kills += run(results)
                    count(tally, kept(results), whole)
                    print(f"{run.__name__}, {number + 1} of {runs}: {tally}", flush=True)


if __name__ == "__main__":
    main()
