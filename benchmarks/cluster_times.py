"""Processor seconds that each submission of a class takes: what a simulated one sleeps.

Graded one after the other in this process, on the public cases, trainings included.
Example: `python benchmarks/cluster_times.py 24`, of the sample class and of 24 that are made up.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from classroom import make_class
from figures import ROOT

from grader.batch.entries import exercises_in_use, find_entries
from grader.batch.unit import Unit, grade_unit
from grader.batch.workplace import prepare_workplace
from grader.course.load import CourseFolder, load_course
from grader.execute.isolation import choose_for_class

_TICK = os.sysconf("SC_CLK_TCK")


def times_of(folder: CourseFolder, submissions: Path) -> Iterator[tuple[str, float]]:
    """Yield each student and the seconds."""
    entries = find_entries(submissions, folder.course)
    exercises = exercises_in_use(folder.course, entries, {}, ())
    place = prepare_workplace(
        folder, exercises, choose_for_class(None), lambda _: None, hidden=False
    )
    with place.opened() as engine:
        pid = engine.warm.pid
        for entry in entries:
            before = _processor(pid)
            grade_unit(engine, Unit(entry, place.exercises, {}))
            yield entry.student, _processor(pid) - before


def _processor(warm: int | None) -> float:
    """Return the processor seconds of this process, and of the warm one with all its children."""
    below = [warm] if warm else []
    ticks = 0
    while below:
        place = Path(f"/proc/{below.pop()}")
        fields = (place / "stat").read_text("utf-8").rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))  # its own time, and that of children that ended
        below += map(int, (place / "task" / place.name / "children").read_text("utf-8").split())
    return time.process_time() + ticks / _TICK


def main() -> None:
    """Print the seconds of both classes, in order."""
    folder = load_course(ROOT)
    with tempfile.TemporaryDirectory(prefix="grade-bench-times-") as temporary:
        make_class(folder, Path(temporary), int(sys.argv[1]))
        for place in (ROOT / "tests" / "submissions", Path(temporary)):
            print(place.name)
            for student, seconds in times_of(folder, place):
                print(f"  {student}: {seconds:.2f}", flush=True)


if __name__ == "__main__":
    main()
