"""The models of course.yml, frozen; unknown keys are errors.

What the engine knows of a course stands here or in the solutions: an exercise has no test code.
The kinds of property are modules of `grader.properties`; `kinds.py` puts them for `Property`.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from grader.course.cases import Case, misfit_of, misfit_of_training
from grader.course.expressions import (
    ArgumentSpec,
    Range,
    Size,
    TensorSpec,
    literal,
    parse_argument,
    parse_dim,
    parse_output,
)
from grader.course.limits import Limits, OwnLimits, Tolerances
from grader.course.parts import Part, chosen_part, misfit_of_parts, subtotals
from grader.course.points import Points
from grader.course.record import Argument, Dim, Literal_, Output, Record, error_at
from grader.course.traps import Trap
from grader.records.ids import BIASES, MAIN, CheckId, Kind
from grader.records.subtotals import Subtotal
from grader.worker.frameworks import FrameworkName
from grader.worker.protocol import Earlier, TargetKind

_FILE = re.compile(r"^([a-z]+\d+)_([a-z0-9_]+)\.py$")


class Property(Record):
    """What holds for every right answer; each kind is a module of `grader.properties`."""

    by_values: ClassVar[bool] = False  # says nothing new where the values are wrong
    compares: ClassVar[bool] = False  # its answers with each other: what it uses may spoil them
    step_alone: ClassVar[str] = ""  # what to do about its deviation, where that is so by itself
    of_parts: ClassVar[bool] = False  # compares values of a factory made of correct parts
    claim: ClassVar[bool] = False  # who passes it has no mistake that fails it
    shrinkable: ClassVar[bool] = False  # a smaller input may be looked for that breaks it
    for_a_person: ClassVar[bool] = False  # where it fails, an instructor should have a look
    trains: ClassVar[bool] = False  # takes long, and is run only where it is asked for

    id: str = Field(
        default="", description="its name in the ids of checks, where the kind is not enough"
    )
    kind: str = Field(description="which property it is")

    @field_validator("id")
    @classmethod
    def _is_one_part_of_ids(cls, given: str) -> str:
        if not re.fullmatch(r"[a-z0-9-]*", given) or given in (MAIN, BIASES):
            raise ValueError(
                f"'{given}' is no id: small letters, digits and hyphens, not '{MAIN}' or '{BIASES}'"
            )
        return given

    @property
    def name(self) -> str:
        """The identifier in the check's id: `id` where given, else the kind."""
        return self.id or self.kind

    @property
    def own_case(self) -> Case | None:
        """The case that it is judged on, None for those of the target."""
        return getattr(self, "case", None)

    @property
    def error_due(self) -> str:
        """The exception that its call ends in where all is right, "" for an answer."""
        return ""

    def misfit(self, exercise: "Exercise", target: "Target") -> str:  # noqa: ARG002 - kinds ask
        """Say why it means nothing for a target, "" where it means something.

        For a target that declares it that is an error; declared for all targets it is left out.
        """
        return ""


