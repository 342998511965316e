"""What a child gives up before a line of a submission runs: all isolation from inside.

At every level: a process group of its own, an empty folder, a bare environment, no descriptor but
its pipes, limits, and on Linux no privileges. At level `landlock` and above the kernel's walls
join, and each is tried before the child may serve.
"""

import contextlib
import ctypes
import os
import socket
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.worker import landlock, places, seccomp
from grader.worker.control import Limits

if sys.platform != "win32":  # which has no such module
    import resource

_KEPT_VARIABLES = ("LANG", "PATH")
_CACHE = "TORCHINDUCTOR_CACHE_DIR"  # optimizers and checkpoints of torch insist that it is there
_LINUX = sys.platform == "linux"
_PDEATHSIG, _SET_DUMPABLE, _SIGKILL = 1, 4, 9
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522
_ADDRESSES = 2 << 30  # bytes beyond the data, for threads' stacks and what allocators reserve
_STACK = 8 << 20


@dataclass(frozen=True)
class Rules:
    """What the warm process prepares once for all of its children."""

    data: int  # bytes of private writable memory that are mapped already
    addresses: int  # bytes of any memory that are mapped already
    ruleset: int | None = None  # Landlock's descriptor; None at level `process`
    calls: seccomp.Filter | None = None

    @staticmethod
    def prepare(level: str, folder: str) -> "Rules":
        """Make the rules of a level; raises OSError where the kernel does not have them.

        `folder` is the empty one in which children find themselves.
        """
        data, addresses = _mapped_bytes()
        if level == "process":
            return Rules(data, addresses)
        if not seccomp.supported():
            raise OSError("this kernel has no seccomp filter, or the processor is unknown")
        apart = places.but_answers([*places.readable(), folder])
        ruleset = landlock.make_ruleset(apart.whole, places.DEVICES, apart.listed)
        return Rules(data, addresses, ruleset, seccomp.Filter.make())

    def show(self, folder: str) -> None:
        """Let children to come read one more folder; raises OSError."""
        if self.ruleset is not None:
            landlock.allow_reading(self.ruleset, folder)

    def measured(self) -> "Rules":
        """Return the same rules for a process that has grown since."""
        data, addresses = _mapped_bytes()
        return replace(self, data=data, addresses=addresses)


def become(user: int) -> None:
    """Give up root for a user who owns nothing; raises OSError."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def lock_down(limits: Limits, folder: str, keep: Sequence[int], rules: Rules) -> None:
    """Give up everything but the descriptors `keep`; raises OSError where a wall does not hold.

    CPU is in seconds, data in MiB on top of what the warm process already takes.
    """
    if sys.platform != "win32":
        os.setsid()
    os.chdir(folder)
    for name in set(os.environ) - set(_KEPT_VARIABLES):
        del os.environ[name]
    os.environ[_CACHE] = folder
    sys.path[:] = [entry for entry in sys.path if entry]
    if sys.platform != "win32":
        _set_limits(limits, rules)
    if _LINUX:
        _drop_privileges()
    if rules.ruleset is not None and rules.calls is not None:
        landlock.restrict(rules.ruleset)
        _close_all_but(keep)
        rules.calls.install(os.getpid())
        try_the_walls()
    else:
        _close_all_but(keep)


def _set_limits(limits: Limits, rules: Rules) -> None:
    more = limits.data_mib << 20
    bounds = {
        resource.RLIMIT_CPU: limits.cpu_seconds,
        resource.RLIMIT_DATA: rules.data + more,
        resource.RLIMIT_AS: rules.addresses + more + _ADDRESSES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_STACK: _STACK,
    }
    for kind, bound in bounds.items():
        _, hard = resource.getrlimit(kind)
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (bound, bound))


def _drop_privileges() -> None:
    """Die with the warm process, hide from others' debuggers, and give up what root may do."""
    landlock.prctl(_PDEATHSIG, _SIGKILL)
    landlock.prctl(_SET_DUMPABLE, 0)
    number = _CAPSET.get(os.uname().machine)
    if os.geteuid() == 0 and number is not None:
        libc = ctypes.CDLL(None, use_errno=True)
        header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
        if libc.syscall(ctypes.c_long(number), header, bytes(24)):
            raise OSError(ctypes.get_errno(), "capabilities could not be given up")


def try_the_walls() -> None:
    """Do what must fail; raises OSError where it does not."""
    with contextlib.suppress(PermissionError):
        os.close(os.open("/", os.O_RDONLY))
        raise OSError("Landlock did not take: files can be read")
    with contextlib.suppress(PermissionError):
        socket.socket().close()
        raise OSError("seccomp did not take: sockets can be made")


def _close_all_but(keep: Sequence[int]) -> None:
    kept = sorted({0, 1, 2, *keep})
    for low, high in zip([-1, *kept], [*kept, 1 << 16], strict=True):
        if low + 1 < high:  # an empty range would reach close_range(2) as "all of them"
            os.closerange(low + 1, high)


def _mapped_bytes() -> tuple[int, int]:
    """Return the private writable memory, and all addresses, that this process has mapped."""
    try:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmData"].split()[0]) * 1024, int(fields["VmSize"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return 1 << 32, 1 << 36
