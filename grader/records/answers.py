"""What a submission claimed, rebuilt from bytes and checked against an exact form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod
from typing import Annotated

import numpy as np
import safetensors.numpy
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from grader.records.calls import Array
from grader.worker.names import Drew, Group, of_group, variable_of
from grader.worker.protocol import Cause, ClaimStatus, Told
from grader.worker.wire import Violation

Short = Annotated[str, StringConstraints(max_length=400)]
Text = Annotated[str, StringConstraints(max_length=1 << 16)]
Shape = Annotated[list[Annotated[int, Field(ge=0, le=1 << 62)]], Field(max_length=16)]
_DTYPES = frozenset(map(np.dtype, (
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool",
)))  # fmt: skip
_EMPTY = 1 << 24  # numbers that the other axes of an empty tensor may come to
_NAMES_CAP = 1 << 16  # bytes of names and shapes before the numbers: 50,000 tensors take seconds
_NAMES_LENGTH = 8  # bytes that tell how long those are


class AnswerStatus(StrEnum):
    """How a call ended."""

    OK = ClaimStatus.OK
    RAISED = ClaimStatus.RAISED
    UNBOUND = ClaimStatus.UNBOUND
    MISSING = ClaimStatus.MISSING
    # and what a parent alone can tell
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    REFUSED = "refused"  # the answer broke the protocol


class _Claim(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Frame(_Claim):
    """One of the submission's own frames in a traceback."""

    label: Short
    line: int = Field(ge=0, le=1 << 30)
    name: Short


class StudentError(_Claim):
    """An exception of the submission's."""

    type: Short
    bases: list[Short] = Field(max_length=8)
    message: Text
    frames: list[Frame] = Field(max_length=12)
    near: Short = ""  # the name that was probably meant
    cause: Cause = Field(default=Cause.OWN, strict=False)


class ReturnedValue(_Claim):
    """What one returned value was."""

    type: Short
    shape: Shape | None = None
    dtype: Short | None = None


class OwnDefault(_Claim):
    """An argument that has another default than is asked for."""

    name: Short
    own: Short  # as code, "" where it has none


class ParameterShape(_Claim):
    """A parameter and its shape."""

    name: Short
    shape: Shape


class LooseThing(_Claim):
    """A tensor or module in a module's attributes that is not registered."""

    path: Short  # of the attribute
    what: Short


class Untrained(_Claim):
    """A registered parameter that no gradient reached."""

    name: Short
    roles: list[Short] = Field(max_length=64)


class Bound(_Claim):
    """A parameter and the roles that it plays."""

    name: Short
    roles: list[Short] = Field(min_length=1, max_length=64)
    told: Told = Field(strict=False)
    turnable: bool = False


class Info(_Claim):
    """All that an answer claims beside tensors."""

    returned: Short | None = None  # the container's type where several values were due
    count: int = Field(default=1, ge=0, le=1 << 30)
    parts: list[ReturnedValue] = Field(default_factory=list, max_length=8)
    # what came in a tuple or list where one thing was due; its first item counts as the output
    inside: list[ReturnedValue] = Field(default_factory=list, max_length=8)
    keys: list[Short] = Field(default_factory=list, max_length=16)
    registered: int | None = Field(default=None, ge=0, le=1 << 60)
    names: list[ParameterShape] = Field(default_factory=list, max_length=64)
    again: list[Short] = Field(default_factory=list, max_length=64)
    loose: list[LooseThing] = Field(default_factory=list, max_length=64)
    given: int = Field(default=0, ge=0, le=1 << 30)
    bound: list[Bound] = Field(default_factory=list, max_length=64)
    defaults: list[OwnDefault] = Field(default_factory=list, max_length=64)
    forbidden: list[Short] = Field(default_factory=list, max_length=64)
    modules: list[Short] = Field(default_factory=list, max_length=64)
    untrained: list[Untrained] = Field(default_factory=list, max_length=64)
    hidden: int = Field(default=0, ge=0, le=1 << 60)
    sought: list[ParameterShape] = Field(default_factory=list, max_length=256)
    present: list[ParameterShape] = Field(default_factory=list, max_length=64)
    random: bool = False
    drew: Drew = Field(default=Drew.NOTHING, strict=False)


class _Header(_Claim):
    call: Short
    status: ClaimStatus = Field(strict=False)
    info: Info = Field(default_factory=Info)
    error: StudentError | None = None


class Greeting(_Claim):
    """How loading the submission went."""

    loaded: bool
    error: StudentError | None
    names: list[Short] = Field(max_length=400)


@dataclass(frozen=True)
class Answer:
    """A submission's answer to one call."""

    status: AnswerStatus
    tensors: Mapping[str, Array] = field(default_factory=dict)
    info: Info = Info()
    error: StudentError | None = None
    reason: str = ""  # of a timeout, crash or refusal
    flooded: bool = False  # it was refused for printing without end

    def is_of(self, kind: str) -> bool:
        """Whether one thing was returned, of a type of this name."""
        return [part.type for part in self.info.parts] == [kind]

    def held_by(self, variable: str) -> list[Array]:
        """Return what a variable of a recorded run held, in order."""
        held = of_group(self.tensors, Group.HELD)
        return [array for name, array in held.items() if variable_of(name) == variable]


def parse_greeting(header: Mapping[str, object]) -> Greeting:
    """Check a greeting; raises Violation."""
    try:
        return Greeting.model_validate(header)
    except ValidationError:
        raise Violation("a greeting of another form") from None


def parse_answer(header: Mapping[str, object], payload: bytes, call_id: str) -> Answer:
    """Check the answer to the call `call_id`; raises Violation."""
    try:
        claimed = _Header.model_validate(header)
    except ValidationError:
        raise Violation("an answer of another form") from None
    if claimed.call != call_id:
        raise Violation("an answer to another call")
    if (claimed.status is ClaimStatus.RAISED) != (claimed.error is not None):
        raise Violation("an answer that contradicts itself")
    if int.from_bytes(payload[:_NAMES_LENGTH], "little") > _NAMES_CAP:
        raise Violation("more tensors than asked for")
    status = AnswerStatus(claimed.status)
    return Answer(status, load_tensors(payload), claimed.info, claimed.error)


def load_tensors(payload: bytes) -> dict[str, Array]:
    """Rebuild arrays from safetensors bytes; raises Violation."""
    if not payload:
        return {}
    try:
        arrays = safetensors.numpy.load(payload)
    except Exception as error:  # noqa: BLE001 - hostile bytes; the library raises several kinds
        raise Violation(f"tensors that cannot be read ({type(error).__name__})") from None
    for array in arrays.values():
        if array.dtype not in _DTYPES:
            raise Violation("a tensor of a dtype that nobody asked for")
        if array.size == 0 and prod(size or 1 for size in array.shape) > _EMPTY:
            raise Violation("an empty tensor of a size that nobody asked for")
    # in one order: the library's own changes from run to run
    return {name: _plain(arrays[name]) for name in sorted(arrays)}


def _plain(array: Array) -> Array:
    """Return a contiguous array; of a byte that stands for true, numpy expects that it is 1."""
    if array.dtype == np.bool_:
        array = array.view(np.uint8) != 0
    return np.asarray(array, order="C")  # np.ascontiguousarray gives a scalar the shape (1,)


def header_of(call_id: str, answer: Answer) -> dict[str, object]:
    """Return the header that `parse_answer` reads back."""
    status = ClaimStatus(answer.status)
    header = _Header(call=call_id, status=status, info=answer.info, error=answer.error)
    return header.model_dump(mode="json")
