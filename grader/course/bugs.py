"""The catalogue of known bugs: data beside the solutions, one file an exercise."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from grader.course.derive import solution_lines
from grader.course.lesson import Passage, find_passage, read_lesson
from grader.course.load import CourseFolder, parse_yaml
from grader.course.models import Exercise
from grader.errors import CourseError
from grader.records.key import way_name

_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")  # edits differ in whole ones
_SHORT_LINE = 12  # characters; a shorter solution line may stand in a hint by chance


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Substitution(_Record):
    """One change of the reference's text: `old` stands in it exactly once.

    Or it stands in what other changes of the same mistake have made of it.
    """

    old: str = Field(
        min_length=1, description="text of the reference, or of a change beside, there exactly once"
    )
    new: str = Field(description="what stands in its place")


class Variant(_Record):
    """A further way to make a mistake, with words of its own where it comes out otherwise.

    A list of replacements alone is one that shares all words.
    """

    change: list[Substitution] = Field(
        min_length=1, description="the replacements that make the mistake"
    )
    when: str = Field(default="", description="in place of the mistake's `when`")
    step: str = Field(default="", description="in place of its `step`")
    hints: list[str] = Field(default=[], max_length=3, description="in place of its `hints`")
    needs: list[str] = Field(default=[], description="in place of its `needs`")

    @model_validator(mode="before")
    @classmethod
    def _of_a_list(cls, given: object) -> object:
        return {"change": given} if isinstance(given, list) else given

    @model_validator(mode="after")
    def _has_hints_enough(self) -> "Variant":
        if len(self.hints) == 1:
            raise ValueError("give at least two hints, or none")
        return self

    @property
    def is_apart(self) -> bool:
        """Whether it has words of its own, and so is told apart from its mistake's others."""
        return bool(self.when or self.step or self.hints or self.needs)


class Bug(_Record):
    """A named, real mistake."""

    id: str = Field(
        pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$",
        description="small words with hyphens, once a target",
    )
    title: str = Field(description="the mistake in a few words, for instructors")
    target: str = Field(description="the target in whose code the mistake stands")
    when: str = Field(description="completes: your output equals what comes out when ...")
    step: str = Field(default="", description="the first named step that comes out wrong")
    lesson: str = Field(default="", description="how the lesson's passage on it begins")
    change: list[Substitution] = Field(
        default=[], description="the replacements that make the mistake"
    )
    also: list[Variant] = Field(
        default=[],
        description="further ways to make the same mistake: lists of replacements, or variants",
    )
    variant: str = Field(
        default="",
        description="in place of `change`: a whole file below solutions/bugs",
    )
    hints: list[str] = Field(
        min_length=2,
        max_length=3,
        description="at least two, from gentle to plain; none may hold a line of the solution",
    )
    needs: list[str] = Field(
        default=[],
        description="names and numbers of which one stands in code that makes the mistake; "
        "`name()` is a call that is a statement of its own, `a large number` any that stands for "
        "infinity",
    )
    seen: str = Field(description="where the mistake was seen")

    @model_validator(mode="after")
    def _says_what_changes(self) -> "Bug":
        if bool(self.change) == bool(self.variant):
            raise ValueError("give either 'change' or 'variant'")
        return self

    @property
    def key(self) -> str:
        """Identifies the bug in its exercise: a bug may be known in several targets."""
        return f"{self.target}/{self.id}"

    @property
    def every_hint(self) -> list[str]:
        """The hints of all its variants."""
        return [*self.hints, *(hint for one in self.also for hint in one.hints)]


@dataclass(frozen=True)
class Edit:
    """A stretch of a text and what stands in its place."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Mutant:
    """One variant of a bug: the reference with the mistake in it."""

    bug: Bug
    number: int  # 0 for `change` or `variant`, then `also` in order
    source: str
    change: tuple[Substitution, ...] = ()  # none for a whole file

    @property
    def name(self) -> str:
        """Identifies what is said of it: its bug's key, with its number if it has own words."""
        apart = self.number > 0 and self.bug.also[self.number - 1].is_apart
        return way_name(self.bug.key, self.number if apart else 0)


def as_mutant(source: str, target: str = "") -> Mutant:
    """Return a text as if it were a known bug of `target`."""
    bug = Bug(
        id="none", title="-", target=target, when="-", variant="-", hints=["-", "-"], seen="-"
    )
    return Mutant(bug, 0, source)


def bugs_path(folder: CourseFolder, exercise: Exercise) -> Path:
    """Return where an exercise's catalogue stands."""
    return folder.solutions / "bugs" / f"{exercise.id}.yml"