class Target(Record):
    """One function or class that is graded by itself."""

    name: str = Field(pattern=r"^[A-Za-z_]\w*$", description="of the function or class")
    kind: TargetKind = Field(
        description="function; module: a class of torch's modules, which gets the reference's "
        "parameters; factory: a function that returns a module with parameters of its own"
    )
    dims: dict[str, Dim] = Field(
        description="sizes by letter: a range to draw from (`2..4`), a number, or an expression "
        "over other sizes (`h*d`)"
    )
    constructor: dict[str, Argument] = Field(
        default={}, description="what a module or factory is made with, by position and in order"
    )
    inputs: dict[str, Argument] = Field(
        description="what the call is given, by position and in order: tensors, sizes, literals"
    )
    options: dict[str, Literal_] = Field(
        default={}, description="arguments given by keyword in every case that does not say else"
    )
    defaults: dict[str, Literal_ | None] = Field(
        default={}, description="of arguments: given by keyword where a submission has another"
    )
    outputs: dict[str, Output] = Field(
        min_length=1,
        description="what comes back, tensors or numbers, in order, by names for reports",
    )
    cases: list[Case] = Field(default=[], description="cases beside the drawn main ones")
    properties: list[Property] = Field(default=[], description="its own, beside those of all")
    without: list[str] = Field(
        default=[], description="ids of properties of every target that mean nothing for this one"
    )
    points: Points = Field(description="points by kind of check")
    steps: list[str | list[str]] = Field(
        default=[], description="named steps in order; those side by side in a list of their own"
    )
    uses: list[str] = Field(default=[], description="targets of this file that this one calls")
    as_dict: bool = Field(default=False, description="the outputs come in a dict, by their names")
    earlier: Earlier = Field(
        default=Earlier.STANDINS,
        description="what imports of earlier exercises find: stand-ins, or the submission's own",
    )
    aliases: dict[str, list[str]] = Field(default={}, description="other names of a layer")
    free_names: bool = Field(default=False, description="no lesson or report names its layers")
    forbids: list[str] = Field(
        default=[], description="qualified names that it must not use, beside the exercise's"
    )

    @cached_property
    def dim_specs(self) -> dict[str, Range | Size]:
        """The dims, parsed."""
        return {name: parse_dim(value) for name, value in self.dims.items()}

    @cached_property
    def step_levels(self) -> list[list[str]]:
        """The named steps; each level follows from the ones before."""
        return [[level] if isinstance(level, str) else level for level in self.steps]

    @cached_property
    def step_names(self) -> list[str]:
        """All named steps, in order."""
        return [name for level in self.step_levels for name in level]

    @cached_property
    def input_specs(self) -> dict[str, ArgumentSpec]:
        """The call's arguments, parsed, in order."""
        return {name: parse_argument(str(value)) for name, value in self.inputs.items()}

    @property
    def has_tensors(self) -> bool:
        """Whether some argument of the call is a tensor."""
        return any(isinstance(spec, TensorSpec) for spec in self.input_specs.values())

    @cached_property
    def output_specs(self) -> dict[str, TensorSpec]:
        """What comes back, parsed, in order."""
        return {name: parse_output(value) for name, value in self.outputs.items()}

    @model_validator(mode="after")
    def _dims_are_known(self) -> "Target":
        places = [("constructor", n, parse_argument(str(v))) for n, v in self.constructor.items()]
        places += [("defaults", name, literal(v or 0)) for name, v in self.defaults.items()]
        places += [("inputs", n, spec) for n, spec in self.input_specs.items()]
        places += [("outputs", n, spec) for n, spec in self.output_specs.items()]
        for where, name, spec in places:
            if unknown := sorted(spec.names() - set(self.dims)):
                raise error_at((where, name), f"reads the dim '{unknown[0]}', not declared")
        if wrong := misfit_of_training(self.input_specs, self.output_specs):
            raise error_at(*wrong)
        names = [p.name for p in self.properties]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"the property '{twice[0]}' is declared twice: give one an id")
        return self

    @property
    def trains(self) -> bool:
        """Whether some check of it waits for a training."""
        return any(prop.trains for prop in self.properties)

    @model_validator(mode="after")
    def _cases_fit(self) -> "Target":
        cases: list[tuple[tuple[str | int, ...], Case]] = [
            (("cases", i), case) for i, case in enumerate(self.cases)
        ]
        cases += [
            (("properties", i, "case"), prop.own_case)
            for i, prop in enumerate(self.properties)
            if prop.own_case is not None
        ]
        for place, case in cases:
            if wrong := misfit_of(case, self.input_specs, self.output_specs, self.dims):
                raise error_at((*place, *wrong[0]), wrong[1])
        return self


