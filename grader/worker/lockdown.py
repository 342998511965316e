"""What a child gives up before a line of a submission runs.

The one place for isolation: today a process of its own with limits; kernel filters join here.
"""

import os
import resource
import sys
from collections.abc import Mapping, Sequence

_KEPT_VARIABLES = ("LANG", "PATH")


def lock_down(limits: Mapping[str, float], folder: str, keep: Sequence[int]) -> None:
    """Lead a process group of one's own, bounded by `limits`, in an empty folder.

    `keep` are the descriptors that stay open. CPU is in seconds, data in MiB on top of what
    the warm process already takes.
    """
    os.setsid()
    os.chdir(folder)
    for name in set(os.environ) - set(_KEPT_VARIABLES):
        del os.environ[name]
    _close_all_but(keep)
    sys.path[:] = [entry for entry in sys.path if entry]
    cpu = int(limits["cpu_seconds"])
    bounds = {
        resource.RLIMIT_CPU: cpu,
        resource.RLIMIT_DATA: _data_bytes() + int(limits["data_mib"] * 2**20),
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: int(limits["open_files"]),
        resource.RLIMIT_FSIZE: 0,
    }
    for kind, bound in bounds.items():
        _, hard = resource.getrlimit(kind)
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (bound, bound))


def _close_all_but(keep: Sequence[int]) -> None:
    kept = sorted({0, 1, 2, *keep})
    for low, high in zip([-1, *kept], [*kept, 1 << 16], strict=True):
        if low + 1 < high:  # an empty range would reach close_range(2) as "all of them"
            os.closerange(low + 1, high)


def _data_bytes() -> int:
    """Bytes of private writable memory that this process has mapped already."""
    try:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmData"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 1 << 32
