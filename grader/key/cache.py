"""Finds an answer key by the content of course and solutions, or has it built."""

import hashlib
import importlib.metadata
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import platformdirs

import grader
from grader.bundle import KEY_FOLDER, check_parts, read_manifest
from grader.compare.signature import Suspects
from grader.course.load import COURSE_FILE, CourseFolder, renewal
from grader.errors import CourseError, InternalError
from grader.key.builders import KEY, Task, build_all
from grader.key.store import PAIRS, AnswerKey, DamagedKey, read_key, read_pairs
from grader.plan.records import PUBLIC

PUBLIC_SECRET = b"public"
_KEPT = 12  # keys of older contents that stay in the cache
_ENGINE_PARTS = ("course", "plan", "worker", "key", "compare")
_LIBRARIES = ("torch", "numpy", "hypothesis")


@dataclass(frozen=True)
class Keys:
    """The answer keys of some exercises on one split."""

    digest: str  # "sha256:..." of all that they depend on
    keys: dict[str, AnswerKey]
    place: Path  # where they are kept
    pairs: Callable[[str], Mapping[str, Suspects]]  # of an exercise, built on first need
    notes: tuple[str, ...] = ()


def load_keys(
    folder: CourseFolder,
    exercises: Sequence[str],
    split: str,
    *,
    secret: bytes = PUBLIC_SECRET,
    on_built: Callable[[str], None] = lambda _: None,
    build: Callable[[Sequence[Task], Callable[[Task], None]], object] = build_all,
    part: str = KEY,
) -> Keys:
    """Return the keys, building what is missing or damaged; raises GraderError.

    `on_built` hears each exercise whose key was built just now, by a task `part` that `build`
    works off.
    """
    if folder.shipped and split == PUBLIC:
        return _shipped_keys(folder, exercises)
    digest = content_digest(folder, split, secret)
    place = cache_folder() / digest[:32]
    notes: list[str] = []
    keys: dict[str, AnswerKey] = {}
    for exercise in exercises:
        try:
            keys[exercise] = read_key(place, exercise, split)
        except DamagedKey as damage:
            notes.append(f"a damaged answer key was built anew ({damage})")
        except OSError:
            pass
    missing = [e for e in exercises if e not in keys]
    if missing:
        _check_solutions(folder, split)
        # from the last: later ones assemble earlier ones, take longest, and should not come last
        tasks = partial(tasks_for, part, folder, missing[::-1], split, secret)
        try:
            place.mkdir(parents=True, exist_ok=True)
            _forget_old(place.parent, place)
            keys |= _build(tasks(place), on_built, build)
        except OSError as error:
            with tempfile.TemporaryDirectory(prefix="grade-key-") as temporary:
                keys |= _build(tasks(Path(temporary)), on_built, build)
            notes.append(f"the answer key could not be kept in {place.parent}: {error.strerror}")
    pairs = _pairs_builder(folder, split, secret, place)
    return Keys(f"sha256:{digest}", {e: keys[e] for e in exercises}, place, pairs, tuple(notes))


def _shipped_keys(folder: CourseFolder, exercises: Sequence[str]) -> Keys:
    """Return the keys that came with a student's course, whatever torch is installed.

    Raises CourseError where a file is missing, was changed, or is another version's.
    """
    manifest = read_manifest(folder)
    check_parts(folder, manifest, exercises)
    place = folder.root / KEY_FOLDER
    try:
        keys = {exercise: read_key(place, exercise, PUBLIC) for exercise in exercises}
    except (DamagedKey, OSError) as damage:
        raise CourseError(
            f"the answer key cannot be read ({damage}); {renewal(folder.root)}"
        ) from None

    @cache
    def pairs(exercise: str) -> Mapping[str, Suspects]:
        try:
            return read_pairs(place, exercise, PUBLIC)
        except (OSError, DamagedKey):
            return {}  # a diagnosis is lost, the score is not

    return Keys(manifest.key, keys, place, pairs)