class Exercise(Record):
    """A stub, a reference, its targets and what it forbids."""

    file: str = Field(
        description="its name in `exercises/` and `solutions/`, as `exercise1_attention.py`"
    )
    title: str = Field(description="a few words that a student reads")
    framework: FrameworkName | None = Field(default=None, description="another than the course's")
    forbids: list[str] = Field(
        default=[], description="qualified names, as `torch.nn.LayerNorm`, that code must not use"
    )
    targets: list[Target] = Field(min_length=1, description="what is graded, in order")
    limits: OwnLimits = Field(
        default=OwnLimits(), description="its own, in place of those of the course"
    )
    traps: dict[Trap, str] = Field(
        default={},
        description="how the lesson's passage begins on what exceptions are about, as "
        "`not-contiguous`",
    )

    @model_validator(mode="after")
    def _file_is_named(self) -> "Exercise":
        if not _FILE.match(self.file):
            raise ValueError(f"'{self.file}' is no file name such as exercise1_attention.py")
        names = [t.name for t in self.targets]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"the target '{twice[0]}' is declared twice")
        for target in self.targets:
            for name in target.uses:
                if name not in names:
                    raise ValueError(f"{target.name} uses '{name}', no target of {self.file}")
        return self

    @model_validator(mode="after")
    def _properties_mean_something(self) -> "Exercise":
        for i, target in enumerate(self.targets):
            for j, prop in enumerate(target.properties):
                if why := prop.misfit(self, target):
                    raise error_at(
                        ("targets", i, "properties", j),
                        f"the property '{prop.name}' means nothing for {target.name}: {why}",
                    )
        return self

    @property
    def id(self) -> str:
        """`exercise1` of `exercise1_attention.py`."""
        return self.file.split("_", 1)[0]

    @property
    def name(self) -> str:
        """`attention` of `exercise1_attention.py`."""
        return self.stem.split("_", 1)[1]

    @property
    def stem(self) -> str:
        """`exercise1_attention` of `exercise1_attention.py`."""
        return self.file.removesuffix(".py")

    @property
    def points(self) -> float:
        """Points of all targets."""
        return sum(target.points.total for target in self.targets)

    @property
    def builds_on_earlier(self) -> bool:
        """Whether the submission's own files of earlier exercises are used."""
        return any(target.earlier is Earlier.OWN for target in self.targets)

    @property
    def trains(self) -> bool:
        """Whether some check of it waits for a training."""
        return any(target.trains for target in self.targets)

    @property
    def usual_seconds(self) -> int:
        """How long all its trainings usually take, 0 where it has none."""
        return sum(getattr(p, "usual_seconds", 0) for t in self.targets for p in t.properties)

    def forbidden_for(self, *targets: Target) -> list[str]:
        """Return the names that some of the targets must not use."""
        return [*self.forbids, *(name for target in targets for name in target.forbids)]

    def target(self, name: str) -> Target:
        """Return the target of that name; raises KeyError."""
        return {target.name: target for target in self.targets}[name]


