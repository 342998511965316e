"""Figures of grading on a cluster, with grading that only takes time.

Workers are threads that sleep as long as real submissions take. Head, scheduler and workers are
processes of their own. Example: `python benchmarks/cluster.py 100 10000 --scale 0.1`.
"""

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from distributed import Client
from simulated import cluster_of, memory_mib, pretend, quiet_dask

from grader.cluster.dispatch import Crew, Dispatcher, Enlisted
from grader.cluster.tasks import Done, Task

# Processor seconds of real submissions, by cluster_times.py: the sample class, which handed in one
# exercise, and nine that are made up of twelve: three of them stubs, the others with two trainings
SECONDS = (
    *(0.01, 0.06, 0.06, 0.08, 0.08, 0.1, 0.1, 0.11, 0.11, 0.13, 0.14, 0.14, 0.14, 0.14, 0.18, 0.21),
    *(0.22, 0.26, 0.3, 0.32, 0.38, 0.44, 0.52, 1.39, 1.58),
    *(0.58, 0.72, 0.79, 25.83, 26.61, 27.5, 28.21, 28.43, 29.08),
)
_IDLE = 5.0  # seconds that a cluster is watched before it works
_TEXT = b"x" * 6_000
_EARLY = 1_000  # submissions after which memory is looked at first


@dataclass(frozen=True)
class Simulated:
    """What a run with simulated submissions took."""

    wall: float  # seconds
    asleep: float  # seconds that submissions took, one after the other
    longest: float  # seconds of the longest submission
    head: float  # processor seconds
    scheduler: float  # processor seconds, without those below
    idle: float  # processor seconds a second that the scheduler takes with nothing to do
    early_mib: float  # the most that the head held until the first thousand were done
    peak_mib: float  # the most that it held in all

    @property
    def speedup(self) -> float:
        """How many workers' work was done."""
        return self.asleep / self.wall


def simulate(workers: int, tasks: int, scale: float) -> Simulated:
    """Dispatch submissions that each take `scale` times the seconds of a real one."""
    chance = random.Random(1)
    times = [scale * chance.choice(SECONDS) for _ in range(tasks)]
    crew = Crew(pretend, (), lambda addresses: Enlisted(addresses, {}), 3600.0)
    quiet_dask()

    def waiting() -> Iterator[Task]:
        for number, seconds in enumerate(times):
            content = partial(_content, seconds)
            yield Task(str(number), content(), content)

    with cluster_of(workers) as cluster, Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=600)
        idle = -cluster.scheduler_seconds()
        time.sleep(_IDLE)
        head, scheduler = time.process_time(), cluster.scheduler_seconds()
        idle = (idle + scheduler) / _IDLE
        begun = time.perf_counter()
        done, early = 0, 0.0
        for one in Dispatcher(client, crew, tasks).map(waiting()):
            done += isinstance(one, Done)
            if done == _EARLY:
                _, early = memory_mib()
        wall, head = time.perf_counter() - begun, time.process_time() - head
        scheduler = cluster.scheduler_seconds() - scheduler - idle * wall
    if done != tasks:
        raise RuntimeError(f"{tasks - done} submissions were lost")
    return Simulated(wall, sum(times), max(times), head, scheduler, idle, early, memory_mib()[1])


def _content(seconds: float) -> bytes:
    return f"{seconds:08.5f}".encode()[:8] + _TEXT


def main() -> None:
    """Run one simulation, and print what it came to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workers", type=int)
    parser.add_argument("tasks", type=int)
    parser.add_argument("--scale", type=float, default=1.0, help="of the time of a submission")
    given = parser.parse_args()
    one = simulate(given.workers, given.tasks, given.scale)
    head, scheduler = (1000 * seconds / given.tasks for seconds in (one.head, one.scheduler))
    ideal = one.asleep / max(one.asleep / given.workers, one.longest)
    print(
        f"{given.workers} workers, {given.tasks} submissions of {one.asleep / given.tasks:.2f} s: "
        f"{one.wall:.1f} s, speed-up {one.speedup:.1f} of at most {ideal:.1f}; "
        f"head {head:.2f} ms and scheduler {scheduler:.2f} ms of processor each, "
        f"beside the {1000 * one.idle:.0f} ms a second of an idle one; "
        f"head {one.early_mib:.1f} MiB until {_EARLY} are done, {one.peak_mib:.1f} in all"
    )


if __name__ == "__main__":
    main()