def load_bugs(folder: CourseFolder, exercise: Exercise, reference: str) -> list[Bug]:
    """Read and check a catalogue, [] where there is none; raises CourseError."""
    path = bugs_path(folder, exercise)
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8")
    bugs = parse_yaml(text, str(path), TypeAdapter(list[Bug]), list[Bug])
    targets = {target.name: target for target in exercise.targets}
    seen: set[str] = set()
    code = [line.split("#")[0].strip() for line in solution_lines(reference)]
    secret = [line for line in code if len(line) >= _SHORT_LINE]
    passages = read_lesson(reference)
    _check_traps(exercise, passages)
    for bug in bugs:
        entry = f"{path}: {bug.id}"
        if bug.target not in targets:
            raise CourseError(f"{entry}: '{bug.target}' is no target of {exercise.id}")
        if bug.key in seen:
            raise CourseError(f"{entry}: stands there twice for {bug.target}")
        for step in filter(None, (bug.step, *(one.step for one in bug.also))):
            if step not in targets[bug.target].step_names:
                raise CourseError(f"{entry}: '{step}' is no step of {bug.target} in course.yml")
        if bug.lesson and find_passage(passages, bug.lesson) is None:
            raise CourseError(f"{entry}: no passage of the lesson begins with '{bug.lesson}'")
        for hint in bug.every_hint:
            if told := [line for line in secret if line in hint]:
                raise CourseError(f"{entry}: a hint contains the solution's line '{told[0]}'")
        seen.add(bug.key)
    return bugs


def _check_traps(exercise: Exercise, passages: Sequence[Passage]) -> None:
    for trap, begins in exercise.traps.items():
        if find_passage(passages, begins) is None:
            raise CourseError(
                f"{exercise.id}: no passage of the lesson begins with '{begins}', as the trap "
                f"{trap.value} says in course.yml"
            )


def mutants_of(folder: CourseFolder, exercise: Exercise, bug: Bug, reference: str) -> list[Mutant]:
    """Return every variant of a bug; raises CourseError where one does not fit the reference."""
    entry = f"{bugs_path(folder, exercise)}: {bug.id}"
    if bug.variant:
        path = folder.solutions / "bugs" / bug.variant
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise CourseError(f"{entry}: {path} cannot be read: {error.strerror}") from None
        return [Mutant(bug, 0, _compiled(text, entry))]
    return [
        Mutant(bug, number, _compiled(_changed(reference, change, entry), entry), tuple(change))
        for number, change in enumerate([bug.change, *(one.change for one in bug.also)])
    ]


def _changed(reference: str, change: Sequence[Substitution], entry: str) -> str:
    text, left = _substituted(reference, change, ())
    if left:
        shown = left[0].old.strip().splitlines()[0][:60]
        count = text.count(left[0].old)
        if count == 1:
            raise CourseError(f"{entry}: its substitutions overlap")
        times = "nowhere" if not count else f"{count} times"
        raise CourseError(f"{entry}: '{shown}' stands {times} in the reference, not once")
    return text


def compose(first: Mutant, second: Mutant, reference: str) -> str | None:
    """Return the reference with both mistakes, None where their places overlap or touch.

    What both change in the same way, such as a call that both write out, is changed first.
    """
    shared = [one for one in first.change if one in second.change]
    mine, others = ([one for one in m.change if one not in shared] for m in (first, second))
    if not mine or not others:
        return None
    text, left = _substituted(reference, shared, ())
    if left:
        return None
    text, left = _substituted(text, mine, others)
    return None if left else text


def _substituted(
    text: str, some: Sequence[Substitution], others: Sequence[Substitution]
) -> tuple[str, list[Substitution]]:
    """Make changes of two kinds at once, then those of what these made; return what is left over.

    No change is made that meets one of the other kind.
    """
    left = [*some, *others]
    while True:
        found = [one for one in left if text.count(one.old) == 1]
        edits = {one: _edit(text, one) for one in found}
        apart = not any(
            _touch(edits[a], edits[b]) for a in found if a in some for b in found if b in others
        )
        made = _apply(text, list(edits.values())) if found and apart else None
        if made is None:
            return text, left
        text, left = made, [one for one in left if one not in edits]


def _touch(one: Edit, other: Edit) -> bool:
    """Whether two edits meet within a line; lines that one adds behind the other's are apart."""
    before, behind = sorted((one, other), key=_place)
    if before.end < behind.start:
        return False
    added = behind.new.startswith("\n") and not before.new.startswith("\n")
    return not (before.end == behind.start and added)


def _place(edit: Edit) -> tuple[int, int, bool]:
    return edit.start, edit.end, edit.new.startswith("\n")


def _apply(text: str, edits: Sequence[Edit]) -> str | None:
    """Return the text with all edits made, None where two of them overlap."""
    last = len(text) + 1
    for edit in sorted(edits, key=_place, reverse=True):
        if edit.end > last:
            return None
        text = text[: edit.start] + edit.new + text[edit.end :]
        last = edit.start
    return text


def _edit(text: str, change: Substitution) -> Edit:
    """Return where a change is made, without what it leaves as it is at both ends."""
    old, new = (_TOKENS.findall(some) for some in (change.old, change.new))
    before = _alike(old, new)
    after = _alike(old[before:][::-1], new[before:][::-1])
    start = text.index(change.old) + len("".join(old[:before]))
    replaced = "".join(old[before : len(old) - after])
    return Edit(start, start + len(replaced), "".join(new[before : len(new) - after]))


def _alike(one: list[str], other: list[str]) -> int:
    """How many tokens two texts begin with together."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _compiled(source: str, entry: str) -> str:
    try:
        ast.parse(source)
    except SyntaxError as error:
        raise CourseError(f"{entry}: does not compile: {error.msg} (line {error.lineno})") from None
    return source