class Course(Record):
    """All of course.yml."""

    format_version: Literal[1] = Field(description="1")
    title: str = Field(description="a few words that a student reads")
    framework: FrameworkName = Field(default=FrameworkName.TORCH, description="torch or keras")
    tolerances: Tolerances = Field(description="how far numbers may be apart")
    limits: Limits = Field(description="what one submission may use")
    draws: int = Field(default=2, ge=1, description="drawn main cases a target")
    every_target: list[Property] = Field(default=[], description="properties of all targets")
    every_module: list[Property] = Field(default=[], description="properties of all modules")
    parts: list[Part] = Field(
        default=[], description="exercises that have a total of their own; all are one part else"
    )
    exercises: list[Exercise] = Field(min_length=1, description="in the course's order")

    @field_validator("exercises")
    @classmethod
    def _exercises_are_distinct(cls, exercises: list[Exercise]) -> list[Exercise]:
        ids = [exercise.id for exercise in exercises]
        if twice := sorted({i for i in ids if ids.count(i) > 1}):
            raise ValueError(f"the exercise '{twice[0]}' is declared twice")
        return exercises

    @model_validator(mode="after")
    def _parts_hold_all(self) -> "Course":
        if self.parts and (wrong := misfit_of_parts(self.parts, [e.id for e in self.exercises])):
            raise error_at(("parts",), wrong)
        return self

    @model_validator(mode="after")
    def _cases_are_told_apart(self) -> "Course":
        for i, exercise in enumerate(self.exercises):
            for j, target in enumerate(exercise.targets):
                ids = [p.name for p in self.properties(exercise, target)]
                taken = {MAIN: "the drawn main cases", BIASES: "the case of biases"}
                taken |= {i: f"the property '{i}'" for i in ids}
                for k, case in enumerate(target.cases):
                    named = f"the case '{case.name}'"
                    if other := taken.get(case.slug):
                        raise error_at(
                            ("exercises", i, "targets", j, "cases", k),
                            f"{named} and {other} have the same id '{case.slug}': rename one",
                        )
                    taken[case.slug] = named
        return self

    def exercise(self, exercise_id: str) -> Exercise:
        """Return the exercise of that id; raises KeyError."""
        return {exercise.id: exercise for exercise in self.exercises}[exercise_id]

    def part(self, name: str) -> "Course":
        """Return the course with one part alone, the whole where `name` is ""; raises UsageError.

        It knows no earlier exercises: what runs code needs the whole course.
        """
        if not name:
            return self
        part = chosen_part(self.parts, name)
        own = [exercise for exercise in self.exercises if exercise.id in part.exercises]
        return self.model_copy(update={"exercises": own, "parts": [part]})

    def beside(self, exercise: Exercise) -> list[Exercise]:
        """Return the exercises of the same part."""
        return [one for one in self.exercises if self.part_of(one) == self.part_of(exercise)]

    def part_of(self, exercise: Exercise) -> Part | None:
        """Return the part that an exercise belongs to, None in a course without parts."""
        return next((part for part in self.parts if exercise.id in part.exercises), None)

    def subtotals(self, scores: Mapping[str, tuple[float, float]]) -> tuple[Subtotal, ...]:
        """Return points of each part, of `scores` (points, possible) by exercise; () for one."""
        return subtotals(self.parts, scores)

    def framework_of(self, exercise: Exercise) -> FrameworkName:
        """Return the framework of an exercise: its own, else that of the course."""
        return exercise.framework or self.framework

    def limits_of(self, exercise: Exercise) -> Limits:
        """Return what a submission may use in an exercise."""
        own = exercise.limits.model_dump(exclude_none=True)
        return self.limits.model_copy(update=own) if own else self.limits

    @property
    def widest_limits(self) -> Limits:
        """The course's limits with the most memory that some exercise may take."""
        most = max(self.limits_of(exercise).data_mib for exercise in self.exercises)
        return self.limits.model_copy(update={"data_mib": most})

    def earlier(self, exercise: Exercise) -> list[Exercise]:
        """Return the exercises before this one, in order."""
        return self.exercises[: self.exercises.index(exercise)]

    def properties(self, exercise: Exercise, target: Target) -> list[Property]:
        """Return a target's own properties and those of all targets that can apply to it."""
        of_modules = self.every_module if target.kind is not TargetKind.FUNCTION else []
        own = {p.name for p in target.properties} | set(target.without)
        void = self.framework_of(exercise).void
        general = [p for p in (*self.every_target, *of_modules) if p.kind not in void]
        inherited = [p for p in general if p.name not in own and not p.misfit(exercise, target)]
        return [*target.properties, *inherited]

    def property_of(self, check: CheckId) -> Property | None:
        """Return the property that a check is of, whatever its id; None for another kind."""
        if check.kind is not Kind.PROPERTY:
            return None
        exercise = self.exercise(check.exercise)
        declared = self.properties(exercise, exercise.target(check.target))
        return next((prop for prop in declared if prop.name == check.name), None)
