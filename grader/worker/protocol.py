"""What a parent asks of a child, and what it claims, which `records.answers` checks: plain JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, get_args

from grader.worker.frameworks import FrameworkName
from grader.worker.names import Drew

Scalar = int | float | str | bool
Units = Sequence[tuple[str, str]]  # of a file: the label that frames show, and the source text
THREAD = "a thread of its own"  # among the forbidden names: what it calls cannot be watched


def to_json(record: object) -> str:
    """Return a record, or plain data with records in it, as JSON."""
    return json.dumps(record, allow_nan=False, separators=(",", ":"), default=vars)


# ---- calls --------------------------------------------------------------------------------------


class TargetKind(StrEnum):
    """What a target is."""

    FUNCTION = "function"
    MODULE = "module"  # a class of torch's modules, which gets the reference's parameters
    FACTORY = "factory"  # a function that returns a module with parameters of its own


class Action(StrEnum):
    """What a call does with its target."""

    FORWARD = "forward"
    GRADIENT = "gradient"
    REUSE = "reuse"  # three calls of one module, of which the last is looked at
    DEVICE = "device"  # on a pretended device
    FLOAT32 = "float32"  # with inputs, parameters and the default dtype in float32
    TRAIN = "train"  # in training mode, over many masks
    FIT = "fit"  # training on one batch
    RECORD = "record"  # with every tensor that is made on the way
    PIECES = "pieces"  # the inputs in pieces, each with what the call before handed on
    SAMPLE = "sample"  # what is drawn for many copies of the inputs
    LEARN = "learn"  # training on samples, then a look at inputs that are new to it


class Earlier(StrEnum):
    """What imports of earlier exercises find."""

    STANDINS = "stand-ins"  # correct ones
    OWN = "own"  # the submission's


class RoleKind(StrEnum):
    """How the values of a parameter are used."""

    LINEAR = "linear"  # (out, in)
    BIAS = "bias"
    TABLE = "table"  # (rows, k)
    VECTOR = "vector"


@dataclass(frozen=True)
class Role:
    """A parameter of the reference, which some parameter of a submission must play."""

    name: str  # "to_queries.weight"
    shape: tuple[int, ...]
    kind: RoleKind
    aliases: tuple[str, ...] = ()
    part: str = ""  # "exercise5.EncoderLayer": the class of an earlier exercise that holds it
    number: int = 0  # of the part among those of its class, in the order of use
    inner: str = ""  # the parameter's name inside the part
    optional: bool = False  # a bias that is zero here: a module without it computes the same

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Role":
        """Read a role back."""
        rest = {**data, "shape": tuple(data["shape"]), "aliases": tuple(data["aliases"])}
        return Role(**{**rest, "kind": RoleKind(data["kind"])})


@dataclass(frozen=True)
class Value:
    """An argument that is a plain value."""

    value: Scalar | None  # None where nothing is given


@dataclass(frozen=True)
class TensorKey:
    """An argument that is a tensor of the plan, by its key."""

    tensor: str


@dataclass(frozen=True)
class Probe:
    """An argument that is a given module, with the keys of its two matrices."""

    probe: str  # "mixing", as in `grader.worker.probes`
    own: str
    mixed: str
    max_len: int = 0  # of a model of sequences
    training: bool = False  # its mode when it is given


@dataclass(frozen=True)
class Tool:
    """An argument that training needs: an optimizer of a given module, or a loss."""

    of: int | None  # the place of the given module among the inputs, None for a loss
    used: bool = False  # its parameters have gradients from before


Argument = Value | TensorKey | Probe | Tool


_KINDS = {fields(kind)[0].name: kind for kind in get_args(Argument)}


def _arguments(rows: Sequence[Mapping[str, Any]]) -> tuple[Argument, ...]:
    """Read arguments back: each kind begins with a field of its own."""
    return tuple(_KINDS[next(iter(row))](**row) for row in rows)


@dataclass(frozen=True)
class Training:
    """How a module is trained on its inputs."""

    labels: str  # the key of their tensor
    steps: int  # of Adam, at most
    learning_rate: float
    share: float  # of the first loss; training may end well below it


@dataclass(frozen=True)
class Learning:
    """How a module learns from samples that it is shown in batches."""

    samples: str  # the key of their tensor
    labels: str  # the key of what is due for each, or for each place of each
    steps: int  # of Adam
    batch: int  # samples a step
    learning_rate: float  # at its highest
    seconds: int  # that it may take
    stages: Sequence[int] = ()  # steps after which a model of sequences writes


@dataclass(frozen=True)
class Pieces:
    """How inputs are given piece by piece."""

    lengths: Sequence[int]
    inputs: Sequence[int]  # the axis along which each is cut, -1 where it is given whole
    outputs: Sequence[int]  # the axis along which the pieces of each are joined, or -1
    state: int  # the place of the output that the next call gets behind its inputs
    twice: bool  # each state is given again when others have gone on from it


@dataclass(frozen=True)
class WorkerCall:
    """One call of one target, as a child gets it."""

    id: str
    target: str
    kind: TargetKind
    action: Action
    construct: Sequence[Argument]
    options: Mapping[str, Scalar]
    inputs: Sequence[Argument]
    outputs: Sequence[str]  # names of what comes back
    roles: Sequence[Role] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)  # role -> tensor key
    cotangents: Sequence[str] = ()  # tensor keys, one an output, "" where it has no gradient
    again: Sequence[Argument] = ()  # the later inputs of a reuse
    strided: bool = False  # the inputs are views that are not contiguous
    watch: bool = False  # for forbidden names
    seed: int = 0  # of what is drawn at random; the same gives the same
    repeats: int = 1  # of the inputs of a training call, each under a mask of its own
    times: int = 1  # that it is called with the same inputs, one after the other
    after: int | None = None  # the place of a given module whose parameters come back, too
    training: Training | None = None
    learning: Learning | None = None
    numbers: Sequence[str] = ()  # of the outputs, those that are plain numbers of Python's
    truths: Sequence[str] = ()  # of the outputs, those that are true or false everywhere
    as_dict: bool = False  # the outputs come in a dict
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)  # of outputs that have one
    opaque: Sequence[str] = ()  # of the outputs, those that nobody looks at
    pieces: Pieces | None = None
    generator: str = ""  # the argument by which a source of random numbers is given
    device: str = ""  # the argument by which a device is given, of a call on a pretended one
    defaults: Mapping[str, Scalar] = field(default_factory=dict)  # given where the code has others
    nones: Sequence[str] = ()  # arguments that are None where the code has no default for them
    spare: int = 0  # inputs at the end that are not given, and are so, too

    @property
    def sent(self) -> dict[str, object]:
        """The fields that go to a child."""
        return {one.name: getattr(self, one.name) for one in fields(WorkerCall)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "WorkerCall":
        """Read a call back; raises KeyError, TypeError or ValueError for another form."""
        training, learning, pieces = data["training"], data["learning"], data["pieces"]
        typed: dict[str, object] = {
            "kind": TargetKind(data["kind"]),
            "action": Action(data["action"]),
            "roles": tuple(Role.from_json(role) for role in data["roles"]),
            "training": Training(**training) if training else None,
            "learning": Learning(**learning) if learning else None,
            "pieces": Pieces(**pieces) if pieces else None,
        }
        typed |= {name: _arguments(data[name]) for name in ("construct", "inputs", "again")}
        return cls(**{**data, **typed})


@dataclass(frozen=True)
class Texts:
    """What a child runs: the submission's text and what its imports find."""

    stem: str
    units: Units
    notebook: bool
    earlier: Mapping[str, Units]  # stem -> what an import of it runs
    own_earlier: Mapping[str, Units]  # those of `earlier` that are the submission's own
    forbids: Sequence[str]
    framework: FrameworkName = field(default=FrameworkName.TORCH, kw_only=True)


