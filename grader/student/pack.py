"""The zip that a student hands in: the files as they are graded, and a receipt."""

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.course.models import Course, Exercise
from grader.errors import SubmissionError
from grader.files import zipped
from grader.grading.summary import ENGINE
from grader.handin.gather import Part, gather
from grader.handin.pick import pick, proper_name
from grader.handin.read import Source, read_submission
from grader.handin.refused import Refused
from grader.records.results import CheckResult, ExerciseResult, Kind, Status
from grader.records.subtotals import Subtotal
from grader.student.findings import Findings

RECEIPT = "receipt.json"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Line:
    """One exercise on a receipt."""

    exercise: str
    title: str
    file: str  # "" where none is handed in
    sha256: str
    score: float  # on the public cases
    max_score: float
    status: str
    waits: tuple[str, ...] = ()  # targets that are not trained as they are here
    begun: bool = True  # something of it is written


@dataclass(frozen=True)
class Receipt:
    """What was handed in, and what it came to on the public cases."""

    format_version: int
    course: str
    grader: str
    key: str
    content: str  # "sha256:..." of all files together
    score: float
    max_score: float
    exercises: tuple[Line, ...]
    parts: tuple[Subtotal, ...] = ()  # where there is more than one


@dataclass(frozen=True)
class Packed:
    """A zip and its receipt."""

    data: bytes
    receipt: Receipt
    graded: tuple[tuple[ExerciseResult, Source], ...]  # what was packed, exercise by exercise


def pack_work(findings: Findings, place: Path, exercises: Sequence[Exercise]) -> Packed:
    """Pack the files at a place, and grade what was packed; raises SubmissionError."""
    course = findings.folder.course
    files = collect_files(place, _needed(course, exercises), course.limits.source_kib * 1024)
    if not files:
        raise SubmissionError(f"{place} holds no exercise of this course: there is nothing to pack")
    if not any(_is_of(name, exercise) for name in files for exercise in exercises):
        raise SubmissionError(
            f"{place.name} has no exercise's name: rename it first, as {exercises[0].file}"
        )
    graded = _graded(findings, files, exercises)
    lines = tuple(
        _line(exercise, files, result)
        for exercise, (result, _) in zip(exercises, graded, strict=True)
    )
    receipt = Receipt(
        format_version=FORMAT_VERSION,
        course=course.title,
        grader=ENGINE,
        key=findings.key_digest,
        content=content_hash(files),
        score=round(sum(line.score for line in lines), 2),
        max_score=round(sum(line.max_score for line in lines), 2),
        exercises=lines,
        parts=course.subtotals({line.exercise: (line.score, line.max_score) for line in lines}),
    )
    text = json.dumps(asdict(receipt), indent=1, ensure_ascii=False) + "\n"
    own = tuple((result, source) for result, source in graded if not source.absent)
    return Packed(zipped({**files, RECEIPT: text.encode()}), receipt, own)


def _needed(course: Course, exercises: Sequence[Exercise]) -> list[Exercise]:
    """Return exercises with those earlier ones whose own files they import."""
    needed = [e.id for e in exercises]
    for exercise in exercises:
        if exercise.builds_on_earlier:
            needed += [e.id for e in course.earlier(exercise)]
    return [exercise for exercise in course.exercises if exercise.id in needed]


def _graded(
    findings: Findings, files: Mapping[str, bytes], exercises: Sequence[Exercise]
) -> tuple[tuple[ExerciseResult, Source], ...]:
    """Grade the files as they will be read once they are handed in."""
    with tempfile.TemporaryDirectory(prefix="grade-pack-") as scratch:
        for name, data in files.items():
            (Path(scratch) / name).write_bytes(data)
        course = findings.folder.course
        limit = course.limits.source_kib * 1024
        submission = read_submission(Path(scratch), course, list(exercises), limit)
        found = findings.of(exercises, submission)
        return tuple(
            (one.result, submission.source(exercise))
            for exercise, one in zip(exercises, found, strict=True)
        )


def _line(exercise: Exercise, files: Mapping[str, bytes], result: ExerciseResult) -> Line:
    name = next((name for name in files if _is_of(name, exercise)), "")
    digest = hashlib.sha256(files[name]).hexdigest() if name else ""
    status = result.status if name else Status.SKIPPED
    waits = tuple(dict.fromkeys(check.target for check in result.checks if check.waits))
    begun = any(check.status is Status.PASSED or _is_wrong(check) for check in result.checks)
    return Line(
        exercise=exercise.id,
        title=exercise.title,
        file=name,
        sha256=digest,
        score=result.score,
        max_score=result.max_score,
        status=status.value,
        waits=waits,
        begun=begun,
    )


def _is_wrong(check: CheckResult) -> bool:
    """Whether something is wrong with a check, and not only missing."""
    return check.failed and not check.unwritten and check.kind is not Kind.BUG


def collect_files(place: Path, exercises: Sequence[Exercise], limit: int) -> dict[str, bytes]:
    """Return the files that grading would read, by name; raises SubmissionError.

    `limit` is in bytes a file.
    """
    found = gather([Part(place, place.name)], limit)
    if found.refusals:
        raise SubmissionError(found.refusals[0])
    paths = [paths[0] for e in exercises if (paths := pick(found.files, e))]
    files = {}
    for path in [place.name] if place.is_file() and not paths else paths:
        name = path.rpartition("/")[2]
        try:
            files[name] = found.files[path](limit)
        except Refused as refused:
            raise SubmissionError(f"{name} {refused}: {refused.next_step}") from None
    return files


def _is_of(name: str, exercise: Exercise) -> bool:
    return proper_name(name, exercise) is not None


def content_hash(files: dict[str, bytes]) -> str:
    """Return a digest of files by name and content, which any receipt can be held against."""
    sums = "".join(f"{hashlib.sha256(d).hexdigest()}  {n}\n" for n, d in sorted(files.items()))
    return f"sha256:{hashlib.sha256(sums.encode()).hexdigest()}"
