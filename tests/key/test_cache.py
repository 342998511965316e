"""The cache of answer keys: what it keeps."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from grader.course.load import CourseFolder
from grader.errors import InternalError
from grader.key.builders import KeyOrder
from grader.key.cache import Keys, load_keys
from grader.records.answers import load_tensors
from grader.records.calls import HIDDEN, PUBLIC


def _stop(_: Sequence[KeyOrder], __: Callable[[str], None]) -> None:
    raise InternalError("far enough")


def test_keys_that_are_used_outlive_newer_ones(
    folder: CourseFolder, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("GRADE_CACHE", str(cache))
    shutil.copytree(keys.place, cache / keys.place.name)
    for number in range(30):
        (cache / f"{number}").mkdir()
    for number, path in enumerate([cache / keys.place.name, *cache.glob("[0-9]?"), cache / "0"]):
        os.utime(path, (number, number))  # the key in use is the oldest
    load_keys(folder, ["exercise1"], PUBLIC, build=_stop)
    with pytest.raises(InternalError, match="far enough"):
        load_keys(folder, ["exercise1"], HIDDEN, secret=b"another", build=_stop)
    left = {path.name for path in cache.iterdir()}
    assert keys.place.name in left
    assert "10" not in left


def test_what_trains_is_sent_with_trainings_alone(keys: Keys) -> None:
    key = keys.keys["exercise12"]
    samples = {call.learning.samples for call in key.plan.trainings if call.learning}
    sent = [load_tensors(payload).keys() for payload in key.payloads.values()]
    assert samples
    assert samples <= load_tensors(key.payload).keys()
    assert not any(samples & names for names in sent)
    named = {name for call in key.plan.calls for name in call.parameters.values()}
    assert named <= set().union(*sent)


def test_keys_that_another_process_builds_stay(
    folder: CourseFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("GRADE_CACHE", str(cache))
    for number in range(30):
        (cache / f"{number}").mkdir(parents=True)
    for number in range(15):
        os.utime(cache / f"{number}", (number, number))
    with pytest.raises(InternalError, match="far enough"):
        load_keys(folder, ["exercise1"], HIDDEN, secret=b"another", build=_stop)
    left = {path.name for path in cache.iterdir()}
    assert left >= {f"{number}" for number in range(15, 30)}
    assert not left & {f"{number}" for number in range(15)}
