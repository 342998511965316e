"""Looks for what must not leave the instructor's hands in what is about to be shipped."""

import base64
import binascii
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.course.bugs import load_bugs
from grader.course.derive import derive_stub, solution_lines
from grader.course.load import CourseFolder
from grader.records.calls import HIDDEN

_SHORT = 16  # characters; a shorter line of code stands in a text by chance
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{40,}={0,2}")
_BASE85 = re.compile(rb"[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{40,}")
_PRINTED = re.compile(
    rf"[ -~]{{{_SHORT},}}"
)  # what most lines of code are made of, and bytes are not
_COMMON = ("import ", "from ", "with torch.no_grad():")  # begin lines of anybody's code
_DEEP = 3  # layers of zip or encoding that are opened


@dataclass(frozen=True)
class Leak:
    """A line that should not be in a file."""

    file: str
    line: str


@dataclass(frozen=True)
class Secrets:
    """Lines of solutions and known bugs that stand in no stub."""

    lines: frozenset[str]

    @staticmethod
    def of(folder: CourseFolder) -> "Secrets":
        """Gather a course's secrets; raises CourseError where a file of it is wrong."""
        lines: set[str] = set()
        stubs = ""
        for exercise in folder.course.exercises:
            source = (folder.solutions / exercise.file).read_text(encoding="utf-8")
            stubs += derive_stub(source)
            lines.update(solution_lines(source))
            for bug in load_bugs(folder, exercise, source):
                for change in [bug.change, *(one.change for one in bug.also)]:
                    for one in change:
                        lines.update(f"{one.old}\n{one.new}".splitlines())
        for path in sorted((folder.solutions / "bugs").rglob("*.py")):
            lines.update(path.read_text(encoding="utf-8").splitlines())
        code = {line.split("#")[0].strip() for line in lines}
        code = {line for line in code if len(line) >= _SHORT and not line.startswith(_COMMON)}
        return Secrets(frozenset(line for line in code if line not in stubs))


def find_leaks(files: Mapping[str, bytes], secrets: Secrets) -> list[Leak]:
    """Return every secret line in some files, also where it is packed or encoded."""
    leaks = []
    for name, data in files.items():
        if f".{HIDDEN}." in name:
            leaks.append(Leak(name, "hidden cases"))
        text = "\n".join(_readings(data))
        printed = "\n".join(_PRINTED.findall(text))  # a quarter of it, and each line is looked for
        for line in sorted(secrets.lines):
            if line in (printed if _PRINTED.fullmatch(line) else text):
                leaks.append(Leak(name, line))
    return leaks


def _readings(data: bytes, depth: int = 0) -> Iterator[str]:
    """Yield a file's text, and that of all that is packed or encoded in it."""
    text = data.decode("utf-8", "replace")
    yield text
    yield from _json_strings(text)
    if depth == _DEEP:
        return
    for inner in _unpacked(data):
        yield from _readings(inner, depth + 1)


def _json_strings(text: str) -> Iterator[str]:
    """Yield strings of a JSON document with their escapes resolved."""
    try:
        waiting = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield "".join(part for part in value if isinstance(part, str))  # a notebook's source
            waiting += value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]


def _unpacked(data: bytes) -> Iterator[bytes]:
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    for wbits in (zlib.MAX_WBITS | 32, -zlib.MAX_WBITS):
        try:
            yield zlib.decompressobj(wbits).decompress(data)
        except zlib.error:
            continue
    for found in _BASE64.finditer(data):
        try:
            yield base64.b64decode(found[0].translate(bytes.maketrans(b"-_", b"+/")) + b"==")
        except binascii.Error:
            continue
    for found in _BASE85.finditer(data):
        try:
            yield base64.b85decode(found[0])
        except ValueError:
            continue
