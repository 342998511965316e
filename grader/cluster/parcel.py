"""What crosses between the head and its workers: files in memory, submissions and results.

The secret of the hidden cases is not among them, nor is a solution or a known bug. Nothing of it is
written to a worker's disk. Dask moves objects as pickles. What a student wrote, and what code of
theirs claims, is text or bytes of JSON there, so that reading it back runs nothing.
"""

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from grader.batch.entries import Handed
from grader.batch.unit import GradedSubmission, ReadSubmission, WrittenResult
from grader.course.data import parse_data, read_data
from grader.course.load import COURSE_FILE, CourseFolder, parse_course
from grader.course.shipped import read_standins
from grader.errors import InternalError
from grader.execute.launch import WarmProcess
from grader.grading.engine import Engine
from grader.grading.jobs import Standins
from grader.handin.read import Source, Submission
from grader.key.cache import PUBLIC_SECRET, Keys
from grader.key.digest import content_digest
from grader.key.store import PAIRS, DamagedKey, key_files, parse_key, unpack_suspects
from grader.records.calls import HIDDEN, PUBLIC
from grader.records.results import Status
from grader.records.signatures import Suspects

Part = Mapping[str, bytes]  # content by the name of a file
_STANDINS = "standins.json"
_DATA = "data"  # of the course, in one piece
_NOWHERE = Path("/nonexistent")  # where the course stands: no file of it is read


@dataclass(frozen=True)
class Contents:
    """What is in a parcel, as plain data."""

    exercises: tuple[str, ...]
    public: str  # the digest of the public keys
    hidden: str  # of the hidden ones; "" where the public cases count
    trains: bool = True  # whether trainings are run

    def to_json(self) -> str:
        """Return what `parse` reads."""
        return json.dumps(asdict(self))

    @staticmethod
    def parse(text: str) -> "Contents":
        """Read `to_json`'s text."""
        plain = json.loads(text)
        exercises = tuple(plain["exercises"])
        return Contents(exercises, plain["public"], plain["hidden"], plain["trains"])


@dataclass(frozen=True)
class Parcel:
    """Files by part: one that students may have too, and the keys of the hidden cases."""

    contents: Contents
    parts: Mapping[str, Part]  # by digest; what workers have already is not sent again
    lasting: frozenset[str]  # parts that workers may keep


def pack(folder: CourseFolder, public: Keys, hidden: Keys | None, *, trains: bool = True) -> Parcel:
    """Gather what workers need.

    Raises InternalError where a key is not kept on this disk, or the course is not that of the key.
    """
    open_part: dict[str, bytes] = {
        COURSE_FILE: (folder.root / COURSE_FILE).read_bytes(),
        _STANDINS: json.dumps(read_standins(folder), sort_keys=True).encode(),
        **_files_of(public, PUBLIC),
    }
    if (data := read_data(folder)) is not None:
        open_part[_DATA] = data.packed
    for exercise in public.keys:
        name = f"{exercise}.{PUBLIC}.{PAIRS}"
        if (public.place / name).is_file():
            open_part[name] = (public.place / name).read_bytes()
    parts = {digest_of(open_part): open_part}
    lasting = frozenset(parts)
    if hidden is not None:
        closed_part = _files_of(hidden, HIDDEN)
        parts[digest_of(closed_part)] = closed_part
    if not folder.shipped:
        now = content_digest(folder, PUBLIC, PUBLIC_SECRET)
        if public.digest != f"sha256:{now}":
            raise InternalError("the course was changed while a class was graded: start again")
    closed = hidden.digest if hidden else ""
    contents = Contents(tuple(public.keys), public.digest, closed, trains)
    return Parcel(contents, parts, lasting)


def digest_of(part: Part) -> str:
    """Return a digest of a part's names and content."""
    digest = hashlib.sha256()
    for name, data in sorted(part.items()):
        digest.update(f"{name}\n{hashlib.sha256(data).hexdigest()}\n".encode())
    return digest.hexdigest()


