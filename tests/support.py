"""What the tests of grading share beside fixtures: places, records and finders."""

import hashlib
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from grader.records import CheckResult, ExerciseResult, Kind, Status

_BLOCK = re.compile(r"<!-- output: (?P<command>.+?) -->\n```text\n(?P<shown>.*?)^```$", re.M | re.S)
TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SUBMISSIONS = TESTS / "submissions"
GOLDEN = TESTS / "golden"
README = ROOT / "README.md"


class Block(NamedTuple):
    """A command in the README, and the output that stands below it."""

    command: str
    shown: str


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


def find_check(result: ExerciseResult, name: str) -> CheckResult:
    """Return the check whose id ends in `name`, as "fold_heads/shape"."""
    found = [check for check in result.checks if check.id.endswith(f"/{name}")]
    assert len(found) == 1, f"{name}: {[check.id for check in result.checks]}"
    return found[0]


def target_checks(result: ExerciseResult, target: str) -> list[CheckResult]:
    """Return a target's checks; there are some."""
    found = [check for check in result.checks if check.target == target]
    assert found, target
    return found


def assert_full(result: ExerciseResult) -> None:
    """Fail with the messages of what is not passed."""
    missed = {c.id: c.message for c in result.checks if c.status is not Status.PASSED}
    assert not missed
    assert result.score == result.max_score > 0


def assert_target_full(result: ExerciseResult, target: str) -> None:
    """Fail with the messages of what is not passed of one target."""
    checks = target_checks(result, target)
    assert {c.id: c.message for c in checks if c.status is not Status.PASSED} == {}


def points_of(result: ExerciseResult, *kinds: Kind) -> float:
    """Return the points that are possible for these kinds."""
    return round(sum(c.max_score for c in result.checks if c.kind in kinds), 6)


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


def content_hash(path: Path) -> str:
    """Return a digest of every name, kind and content below `path`, and of the times of change."""
    digest = hashlib.sha256()
    for entry in sorted([path, *path.rglob("*")]):
        state = entry.lstat()
        digest.update(f"{entry.relative_to(path)} {state.st_mode} {state.st_mtime_ns}\n".encode())
        if entry.is_file() and not entry.is_symlink():
            digest.update(entry.read_bytes())
    return digest.hexdigest()


def readme_blocks() -> list[Block]:
    """Return the README's blocks of output."""
    text = README.read_text(encoding="utf-8")
    return [Block(found["command"], found["shown"]) for found in _BLOCK.finditer(text)]


def check_block(block: Block, printed: str, *, update: bool) -> None:
    """Fail where a block is not what was printed, trailing spaces aside; or write it anew."""
    printed = trimmed(printed)
    if not update:
        assert trimmed(block.shown) == printed
        return
    text = README.read_text(encoding="utf-8")
    head = f"<!-- output: {block.command} -->\n```text\n"
    new = text.replace(f"{head}{block.shown}```", f"{head}{printed}```")
    README.write_text(new, encoding="utf-8")


def trimmed(text: str) -> str:
    """Return a text without trailing spaces."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def find_browser() -> str | None:
    """Return the program of a Chromium, None where this machine has none."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next((found for name in names if (found := shutil.which(name))), None)
