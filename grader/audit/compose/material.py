"""What random submissions are made of: a template an exercise, and texts for its gaps.

The material is data beside the solutions, `solutions/compose/exerciseN.yml`; nothing here knows
what it is about. A gap is a name in double braces. A gap that stands alone in its line takes any
number of lines, none included, all indented as it is; a text may hold further gaps.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from grader.course.load import CourseFolder, parse_yaml
from grader.course.models import Exercise
from grader.errors import CourseError

_GAP = re.compile(r"\{\{(\w+)\}\}")
_ALONE = re.compile(r"^([ ]*)\{\{(\w+)\}\}$")
_DEPTH = 12  # texts within texts; more is a circle

Texts = dict[str, str]  # gap -> what stands there


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Option(_Record):
    """One way to fill some gaps; what it leaves alone stays as it is."""

    pieces: Texts = Field(default={}, description="texts by gap")
    when: dict[str, list[str]] = Field(
        default={}, description="goes only with these options of other styles"
    )
    load: str = Field(default="", description="how the reference's parameters get into the module")
    loses: list[str] = Field(
        default=[], description="checks that this style fails though its values are right"
    )
    guessed: list[str] = Field(
        default=[], description="layers of the reference that nothing in this style tells apart"
    )
    kept: bool = Field(
        default=False, description="decides what mistakes come to: kept where they are weighed"
    )


class Change(Option):
    """A mistake or a deviation, as a change of the template's texts."""

    kind: str = Field(
        default="", description="what a report calls its kind, where it is told as a deviation"
    )
    names: list[str] = Field(default=[], description="known bugs that a deviation may be called")
    costs: list[str] = Field(
        default=[], description="checks that a deviation may cost; * is any one part of an id"
    )


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


Changes = Annotated[list[Change], BeforeValidator(_listed)]
ByTarget = dict[str, dict[str, Changes]]


class _File(_Record):
    template: str
    pieces: Texts
    load: str = ""
    styles: dict[str, dict[str, Option]] = {}
    bugs: ByTarget = {}
    deviations: ByTarget = {}
    idle: ByTarget = {}  # code that does not do the work, such as zeros: it earns next to nothing


@dataclass(frozen=True, order=True)
class Plant:
    """A change that a composition holds, by its place in the material."""

    target: str
    group: str  # "bugs", "deviations" or "idle"
    id: str
    number: int = 0  # among the texts for it

    def __str__(self) -> str:
        return f"{self.target}/{self.id}"


@dataclass(frozen=True)
class Composition:
    """One random submission of an exercise, before it is text."""

    styles: tuple[tuple[str, str], ...]  # style and option
    plants: tuple[Plant, ...]

    def of(self, group: str) -> tuple[Plant, ...]:
        """Return the plants of one group."""
        return tuple(plant for plant in self.plants if plant.group == group)

    def only(self, group: str) -> "Composition":
        """Return the composition with the plants of one group alone."""
        return Composition(self.styles, self.of(group))

    def without(self, *plants: Plant) -> "Composition":
        """Return the composition with some plants taken out."""
        return Composition(self.styles, tuple(p for p in self.plants if p not in plants))

    def alone(self, plant: Plant) -> "Composition":
        """Return the composition without the other plants of one's group."""
        return self.without(*(other for other in self.of(plant.group) if other != plant))