def unpack(contents: Contents, files: Part, warm: WarmProcess) -> Engine:
    """Return an engine that grades with the files of a parcel; raises GraderError."""
    text = files[COURSE_FILE].decode()
    folder = CourseFolder(parse_course(text, COURSE_FILE), _NOWHERE)
    data = parse_data(files[_DATA]) if _DATA in files else None
    standins = Standins(json.loads(files[_STANDINS]), data)
    keys = partial(_keys_of, contents.exercises, files)
    public = Engine(folder, keys(PUBLIC, contents.public), standins, warm, trains=contents.trains)
    if not contents.hidden:
        return public
    return replace(public, keys=keys(HIDDEN, contents.hidden), public=public)


def _files_of(keys: Keys, split: str) -> dict[str, bytes]:
    names = [name for exercise in keys.keys for name in key_files(exercise, split)]
    try:
        return {name: (keys.place / name).read_bytes() for name in names}
    except OSError as error:
        raise InternalError(f"an answer key in {keys.place}: {error.strerror}") from None


def _keys_of(exercises: tuple[str, ...], files: Part, split: str, digest: str) -> Keys:
    read = files.__getitem__
    try:
        keys = {e: parse_key(read, e, split, "what was sent to this worker") for e in exercises}
    except (DamagedKey, KeyError) as damage:
        raise InternalError(f"an answer key cannot be read: {damage}") from None
    return Keys(digest, keys, _NOWHERE, _pairs_of(files, split))


def _pairs_of(files: Part, split: str) -> Callable[[str], Mapping[str, Suspects]]:
    @cache
    def pairs(exercise: str) -> Mapping[str, Suspects]:
        data = files.get(f"{exercise}.{split}.{PAIRS}")
        return unpack_suspects(data) if data else {}

    return pairs


# ---- submissions and results ---------------------------------------------------------------------


def pack_read(read: ReadSubmission) -> bytes:
    """Return what `unpack_read` reads."""
    submission = read.handed.submission
    return _packed(
        {
            "student": read.student,
            "time": read.time,
            "notes": read.handed.notes,
            "about": submission.notes,
            "sources": {e: asdict(source) for e, source in submission.sources.items()},
            "digests": dict(read.digests),
            "new": read.new,
        }
    )


def unpack_read(packed: bytes) -> ReadSubmission:
    """Read `pack_read`'s bytes."""
    plain = _unpacked(packed)
    sources = {e: _source(source) for e, source in plain["sources"].items()}
    submission = Submission(sources, tuple(plain["about"]))
    handed = Handed(submission, tuple(plain["notes"]))
    new = tuple(plain["new"])
    return ReadSubmission(plain["student"], handed, plain["digests"], new, plain["time"])


def pack_graded(graded: GradedSubmission) -> bytes:
    """Return what `unpack_graded` reads."""
    return _packed(
        {
            "student": graded.student,
            "time": graded.time,
            "notes": graded.notes,
            "results": {e: asdict(result) for e, result in graded.results.items()},
            "remarks": dict(graded.remarks),
            "absent": sorted(graded.absent),
            "digests": dict(graded.digests),
            "shown": {e: base64.b64encode(page).decode() for e, page in graded.shown.items()},
        }
    )


def unpack_graded(packed: bytes) -> GradedSubmission:
    """Read `pack_graded`'s bytes."""
    plain = _unpacked(packed)
    return GradedSubmission(
        plain["student"],
        tuple(plain["notes"]),
        {e: _written(result) for e, result in plain["results"].items()},
        {e: tuple(told) for e, told in plain["remarks"].items()},
        frozenset(plain["absent"]),
        plain["digests"],
        {e: base64.b64decode(page) for e, page in plain["shown"].items()},
        plain["time"],
    )


def _packed(plain: dict[str, object]) -> bytes:
    return zlib.compress(json.dumps(plain).encode(), 1)


def _unpacked(packed: bytes) -> Any:
    return json.loads(zlib.decompress(packed))


def _written(plain: Mapping[str, Any]) -> WrittenResult:
    mistakes = tuple(tuple(mistake) for mistake in plain["mistakes"])
    return WrittenResult(**{**plain, "status": Status(plain["status"]), "mistakes": mistakes})


def _source(plain: dict[str, Any]) -> Source:
    units = tuple((label, text) for label, text in plain["units"])
    return Source(**{**plain, "units": units, "notes": tuple(plain["notes"])})
