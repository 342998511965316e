"""Reads what a student hands in: each listed file once, as text, and nothing else of the folder."""

import ast
import difflib
import os
import re
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from grader.course.models import Course, Exercise
from grader.errors import SubmissionError, UsageError
from grader.handin.aside import ask
from grader.handin.notebooks import code_cells, unify_newlines
from grader.handin.refused import Refused
from grader.handin.syntax import measure, parse

SUFFIXES = (".py", ".ipynb")
Opener = Callable[[int], bytes]  # gives a file's content, at most so many bytes; raises Refused


@dataclass(frozen=True)
class Source:
    """One submitted file as units of text, or the reason why there is none."""

    label: str  # the file's name, as messages show it
    units: tuple[tuple[str, str], ...] = ()  # (label that frames show, text)
    notebook: bool = False
    problem: str = ""  # one sentence where the file cannot be graded
    next_step: str = ""  # about the problem, or about names that are not there
    notes: tuple[str, ...] = ()
    absent: bool = False  # nothing was handed in that could be meant for it

    def line(self, label: str, number: int) -> str:
        """Return a line of the parent's own copy, "" where there is none."""
        for unit, text in self.units:
            if unit == label:
                lines = text.split("\n")  # as Python counts them: a form feed ends none
                return lines[number - 1] if 0 < number <= len(lines) else ""
        return ""

    @cached_property
    def words(self) -> frozenset[str]:
        """All names that stand somewhere in this file."""
        return frozenset(word for _, text in self.units for word in re.findall(r"\w+", text))

    def refuse(self, refused: Refused) -> "Source":
        """Return what takes its place where it is not read."""
        problem, step = f"{self.label} {refused}", refused.next_step
        return replace(self, units=(), problem=problem, next_step=step)

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
        return submission_of(_openers(path), path.name, course, limit)
    if not path.exists():
        raise SubmissionError(f"{path} is not there: name a folder, a .py file or a notebook")
    exercise = exercise_of(path, wanted)
    around = _openers(path.parent) if path.parent.is_dir() else {}
    beside = {
        e.id: _find(around, path.parent.name, e, limit) if around else Source(e.file)
        for e in course.earlier(exercise)
    }
    missing = {
        e.id: Source(e.file, problem=f"{e.file} was not handed in") for e in course.exercises
    }
    return Submission({**missing, **beside, exercise.id: read_source(path, limit)})


def submission_of(
    files: Mapping[str, Opener], place: str, course: Course, limit: int
) -> Submission:
    """Read the files of all exercises among `files`, by name.

    `place` is what messages call their folder; `limit` is in bytes a file.
    """
    return Submission({e.id: _find(files, place, e, limit) for e in course.exercises})


def _openers(folder: Path) -> dict[str, Opener]:
    try:
        return {path.name: partial(read_regular, path) for path in folder.iterdir()}
    except PermissionError:  # a file in it may be open to us all the same
        return {}


def exercise_of(path: Path, wanted: list[Exercise]) -> Exercise:
    """Return which of some exercises a single file stands for; raises UsageError."""
    if len(wanted) == 1:
        return wanted[0]
    named = [e for e in wanted if path.stem in (e.stem, e.id)]
    if not named:
        raise UsageError(f"{path.name} could be any of {len(wanted)} exercises: name one")
    return named[0]


def file_names(exercise: Exercise) -> list[str]:
    """Return the names that an exercise's file may have, the best first."""
    return [f"{stem}{suffix}" for suffix in SUFFIXES for stem in (exercise.stem, exercise.id)]


def _find(files: Mapping[str, Opener], place: str, exercise: Exercise, limit: int) -> Source:
    """Read an exercise's file: the .py file first, then a notebook of its name."""
    found = [name for name in file_names(exercise) if name in files]
    if found:
        source = source_of(found[0], files[found[0]], limit)
        if len(found) > 1:
            note = f"both {found[0]} and {found[1]} are there; {found[0]} was graded"
            source = replace(source, notes=(*source.notes, note))
        return source
    near = _near(exercise, files)
    if near:
        step = f"rename {near} to {exercise.stem}{Path(near).suffix}"
    else:
        step = f"put {exercise.file} into the folder {place}"
    problem = f"{exercise.file} is not there"
    return Source(exercise.file, problem=problem, next_step=step, absent=not near)


