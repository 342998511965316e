"""Submissions and results as bytes of JSON: what crosses between the head and its workers.

Dask moves objects as pickles. What a student wrote, and what code of theirs claims, is text or
bytes there, so that reading it back runs nothing.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from grader.batch.entries import Handed
from grader.batch.unit import GradedSubmission, ReadSubmission, WrittenResult
from grader.handin.read import Source, Submission
from grader.records.results import Status


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
