"""A cluster whose workers only sleep: scheduler and workers each in a process of their own."""

import asyncio
import contextlib
import logging
import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import dask
from distributed import Scheduler, Worker

from grader.cluster.connect import SETTINGS

_SPAWN = multiprocessing.get_context("spawn")
_TOGETHER = 50  # workers that are started at once
_RESULT = b"x" * 12_000  # what a graded submission comes to, packed


def pretend(contents: Sequence[bytes]) -> Mapping[str, Any]:
    """Sleep as long as each task says."""
    begun = time.monotonic()
    for content in contents:
        time.sleep(float(content[:8]))
    seconds = time.monotonic() - begun
    return {"done": [_RESULT for _ in contents], "unready": "", "seconds": seconds}


@dataclass(frozen=True)
class Cluster:
    """A scheduler with its workers."""

    address: str
    pipe: Connection  # to the scheduler's process

    def scheduler_seconds(self) -> float:
        """Return the processor time that the scheduler has taken so far."""
        self.pipe.send("")
        return float(self.pipe.recv())


@contextlib.contextmanager
def cluster_of(workers: int) -> Iterator[Cluster]:
    """Start a scheduler and as many workers, each a thread that sleeps."""
    with _process(_run_scheduler) as pipe:
        address = pipe.recv()
        with _process(_run_workers, address, workers) as ready:
            ready.recv()
            yield Cluster(address, pipe)


@contextlib.contextmanager
def _process(run: Any, *given: object) -> Iterator[Connection]:
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(run, theirs, *given), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(2)
        process.kill()
        process.join()


def _serve(run: Any, pipe: Connection, *given: object) -> None:
    quiet_dask()
    with contextlib.suppress(EOFError):  # the head is done
        asyncio.run(run(pipe, *given))


def quiet_dask() -> None:
    """Take the settings of grader, and keep a thousand workers of one process from chatting."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    dask.config.set(SETTINGS)
    dask.config.set({"distributed.worker.heartbeat-interval": "10s"})
    dask.config.set({"distributed.admin.system-monitor.interval": "60s"})
    dask.config.set({"distributed.worker.profile.enabled": False})


async def _run_scheduler(pipe: Connection) -> None:
    async with Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0") as scheduler:
        pipe.send(scheduler.address)
        while True:
            await asyncio.to_thread(pipe.recv)
            pipe.send(time.process_time())


async def _run_workers(pipe: Connection, address: str, count: int) -> None:
    workers = [
        Worker(address, nthreads=1, host="127.0.0.1", memory_limit=0, dashboard=False)
        for _ in range(count)
    ]
    for first in range(0, count, _TOGETHER):
        await asyncio.gather(*workers[first : first + _TOGETHER])
    pipe.send("ready")
    await asyncio.to_thread(pipe.recv)


def memory_mib() -> tuple[float, float]:
    """Return what this process holds now, and the most that it held."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    held, most = (int(fields[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
    return held, most