def _pairs_builder(
    folder: CourseFolder, split: str, secret: bytes, place: Path
) -> Callable[[str], Mapping[str, Suspects]]:
    @cache
    def pairs(exercise: str) -> Mapping[str, Suspects]:
        try:
            return read_pairs(place, exercise, split)
        except (OSError, DamagedKey):
            pass
        if not folder.solutions.is_dir() or not place.is_dir():
            return {}
        try:
            build_all(tasks_for("pairs", folder, [exercise], split, secret, place))
            return read_pairs(place, exercise, split)
        except (OSError, DamagedKey):
            return {}  # a diagnosis is lost, the score is not

    return pairs


def cache_folder() -> Path:
    """Return where keys are kept: GRADE_CACHE, or the user's cache."""
    named = os.environ.get("GRADE_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("grade") / "keys"


def content_digest(folder: CourseFolder, split: str, secret: bytes) -> str:
    """Return a digest of everything that a key depends on, in hexadecimal."""
    digest = hashlib.sha256()
    for part in (split, hashlib.sha256(secret).hexdigest(), engine_digest(), *_versions()):
        digest.update(f"{part}\n".encode())
    files = [folder.root / COURSE_FILE, *sorted(folder.solutions.rglob("*"))]
    for path in files:
        if path.is_file() and "__pycache__" not in path.parts:
            name = path.relative_to(folder.root).as_posix()
            digest.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def engine_digest() -> str:
    """Return a digest of the engine's own code that builds keys."""
    root = Path(grader.__file__).parent
    digest = hashlib.sha256(grader.__version__.encode())
    for part in _ENGINE_PARTS:
        for path in sorted((root / part).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _versions() -> list[str]:
    return [f"{name} {importlib.metadata.version(name)}" for name in _LIBRARIES]


def build_missing_pairs(
    folder: CourseFolder,
    keys: Keys,
    split: str,
    secret: bytes,
    on_built: Callable[[str], None] = lambda _: None,
) -> None:
    """Build the signatures of two bugs at once that are missing, side by side."""
    if not folder.solutions.is_dir() or not keys.place.is_dir():
        return
    missing = [e for e in keys.keys if not (keys.place / f"{e}.{split}.{PAIRS}").is_file()]
    tasks = tasks_for("pairs", folder, missing[::-1], split, secret, keys.place)
    build_all(tasks, lambda task: on_built(task.exercise))


def _check_solutions(folder: CourseFolder, split: str) -> None:
    if folder.solutions.is_dir():
        return
    if split != PUBLIC:
        raise CourseError(f"{folder.root}: hidden cases need the course's solutions, not here")
    raise CourseError(f"{folder.root / KEY_FOLDER} is missing; {renewal(folder.root)}")


def _build(
    tasks: Sequence[Task],
    on_built: Callable[[str], None],
    build: Callable[[Sequence[Task], Callable[[Task], None]], object],
) -> dict[str, AnswerKey]:
    """Build keys; raises OSError where their folder is not writable."""
    place = Path(tasks[0].into)
    probe = place / f".probe.{os.getpid()}"
    probe.write_bytes(b"x" * 4096)
    probe.unlink()
    build(tasks, lambda task: on_built(task.exercise))
    try:
        return {task.exercise: read_key(place, task.exercise, task.split) for task in tasks}
    except DamagedKey as damage:
        raise InternalError(f"an answer key just built cannot be read: {damage}") from None


def tasks_for(
    part: str,
    folder: CourseFolder,
    exercises: Sequence[str],
    split: str,
    secret: bytes,
    place: Path,
) -> list[Task]:
    """Return one task an exercise."""
    root = str(folder.root)
    return [Task(part, root, e, split, secret.hex(), str(place)) for e in exercises]


def _forget_old(cache: Path, current: Path) -> None:
    """Remove all but the newest keys of other contents."""
    places = [p for p in cache.iterdir() if p.is_dir() and p != current]
    for place in sorted(places, key=lambda p: p.stat().st_mtime)[:-_KEPT]:
        shutil.rmtree(place, ignore_errors=True)