@dataclass(frozen=True)
class Job(Texts):
    """What a child gets of it: limits too."""

    dtype: str  # torch's default one
    message_characters: int  # of an error's text
    answer_bytes: int  # of one answer's tensors


SAMPLE_MANY = "many"  # the run of all copies
SAMPLE_FEW = 64  # copies in the other runs, which are compared with each other
# by run how many numbers the given generator has drawn before, and the seed of torch's own; a state
# is more than its seed, from which code could begin again
SAMPLE_SOURCES: Mapping[str, tuple[int, int]] = {
    SAMPLE_MANY: (0, 17),
    "few": (0, 17),
    "own-moved": (0, 23),
    "given-moved": (1000, 17),
}
SAMPLE_SEED = 17  # of every given generator


# ---- claims -------------------------------------------------------------------------------------


class Cause(StrEnum):
    """What the worker knows of an exception beside its words."""

    OWN = ""  # the submission's own business
    DEVICE = "device"  # tensors of two devices met
    CUT_OFF = "cut-off"  # no gradient can flow from the output to the inputs


@dataclass(frozen=True)
class FrameClaim:
    """One of the submission's own frames in a traceback."""

    label: str
    line: int
    name: str


@dataclass(frozen=True)
class ErrorClaim:
    """An exception of the submission's."""

    type: str
    bases: list[str]
    message: str
    frames: list[FrameClaim]  # innermost last
    near: str  # the name that was probably meant
    cause: Cause


