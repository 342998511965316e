"""What this machine can isolate submissions with, found by trying; the one place that chooses.

Three levels, the best first:

    full       the warm process lives in bubblewrap: namespaces of its own, and of the disk only
               what Python needs; its children lock themselves as below
    landlock   children lock themselves with Landlock and seccomp, which takes no privileges
    process    children are processes with limits, and nothing more
"""

import functools
import importlib.util
import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from grader.errors import UsageError
from grader.worker import landlock, places, seccomp

NOBODY = 65534
_PROBE_SECONDS = 20


class Level(StrEnum):
    """How well submissions are kept apart from everything else."""

    FULL = "full"
    LANDLOCK = "landlock"
    PROCESS = "process"

    @property
    def rank(self) -> int:
        """Greater is safer."""
        return {Level.FULL: 2, Level.LANDLOCK: 1, Level.PROCESS: 0}[self]


@dataclass(frozen=True)
class Wall:
    """One means of isolation, and whether this machine has it."""

    name: str
    holds: bool
    why: str  # what was found, in one line
    next_step: str = ""  # what would make it hold


@dataclass(frozen=True)
class Isolation:
    """What keeps submissions apart."""

    level: Level
    walls: tuple[Wall, ...]

    @property
    def missing(self) -> tuple[Wall, ...]:
        """The walls that this machine does not have."""
        return tuple(wall for wall in self.walls if not wall.holds)

    def at(self, level: Level) -> "Isolation":
        """Return the same machine's walls at another level."""
        return Isolation(level, self.walls)


@functools.cache
def probe() -> Isolation:
    """Try each wall of this machine, in some 20 ms, and return the best level; once a process."""
    walls = (_limits(), _landlock(), _seccomp(), _bubblewrap())
    limits, rules, calls, second = (wall.holds for wall in walls)
    if not (limits and rules and calls):
        return Isolation(Level.PROCESS, walls)
    return Isolation(Level.FULL if second else Level.LANDLOCK, walls)


def choose(wanted: Level | None) -> Isolation:
    """Return the isolation at the wanted level, or the best; raises UsageError beyond that."""
    found = probe()
    if wanted is None:
        return found
    if wanted.rank > found.level.rank:
        raise _too_little(found, wanted)
    return found.at(wanted)


def choose_for_class(wanted: Level | None) -> Level:
    """Return the level for others' code: the wanted one, else the best, at least Landlock.

    Raises UsageError where this machine has too little and less was not asked for.
    """
    found = choose(wanted)
    if wanted is None:
        require(found, Level.LANDLOCK)
    return found.level


def require(found: Isolation, at_least: Level) -> None:
    """Raise UsageError where submissions are less isolated than `at_least`."""
    if found.level.rank < at_least.rank:
        raise _too_little(found, at_least)


def _too_little(found: Isolation, wanted: Level) -> UsageError:
    why = "; ".join(f"{wall.name}: {wall.why}" for wall in found.missing) or "asked for less"
    return UsageError(
        f"submissions would be isolated at level {found.level}, not {wanted} ({why}): "
        "see grade doctor, or say --isolation process if you trust every one of them"
    )


def python_command() -> list[str]:
    """Return the start of a command line that runs a module, isolated from the user's settings.

    It does what -I does, but PYTHONHASHSEED counts: else the order of a set changes every time.
    """
    return [sys.executable, "-s", "-P", "-m"]


def worker_command(level: Level) -> list[str]:
    """Return the command line of a warm process at a level."""
    user = str(NOBODY) if level is Level.FULL and os.geteuid() == 0 else ""
    inner = Level.PROCESS if level is Level.PROCESS else Level.LANDLOCK
    python = [*python_command(), "grader.worker.warm", str(inner), user]
    return [*_wrapping(), *python] if level is Level.FULL else python


# ---- walls --------------------------------------------------------------------------------------


def forks() -> bool:
    """Whether a warm process can fork children and be handed descriptors."""
    return sys.platform == "linux"


def _limits() -> Wall:
    if forks():
        return Wall("process limits", True, "time, memory, files and output are limited")
    why = f"{platform.system()} has no walls that grader knows: each job is a process of its own"
    return Wall("process limits", False, why, "grade untrusted code on Linux, or in a container")


