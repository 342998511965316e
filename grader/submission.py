"""Reads what a student hands in: each listed file once, as text, and nothing else of the folder."""

import ast
import difflib
import json
import os
import stat
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.course.models import Course, Exercise
from grader.errors import SubmissionError, UsageError

_SUFFIXES = (".py", ".ipynb")
_PARSED = 1 << 15  # characters; the longest exercise has 8,000
_MAGIC = ("%", "!", "?")


@dataclass(frozen=True)
class Source:
    """One submitted file as units of text, or the reason why there is none."""

    label: str  # the file's name, as messages show it
    units: tuple[tuple[str, str], ...] = ()  # (label that frames show, text)
    notebook: bool = False
    problem: str = ""  # one sentence where the file cannot be graded
    next_step: str = ""
    notes: tuple[str, ...] = ()

    def line(self, label: str, number: int) -> str:
        """Return a line of the parent's own copy, "" where there is none."""
        for unit, text in self.units:
            if unit == label:
                lines = text.splitlines()
                return lines[number - 1] if 0 < number <= len(lines) else ""
        return ""

    def holds(self, label: str) -> bool:
        """Whether a frame's label belongs to this file."""
        return any(unit == label for unit, _ in self.units)


@dataclass(frozen=True)
class Submission:
    """One student's files for one course."""

    sources: Mapping[str, Source] = field(default_factory=dict)  # by exercise id

    def source(self, exercise: Exercise) -> Source:
        """Return what was handed in for an exercise."""
        return self.sources[exercise.id]


def read_submission(path: Path, course: Course, wanted: list[Exercise], limit: int) -> Submission:
    """Read the files of all exercises at `path`, a folder, file or notebook.

    `wanted` are the exercises to grade: a single file stands for the one of them that it is.
    `limit` is in bytes a file. Raises SubmissionError where `path` itself is not there, and
    UsageError where a single file could stand for several exercises.
    """
    if path.is_dir():
        return Submission(
            {exercise.id: _find(path, exercise, limit) for exercise in course.exercises}
        )
    if not path.exists():
        raise SubmissionError(f"{path} is not there: name a folder, a .py file or a notebook")
    exercise = _exercise_of(path, wanted)
    beside = {
        e.id: _find(path.parent, e, limit) if path.parent.is_dir() else Source(e.file)
        for e in course.earlier(exercise)
    }
    missing = {
        e.id: Source(e.file, problem=f"{e.file} was not handed in") for e in course.exercises
    }
    return Submission({**missing, **beside, exercise.id: read_source(path, limit)})


def _exercise_of(path: Path, wanted: list[Exercise]) -> Exercise:
    if len(wanted) == 1:
        return wanted[0]
    named = [e for e in wanted if path.stem in (e.stem, e.id)]
    if not named:
        raise UsageError(f"{path.name} could be any of {len(wanted)} exercises: name one")
    return named[0]


def _find(folder: Path, exercise: Exercise, limit: int) -> Source:
    """Read an exercise's file in a folder: the .py file first, then a notebook of its name."""
    names = [f"{stem}{suffix}" for suffix in _SUFFIXES for stem in (exercise.stem, exercise.id)]
    found = [name for name in names if os.path.lexists(folder / name)]
    if found:
        source = read_source(folder / found[0], limit)
        if len(found) > 1:
            note = f"both {found[0]} and {found[1]} are there; {found[0]} was graded"
            source = replace(source, notes=(*source.notes, note))
        return source
    present = sorted(p.name for p in folder.iterdir() if p.suffix in _SUFFIXES)
    near = difflib.get_close_matches(exercise.file, present, 1, cutoff=0.75)
    if near and not any(near[0].startswith(f"{exercise.id[:-1]}{d}") for d in _other(exercise)):
        step = f"rename {near[0]} to {exercise.file}"
    else:
        step = f"put {exercise.file} into the folder {folder.name}"
    return Source(exercise.file, problem=f"{exercise.file} is not there", next_step=step)


def _other(exercise: Exercise) -> list[str]:
    return [str(d) for d in range(10) if str(d) != exercise.id[-1]]


