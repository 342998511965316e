"""The models of course.yml, frozen; unknown keys are errors.

Everything that the engine knows of a course stands here or in the solutions: there is no
test code to an exercise.
"""

import re
from functools import cached_property
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from grader.course.expressions import (
    ArgumentSpec,
    Range,
    Size,
    TensorSpec,
    literal,
    parse_argument,
    parse_dim,
    parse_tensor,
)

_FILE = re.compile(r"^([a-z]+\d+)_([a-z0-9_]+)\.py$")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _checked_argument(value: object) -> object:
    parse_argument(str(value))
    return value


def _checked_tensor(value: object) -> object:
    parse_tensor(str(value))
    return value


def _checked_dim(value: object) -> object:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError("a dim is a range such as 2..4, a number, or an expression")
    parse_dim(value)
    return value


def _checked_literal(value: object) -> object:
    if isinstance(value, str | int | float | bool):
        literal(value)
    return value


Argument = Annotated[str | int, BeforeValidator(_checked_argument)]
Tensor = Annotated[str, BeforeValidator(_checked_tensor)]
Dim = Annotated[int | str, BeforeValidator(_checked_dim)]
Literal_ = Annotated[bool | int | float | str, BeforeValidator(_checked_literal)]


class Tolerance(_Record):
    """How far two numbers may be apart: atol + rtol * |expected|."""

    rtol: float = Field(gt=0)
    atol: float = Field(gt=0)


class Tolerances(_Record):
    """Tolerances by the dtype that the comparison runs in."""

    float64: Tolerance
    float32: Tolerance


class Limits(_Record):
    """What one submission may use."""

    case_seconds: float = Field(gt=0, description="wall seconds for one call")
    target_seconds: float = Field(gt=0, description="wall seconds for one target")
    submission_seconds: float = Field(gt=0, description="wall seconds for one exercise's file")
    cpu_seconds: int = Field(gt=0, description="CPU seconds for one process")
    data_mib: int = Field(gt=0, description="MiB of memory that the code may take")
    answer_mib: float = Field(gt=0, description="MiB that the answer to one call may have")
    output_kib: int = Field(gt=0, description="KiB of printed output that are kept")
    message_kib: int = Field(gt=0, description="KiB of an error's text that are kept")
    source_kib: int = Field(gt=0, description="KiB that one submitted file may have")
    open_files: int = Field(gt=0, description="file descriptors")
    restarts: int = Field(ge=0, description="fresh processes for a target after a hang or crash")


class Adjustment(_Record):
    """A drawn tensor's values are multiplied by `scale`, then `shift` is added."""

    scale: float = 1.0
    shift: float = 0.0


class Case(_Record):
    """A configuration of a target; what it leaves out is as the target says."""

    name: str = Field(min_length=1, description="a few words that a student reads")
    draws: int = Field(default=1, ge=1)
    dims: dict[str, Dim] = {}
    constructor: dict[str, Argument] = {}
    options: dict[str, Literal_] = {}
    values: dict[str, Adjustment] = {}
    gradient: bool = True


Earlier = Literal["stand-ins", "own"]
_EARLIER = Field(
    default=None,
    description="stand-ins: a factory of the submission's own earlier exercises gets correct "
    "ones here, with the reference's parameters in them, so that its values can be compared",
)


class _Property(_Record):
    id: str = ""
    kind: str

    @property
    def name(self) -> str:
        """The identifier in the check's id: `id` where given, else the kind."""
        return self.id or self.kind


class RowsSumToOne(_Property):
    """Every row of the output along `axis` is a distribution; `log` for log-probabilities."""

    kind: Literal["rows-sum-to-one"]
    axis: int = -1
    log: bool = False


class Equivariant(_Property):
    """Permuting the inputs along `dim` permutes the outputs, and does no more."""

    kind: Literal["equivariant"]
    dim: str


class Independent(_Property):
    """An item along `dim` is treated alike alone and among others."""

    kind: Literal["independent"]
    dim: str


class InputsUnchanged(_Property):
    """The caller's tensors are as they were."""

    kind: Literal["inputs-unchanged"]


class Agrees(_Property):
    """The reference's values on a case of its own."""

    kind: Literal["agrees"]
    case: Case
    strided: bool = False  # the inputs are views that are not contiguous
    earlier: Literal["stand-ins"] | None = _EARLIER


class Raises(_Property):
    """A case that must be refused, at construction or in the call."""

    kind: Literal["raises"]
    error: str
    case: Case


class Dtype(_Property):
    """Outputs come in the default dtype and at its precision."""

    kind: Literal["dtype"]


class Device(_Property):
    """No tensor is made on a device of the code's own choosing."""

    kind: Literal["device"]


class Registered(_Property):
    """The module registers exactly the parameters that the reference has, and hides no state."""

    kind: Literal["registered"]


class Trained(_Property):
    """A gradient reaches every registered parameter."""

    kind: Literal["trained"]


class Reusable(_Property):
    """One module serves inputs of several shapes, one after the other."""

    kind: Literal["reusable"]
    dims: list[str] = Field(min_length=1, description="the dims that change between the calls")


class Dropout(_Property):
    """In training mode the outputs have the reference's mean and spread over many masks."""

    kind: Literal["dropout"]
    case: Case
    masks: int = Field(default=4000, gt=0, description="how many are drawn")
    earlier: Literal["stand-ins"] | None = _EARLIER


class Varies(_Property):
    """In training mode the outputs differ from mask to mask; how much is not compared."""

    kind: Literal["varies"]
    case: Case