@dataclass(frozen=True)
class ValueClaim:
    """What one returned value was."""

    type: str
    shape: list[int] | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class DefaultClaim:
    """An argument that has another default than is asked for."""

    name: str
    own: str  # as code, "" where it has none


@dataclass(frozen=True)
class ShapeClaim:
    """A parameter and its shape."""

    name: str
    shape: list[int]


@dataclass(frozen=True)
class LooseClaim:
    """A tensor or module in a module's attributes that is not registered."""

    path: str  # of the attribute
    what: str  # "tensor", "parameter" or "module"


@dataclass(frozen=True)
class UntrainedClaim:
    """A registered parameter that no gradient reached."""

    name: str
    roles: list[str]


class Told(StrEnum):
    """By what it is known which part a parameter plays."""

    NAME = "name"
    SHAPE = "shape"  # no other part fits
    ORDER = "order"  # of registration: a guess
    USE = "use"  # the order of use, in what a factory puts together


@dataclass(frozen=True)
class BoundClaim:
    """A parameter, or a list of them, and the roles that it plays."""

    name: str
    roles: list[str]  # several are fused, in this order
    told: Told
    turnable: bool  # a square matrix of its own: its rows may be the inputs or the outputs


class ClaimStatus(StrEnum):
    """How a call ended, as far as a child can tell."""

    OK = "ok"
    RAISED = "raised"
    UNBOUND = "unbound"  # no parameter can play some role
    MISSING = "missing"  # the submission has no such target


@dataclass
class InfoClaim:
    """All that an answer claims beside tensors."""

    returned: str | None = None  # the container's type where several values were due
    count: int = 1
    parts: list[ValueClaim] = field(default_factory=list)
    inside: list[ValueClaim] = field(default_factory=list)  # of a tuple where one thing was due
    keys: list[str] = field(default_factory=list)  # of a dict that was due
    registered: int | None = None  # numbers that the module registers
    names: list[ShapeClaim] = field(default_factory=list)  # its parameters
    again: list[str] = field(default_factory=list)  # of these names: of one that has another, too
    loose: list[LooseClaim] = field(default_factory=list)
    given: int = 0  # given sublayers that it registers
    bound: list[BoundClaim] = field(default_factory=list)  # which parameters play which roles
    defaults: list[DefaultClaim] = field(default_factory=list)  # that are others than asked for
    forbidden: list[str] = field(default_factory=list)  # names that were called
    modules: list[str] = field(default_factory=list)  # and those of classes that it is made of
    untrained: list[UntrainedClaim] = field(default_factory=list)
    hidden: int = 0  # trained numbers that the output depends on, and that are not registered
    sought: list[ShapeClaim] = field(default_factory=list)  # roles that nothing can play
    present: list[ShapeClaim] = field(default_factory=list)  # and what there is
    random: bool = False  # another run gives other numbers
    drew: Drew = Drew.NOTHING  # in training mode


@dataclass(frozen=True)
class AnswerClaim:
    """The header of an answer."""

    call: str  # its id
    status: ClaimStatus
    info: InfoClaim = field(default_factory=InfoClaim)
    error: ErrorClaim | None = None


@dataclass(frozen=True)
class GreetingClaim:
    """The header of a child's first frame, once the submission is loaded."""

    loaded: bool
    error: ErrorClaim | None
    names: list[str]  # that there are
