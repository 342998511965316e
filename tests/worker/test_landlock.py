"""Landlock by itself: what a locked process may still do."""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import in_a_child

from grader.execute.isolation import Level, probe
from grader.worker import landlock

HERE = probe().level
locked = pytest.mark.skipif(HERE is Level.PROCESS, reason="no Landlock or seccomp here")


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("open/file", "closed/file"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text("text", encoding="utf-8")
    return tmp_path


@locked
@pytest.mark.parametrize(
    ("act", "ends_in"),
    [
        (lambda f: (f / "open/file").read_text(), ""),
        (lambda f: os.listdir(f / "open"), ""),
        (lambda f: (f / "closed/file").read_text(), "EACCES"),
        (lambda f: os.listdir(f), "EACCES"),
        (lambda f: (f / "open/file").write_text("x"), "EACCES"),
        (lambda f: os.truncate(f / "open/file", 0), "EACCES"),
        (lambda f: (f / "open/new").touch(), "EACCES"),
        (lambda f: (f / "open/file").unlink(), "EACCES"),
        (lambda f: os.mkdir(f / "open/new"), "EACCES"),
        (lambda f: os.symlink("x", f / "open/new"), "EACCES"),
        (lambda f: os.link(f / "open/file", f / "open/new"), "EACCES"),
        (lambda f: os.rename(f / "open/file", f / "open/new"), "EACCES"),
        (lambda _: os.execv(sys.executable, ["python", "-c", ""]), "EACCES"),
        (lambda _: Path(os.devnull).write_text("x"), ""),
    ],
    ids=[
        "reads", "lists", "reads elsewhere", "lists elsewhere", "writes", "truncates", "creates",
        "removes", "makes a folder", "makes a link", "makes a hard link", "renames", "runs",
        "writes to null",
    ],
)  # fmt: skip
def test_landlock_leaves_reading_and_nothing_else(
    act: Callable[[Path], object], ends_in: str, folders: Path
) -> None:
    def locked_act() -> None:
        landlock.restrict(landlock.make_ruleset([str(folders / "open")], [os.devnull]))
        act(folders)

    assert in_a_child(locked_act) == ends_in


@pytest.mark.skipif(landlock.version() < 4, reason="Landlock of this kernel leaves TCP alone")
def test_landlock_forbids_tcp() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def connect() -> None:
            landlock.restrict(landlock.make_ruleset([], []))
            socket.create_connection(server.getsockname())

        assert in_a_child(connect) == "EACCES"


@pytest.mark.skipif(landlock.version() < 6, reason="Landlock of this kernel leaves signals alone")
def test_landlock_forbids_signals_to_others() -> None:
    def signal() -> None:
        landlock.restrict(landlock.make_ruleset([], []))
        os.kill(os.getppid(), 0)

    assert in_a_child(signal) == "EPERM"


@pytest.mark.parametrize(
    ("version", "last"), [(1, 12), (2, 13), (3, 14), (4, 14), (5, 15), (7, 15), (99, 15)]
)
def test_landlock_withholds_what_a_version_knows(version: int, last: int) -> None:
    assert landlock.handled_rights(version) == (1 << last + 1) - 1
