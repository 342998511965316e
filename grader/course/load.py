"""Reads course.yml; a mistake in it is one line: file, line, what, nearest known key."""

import difflib
import shlex
import typing
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from grader.course.kinds import course_model
from grader.course.models import Course
from grader.course.record import literals_of
from grader.errors import CourseError, UsageError

COURSE_FILE = "course.yml"
MANIFEST_FILE = "key/manifest.json"  # of a course as students get it
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TextLoader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # 0123 and 2026-10-25 as they stand
_Path = tuple[str | int, ...]
T = typing.TypeVar("T")


@dataclass(frozen=True)
class CourseFolder:
    """A course and where it stands."""

    course: Course
    root: Path

    @property
    def exercises(self) -> Path:
        """The stubs, or the student's own work in their place."""
        return self.root / "exercises"

    @property
    def solutions(self) -> Path:
        """The references; absent from what students get."""
        return self.root / "solutions"

    def of_part(self, name: str) -> "CourseFolder":
        """Return it with one part of the course alone, to list or to report; raises UsageError."""
        return replace(self, course=self.course.part(name))

    @property
    def shipped(self) -> bool:
        """Whether this is a student's course, with its key beside it and no solutions."""
        return (self.root / MANIFEST_FILE).is_file()

    @property
    def standins(self) -> Path:
        """Correct replacements that later exercises import."""
        return self.solutions / "standins"


def find_course(start: Path | None) -> Path:
    """Return the folder of the nearest course.yml at or above `start`; raises UsageError."""
    here = (start or Path.cwd()).resolve()
    candidates = [here] if start else [here, *here.parents]
    for folder in candidates:
        if (folder / COURSE_FILE).is_file():
            return folder
        if (folder / MANIFEST_FILE).is_file():
            raise CourseError(f"{folder / COURSE_FILE} is missing; {renewal(folder)}")
    if start:
        raise UsageError(f"{start} is not a course: it has no {COURSE_FILE}")
    below = sorted(path.parent.parent.name for path in here.glob(f"*/{MANIFEST_FILE}"))
    if below:
        yours = "yours" if len(below) == 1 else "one, such as yours,"
        raise UsageError(f"no course here: change into {yours} with: cd {shlex.quote(below[0])}")
    raise UsageError(
        f"no {COURSE_FILE} here or in a folder above: change into your course, give --course, "
        "or make one with: grade start my-course"
    )


def load_course(root: Path) -> CourseFolder:
    """Read and check `root`/course.yml; raises CourseError with one line."""
    path = root / COURSE_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise CourseError(f"{path}: is not UTF-8 (byte {error.start})") from None
    try:
        return CourseFolder(parse_course(text, str(path)), root)
    except CourseError as error:
        if (root / MANIFEST_FILE).is_file():
            raise CourseError(f"{error}; {renewal(root)}") from None
        raise


def renewal(root: Path) -> str:
    """Return what a student can do about a course file that is missing or was changed."""
    return (
        f"`grade start {shlex.quote(str(root))} --renew` repairs it and does not change your work"
    )


def parse_course(text: str, source: str) -> Course:
    """Read a course from its text; `source` names it in errors. Raises CourseError."""
    model = course_model()
    return parse_yaml(text, source, TypeAdapter(model), model)


def parse_yaml(
    text: str,
    source: str,
    adapter: TypeAdapter[T],
    root: object,
    *,
    context: object = None,
    as_text: bool = False,
) -> T:
    """Read YAML into a model; a mistake raises CourseError with `source` and its line.

    `root` is the annotation behind `adapter`, from which known keys are suggested. `context` is for
    the model's validators. With `as_text` the model gets each scalar as it is written.
    """
    lines: dict[_Path, int] = {}
    try:
        loader = (_TextLoader if as_text else _Loader)(text)
        node = loader.get_single_node()
        if node is None:
            raise CourseError(f"{source}:1: is empty")
        _collect_lines(node, (), lines, source)
        return adapter.validate_python(loader.construct_document(node), context=context)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise CourseError(f"{source}:{line}: {error.problem or 'is not YAML'}") from None
    except yaml.YAMLError:
        raise CourseError(f"{source}:1: holds characters that YAML does not allow") from None
    except ValidationError as error:
        raise CourseError(_one_line(error, lines, source, root)) from None


def _collect_lines(
    node: yaml.Node,
    path: _Path,
    lines: dict[_Path, int],
    source: str,
    around: tuple[yaml.Node, ...] = (),
) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if any(outer is node for outer in around):
        raise CourseError(f"{source}:{node.start_mark.line + 1}: refers to itself")
    around = (*around, node)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if (*path, key.value) in lines:
                line = key.start_mark.line + 1
                raise CourseError(f"{source}:{line}: the key '{key.value}' stands here twice")
            lines[(*path, key.value)] = key.start_mark.line + 1
            _collect_lines(value, (*path, key.value), lines, source, around)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _collect_lines(value, (*path, index), lines, source, around)


def _one_line(error: ValidationError, lines: dict[_Path, int], source: str, root: object) -> str:
    """Render the first error; the line is that of the deepest part of its path in the file."""
    errors = error.errors(include_url=False)
    # a misspelt key is also missing under its right name: the misspelling is the cause
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    shown: list[str | int] = []
    line = 1
    for part in first["loc"]:
        if (*shown, part) in lines:
            shown.append(part)
            line = lines[tuple(shown)]
    if first["type"] == "extra_forbidden" and shown and shown[-1] == first["loc"][-1]:
        shown.pop()
    where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in shown).lstrip(".")
    what = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        what = f"unknown key '{first['loc'][-1]}'"
        if near := difflib.get_close_matches(
            str(first["loc"][-1]), _known_keys(root, first["loc"]), 1
        ):
            what += f"; did you mean '{near[0]}'?"
    elif first["type"] == "missing":
        what = f"the key '{first['loc'][-1]}' is missing"
    elif first["type"] == "union_tag_invalid":
        near = difflib.get_close_matches(str(first["ctx"]["tag"]), _tags(first["ctx"]), 1)
        what = f"unknown kind '{first['ctx']['tag']}'"
        what += f"; did you mean '{near[0]}'?" if near else f"; known: {_listed(first['ctx'])}"
    return f"{source}:{line}: {where}: {what}" if where else f"{source}:{line}: {what}"


def _tags(context: dict[str, typing.Any]) -> list[str]:
    return [tag.strip(" '") for tag in str(context["expected_tags"]).split(",")]


def _listed(context: dict[str, typing.Any]) -> str:
    return ", ".join(_tags(context))


def _known_keys(root: object, loc: Sequence[str | int]) -> list[str]:
    """The keys that the model around the last part of `loc` knows."""
    annotation = root
    for part in loc[:-1]:
        annotation = _step(annotation, part)
    models = _models_in(annotation)
    return [name for model in models for name in model.model_fields]


def _step(annotation: object, part: str | int) -> object:
    """The annotation one part of a path further in; a union's tag picks its member."""
    models = _models_in(annotation)
    for model in models:
        if isinstance(part, str) and part in model.model_fields:
            return model.model_fields[part].annotation
    tagged = [m for m in models if "kind" in m.model_fields and part in literals_of(m)]
    return tagged[0] if tagged else annotation


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in typing.get_args(annotation) for model in _models_in(part)]
