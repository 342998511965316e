"""A cluster that talks by TLS, which is Dask's own: who has no certificate is not let in."""

import gc
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cluster_work
import dask
import pytest
from distributed import Client, LocalCluster
from distributed.security import Security
from support import NO_TOOL

from grader.cluster import connect
from grader.cluster.connect import ask, connected
from grader.cluster.dispatch import Crew, Dispatcher, Enlisted
from grader.cluster.tasks import Done, Task
from grader.errors import UsageError

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Make a certificate that signs itself, and its key."""
    program = shutil.which("openssl") or pytest.skip(f"{NO_TOOL}openssl")
    place = tmp_path_factory.mktemp("tls")
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=grade"]
    files = ["-keyout", "key.pem", "-out", "cert.pem"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([program, *made, *files, *names], cwd=place, check=True, capture_output=True)
    return place / "cert.pem", place / "key.pem"


@pytest.fixture(scope="module")
def settings(certificate: tuple[Path, Path]) -> dict[str, Any]:
    """Return what Dask has to be told for it."""
    cert, key = map(str, certificate)
    place = "distributed.comm.tls"
    told = {f"{place}.{who}.cert": cert for who in ("scheduler", "worker", "client")}
    told |= {f"{place}.{who}.key": key for who in ("scheduler", "worker", "client")}
    return {f"{place}.ca-file": cert, **told}


@pytest.fixture(scope="module")
def address(settings: dict[str, Any]) -> Iterator[str]:
    """Start a cluster that lets nobody in without it."""
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            protocol="tls://",
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            security=Security(require_encryption=True),
        ) as cluster,
    ):
        yield cluster.scheduler_address


def test_tasks_are_done_by_tls(address: str, settings: dict[str, Any], tmp_path: Path) -> None:
    assert address.startswith("tls://")
    given = (str(tmp_path / "log"),)
    crew = Crew(cluster_work.fragile, given, lambda addresses: Enlisted(addresses, {}), 60.0)
    with dask.config.set(settings), connected(address) as client:
        (asked,) = ask(client, list(client.nthreads()), None)
        ended = list(Dispatcher(client, crew, 3).map(Task(n, n.encode(), n.encode) for n in "abc"))
    assert not asked.refused
    assert sorted(one.content for one in ended if isinstance(one, Done)) == [b"aa", b"bb", b"cc"]


@pytest.mark.parametrize("protocol", ["tls", "tcp"])
def test_nobody_is_let_in_without_a_certificate(
    protocol: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "_SECONDS", 2)
    nothing = {f"distributed.comm.tls.{key}": None for key in ("client.cert", "client.key")}
    with dask.config.set(nothing), pytest.raises(UsageError, match="no scheduler answers"):
        connected(address.replace("tls", protocol)).__enter__()


def test_a_client_that_reached_nobody_is_gone_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask closes what is left of one as garbage, and that may fall into the start of the next."""
    monkeypatch.setattr(connect, "_SECONDS", 1)
    before = set(map(id, _clients()))
    gc.disable()
    try:
        with pytest.raises(UsageError, match="no scheduler answers"):
            connected("tcp://127.0.0.1:9").__enter__()
        left = [one for one in _clients() if id(one) not in before]
    finally:
        gc.enable()
    assert left == []


def _clients() -> list[Client]:
    return [one for one in gc.get_objects() if type(one) is Client]
