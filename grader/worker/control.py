"""What a parent and the process that starts its children tell each other, beside jobs."""

import json
from dataclasses import dataclass

from grader.worker.frameworks import FrameworkName
from grader.worker.protocol import to_json


@dataclass(frozen=True)
class Limits:
    """What one child may use."""

    cpu_seconds: int
    data_mib: int  # of memory, beyond what the warm process has mapped
    open_files: int


@dataclass(frozen=True)
class Start:
    """A request: start a child. Three descriptors come with it: job, answers, output."""

    limits: Limits
    framework: FrameworkName = FrameworkName.TORCH  # that it finds imported
    data: str = ""  # the digest of the course's data files that it finds


@dataclass(frozen=True)
class Show:
    """A request: keep data files for children to come. A descriptor comes with it, of a file."""

    data: str  # their digest


@dataclass(frozen=True)
class End:
    """A request: kill a child and all that it started, with `grace` after a moment."""

    pid: int
    grace: bool


@dataclass(frozen=True)
class Ready:
    """The warm process has torch loaded."""


@dataclass(frozen=True)
class Started:
    """A child is locked and waits for its job."""

    pid: int
    folder: str = ""  # of its own, where its parent has to remove it


@dataclass(frozen=True)
class Refused:
    """A child could not be locked down, and is gone."""

    why: str


@dataclass(frozen=True)
class Death:
    """How a child ended."""

    signal: int  # 0 where it ended by itself
    exit: int | None
    cpu: float  # seconds
    peak_kib: int


Message = Start | Show | End | Ready | Started | Refused | Death
_KINDS = {kind.__name__: kind for kind in (Show, End, Ready, Started, Refused, Death)}


def pack(message: Message) -> bytes:
    """Return a message as JSON."""
    return to_json({type(message).__name__: message}).encode()


def parse(data: bytes) -> Message:
    """Read `pack`'s bytes back; the other side is our own."""
    ((kind, fields),) = json.loads(data).items()
    if kind == Start.__name__:
        limits, framework = Limits(**fields["limits"]), FrameworkName(fields["framework"])
        return Start(limits, framework, fields["data"])
    return _KINDS[kind](**fields)