class Fits(_Property):
    """Training on one small batch brings the loss below a share of what it was."""

    kind: Literal["fits"]
    case: Case
    steps: int = Field(gt=0)
    learning_rate: float = Field(gt=0)
    classes: str = Field(description="how many labels there are, over the dims")
    share: float = Field(gt=0, lt=1)


class Allowed(_Property):
    """None of the exercise's forbidden names is used; advice, for it can be evaded."""

    kind: Literal["allowed"]


Property = Annotated[
    RowsSumToOne
    | Equivariant
    | Independent
    | InputsUnchanged
    | Agrees
    | Raises
    | Dtype
    | Device
    | Registered
    | Trained
    | Reusable
    | Dropout
    | Varies
    | Fits
    | Allowed,
    Field(discriminator="kind"),
]


class Points(_Record):
    """Points of a target by kind of check; property and bug points are shared out evenly."""

    shape: float = Field(default=0, ge=0)
    numeric: float = Field(default=0, ge=0)
    gradient: float = Field(default=0, ge=0)
    property: float = Field(default=0, ge=0)
    bug: float = Field(default=0, ge=0)

    @cached_property
    def total(self) -> float:
        """Points of all kinds."""
        return self.shape + self.numeric + self.gradient + self.property + self.bug


class Target(_Record):
    """One function or class that is graded by itself."""

    name: str = Field(pattern=r"^[A-Za-z_]\w*$")
    kind: Literal["function", "module", "factory"]
    dims: dict[str, Dim]
    constructor: dict[str, Argument] = {}
    inputs: dict[str, Argument]
    outputs: dict[str, Tensor] = Field(min_length=1)
    cases: list[Case] = []
    properties: list[Property] = []
    without: list[str] = Field(
        default=[], description="properties of every target that mean nothing for this one"
    )
    points: Points
    steps: list[str | list[str]] = Field(
        default=[], description="named steps in order; those side by side in a list of their own"
    )
    uses: list[str] = Field(default=[], description="targets of this file that this one calls")
    earlier: Earlier = "stand-ins"
    aliases: dict[str, list[str]] = Field(
        default={}, description="other names that learners give a parameter's layer"
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

    @cached_property
    def output_specs(self) -> dict[str, TensorSpec]:
        """What comes back, parsed, in order."""
        return {name: parse_tensor(value) for name, value in self.outputs.items()}

    @model_validator(mode="after")
    def _dims_are_known(self) -> "Target":
        known = set(self.dims)
        for where, specs in (("inputs", self.input_specs), ("outputs", self.output_specs)):
            for name, spec in specs.items():
                if unknown := sorted(spec.names() - known):
                    raise ValueError(f"{where}.{name} reads the dim '{unknown[0]}', not declared")
        for name, value in self.constructor.items():
            if unknown := sorted(parse_argument(str(value)).names() - known):
                raise ValueError(f"constructor.{name} reads the dim '{unknown[0]}', not declared")
        for prop in self.properties:
            if getattr(prop, "earlier", None) and self.kind != "factory":
                raise ValueError(f"the property '{prop.name}' has 'earlier', which a factory may")
        names = [p.name for p in self.properties]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"the property '{twice[0]}' is declared twice: give one an id")
        return self


class Exercise(_Record):
    """A stub, a reference, its targets and what it forbids."""

    file: str = Field(description="as in exercises/ and solutions/: exercise1_attention.py")
    title: str
    forbids: list[str] = Field(default=[], description="qualified names: torch.nn.LayerNorm")
    targets: list[Target] = Field(min_length=1)

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

    def target(self, name: str) -> Target:
        """Return the target of that name; raises KeyError."""
        return {target.name: target for target in self.targets}[name]


class Course(_Record):
    """All of course.yml."""

    format_version: Literal[1]
    title: str
    tolerances: Tolerances
    limits: Limits
    draws: int = Field(default=2, ge=1, description="drawn main cases a target")
    every_target: list[Property] = Field(default=[], description="properties of all targets")
    every_module: list[Property] = Field(default=[], description="properties of all modules")
    exercises: list[Exercise] = Field(min_length=1)

    @field_validator("exercises")
    @classmethod
    def _exercises_are_distinct(cls, exercises: list[Exercise]) -> list[Exercise]:
        ids = [exercise.id for exercise in exercises]
        if twice := sorted({i for i in ids if ids.count(i) > 1}):
            raise ValueError(f"the exercise '{twice[0]}' is declared twice")
        return exercises

    def exercise(self, exercise_id: str) -> Exercise:
        """Return the exercise of that id; raises KeyError."""
        return {exercise.id: exercise for exercise in self.exercises}[exercise_id]

    def earlier(self, exercise: Exercise) -> list[Exercise]:
        """Return the exercises before this one, in order."""
        return self.exercises[: self.exercises.index(exercise)]

    def properties(self, exercise: Exercise, target: Target) -> list[Property]:
        """Return a target's own properties and those of all targets that can apply to it."""
        general = list(self.every_target)
        if target.kind != "function":
            general += self.every_module
        own = {p.name for p in target.properties} | set(target.without)
        inherited = [p for p in general if p.name not in own and _applies(p, exercise, target)]
        return [*target.properties, *inherited]


def _applies(prop: Property, exercise: Exercise, target: Target) -> bool:
    """Whether a property of all targets means anything for this one."""
    tensors = [s for s in target.input_specs.values() if isinstance(s, TensorSpec)]
    if isinstance(prop, InputsUnchanged | Device) or (isinstance(prop, Agrees) and prop.strided):
        return bool(tensors)
    if isinstance(prop, Allowed):
        return bool(exercise.forbids)
    if isinstance(prop, Reusable):
        return set(prop.dims) <= set(target.dims)
    return True