def _landlock() -> Wall:
    version = landlock.version() if forks() else 0
    if not version:
        why, then = "the kernel does not offer it", "use Linux 5.13 or later with Landlock enabled"
        return Wall("Landlock", False, why, then)
    also = [(4, "TCP"), (6, "signals, abstract sockets")]
    kinds = ["files", *(kind for since, kind in also if version >= since)]
    return Wall("Landlock", True, f"version {version}: {', '.join(kinds)}")


def _seccomp() -> Wall:
    if forks() and seccomp.supported():
        return Wall("seccomp", True, f"a list of allowed calls for {platform.machine()}")
    why = f"no filter of system calls for {platform.machine()} on {platform.system()}"
    return Wall("seccomp", False, why, "use Linux on x86_64 or aarch64")


def _bubblewrap() -> Wall:
    name = "bubblewrap"
    if not forks() or shutil.which("bwrap") is None:
        then = "install bubblewrap: apt-get install bubblewrap" if forks() else "use Linux"
        return Wall(name, False, "it is not installed", then)
    if os.geteuid() == 0 and (closed := _closed_to_others()):
        why = f"{closed} can be read by root alone, and the worker must not be root"
        return Wall(name, False, why, "install Python and grader where every user can read them")
    problem = _bubblewrap_problem()
    if problem:
        then = "let this user make user namespaces, or run outside of a container"
        return Wall(name, False, f"it does not work here ({problem})", then)
    return Wall(name, True, "namespaces of its own for files, processes, network and IPC")


def _closed_to_others() -> str:
    """Return a file that the worker needs and that only root can read, "" where there is none."""
    torch = importlib.util.find_spec("torch")
    needed = [os.__file__, landlock.__file__, sys.executable, torch and torch.origin]
    closed = [path for path in needed if path and not os.stat(path).st_mode & stat.S_IROTH]
    return closed[0] if closed else ""


def _bubblewrap_problem() -> str:
    """Return why bubblewrap does not work, "" where it does."""
    try:
        done = subprocess.run(
            [*_wrapping(), sys.executable, "--version"],
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if done.returncode == 0:
        return ""
    said = done.stderr.decode(errors="replace").strip().splitlines() or ["no word"]
    return said[-1][:200]


def _wrapping() -> list[str]:
    """Return the command that runs another in bubblewrap.

    As root, no user namespace is made: root inside it would still be root to files outside. The
    worker becomes nobody instead, for which it keeps two capabilities till then. The worker
    ends when its socket closes, so that bubblewrap need not watch over the thread that started it.
    """
    root = os.geteuid() == 0
    nobody = str(NOBODY)
    user = (
        ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        if root
        else ["--unshare-user", "--disable-userns", "--uid", nobody, "--gid", nobody]
    )
    return [
        shutil.which("bwrap") or "bwrap",
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--new-session", "--cap-drop", "ALL", *user),
        *("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"),  # noqa: S108 - inside
        *_binds([*places.readable(), *places.interpreter()]),
        *_without_answers(),
        *("--remount-ro", "/", "--chdir", "/", "--"),
    ]


def _without_answers() -> list[str]:
    """Return arguments that empty what holds answers; of grader a worker's own code is shown."""
    own, *data = map(str, places.closed_folders())
    hidden = [word for path in data for word in ("--tmpfs", path, "--remount-ro", path)]
    empty = [*_folders([own]), "--perms", "0755", "--tmpfs", own]
    return [*hidden, *empty, *_binds(places.own_code()), "--remount-ro", own]


def _binds(paths: Sequence[str]) -> list[str]:
    """Return arguments that show these paths, read-only; a link is shown as what it leads to."""
    shown = [path for path in paths if not path.startswith(("/dev/", "/proc/"))]
    return _folders(shown) + [word for path in shown for word in ("--ro-bind", path, path)]


def _folders(paths: Sequence[str]) -> list[str]:
    """Return arguments that make the folders above: else these would be as closed as a home is."""
    above = sorted({str(folder) for path in paths for folder in Path(path).parents} - {"/"})
    return [word for path in above for word in ("--perms", "0755", "--dir", path)]