def read_source(path: Path, limit: int) -> Source:
    """Read one file, once; whatever is wrong with it becomes the source's `problem`."""
    name = path.name
    try:
        data = read_regular(path, limit)
    except Refused as refused:
        return Source(name, problem=f"{name} {refused}", next_step=refused.next_step)
    if path.suffix == ".ipynb":
        return _read_notebook(name, data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return Source(
            name,
            problem=f"{name} is not UTF-8 text (line {line})",
            next_step="save the file with the encoding UTF-8",
        )
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        return Source(
            name,
            problem=f"{name} holds a NUL character (line {line})",
            next_step="save the file again as plain text",
        )
    return Source(name, units=((name, _newlines(text)),))


class Refused(Exception):
    """A file that is not read; the text completes "exercise1.py ..."."""

    def __init__(self, what: str, next_step: str) -> None:
        super().__init__(what)
        self.next_step = next_step


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes without following a link."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if path.is_symlink():
            raise Refused("is a link, not a file", "hand in the file itself")
        descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except IsADirectoryError:
        raise Refused("is a folder, not a file", "put the file itself in its place") from None
    except OSError as error:
        if path.is_dir():
            raise Refused("is a folder, not a file", "put the file in its place") from None
        raise Refused(f"cannot be read ({error.strerror})", "check its permissions") from None
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise Refused("is a folder, not a file", "put the file itself in its place")
        if not stat.S_ISREG(mode):
            raise Refused("is no ordinary file", "hand in the file itself")
        data = b""
        while len(data) <= limit and (more := os.read(descriptor, limit + 1 - len(data))):
            data += more
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise Refused(f"is larger than {limit // 1024} KiB", "hand in the code alone")
    return data


def _read_notebook(name: str, data: bytes) -> Source:
    """Turn a notebook into one unit a code cell; its magics are commented out."""
    import nbformat  # slow to import, and only notebooks need it

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats; what matters is what is read
            notebook = nbformat.reads(data.decode("utf-8-sig"), as_version=4)
        cells = [c for c in notebook.cells if c.cell_type == "code"]
        sources = [(number, str(c.source), c) for number, c in enumerate(cells, start=1)]
    except Exception as error:  # noqa: BLE001 - hostile text; nbformat raises many kinds
        what = (
            "is not valid JSON"
            if _is_broken_json(data)
            else f"cannot be read as a notebook ({type(error).__name__})"
        )
        return Source(
            name,
            notebook=True,
            problem=f"{name} {what}",
            next_step="open it in Jupyter, save it, and hand it in again",
        )
    units = []
    for number, text, cell in sources:
        marks = cell.metadata.get("nbgrader") or {}
        if isinstance(marks, dict) and marks.get("grade") and not marks.get("solution"):
            continue  # a test cell
        units.append((f"{name}, cell {number}", neutralize_magics(_newlines(text))))
    return Source(name, units=tuple(units), notebook=True)


def _is_broken_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return True
    return False


def neutralize_magics(cell: str) -> str:
    """Comment out IPython's magics and shell lines, keeping every line in its place."""
    if cell.lstrip().startswith("%%"):
        first, _, rest = cell.lstrip().partition("\n")
        word = first[2:].split(maxsplit=1)[0] if first[2:].split() else ""
        if word not in ("time", "timeit", "capture", "prun"):
            return "\n".join(f"# {line}" for line in cell.splitlines())
        cell = f"# {first}\n{rest}"
    if _parses(cell):
        return cell
    return "\n".join(_neutral_line(line) for line in cell.splitlines())


def _neutral_line(line: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    body = line.strip()
    if body.startswith(_MAGIC) or body.endswith("?"):
        return f"{indent}pass  # {body}"
    name, equals, value = body.partition("=")
    if equals and name.strip().isidentifier() and value.strip().startswith(("!", "%")):
        return f"{indent}{name.strip()} = None  # {value.strip()}"
    return line


def _parses(text: str) -> bool:
    return parse(text) is not None


def parse(text: str) -> ast.Module | None:
    """Return a submission's text as a tree, None where it has none or is too long for it.

    This runs in the process that judges: some texts of 2 MiB would hold it up for minutes.
    """
    if len(text) > _PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def nested_line(text: str, class_name: str, outer: str, inner: str) -> int:
    """Return the line of a function `inner` that stands inside a class's `outer`, else 0."""
    tree = parse(text)
    if tree is None:
        return 0
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == class_name]
    methods = [n for c in classes for n in c.body if isinstance(n, ast.FunctionDef)]
    nested = [
        node.lineno
        for method in methods
        if method.name == outer
        for node in ast.walk(method)
        if isinstance(node, ast.FunctionDef) and node.name == inner
    ]
    return nested[0] if nested else 0
