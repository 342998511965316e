"""Reaches a cluster: one that is there, by address or scheduler file, or one on this machine."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import UsageError
from grader.processes import nothing_shared

if TYPE_CHECKING:
    from distributed import Client

_LOCAL = "local:"
_SECONDS = 15  # that a scheduler may take to answer
# Dask keeps the last messages to each side, for its own developers; ours hold whole submissions
SETTINGS = {"distributed.admin.low-level-log-length": 10}


@contextlib.contextmanager
def connected(scheduler: str) -> Iterator["Client"]:
    """Give a client of `tcp://HOST:PORT`, `tls://HOST:PORT`, a scheduler file, or `local:N`.

    Raises UsageError where nothing answers there.
    """
    require_dask()
    import dask

    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))
        if scheduler.startswith(_LOCAL):
            address = stack.enter_context(_local(scheduler))
        else:
            address = scheduler if "://" in scheduler else _address_in(Path(scheduler))
        yield stack.enter_context(_client(address))


def _address_in(file: Path) -> str:
    """Return the address that a scheduler file names; raises UsageError."""
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["address"])
    except OSError as error:
        why = error.strerror
    except (ValueError, KeyError, TypeError):
        why = "not a scheduler file"
    raise UsageError(
        f"--scheduler {file}: {why}; give tcp://HOST:8786, the file that "
        "`dask scheduler --scheduler-file` writes, or local:4"
    )


@contextlib.contextmanager
def _client(address: str) -> Iterator["Client"]:
    from distributed import Client

    try:
        client = Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise UsageError(f"no scheduler answers at {address}: {said}") from None
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):  # it may be gone already
            client.close(timeout=2)


@contextlib.contextmanager
def _local(scheduler: str) -> Iterator[str]:
    """Start a cluster of processes on this machine, and give its address."""
    from distributed import LocalCluster

    number = scheduler.removeprefix(_LOCAL)
    if not number.isdecimal() or not 1 <= int(number) <= 256:
        raise UsageError(f"--scheduler {scheduler}: give a number of processes, as in local:4")
    with nothing_shared(), _quiet_nannies():
        cluster = LocalCluster(
            n_workers=int(number),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=0,
        )
        try:
            yield cluster.scheduler_address
        finally:
            with contextlib.suppress(TimeoutError):
                cluster.close(timeout=10)


@contextlib.contextmanager
def _quiet_nannies() -> Iterator[None]:
    """Let Dask say nothing below an error: a worker that is lost is told of by the head."""
    before = os.environ.get("DASK_LOGGING__DISTRIBUTED")
    os.environ["DASK_LOGGING__DISTRIBUTED"] = "error"
    try:
        yield
    finally:
        os.environ.pop("DASK_LOGGING__DISTRIBUTED")
        if before is not None:
            os.environ["DASK_LOGGING__DISTRIBUTED"] = before


def require_dask() -> None:
    """Raise UsageError where Dask is not installed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'grader[dask]'") from None
