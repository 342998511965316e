"""Figures of grading on a cluster, with grading that only takes time.

Workers are threads of this process that sleep. So its CPU time is that of head, scheduler and what
workers do beside grading. Example: `python benchmarks/cluster.py 100 10000 0.5`.
"""

import argparse
import random
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask
from distributed import Client, LocalCluster

from grader.cluster.connect import SETTINGS
from grader.cluster.dispatch import Crew, Dispatcher, Done, Enlisted, Task

_RESULT = b"x" * 12_000  # what a graded submission comes to, packed
_TEXT = b"x" * 6_000


def _pretend(contents: Sequence[bytes]) -> Mapping[str, Any]:
    """Sleep as long as each task says."""
    begun = time.monotonic()
    for content in contents:
        time.sleep(float(content[:8]))
    seconds = time.monotonic() - begun
    return {"done": [_RESULT for _ in contents], "unready": "", "seconds": seconds}


@dataclass(frozen=True)
class Simulated:
    """What a run with simulated submissions took."""

    wall: float  # seconds
    busy: float  # CPU seconds of head, scheduler and all workers' threads together
    asleep: float  # seconds that submissions took, one after the other
    peak_mib: int  # of the process, so far

    @property
    def speedup(self) -> float:
        """How many workers' work was done."""
        return self.asleep / self.wall


def simulate(workers: int, tasks: int, mean: float) -> Simulated:
    """Dispatch submissions that take `mean` seconds each; one of a thousand takes 60 times that."""
    chance = random.Random(1)
    times = [mean * chance.lognormvariate(-0.125, 0.5) for _ in range(tasks)]
    times = [t * 60 if n % 997 == 500 else t for n, t in enumerate(times)]
    crew = Crew(_pretend, (), lambda addresses: Enlisted(addresses, {}), 3600.0)

    def waiting() -> Iterator[Task]:
        for number, seconds in enumerate(times):
            yield Task(str(number), f"{seconds:08.5f}".encode()[:8] + _TEXT)

    with _cluster(workers) as cluster, Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(workers, timeout=600)
        begun, cpu = time.perf_counter(), time.process_time()
        done = {
            one.task.name
            for one in Dispatcher(client, crew, tasks).map(waiting())
            if isinstance(one, Done)
        }
        wall, busy = time.perf_counter() - begun, time.process_time() - cpu
    if len(done) != tasks:
        raise RuntimeError(f"{tasks - len(done)} submissions were lost")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Simulated(wall, busy, sum(times), peak)


def _cluster(workers: int) -> LocalCluster:
    dask.config.set(SETTINGS)
    dask.config.set({"distributed.worker.heartbeat-interval": "10s"})
    dask.config.set({"distributed.admin.system-monitor.interval": "60s"})
    return LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=False,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=50,
    )


def main() -> None:
    """Run one simulation, and print what it came to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workers", type=int)
    parser.add_argument("tasks", type=int)
    parser.add_argument("mean", type=float)
    given = parser.parse_args()
    one = simulate(given.workers, given.tasks, given.mean)
    each = 1000 * one.busy / given.tasks
    print(
        f"{given.workers} workers, {given.tasks} submissions of {given.mean} s: {one.wall:.1f} s, "
        f"speed-up {one.speedup:.1f}, {each:.2f} ms of CPU each, peak {one.peak_mib} MiB"
    )


if __name__ == "__main__":
    main()
