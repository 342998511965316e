"""Reaches a cluster, and asks its workers what they are and whether they can grade."""

import contextlib
import gc
import json
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.cluster import worker
from grader.course.written import special_libraries
from grader.errors import UsageError
from grader.execute.isolation import Level
from grader.processes import nothing_shared
from grader.version import VERSION

if TYPE_CHECKING:
    from distributed import Client, Future


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

    client, said = None, ""
    try:
        client = Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
    if client is None:
        # Dask closes it as garbage; where that falls into the start of the next, both wait for ever
        gc.collect()
        raise UsageError(
            f"no scheduler answers at {address}: {said}; start one there with `dask scheduler`, "
            "or see that the address is right and no firewall stands between"
        )
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):  # it may be gone already
            client.close(timeout=2)
        client.status = "closed"  # nor is it closed again as garbage


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


# ---- what workers say of themselves --------------------------------------------------------------


_IMPORT = f"import {worker.__name__}"  # as text, since there may be no grader to unpickle it
_ANSWER_SECONDS = 30.0  # that a worker may take to answer


@dataclass(frozen=True)
class Asked:
    """What a worker says of itself."""

    address: str
    host: str = ""
    cores: int = 0
    memory: int = 0  # MiB that its machine has free; 0 where nobody knows
    level: str = ""  # of isolation
    parts: frozenset[str] = frozenset()  # digests of what it has already
    versions: Mapping[str, str] | None = None
    refused: str = ""  # why it cannot grade
    silent: bool = False  # refused because no answer came: one may come later


def ask(
    client: "Client",
    addresses: Sequence[str],
    wanted: Level | None,
    libraries: Collection[str] = (),
) -> list[Asked]:
    """Ask some workers; `wanted` is the level of isolation, None for the best that each has.

    Of what only some courses need, `libraries` count.
    """
    answers = call(client, addresses, exec, _IMPORT)
    able = [address for address in addresses if answers[address] is None]
    answers |= call(client, able, worker.examine, wanted.value if wanted else "")
    return [_described(address, answers[address], libraries) for address in addresses]


def call(
    client: "Client", addresses: Sequence[str], function: Callable[..., Any], *given: object
) -> dict[str, Any]:
    """Return what a function comes to on each worker; the exception where it comes to none."""
    futures = {
        address: client.submit(
            function, *given, pure=False, workers=[address], allow_other_workers=False
        )
        for address in addresses
    }
    end = time.monotonic() + _ANSWER_SECONDS
    return {address: _outcome(future, end) for address, future in futures.items()}


def _outcome(future: "Future[Any]", end: float) -> Any:
    try:
        return future.result(timeout=max(0.01, end - time.monotonic()))
    except Exception as error:  # noqa: BLE001 - of Dask, of the network, or of an import
        return error
    finally:
        future.cancel(force=True)


def _described(address: str, answer: Any, libraries: Collection[str]) -> Asked:
    if isinstance(answer, ImportError):
        return Asked(address, refused=f"grader {VERSION} is not installed there")
    if isinstance(answer, Exception):
        what = "it does not answer" if isinstance(answer, TimeoutError) else "it cannot be asked"
        reason = f"{what} ({type(answer).__name__})"
        return Asked(address, refused=reason, silent=isinstance(answer, OSError))
    return Asked(
        address,
        answer["host"],
        answer["cores"],
        answer["memory"],
        answer["level"],
        frozenset(answer["parts"]),
        answer["versions"],
        answer.get("refused") or _differs(answer["versions"], libraries),
    )


def _differs(theirs: Mapping[str, str], libraries: Collection[str]) -> str:
    """Say which versions are others than here, "" where all are the same that count."""
    aside = special_libraries().difference(libraries)
    pairs = [
        f"{name} {theirs.get(name, 'missing')}, here {own}"
        for name, own in worker.versions().items()
        if theirs.get(name) != own and name not in aside
    ]
    return f"it has other versions: {'; '.join(pairs)}" if pairs else ""
