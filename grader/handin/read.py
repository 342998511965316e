"""Reads what a student hands in: each listed file once, as text, and nothing else of the folder."""

import ast
import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from grader.course.models import Course, Exercise
from grader.errors import SubmissionError, UsageError
from grader.handin.archive import ZIP
from grader.handin.aside import ask
from grader.handin.files import Opener, read_regular
from grader.handin.gather import Gathered, Part, gather
from grader.handin.notebooks import code_cells, unify_newlines
from grader.handin.pick import SUFFIXES, exercise_named, pick
from grader.handin.refused import Refused
from grader.handin.syntax import measure, parse
from grader.records.text import clean, listed


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
    notes: tuple[str, ...] = ()  # about what was handed in as a whole

    def source(self, exercise: Exercise) -> Source:
        """Return what was handed in for an exercise."""
        return self.sources[exercise.id]


def read_submission(path: Path, course: Course, wanted: list[Exercise], limit: int) -> Submission:
    """Read the files of all exercises at `path`, a folder, zip, file or notebook.

    `wanted` are the exercises to grade: a single file stands for the one of them that it is.
    `limit` is in bytes a file. Raises SubmissionError where `path` itself is not there, and
    UsageError where a single file could stand for several exercises.
    """
    if path.is_dir() or path.suffix.lower() == ZIP:
        return submission_of(gather([Part(path, path.name)], limit), path.name, course, limit)
    if not path.exists():
        raise SubmissionError(f"{path} is not there: name a folder, a .py file or a notebook")
    exercise = exercise_of(path, wanted)
    around = gather([Part(path.parent, "")], limit, deep=False)
    beside = {
        e.id: _find(around.files, path.parent.name, e, limit) if around.files else Source(e.file)
        for e in course.earlier(exercise)
    }
    missing = {
        e.id: Source(e.file, problem=f"{e.file} was not handed in") for e in course.exercises
    }
    return Submission({**missing, **beside, exercise.id: read_source(path, limit)})


def submission_of(
    found: Gathered, place: str, course: Course, limit: int, names: Mapping[str, str] = {}
) -> Submission:
    """Read the files of all exercises among what was found.

    `place` is what messages call where it was; `limit` is in bytes a file; `names` are other names
    of exercises' files, by exercise.
    """
    sources = {
        e.id: _find(found.files, place, e, limit, names.get(e.id, "")) for e in course.exercises
    }
    if found.refusals and all(source.absent for source in sources.values()):
        sources = {e.id: Source(e.file, problem=found.refusals[0]) for e in course.exercises}
    return Submission(sources, (*found.notes, *found.refusals))


def exercise_of(path: Path, wanted: list[Exercise]) -> Exercise:
    """Return which of some exercises a single file stands for; raises UsageError."""
    if len(wanted) == 1:
        return wanted[0]
    named = exercise_named(path.name, wanted)
    if named is None:
        raise UsageError(f"{path.name} could be any of {len(wanted)} exercises: name one")
    return named


def _find(
    files: Mapping[str, Opener], place: str, exercise: Exercise, limit: int, also: str = ""
) -> Source:
    """Read an exercise's file; a note tells where there was a choice."""
    picked = pick(files, exercise, also)
    if picked:
        name = picked[0].rpartition("/")[2]
        source = source_of(name, files[picked[0]], limit)
        if len(picked) > 1:
            first, *others = (clean(path, 80) for path in picked)
            note = f"{first} was graded, and not {listed(others)}"
            source = replace(source, notes=(*source.notes, note))
        return source
    names = [path.rpartition("/")[2] for path in files]
    near = _near(exercise, names)
    numbered = _as_exercises(exercise)
    suffixes = {Path(name).suffix for name in names if numbered.match(name)} & set(SUFFIXES)
    due = f"{exercise.stem}{suffixes.pop()}" if len(suffixes) == 1 else exercise.file
    if near:
        step = f"rename {near} to {exercise.stem}{Path(near).suffix}"
    else:
        step = f"put {due} into the folder {place}"
    return Source(due, problem=f"{due} is not there", next_step=step, absent=not near)


def _near(exercise: Exercise, files: Collection[str]) -> str:
    """The file that is meant for an exercise though it has another name, "" where none is."""
    present = sorted(n for n in files if n.endswith(SUFFIXES) and n.isprintable())
    own = [name for name in present if re.match(rf"{exercise.id}(?!\d)", name)]
    numbered = _as_exercises(exercise)
    free = [name for name in present if not numbered.match(name)]
    near = difflib.get_close_matches(exercise.file, free, 1, cutoff=0.75)
    return next(iter([*own, *near]), "")


