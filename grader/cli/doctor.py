"""`grade doctor`: what this machine isolates submissions with, each wall tried by a submission."""

import contextlib
import json
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from grader.execute.isolation import Isolation, Level, probe
from grader.execute.launch import WarmProcess
from grader.execute.memory import find_memory, place_for_group
from grader.execute.trial import try_out
from grader.report.layout import columns

_SEEN = "see which files there are"  # Landlock hides what is in files, not that they are

# What a submission tries; each returns where it succeeds, and raises where it is stopped.
_TRIALS = {
    "read your files": "open(FILE).read()",
    "write a file": "open(FILE, 'a').close()",
    "change a file's mode": "os.chmod(FILE, 0o600)",
    _SEEN: "os.stat(FILE)",
    "use the network": "socket.create_connection(('127.0.0.1', PORT), 1).close()",
    "send a datagram": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ADDRESS)",
    "start processes": "os.waitpid(os.fork() or os._exit(0), 0)",
    "signal other processes": "os.kill(os.getppid(), 0)",
    "see other processes": "[n for n in os.listdir('/proc') if n.isdigit()][0]",
    "share memory with others": "os.close(os.memfd_create('grade-doctor'))",
}


@dataclass(frozen=True)
class Trial:
    """One thing that a submission tried."""

    what: str
    possible: bool


@dataclass(frozen=True)
class Examined:
    """A level, and what submissions could do at it; nothing is tried beyond this machine's best."""

    level: Level
    tried: tuple[Trial, ...]


def run_doctor(*, as_json: bool) -> int:
    """Try each level that this machine has, and print what holds, why, and what would help."""
    found = probe()
    levels = [
        Examined(level, tuple(_examine(level)) if level.rank <= found.level.rank else ())
        for level in Level
    ]
    kept = _keeping()
    click.echo(_to_json(found, levels, kept) if as_json else as_text(found, levels, kept))
    return 1 if any(_leaks(examined) for examined in levels) else 0


@dataclass(frozen=True)
class Kept:
    """What keeps the memory of all submissions of a class together below a limit."""

    mib: int | None  # None where the system does not tell what is free
    by: str


def _keeping() -> Kept:
    memory = find_memory()
    by = "admission and a control group" if place_for_group() else "admission"
    return Kept(memory.mib if memory else None, by)


def _leaks(examined: Examined) -> bool:
    """Whether submissions could do what their level forbids."""
    allowed = {Level.FULL: (), Level.LANDLOCK: (_SEEN,), Level.PROCESS: tuple(_TRIALS)}
    return any(t.possible and t.what not in allowed[examined.level] for t in examined.tried)


def _examine(level: Level) -> Iterator[Trial]:
    """Run every trial as a submission at a level."""
    with _aims() as aims:
        functions = [
            f"def trial{n}():\n    {trial}\n    return torch.ones(1)\n"
            for n, trial in enumerate(_TRIALS.values())
        ]
        text = "\n".join(["import os, socket, torch", *aims, *functions])
        with contextlib.closing(WarmProcess(level)) as warm:
            done = try_out(warm, text, [f"trial{n}" for n in range(len(_TRIALS))])
    for what, possible in zip(_TRIALS, done, strict=True):
        yield Trial(what, possible)


@contextmanager
def _aims() -> Iterator[list[str]]:
    """Give lines that name a file and listeners of our own, for trials to aim at."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="grade-doctor-"))
        path = Path(folder, "file")
        path.write_text("nothing", encoding="utf-8")
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        receiver = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.bind(("127.0.0.1", 0))
        yield [
            f"FILE = {os.fspath(path)!r}",
            f"PORT = {server.getsockname()[1]}",
            f"ADDRESS = {receiver.getsockname()!r}",
        ]


def _to_json(found: Isolation, levels: list[Examined], kept: Kept) -> str:
    document = {
        "format_version": 1,
        "level": found.level,
        "walls": [asdict(wall) for wall in found.walls],
        "levels": [asdict(examined) for examined in levels],
        "memory": asdict(kept),
    }
    return json.dumps(document, indent=2)


def as_text(found: Isolation, levels: list[Examined], kept: Kept) -> str:
    """Return a table of what was found, for a terminal."""
    walls = []
    for wall in found.walls:
        walls.append((f"{'✓' if wall.holds else '✗'} {wall.name}", wall.why))
        walls += [("", f"next: {wall.next_step}")] if wall.next_step else []
    tried = [examined for examined in levels if examined.tried]
    rows = [("a submission can …", *(examined.level for examined in tried))]
    for n, what in enumerate(_TRIALS):
        rows.append((what, *("yes" if e.tried[n].possible else "no" for e in tried)))
    lines = [
        f"Submissions are isolated at level {found.level}.",
        "",
        *columns(walls, "<<", indent=2),
        "",
        *columns(rows, "<".ljust(1 + len(tried), ">"), indent=2),
        "",
        f"All submissions of a class together are kept below {kept.mib} MiB, by {kept.by}."
        if kept.mib
        else "What is free is not known here: tell it with --memory.",
    ]
    return "\n".join(lines)
