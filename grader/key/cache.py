"""Finds an answer key by the content of course and solutions, or has it built."""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import platformdirs

from grader.course.load import CourseFolder, renewal
from grader.course.shipped import KEY_FOLDER, check_parts, read_bundle_manifest
from grader.course.written import frameworks_of
from grader.errors import CourseError, InternalError
from grader.key.builders import KeyOrder
from grader.key.digest import content_digest
from grader.key.store import PAIRS, DamagedKey, read_key, read_pairs
from grader.key.tasks import build_all, build_key, build_pairs
from grader.records.calls import PUBLIC
from grader.records.key import AnswerKey
from grader.records.signatures import Suspects

Build = Callable[[Sequence[KeyOrder], Callable[[str], None]], None]

PUBLIC_SECRET = b"public"
_KEPT = 12  # keys of other contents that stay in the cache
_IN_USE = 3600.0  # seconds since a content's last use in which another process may still build it


def build_keys(orders: Sequence[KeyOrder], on_built: Callable[[str], None]) -> None:
    """Build keys in builders of their own; `on_built` hears each target and exercise."""
    build_all(build_key, orders, on_built)


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
    build: Build = build_keys,
) -> Keys:
    """Return the keys, building what is missing or damaged; raises GraderError.

    `on_built` hears of each target whose key is being built, or its pairs, and of exercises' keys.
    """
    frameworks = frameworks_of(folder.course, exercises)
    if missing := [one.missing for one in frameworks if one.missing]:
        raise CourseError(missing[0])
    unheard = tuple(one.unheard for one in frameworks if one.unheard)
    if folder.shipped and (split == PUBLIC or _ships(folder, split)):
        return replace(_shipped_keys(folder, exercises, split), notes=unheard)
    digest = content_digest(folder, split, secret)
    place = cache_folder() / digest[:32]
    notes = [*unheard]
    keys = _kept_keys(place, exercises, split, notes)
    if missing := [e for e in exercises if e not in keys]:
        _check_solutions(folder, split)
        # from the last: later ones assemble earlier ones, take longest, and should not come last
        orders = partial(orders_for, folder, missing[::-1], split, secret)
        keys |= _built_keys(place, orders, partial(_build, on_built=on_built, build=build), notes)
    pairs = _pairs_builder(folder, split, secret, place, on_built)
    return Keys(f"sha256:{digest}", {e: keys[e] for e in exercises}, place, pairs, tuple(notes))


def _kept_keys(
    place: Path, exercises: Sequence[str], split: str, notes: list[str]
) -> dict[str, AnswerKey]:
    """Return the keys that are there and whole; `notes` hear of those that are not."""
    keys = {}
    for exercise in exercises:
        try:
            keys[exercise] = read_key(place, exercise, split)
        except DamagedKey as damage:
            notes.append(f"a damaged answer key was built anew ({damage})")
        except OSError:
            pass
    with contextlib.suppress(OSError):
        os.utime(place)  # what is in use is not forgotten for what is new
    return keys


