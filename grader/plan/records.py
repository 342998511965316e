"""The records of a plan: roles, cases, calls. Plain data that can be shipped."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]

PUBLIC = "public"  # the split that everybody has
HIDDEN = "hidden"  # the split that an instructor's secret draws


@dataclass(frozen=True)
class Role:
    """A parameter of the reference, which some parameter of a submission must play."""

    name: str  # "to_queries.weight"
    shape: tuple[int, ...]
    kind: str  # "linear" (out, in), "bias", "table" (rows, k), or "vector"
    aliases: tuple[str, ...] = ()
    part: str = ""  # "exercise5.EncoderLayer": the class of an earlier exercise that holds it
    number: int = 0  # of the part among those of its class, in the order of use
    inner: str = ""  # the parameter's name inside the part


@dataclass(frozen=True)
class DrawnCase:
    """A configuration with its sizes drawn."""

    id: str  # "main-1"
    name: str  # what a student reads: "main" or "one head"
    target: str
    dims: Mapping[str, int]
    construct: Mapping[str, object]  # as shown to a student
    options: Mapping[str, object]
    numeric: bool  # judged by the numeric check, not by a property
    gradient: bool


@dataclass(frozen=True)
class Call:
    """One call of one target.

    Arguments are {"value": scalar}, {"tensor": key} or {"probe": name, "tensors": {...}}.
    """

    id: str
    target: str
    kind: str  # function, module or factory
    case: str
    action: str  # forward, gradient, reuse, device, train or fit
    construct: list[dict[str, Any]]
    options: dict[str, Any]
    inputs: list[dict[str, Any]]
    outputs: list[str]
    roles: list[dict[str, Any]] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)  # role -> tensor key
    cotangents: list[str] = field(default_factory=list)  # tensor keys, one an output
    again: list[dict[str, Any]] = field(default_factory=list)  # the second inputs of a reuse
    strided: bool = False
    watch: bool = False
    extra: dict[str, Any] = field(default_factory=dict)  # what only this action needs
    earlier: str = "stand-ins"  # what imports of earlier exercises find: these, or "own"

    @property
    def free(self) -> bool:
        """Whether the values are the module's own, drawn at construction."""
        return self.kind == "factory" and not self.roles

    def to_json(self) -> dict[str, Any]:
        """Return plain data that json can write; it shares the call's lists and dicts."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @cached_property
    def text(self) -> str:
        """`to_json`'s data as JSON; a class asks for it again and again."""
        return json.dumps(self.to_json(), allow_nan=False, separators=(",", ":"))

    @staticmethod
    def from_json(data: dict[str, Any]) -> "Call":
        """Rebuild a call from `to_json`'s data."""
        return Call(**data)


@dataclass(frozen=True)
class Plan:
    """All calls of one exercise on one split, with the tensors that they read."""

    exercise: str
    split: str
    cases: dict[str, DrawnCase]  # by "Target/case id"
    calls: list[Call]
    tensors: dict[str, Array]

    def of_target(self, target: str) -> list[Call]:
        """Return the calls of one target, in order."""
        return [call for call in self.calls if call.target == target]

    def numeric_cases(self, target: str) -> list[DrawnCase]:
        """Return the cases of the numeric check, smallest first."""
        return [c for c in self.cases.values() if c.target == target and c.numeric]

    def only(self, targets: set[str]) -> "Plan":
        """Return the plan for some targets."""
        return replace(self, calls=[call for call in self.calls if call.target in targets])