@dataclass(frozen=True)
class Material:
    """The material of one exercise."""

    exercise: Exercise
    file: _File = field(repr=False)

    @property
    def styles(self) -> Mapping[str, Mapping[str, Option]]:
        """The free choices, each with its options; the first is the plain one."""
        return self.file.styles

    def plants(self, group: str) -> Iterator[Plant]:
        """Go through all plants of a group, in the order of the file."""
        changes: ByTarget = getattr(self.file, group)
        for target, named in changes.items():
            for name, some in named.items():
                for number in range(len(some)):
                    yield Plant(target, group, name, number)

    def change(self, plant: Plant) -> Change:
        """Return what a plant changes."""
        changes: ByTarget = getattr(self.file, plant.group)
        return changes[plant.target][plant.id][plant.number]

    def options(self, composition: Composition) -> list[Option]:
        """Return the options and changes of a composition, in the order in which they apply."""
        chosen = [self.styles[style][option] for style, option in composition.styles]
        return [*chosen, *(self.change(plant) for plant in composition.plants)]

    def guessed(self, composition: Composition) -> list[str]:
        """Return the layers of the reference that no name tells apart."""
        return list(dict.fromkeys(g for o in self.options(composition) for g in o.guessed))

    def plain(self, composition: Composition) -> Composition:
        """Return the composition in plain style, but where a style decides what its bugs do."""
        bound = {style for p in composition.plants for style in self.change(p).when}
        styles = []
        for style, option in composition.styles:
            kept = style in bound or self.styles[style][option].kept
            styles.append((style, option if kept else next(iter(self.styles[style]))))
        return Composition(tuple(styles), composition.plants)

    def text(self, composition: Composition) -> str:
        """Return the submission's text."""
        return _fill(self.file.template, self._texts(composition))

    def loading(self, composition: Composition) -> str:
        """Return the code that puts the reference's parameters into the module."""
        own = [option.load for option in self.options(composition) if option.load]
        return _fill([self.file.load, *own][-1], self._texts(composition))

    def _texts(self, composition: Composition) -> Texts:
        texts = dict(self.file.pieces)
        for option in self.options(composition):
            texts |= option.pieces
        return texts


def load_material(folder: CourseFolder, exercise: Exercise) -> Material | None:
    """Read an exercise's material, None where there is none; raises CourseError."""
    path = material_path(folder, exercise)
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    file = parse_yaml(text, str(path), TypeAdapter(_File), _File)
    material = Material(exercise, file)
    _check(material, path)
    return material


def material_path(folder: CourseFolder, exercise: Exercise) -> Path:
    """Return where an exercise's material stands."""
    return folder.solutions / "compose" / f"{exercise.id}.yml"


def _check(material: Material, path: Path) -> None:
    """Raise CourseError for names that lead nowhere."""
    targets = {target.name for target in material.exercise.targets}
    plants = [p for g in ("bugs", "deviations", "idle") for p in material.plants(g)]
    named: list[tuple[str, Option]] = [(str(p), material.change(p)) for p in plants]
    for style, some in material.styles.items():
        named += [(f"{style}/{name}", option) for name, option in some.items()]
    for plant in plants:
        if plant.target not in targets:
            raise CourseError(f"{path}: '{plant.target}' is no target of {material.exercise.id}")
    for name, option in named:
        for style, options in option.when.items():
            unknown = [o for o in options if o not in material.styles.get(style, {})]
            if unknown:
                raise CourseError(f"{path}: {name}: there is no option {style}/{unknown[0]}")
    known = set(material.file.pieces) | {gap for _, o in named for gap in o.pieces}
    texts = [material.file.template, *material.file.pieces.values()]
    for text in [*texts, *(t for _, o in named for t in o.pieces.values())]:
        for gap in _GAP.findall(text):
            if gap not in known:
                raise CourseError(f"{path}: nothing fills {{{{{gap}}}}}")


def _fill(text: str, texts: Mapping[str, str], depth: int = 0) -> str:
    """Fill the gaps of a text, and those of what fills them."""
    if depth > _DEPTH:
        raise CourseError(f"the material goes round in circles at: {text.strip()[:80]}")
    lines: list[str] = []
    for line in text.rstrip("\n").split("\n"):
        if found := _ALONE.match(line):
            filled = _fill(texts[found[2]], texts, depth + 1)
            if filled:
                lines += [f"{found[1]}{one}" if one else "" for one in filled.split("\n")]
        else:
            lines.append(_GAP.sub(lambda gap: _fill(texts[gap[1]], texts, depth + 1), line))
    return "\n".join(lines)
