"""The zip that a student hands in: the files as they are graded, and a receipt."""

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.course.models import Exercise
from grader.errors import SubmissionError
from grader.files import zipped
from grader.grading.engine import ENGINE, Engine
from grader.handin.read import file_names, read_submission
from grader.records.results import ExerciseResult, Status

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


@dataclass(frozen=True)
class Packed:
    """A zip and its receipt."""

    data: bytes
    receipt: Receipt


def pack_work(engine: Engine, place: Path, exercises: Sequence[Exercise]) -> Packed:
    """Pack the files at a place, and grade what was packed; raises SubmissionError."""
    files = collect_files(place, exercises)
    if not files:
        raise SubmissionError(f"{place} holds no exercise of this course: there is nothing to pack")
    if not any(_is_of(name, exercise) for name in files for exercise in exercises):
        raise SubmissionError(
            f"{place.name} has no exercise's name: rename it first, as {exercises[0].file}"
        )
    lines = _graded(engine, files, exercises)
    receipt = Receipt(
        format_version=FORMAT_VERSION,
        course=engine.folder.course.title,
        grader=ENGINE,
        key=engine.keys.digest,
        content=content_hash(files),
        score=round(sum(line.score for line in lines), 2),
        max_score=round(sum(line.max_score for line in lines), 2),
        exercises=lines,
    )
    text = json.dumps(asdict(receipt), indent=1, ensure_ascii=False) + "\n"
    return Packed(zipped({**files, RECEIPT: text.encode()}), receipt)


def _graded(
    engine: Engine, files: Mapping[str, bytes], exercises: Sequence[Exercise]
) -> tuple[Line, ...]:
    """Grade the files as they will be read once they are handed in."""
    with tempfile.TemporaryDirectory(prefix="grade-pack-") as scratch:
        for name, data in files.items():
            (Path(scratch) / name).write_bytes(data)
        course = engine.folder.course
        limit = course.limits.source_kib * 1024
        submission = read_submission(Path(scratch), course, list(exercises), limit)
        return tuple(
            _line(exercise, files, engine.run(exercise, submission, quick=True).result)
            for exercise in exercises
        )


def _line(exercise: Exercise, files: Mapping[str, bytes], result: ExerciseResult) -> Line:
    name = next((name for name in files if _is_of(name, exercise)), "")
    digest = hashlib.sha256(files[name]).hexdigest() if name else ""
    status = result.status if name else Status.SKIPPED
    return Line(
        exercise.id, exercise.title, name, digest, result.score, result.max_score, status.value
    )


def collect_files(place: Path, exercises: Sequence[Exercise]) -> dict[str, bytes]:
    """Return the files that grading would read, by name; raises SubmissionError."""
    paths = [place] if place.is_file() else [_graded_file(place, e) for e in exercises]
    files = {}
    for path in paths:
        if path is None:
            continue
        if path.is_symlink() or not path.is_file():
            raise SubmissionError(f"{path} is not an ordinary file: hand in the file itself")
        try:
            files[path.name] = path.read_bytes()
        except OSError as error:
            raise SubmissionError(f"{path} cannot be read: {error.strerror}") from None
    return files


def _graded_file(place: Path, exercise: Exercise) -> Path | None:
    paths = [place / name for name in file_names(exercise)]
    return next((path for path in paths if path.exists()), None)


def _is_of(name: str, exercise: Exercise) -> bool:
    return name in file_names(exercise)


def content_hash(files: dict[str, bytes]) -> str:
    """Return a digest of files by name and content, which any receipt can be held against."""
    sums = "".join(f"{hashlib.sha256(d).hexdigest()}  {n}\n" for n, d in sorted(files.items()))
    return f"sha256:{hashlib.sha256(sums.encode()).hexdigest()}"
