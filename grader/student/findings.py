"""What grading found in a text, kept so that the next command need not grade it again.

It stands in `.grade/found/` of a student's course, one file an exercise, and is no more than a
cache. It is taken only for the same text, course, grader and libraries, and only where this user
wrote it on this machine: it is sealed with a secret outside the course. All else is graded again;
what a training came to is taken as long as all that the training reads is the same.
Nothing of it is handed in, and nothing that grades a class can import this module.
"""

import base64
import hashlib
import hmac
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import platformdirs
from pydantic import BaseModel, ConfigDict, ValidationError

from grader.course.load import COURSE_FILE, MANIFEST_FILE, CourseFolder
from grader.course.models import Exercise
from grader.course.shipped import read_bundle_manifest
from grader.course.written import libraries_of
from grader.files import write_files
from grader.grading.discretion import with_checks
from grader.grading.learnt import Learnt, learnt_of
from grader.grading.summary import ENGINE
from grader.grading.trace import Trace, traces_of
from grader.handin.read import Submission
from grader.records.ids import CheckId
from grader.records.results import CheckResult, ExerciseResult, Status

if TYPE_CHECKING:  # what grades is not imported where nothing is graded
    from grader.grading.engine import Engine
    from grader.grading.exercise import Run

_FOLDER = ".grade/found"
_PACKAGE = Path(__file__).resolve().parents[1]
_SEAL_BYTES = 32
_PASSING = (Status.TIMEOUT, Status.ERROR)  # another run may end otherwise


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    stamp: str  # of all that the rest depends on
    trained: dict[str, str]  # by target: a stamp of all that its training depends on
    whole: bool  # the smallest inputs that show a failure were looked for
    result: ExerciseResult
    traces: dict[str, Trace | None]  # by target


@dataclass(frozen=True)
class Finding:
    """What grading an exercise of a submission came to."""

    exercise: Exercise
    result: ExerciseResult
    run: "Run | None"  # None for what was kept
    whole: bool
    kept: Mapping[str, Trace | None] = field(default_factory=dict)

    @property
    def learnt(self) -> tuple[Learnt, ...]:
        """What its trainings came to, where they were run just now."""
        return learnt_of(self.exercise, self.run) if self.run else ()

    @cached_property
    def traces(self) -> Mapping[str, Trace | None]:
        """The runs of its targets, recorded; what was just graded runs once more."""
        return traces_of(self.exercise, self.run) if self.run else self.kept


@dataclass
class Findings:
    """What is found in a student's submissions: kept, or graded on first need."""

    folder: CourseFolder
    open: "Callable[[], Engine]"
    own: bool  # it is the student's own work, and not a file elsewhere: it can be kept
    fresh: bool = False  # nothing that was kept is taken
    graded: list[tuple[Submission, Finding]] = field(default_factory=list)

    @cached_property
    def engine(self) -> "Engine":
        """Return what grades; it is opened on first need, since torch takes long to load."""
        return self.open()

    @property
    def key_digest(self) -> str:
        """Return the digest of the answer key, without reading the key where that can be."""
        if self.folder.shipped:
            return read_bundle_manifest(self.folder).key
        return self.engine.keys.digest

    def of(
        self, exercises: Sequence[Exercise], submission: Submission, *, whole: bool = False
    ) -> Iterator[Finding]:
        """Yield what is found, in order; `whole` is for those who show the smallest inputs."""
        found = {} if self.fresh else {e.id: recall(self.folder, e, submission) for e in exercises}
        known = {i: one for i, one in found.items() if one and (one.whole or not whole)}
        rest = [e for e in exercises if e.id not in known]
        runs = self.engine.runs(rest, submission, quick=not whole) if rest else iter(())
        for exercise in exercises:
            if exercise.id in known:
                yield known[exercise.id]
                continue
            run = next(runs)
            result = self._with_trainings(exercise, submission, run.result)
            finding = Finding(exercise, result, run, whole)
            self.graded.append((submission, finding))
            yield finding

    def _with_trainings(
        self, exercise: Exercise, submission: Submission, result: ExerciseResult
    ) -> ExerciseResult:
        """Take what a training of the same text came to, where it was not trained anew."""
        if not (self.own and any(check.waits for check in result.checks)):
            return result
        trained = _recall_trainings(self.folder, exercise, submission)
        checks = [trained.get(c.id, c) if c.waits else c for c in result.checks]
        if checks == list(result.checks):
            return result
        score = round(sum(check.score for check in checks), 2)
        return replace(with_checks(result, checks), score=score)

    def keep(self) -> None:
        """Keep what was just graded, for the next command."""
        for submission, finding in self.graded if self.own else ():
            keep(self.folder, submission, finding)
        self.graded.clear()


