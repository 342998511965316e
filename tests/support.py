"""What the tests of grading share beside fixtures: places, records and finders."""

import ctypes
import errno
import hashlib
import os
import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from grader.course.models import Exercise
from grader.grading.jobs import Standins
from grader.records.calls import Call
from grader.records.results import CheckResult, ExerciseResult, Kind, Status
from grader.worker.protocol import Action, Role, TargetKind, Value

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SUBMISSIONS = TESTS / "submissions"
GOLDEN = TESTS / "golden"
# ids of the course's exercises, in its order
EXERCISES = sorted(
    (path.name.partition("_")[0] for path in (ROOT / "exercises").glob("exercise*.py")),
    key=lambda name: int(name.removeprefix("exercise")),
)
NO_TOOL = "no tool: "  # so begins why a test is skipped for want of what can be installed

# of a submission that writes into the pipe which its answers go through
FIND_PIPE = """
import os, stat, struct, json

def pipes():
    found = []
    for fd in range(3, 64):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if stat.S_ISFIFO(mode):
            try:
                os.write(fd, b"")
                found.append(fd)
            except OSError:
                pass
    return found

def forge(data):
    for fd in pipes():
        os.write(fd, data)

def frame(header, payload=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<II", len(text), len(payload)) + text + payload
"""


class Shown(NamedTuple):
    """What the console script came to."""

    status: int
    out: str
    err: str


class Grade(Protocol):
    """Grades one exercise of what stands at a path."""

    def __call__(self, path: Path, exercise_id: str, **limits: Any) -> ExerciseResult: ...


class GradeText(Protocol):
    """Grades the first of some texts by exercise id; the rest are there beside it."""

    def __call__(self, texts: dict[str, str], **limits: Any) -> ExerciseResult: ...


class RunGrade(Protocol):
    """Runs `grade` with arguments, in a folder, with more environment variables."""

    def __call__(self, *arguments: object, cwd: Path = ROOT, **variables: str) -> Shown: ...


def call_with(roles: Sequence[Role], suffix: str = "") -> Call:
    """Return a call of a module (3, 2) whose parameters' keys are their roles' names, suffixed."""
    construct = (Value(3), Value(2))
    keys = {role.name: f"{role.name}{suffix}" for role in roles}
    kinds = (TargetKind.MODULE, Action.FORWARD)
    name = "target/main-1/forward"
    return Call(name, "target", *kinds, construct, {}, (), ("output",), tuple(roles), keys)


def without_parts(standins: Standins, exercise: Exercise) -> Standins:
    """Return stand-ins that have no part of an exercise itself."""
    others = {stem: text for stem, text in standins.sources.items() if stem != exercise.stem}
    return replace(standins, sources=others)


def all_told(result: ExerciseResult, target: str) -> str:
    """All that is said of a target's mistakes: the sentences, the hints, the deviations."""
    found = [one for one in result.diagnoses if one.target == target]
    return " ".join(part for d in found for part in (d.sentence, d.hint, *d.deviations) if part)


def find_check(result: ExerciseResult, name: str) -> CheckResult:
    """Return the check whose id ends in `name`, as "fold_heads/shape"."""
    found = [check for check in result.checks if str(check.id).endswith(f"/{name}")]
    assert len(found) == 1, f"{name}: {[str(check.id) for check in result.checks]}"
    return found[0]


def target_checks(result: ExerciseResult, target: str) -> list[CheckResult]:
    """Return a target's checks; there are some."""
    found = [check for check in result.checks if check.target == target]
    assert found, target
    return found


def assert_full(result: ExerciseResult) -> None:
    """Fail with the messages of what is not passed."""
    missed = {str(c.id): c.message for c in result.checks if c.status is not Status.PASSED}
    assert not missed
    assert result.score == result.max_score > 0


def assert_target_full(result: ExerciseResult, target: str) -> None:
    """Fail with the messages of what is not passed of one target."""
    checks = target_checks(result, target)
    assert {str(c.id): c.message for c in checks if c.status is not Status.PASSED} == {}


def points_of(result: ExerciseResult, *kinds: Kind) -> float:
    """Return the points that are possible for these kinds."""
    return round(sum(c.max_score for c in result.checks if c.kind in kinds), 6)


def plain_call(name: str, target: str) -> Call:
    """Return a call of a function without arguments."""
    return Call(name, target, TargetKind.FUNCTION, Action.FORWARD, [], {}, [], ["output"])


def solution(name: str) -> str:
    """Return the text of a reference by its file's stem or exercise id."""
    (path,) = (ROOT / "solutions").glob(f"{name.split('_')[0]}_*.py")
    return path.read_text(encoding="utf-8")


def edited(text: str, *edits: tuple[str, str]) -> str:
    """Return `text` with each of `edits` made; what is to be replaced stands there once."""
    for old, new in edits:
        assert text.count(old) == 1, f"{text.count(old)} times: {old}"
        text = text.replace(old, new)
    return text


def grade_edited(
    grade: Grade, folder: Path, exercise: str, *edits: tuple[str, str]
) -> ExerciseResult:
    """Grade a reference with `edits` made, in a folder where the other references lie, too."""
    for file in (ROOT / "solutions").glob("exercise*.py"):
        shutil.copy(file, folder)
    (file,) = folder.glob(f"{exercise}_*.py")
    file.write_text(edited(solution(exercise), *edits), encoding="utf-8")
    return grade(folder, exercise)


def content_hash(path: Path) -> str:
    """Return a digest of every name, kind and content below `path`, and of the times of change."""
    digest = hashlib.sha256()
    for entry in sorted([path, *path.rglob("*")]):
        state = entry.lstat()
        digest.update(f"{entry.relative_to(path)} {state.st_mode} {state.st_mtime_ns}\n".encode())
        if entry.is_file() and not entry.is_symlink():
            digest.update(entry.read_bytes())
    return digest.hexdigest()


@contextmanager
def as_anybody() -> Iterator[None]:
    """Let root, too, be kept from what is closed: for a while all capabilities are given up."""
    call = {"x86_64": (125, 126), "aarch64": (90, 91)}[os.uname().machine]  # capget, capset
    libc, header = ctypes.CDLL(None, use_errno=True), struct.pack("=Ii", 0x20080522, 0)
    held = ctypes.create_string_buffer(24)  # effective, permitted, inheritable; twice 32 bits
    assert libc.syscall(ctypes.c_long(call[0]), header, held) == 0
    _, permitted, inherited, _, more, rest = struct.unpack("=6I", held.raw)
    none = struct.pack("=6I", 0, permitted, inherited, 0, more, rest)
    assert libc.syscall(ctypes.c_long(call[1]), header, none) == 0
    try:
        yield
    finally:
        assert libc.syscall(ctypes.c_long(call[1]), header, held.raw) == 0


def in_a_child(act: Callable[[], object]) -> str:
    """Return the name of the error that `act` ends in, in a process of its own; "" for none."""
    told, telling = os.pipe()
    pid = os.fork()
    if not pid:
        word = ""
        try:
            act()
        except OSError as error:
            word = errno.errorcode.get(error.errno or 0, str(error))
        except BaseException as error:  # noqa: BLE001 - a child tells all
            word = repr(error)
        os.write(telling, word.encode())
        os._exit(0)
    os.close(telling)
    with os.fdopen(told) as words:
        word = words.read()
    _, status = os.waitpid(pid, 0)
    return word if status == 0 else f"status {status}"
