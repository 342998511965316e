"""How much memory a class may take, and what keeps all submissions together below that.

Each child has a limit of its own. So many are admitted at once as fit with all that each may take;
where this user may make control groups (version 2), the kernel keeps to the sum as well.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.course.limits import Limits
from grader.errors import UsageError

_PROCESSES = 700  # MiB of what grades beside children: the key, torch, and what a fork writes to
_CHILDREN = 2  # of one submission that may live at once
_SHARE = 0.9  # of what is free: other programs take some more in the meantime
_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUP = Path("/proc/self/cgroup")
_MEMORY = Path("/proc/meminfo")
_MIB = 1 << 20


@dataclass(frozen=True)
class Memory:
    """What all submissions together may take."""

    mib: int
    source: str  # where the number comes from, in words


@dataclass(frozen=True)
class Admission:
    """How many submissions are graded at once."""

    jobs: int
    memory: Memory | None  # what they have together, where anybody knows
    note: str = ""  # where fewer than asked for fit


def find_memory() -> Memory | None:
    """Return nine tenths of what is free now; None where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        fields = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
        found = [(int(fields["MemAvailable"].split()[0]) << 10, "what is free")]
        found += [(left, "what is left to this control group") for left in _left_in_groups()]
        free, source = min(found)
        return Memory(int(free * _SHARE) // _MIB, f"nine tenths of {source}")
    return None


def admit(jobs: int, told: int | None, limits: Limits) -> Admission:
    """Say how many of `jobs` submissions may be graded at once, at least one.

    `told` is the MiB of --memory, None where it was not given. Raises UsageError where that is too
    little for one.
    """
    memory = Memory(told, "--memory") if told else find_memory()
    one = need_of_one(limits)
    if memory is None:
        return Admission(jobs, None)
    if told and told < one:
        raise UsageError(
            f"one submission may take {one} MiB, and --memory is {told}: give more, or "
            "lower data_mib in course.yml"
        )
    fit = max(1, memory.mib // one)
    if fit >= jobs:
        return Admission(jobs, memory)
    what = f"{fit} at once, not {jobs}: {memory.mib} MiB of memory ({memory.source})"
    return Admission(fit, memory, f"{what}; see --memory and --jobs")


def need_of_one(limits: Limits) -> int:
    """Return the MiB that grading one submission may take."""
    return _PROCESSES + _CHILDREN * limits.data_mib


def _left_in_groups() -> Iterator[int]:
    """Yield the bytes that are left to each control group around this process, where limited."""
    for group, names in _groups():
        with contextlib.suppress(OSError, ValueError, KeyError):
            limit = int((group / names[0]).read_text())  # "max" is none
            stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            used = int((group / names[1]).read_text()) - int(stat[names[2]])
            yield max(limit - used, 0)


def _groups() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    """Yield this process's groups up to the highest; with the files that hold limit and use."""
    first = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    second = ("memory.max", "memory.current", "inactive_file")
    for line in _OWN_GROUP.read_text().splitlines():
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        root, names = (_GROUPS / "memory", first) if kinds else (_GROUPS, second)
        place = root / path.strip("/")
        yield from ((group, names) for group in (place, *place.parents) if root in group.parents)
        yield root, names


def place_for_group() -> Path | None:
    """Return the folder in which a control group with a limit of memory can be made, or None.

    It is the one in which this process's own group lies: processes may stand in no group that
    shares out memory to others.
    """
    with contextlib.suppress(OSError):
        for line in _OWN_GROUP.read_text().splitlines():
            number, kinds, path = line.split(":", 2)
            own = _GROUPS / path.strip("/")
            if number == "0" and not kinds and own != _GROUPS and (own / "memory.max").exists():
                return own.parent if os.access(own.parent / "cgroup.procs", os.W_OK) else None
    return None


@contextlib.contextmanager
def control_group(memory: Memory | None) -> Iterator[str]:
    """Make a control group with a limit, and give its folder; "" where there can be none."""
    place = place_for_group()
    group = place / f"grade-{os.getpid()}" if place and memory else None
    try:
        if group is not None and memory is not None:
            group.mkdir()
            (group / "memory.max").write_text(str(memory.mib * _MIB))
    except OSError:
        group = None
    try:
        yield str(group or "")
    finally:
        if group is not None:
            with contextlib.suppress(OSError):  # a process of it is still ending
                group.rmdir()


def enter_group(group: str) -> None:
    """Move this process, and all that it will start, into a control group."""
    if group:
        Path(group, "cgroup.procs").write_text("0")