def _near(exercise: Exercise, files: Collection[str]) -> str:
    """The file that is meant for an exercise though it has another name, "" where none is."""
    present = sorted(n for n in files if n.endswith(SUFFIXES) and n.isprintable())
    own = [name for name in present if re.match(rf"{exercise.id}(?!\d)", name)]
    numbered = re.compile(exercise.id.rstrip("0123456789") + r"\d")
    free = [name for name in present if not numbered.match(name)]
    near = difflib.get_close_matches(exercise.file, free, 1, cutoff=0.75)
    return next(iter([*own, *near]), "")


def read_source(path: Path, limit: int) -> Source:
    """Read one file, once; whatever is wrong with it becomes the source's `problem`."""
    return source_of(path.name, partial(read_regular, path), limit)


def source_of(name: str, opener: Opener, limit: int) -> Source:
    """Read what is called `name`, once; whatever is wrong with it becomes the `problem`."""
    notebook = name.endswith(".ipynb")
    try:
        data = opener(limit)
        if notebook:
            cells = ask(code_cells, data)
            units = tuple((f"{name}, cell {number}", text) for number, text in cells)
        else:
            units = ((name, _text_of(data)),)
    except Refused as refused:
        return Source(name, notebook=notebook).refuse(refused)
    return bounded(Source(name, units=units, notebook=notebook))


def bounded(source: Source, next_step: str = "") -> Source:
    """Return a source with a problem in place of its text where that is too much to be searched.

    `next_step` is what to do then, where it is not to hand in less.
    """
    try:
        measure([text for _, text in source.units])
    except Refused as refused:
        return source.refuse(Refused(str(refused), next_step) if next_step else refused)
    return source


def _text_of(data: bytes) -> str:
    """Return a source's text; raises Refused where it is none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        what = f"is not UTF-8 text (line {line})"
        raise Refused(what, "save the file with the encoding UTF-8") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise Refused(f"holds a NUL character (line {line})", "save the file again as plain text")
    return unify_newlines(text)


def read_regular(path: Path, limit: int) -> bytes:
    """Read a regular file of at most `limit` bytes without following a link."""
    descriptor = _opened(path)
    try:
        before = os.fstat(descriptor)
        if stat.S_ISDIR(before.st_mode):
            raise Refused("is a folder, not a file", "put the file itself in its place")
        if not stat.S_ISREG(before.st_mode):
            raise Refused("is not an ordinary file", "hand in the file itself")
        data = b""
        while len(data) <= limit and (more := os.read(descriptor, limit + 1 - len(data))):
            data += more
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        step = "clear its outputs" if path.suffix == ".ipynb" else "hand in only the code"
        raise Refused(f"is larger than {limit // 1024} KiB", step)
    if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
        raise Refused("was changed while it was read", "grade it again")
    return data


def _opened(path: Path) -> int:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if path.is_symlink():
            raise Refused("is a link, not a file", "hand in the file itself")
        return os.open(path, flags | getattr(os, "O_BINARY", 0))
    except IsADirectoryError:
        raise Refused("is a folder, not a file", "put the file itself in its place") from None
    except OSError as error:
        if os.path.isdir(path):  # which is not refused itself, as Path.is_dir may be
            raise Refused("is a folder, not a file", "put the file in its place") from None
        raise Refused(f"cannot be read ({error.strerror})", "check its permissions") from None


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


def method_names(source: Source, class_name: str) -> list[str]:
    """Return the names of the methods that a class of this file defines."""
    trees = [tree for _, text in source.units if (tree := parse(text)) is not None]
    classes = [n for tree in trees for n in tree.body if isinstance(n, ast.ClassDef)]
    return [
        node.name
        for one in classes
        if one.name == class_name
        for node in one.body
        if isinstance(node, ast.FunctionDef)
    ]