def _built_keys(
    place: Path,
    orders: Callable[[Path], Sequence[KeyOrder]],
    build: Callable[[Sequence[KeyOrder]], dict[str, AnswerKey]],
    notes: list[str],
) -> dict[str, AnswerKey]:
    """Build keys to be kept; where they cannot be, `notes` hear of it."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        _forget_old(place.parent, place)
        return build(orders(place))
    except OSError as error:
        notes.append(f"the answer key could not be kept in {place.parent}: {error.strerror}")
        with tempfile.TemporaryDirectory(prefix="grade-key-") as temporary:
            return build(orders(Path(temporary)))


def _ships(folder: CourseFolder, split: str) -> bool:
    """Whether a course that was made from a bundle has the key of a split."""
    return any(f".{split}." in name for name in read_bundle_manifest(folder).files)


def _shipped_keys(folder: CourseFolder, exercises: Sequence[str], split: str) -> Keys:
    """Return the keys that came with a course, whatever torch is installed.

    Raises CourseError where a file is missing, was changed, or is another version's.
    """
    manifest = read_bundle_manifest(folder)
    check_parts(folder, manifest, exercises)
    place = folder.root / KEY_FOLDER
    try:
        keys = {exercise: read_key(place, exercise, split) for exercise in exercises}
    except (DamagedKey, OSError) as damage:
        raise CourseError(
            f"the answer key cannot be read ({damage}); {renewal(folder.root)}"
        ) from None

    @cache
    def pairs(exercise: str) -> Mapping[str, Suspects]:
        try:
            return read_pairs(place, exercise, split)
        except (OSError, DamagedKey):
            return {}  # a diagnosis is lost, the score is not

    return Keys(manifest.key, keys, place, pairs)


def _pairs_builder(
    folder: CourseFolder, split: str, secret: bytes, place: Path, on_built: Callable[[str], None]
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
            orders = orders_for(folder, [exercise], split, secret, place)
            build_all(build_pairs, orders, lambda where: on_built(f"pairs of bugs of {where}"))
            return read_pairs(place, exercise, split)
        except InternalError as error:
            _tell_lost(exercise, error)
        except (OSError, DamagedKey):
            pass
        return {}  # a diagnosis is lost, the score is not

    return pairs


def cache_folder() -> Path:
    """Return where keys are kept: GRADE_CACHE, or the user's cache."""
    named = os.environ.get("GRADE_CACHE")
    return Path(named) if named else platformdirs.user_cache_path("grade") / "keys"


def build_missing_pairs(
    folder: CourseFolder,
    keys: Keys,
    on_built: Callable[[str], None] = lambda _: None,
) -> None:
    """Build the signatures of two bugs at once that are missing, side by side.

    `keys` are those of the public cases.
    """
    if not folder.solutions.is_dir() or not keys.place.is_dir():
        return
    missing = [e for e in keys.keys if not (keys.place / f"{e}.{PUBLIC}.{PAIRS}").is_file()]
    orders = orders_for(folder, missing[::-1], PUBLIC, PUBLIC_SECRET, keys.place)
    try:
        build_all(build_pairs, orders, on_built)
    except InternalError as error:  # what is still missing is tried again on first need
        _tell_lost("some exercise", error)


def _tell_lost(where: str, error: InternalError) -> None:
    sys.stderr.write(f"grade: two mistakes at once are not named in {where}: {error}\n")


def _check_solutions(folder: CourseFolder, split: str) -> None:
    if folder.solutions.is_dir():
        return
    if split != PUBLIC:
        raise CourseError(f"{folder.root}: hidden cases need the course's solutions, not here")
    raise CourseError(f"{folder.root / KEY_FOLDER} is missing; {renewal(folder.root)}")


def _build(
    orders: Sequence[KeyOrder], on_built: Callable[[str], None], build: Build
) -> dict[str, AnswerKey]:
    """Build keys; raises OSError where their folder is not writable."""
    place = orders[0].into
    probe = place / f".probe.{os.getpid()}"
    probe.write_bytes(b"x" * 4096)
    probe.unlink()
    build(orders, on_built)
    try:
        return {o.exercise: read_key(place, o.exercise, o.split) for o in orders}
    except DamagedKey as damage:
        raise InternalError(f"an answer key just built cannot be read: {damage}") from None


def orders_for(
    folder: CourseFolder, exercises: Sequence[str], split: str, secret: bytes, place: Path
) -> list[KeyOrder]:
    """Return one order an exercise, which holds in whatever folder a builder works."""
    course, into = folder.root.absolute(), place.absolute()
    return [KeyOrder(course, exercise, split, secret, into) for exercise in exercises]


def _forget_old(cache: Path, current: Path) -> None:
    """Remove all keys of other contents but those that were used last or are in use."""
    places = {p: p.stat().st_mtime for p in cache.iterdir() if p.is_dir() and p != current}
    in_use = time.time() - _IN_USE
    for place in sorted(places, key=places.__getitem__)[:-_KEPT]:
        if places[place] < in_use:
            shutil.rmtree(place, ignore_errors=True)