def keep(folder: CourseFolder, submission: Submission, finding: Finding) -> None:
    """Keep what was found in a student's course; a folder that cannot be written keeps nothing."""
    result = finding.result
    if not folder.shipped or any(check.status in _PASSING for check in result.checks):
        return
    kept = _Kept(
        stamp=_stamp(folder, finding.exercise, submission),
        trained=_training_stamps(folder, finding.exercise, submission),
        whole=finding.whole,
        result=result,
        traces={**finding.traces},
    )
    text = json.dumps(kept.model_dump(), default=_plain).encode()
    try:
        data = b"%s\n%s" % (_seal(text), text)
        write_files(folder.root, {f"{_FOLDER}/{result.exercise}.json": data})
    except OSError:
        return


def recall(folder: CourseFolder, exercise: Exercise, submission: Submission) -> Finding | None:
    """Return what was found in the same text; None where it has to be graded."""
    kept = _read(folder, exercise)
    if kept is None or kept.stamp != _stamp(folder, exercise, submission):
        return None
    return Finding(exercise, kept.result, None, kept.whole, kept.traces)


def _recall_trainings(
    folder: CourseFolder, exercise: Exercise, submission: Submission
) -> dict[CheckId, CheckResult]:
    """Return what trainings came to that read what they would read now."""
    kept = _read(folder, exercise)
    if kept is None:
        return {}
    now = _training_stamps(folder, exercise, submission)
    same = {target for target, stamp in now.items() if kept.trained.get(target) == stamp}
    # a line that a message names may be another one by now
    return {c.id: c for c in kept.result.checks if c.target in same and c.place is None}


def _read(folder: CourseFolder, exercise: Exercise) -> _Kept | None:
    """Return what was kept of an exercise, whatever it was found in; None where nothing is good."""
    if not folder.shipped:
        return None
    try:
        data = (folder.root / _FOLDER / f"{exercise.id}.json").read_bytes()
        seal, _, text = data.partition(b"\n")
        if not hmac.compare_digest(seal, _seal(text)):
            return None
        return _Kept.model_validate(json.loads(text, object_hook=_rebuilt))
    except (OSError, ValueError, ValidationError):
        return None


def _stamp(folder: CourseFolder, exercise: Exercise, submission: Submission) -> str:
    """Return a digest of all that a result depends on."""
    read = [exercise, *(folder.course.earlier(exercise) if exercise.builds_on_earlier else ())]
    return _digest(folder, exercise, [submission.source(one) for one in read])


def _training_stamps(
    folder: CourseFolder, exercise: Exercise, submission: Submission
) -> dict[str, str]:
    """Return by target a digest of all that its training depends on."""
    from grader.grading.training_text import read_by_trainings  # only after grading

    read = read_by_trainings(folder, exercise, submission)
    return {target: _digest(folder, exercise, text) for target, text in read.items()}


def _digest(folder: CourseFolder, exercise: Exercise, read: object) -> str:
    """Return a digest of what is read of a submission, and of what grades it."""
    depends = (
        exercise.id,
        read,
        [(folder.root / name).read_bytes() for name in (COURSE_FILE, MANIFEST_FILE)],
        [ENGINE, _code_digest(), platform.python_version()],
        [version(name) for name in (*libraries_of(folder.course), "numpy")],
    )
    return hashlib.sha256(repr(depends).encode()).hexdigest()


@cache
def _code_digest() -> str:
    """Return a digest of the grader's own code, which may change within a version."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _seal(text: bytes) -> bytes:
    """Return the seal of this user on this machine; raises OSError where there can be none."""
    path = platformdirs.user_cache_path("grade") / "seal"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
            new.write(os.urandom(_SEAL_BYTES))
    secret = path.read_bytes()
    if len(secret) != _SEAL_BYTES:
        path.unlink()  # cut short: the next command makes another
        raise OSError(f"{path} is damaged")
    return hmac.new(secret, text, hashlib.sha256).hexdigest().encode()


def _plain(value: object) -> object:
    """Return what JSON does not have as what it has."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": value.shape, "bytes": data}
    raise TypeError(f"{type(value).__name__} is not kept")


def _rebuilt(fields: Mapping[str, object]) -> object:
    """Return the array that `_plain` wrote, or the fields of anything else."""
    if fields.keys() != {"dtype", "shape", "bytes"}:
        return fields
    data = base64.b64decode(str(fields["bytes"]))
    return np.frombuffer(data, str(fields["dtype"])).reshape(fields["shape"])  # type: ignore[call-overload]