def _as_exercises(exercise: Exercise) -> re.Pattern[str]:
    """What the files of exercises begin with: the id of one, with any number."""
    return re.compile(exercise.id.rstrip("0123456789") + r"\d")


def read_source(path: Path, limit: int) -> Source:
    """Read one file, once; whatever is wrong with it becomes the source's `problem`."""
    return source_of(path.name, partial(read_regular, path), limit)


def source_of(name: str, opener: Opener, limit: int) -> Source:
    """Read what is called `name`, once; whatever is wrong with it becomes the `problem`."""
    notebook = name.lower().endswith(".ipynb")
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
    return [function.name for function in _functions(source, class_name)]


def bases_of(source: Source, class_name: str) -> list[str]:
    """Return the names of what a class of this file inherits from, without their modules."""
    trees = [tree for _, text in source.units if (tree := parse(text))]
    classes = [n for tree in trees for n in tree.body if isinstance(n, ast.ClassDef)]
    bases = [base for one in classes if one.name == class_name for base in one.bases]
    return [ast.unparse(base).rpartition(".")[2] for base in bases]


def keyword_only(source: Source, name: str, class_name: str = "") -> list[str]:
    """Return what stands behind the * in a signature of this file: a function's, or a method's."""
    own = _definition(source, name, class_name)
    return [argument.arg for one in own for argument in one.args.kwonlyargs]


def arguments_of(source: Source, name: str, class_name: str) -> list[str]:
    """Return what a method of a class of this file takes."""
    own = _definition(source, name, class_name)
    return [argument.arg for one in own for argument in (*one.args.args, *one.args.kwonlyargs)]


def is_read(source: Source, argument: str, target: str) -> bool:
    """Whether a function, or a method of a class, reads an argument of that name."""
    own = [one for one in _functions(source, "") if one.name == target]
    inner = [node for one in own or _functions(source, target) for node in ast.walk(one)]
    names = [node for node in inner if isinstance(node, ast.Name) and node.id == argument]
    return any(isinstance(name.ctx, ast.Load) for name in names)


def unwritten_at(source: Source, target: str, methods: Collection[str]) -> tuple[str, int] | None:
    """Return where a function, or one of some methods of a class, is left to be written."""
    for label, node in _definitions(source, target)[-1:]:  # the last definition counts
        inner = [m for m in getattr(node, "body", ()) if getattr(m, "name", "") in methods]
        for function in (f for f in (node, *inner) if isinstance(f, ast.FunctionDef)):
            for statement in filter(_is_left_out, function.body):
                return label, statement.lineno
            *before, last = function.body
            if _is_blank(last) and all(map(_is_customary, before)):
                return label, last.lineno
    return None


def hidden_at(source: Source, target: str) -> tuple[str, int] | None:
    """Return where the last definition hides another one of its name, None where there is one."""
    found = _definitions(source, target)
    return (found[-1][0], found[-1][1].lineno) if len(found) > 1 else None


def _definitions(source: Source, target: str) -> list[tuple[str, ast.stmt]]:
    """Return the functions and classes of a name, with their labels."""
    bodies = ((label, tree.body) for label, text in source.units if (tree := parse(text)))
    return [(label, n) for label, body in bodies for n in body if getattr(n, "name", "") == target]


def _is_blank(statement: ast.stmt) -> bool:
    """Whether a statement is `pass` or `...`."""
    return isinstance(statement, ast.Pass) or ast.unparse(statement) == "..."


def _is_customary(statement: ast.stmt) -> bool:
    """Whether a statement stands in any body: a docstring, or the parent's constructor."""
    match statement:
        case ast.Expr(value=ast.Constant() | ast.Call(func=ast.Attribute(attr="__init__"))):
            return True
    return False


def _is_left_out(statement: ast.stmt) -> bool:
    raised = statement.exc if isinstance(statement, ast.Raise) else None
    named = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(named, ast.Name) and named.id == "NotImplementedError"


def _definition(source: Source, name: str, class_name: str) -> list[ast.FunctionDef]:
    """Return the function or method of a name that counts, the last; none where there is none."""
    return [one for one in _functions(source, class_name) if one.name == name][-1:]


def _functions(source: Source, class_name: str) -> list[ast.FunctionDef]:
    """Return the methods of a class of this file, its functions where no class is named."""
    body = [n for _, text in source.units if (tree := parse(text)) is not None for n in tree.body]
    if class_name:
        classes = [n for n in body if isinstance(n, ast.ClassDef) and n.name == class_name]
        body = [node for one in classes for node in one.body]
    return [node for node in body if isinstance(node, ast.FunctionDef)]
