"""Asks workers what they are, and says which of them cannot grade, and why."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.cluster import worker
from grader.course.written import special_libraries
from grader.execute.isolation import Level
from grader.version import VERSION

if TYPE_CHECKING:
    from distributed import Client, Future

_IMPORT = f"import {worker.__name__}"  # as text, since there may be no grader to unpickle it
_SECONDS = 30.0  # that a worker may take to answer


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
    end = time.monotonic() + _SECONDS
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
        return Asked(address, refused=f"{what} ({type(answer).__name__})")
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
