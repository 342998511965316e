"""What a worker of a cluster does for a head: says what it is, keeps an engine, and grades.

Dask calls these functions by name, and hands them text, numbers and bytes.
"""

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from grader.batch.unit import grade_read
from grader.cluster.parcel import Contents, pack_graded, unpack, unpack_read
from grader.course.written import known_libraries
from grader.errors import GraderError, InternalError, told_fault
from grader.execute.isolation import Level, choose_for_class
from grader.execute.launch import WarmProcess
from grader.execute.memory import find_memory
from grader.execute.trial import try_out
from grader.grading.engine import Engine
from grader.version import VERSION

_PACKAGE = Path(__file__).resolve().parents[1]
_IDLE = 300.0  # seconds without work after which keys and engine go: the head may be gone
_LIBRARIES = ("numpy",)  # beside those of courses
_TRIAL = "import torch\n\ndef trial():\n    return torch.ones(8, 8) @ torch.ones(8, 8)\n"


@dataclass
class _Place:
    """What one run of a head has on this worker."""

    contents: Contents
    level: Level
    parts: Mapping[str, Mapping[str, bytes]]
    lock: threading.Lock = field(default_factory=threading.Lock)  # one submission at a time
    engine: Engine | None = None
    closed: bool = False
    idle: threading.Timer | None = None


_places: dict[str, _Place] = {}  # by run
_kept: dict[str, Mapping[str, bytes]] = {}  # by digest: parts of the last run that may stay


def versions() -> dict[str, str]:
    """Return what has to be the same on the head and on every worker.

    What a course may need, and is not installed here, is left out.
    """
    told = {}
    for name in (*known_libraries(), *_LIBRARIES):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            told[name] = importlib.metadata.version(name)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {"grader": f"{VERSION} ({_code_digest()})", "Python": python, **told}


@cache
def _code_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(f"{path.relative_to(_PACKAGE)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def examine(wanted: str) -> dict[str, object]:
    """Tell what this worker is; `wanted` is a level of isolation, "" for the best there is."""
    memory = find_memory()
    told: dict[str, object] = {
        "versions": versions(),
        "host": platform.node(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
        "memory": memory.mib if memory else 0,
        "parts": list(_kept),  # digests
    }
    try:
        return {**told, "level": str(choose_for_class(Level(wanted) if wanted else None))}
    except GraderError as error:
        return {**told, "level": "", "refused": str(error)}


def try_one(level: str) -> dict[str, float]:
    """Run a small submission at a level; returns seconds, of the start and of a second one."""
    begun = time.monotonic()
    with contextlib.closing(WarmProcess(Level(level))) as warm:
        for _ in range(2):
            last = time.monotonic()
            if not all(try_out(warm, _TRIAL, ["trial"])):
                raise InternalError("a trial submission came to nothing")
        ended = time.monotonic()
    return {"start": last - begun, "submission": ended - last}


def equip(
    run: str,
    contents: str,
    level: str,
    parts: Mapping[str, Mapping[str, bytes] | None],
    lasting: Sequence[str],
) -> str:
    """Take what a run grades with, and return what is wrong with it, if anything.

    `parts` are by digest; one that is kept here comes as None. `lasting` are those that may stay.
    """
    known = {digest: _kept.get(digest) if part is None else part for digest, part in parts.items()}
    whole = {digest: part for digest, part in known.items() if part is not None}
    if len(whole) < len(known):
        return "what it was to grade with is gone"
    _kept.clear()
    _kept.update({digest: whole[digest] for digest in lasting})
    close(run)
    for other in list(_places.values()):  # such as those of heads that were killed
        _rest(other)
    _places[run] = place = _Place(Contents.parse(contents), Level(level), whole)
    _begin_idle(run, place)
    return ""


def grade(run: str, submissions: Sequence[bytes]) -> dict[str, object]:
    """Grade some submissions, one after the other.

    Returns under `done` a list of bytes, or of text where a fault of grader's own stood in the way;
    under `unready` why this worker cannot grade, "" where it can; under `seconds` the time taken.
    """
    place = _places.get(run)
    if place is None:
        return {"done": [], "unready": "", "gone": True}
    done: list[bytes | str] = []
    begun = time.monotonic()
    with place.lock:
        _cancel_idle(place)
        try:
            for packed in submissions:
                if place.closed:
                    break
                done.append(_graded(place, packed))
        except GraderError as error:
            return {"done": done, "unready": str(error)}
        except Exception as error:  # noqa: BLE001 - our own fault, told where it can be acted on
            return {"done": done, "unready": told_fault(error)}
        finally:
            _end(place) if place.closed else _begin_idle(run, place)
    return {"done": done, "unready": "", "seconds": time.monotonic() - begun}


def close(run: str) -> bool:
    """Forget what a run graded with; returns whether a submission is still being graded here."""
    place = _places.pop(run, None)
    if place is None:
        return False
    place.closed = True
    _cancel_idle(place)
    return not _rest(place)  # whoever has the lock ends it


def _graded(place: _Place, packed: bytes) -> bytes | str:
    """Grade one submission, or say what fault of ours stood in the way."""
    engine = place.engine or _opened(place)
    try:
        return pack_graded(grade_read(engine, unpack_read(packed)))
    except GraderError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - our own fault, told where it can be acted on
        reason = told_fault(error)
    _end(place)  # the next one gets an engine of its own
    return reason


def _opened(place: _Place) -> Engine:
    """Start a warm process and read the keys; raises GraderError where that cannot be done."""
    warm = WarmProcess(place.level)
    files = {name: data for part in place.parts.values() for name, data in part.items()}
    try:
        place.engine = unpack(place.contents, files, warm)
    except BaseException:
        warm.close()
        raise
    return place.engine


def _rest(place: _Place) -> bool:
    """End the warm process of a run that grades nothing now, and return whether it is so.

    It gets another one when it grades again.
    """
    if not place.lock.acquire(blocking=False):
        return False
    try:
        _end(place)
    finally:
        place.lock.release()
    return True


def _end(place: _Place) -> None:
    engine, place.engine = place.engine, None
    if place.closed:
        place.parts = {}
    if engine is not None:
        engine.warm.close()


def _begin_idle(run: str, place: _Place) -> None:
    """Begin to count the time without work."""
    _cancel_idle(place)
    place.idle = threading.Timer(_IDLE, close, (run,))
    place.idle.daemon = True
    place.idle.start()


def _cancel_idle(place: _Place) -> None:
    if place.idle is not None:
        place.idle.cancel()
