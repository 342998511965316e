"""The documents of the project, and the outputs that they show below commands."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support import ROOT

_BLOCK = re.compile(r"<!-- output: (?P<command>.+?) -->\n```text\n(?P<shown>.*?)^```$", re.M | re.S)
_STEP = re.compile(
    r"<!-- run: (?P<command>.+?) -->"
    r"|<!-- file: (?P<path>.+?) -->\n```\w+\n(?P<text>.*?)^```$",
    re.M | re.S,
)
_HEAD = re.compile(r"(?P<command>.+) \| head -n (?P<lines>\d+)")  # the one pipe that pages have
_OWN = ("COLUMNS", "LINES", "PYTEST_ADDOPTS")  # of whoever runs the tests
_GRADE = "import sys; sys.argv[0] = 'grade'; from grader.cli.main import main; main()"
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))  # what Sphinx builds
DOCUMENTS = [README, *(ROOT / f"{n}.md" for n in ("CONTRIBUTING", "CHANGELOG", "SECURITY")), *PAGES]


class Block(NamedTuple):
    """A command in a document, and the output that stands below it."""

    document: Path
    number: int  # among the document's blocks, from 0
    command: str
    shown: str
    before: str  # what stands in the page between this block and the one before

    def take_steps(self) -> None:
        """Write the files that the page has before the block, and run what it runs unseen."""
        for step in _STEP.finditer(self.before):
            if step["command"]:
                printed_by(step["command"])
            else:
                (ROOT / step["path"]).write_text(step["text"], encoding="utf-8")

    @property
    def id(self) -> str:
        """A name for it in a list of tests."""
        return f"{self.document.name}: {self.command}"


def output_blocks(*documents: Path) -> list[Block]:
    """Return the blocks of output of some documents, in order."""
    return [block for document in documents for block in _blocks_of(document)]


def _blocks_of(document: Path) -> Iterator[Block]:
    text, end = document.read_text(encoding="utf-8"), 0
    for number, found in enumerate(_BLOCK.finditer(text)):
        before, end = text[end : found.start()], found.end()
        yield Block(document, number, found["command"], found["shown"], before)


def check_block(block: Block, printed: str, *, update: bool) -> None:
    """Fail where a block is not what was printed, trailing spaces aside; or write it anew."""
    printed = trimmed(printed)
    if not update:
        assert trimmed(block.shown) == printed
        return
    text = block.document.read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(text))[block.number]
    new = text[: found.start("shown")] + printed + text[found.end("shown") :]
    block.document.write_text(new, encoding="utf-8")


def printed_by(command: str, folder: Path = ROOT, python: str = sys.executable) -> str:
    """Run a document's command in a folder, on no terminal; trailing spaces go."""
    if piped := _HEAD.fullmatch(command):
        lines = printed_by(piped["command"], folder, python).splitlines(keepends=True)
        return "".join(lines[: int(piped["lines"])])
    program, *arguments = shlex.split(command)
    start = {
        "grade": [python, "-c", _GRADE],
        "python": [python],
        "pytest": [python, "-m", "pytest", "-p", "no:cacheprovider"],
    }[program]
    environment = {k: v for k, v in os.environ.items() if k not in _OWN}
    done = subprocess.run(
        [*start, *arguments],
        cwd=folder,
        env={**environment, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()
    return trimmed(done.stdout.decode())


def trimmed(text: str) -> str:
    """Return a text without trailing spaces."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())
