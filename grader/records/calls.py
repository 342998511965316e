"""A plan: the cases of an exercise as they are drawn, and the calls that they are for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from grader.records.ids import MAIN, CallId
from grader.worker.protocol import Earlier, Scalar, TargetKind, WorkerCall, to_json

Array = NDArray[Any]

PUBLIC = "public"  # the split that everybody has
HIDDEN = "hidden"  # the split that an instructor's secret draws

PLAIN = ""  # the group of cases with no option


def group_of(gives: Sequence[str]) -> str:
    """Return the group of cases that give the same."""
    return "-".join(gives)


@dataclass(frozen=True)
class DrawnCase:
    """A configuration with its sizes drawn."""

    slug: str  # "main", or what the case's name or property makes of it
    number: int  # among the draws of one configuration, from 1
    name: str  # what a student reads: "main" or "one head"
    target: str
    dims: Mapping[str, int]
    construct: Mapping[str, Scalar]  # as shown to a student
    options: Mapping[str, Scalar]
    numeric: bool  # judged by the numeric check, not by a property
    gradient: bool
    group: str = PLAIN  # whose points it shares: what it gives, or the edge that it is
    gives: Sequence[str] = ()  # options, arguments and inputs beside those of the main case

    @property
    def id(self) -> str:
        """Names the case among those of its target: `main-1`."""
        return f"{self.slug}-{self.number}"

    @property
    def main(self) -> bool:
        """Whether it is an ordinary case, and shows nothing special."""
        return self.slug == MAIN

    @property
    def of_what_it_gives(self) -> bool:
        """Whether its group is what it gives, and no edge."""
        return bool(self.gives) and self.group == group_of(self.gives)


@dataclass(frozen=True)
class Call(WorkerCall):
    """One call of one target, with what the parent alone needs to know of it."""

    case: str = ""  # the id of its case
    earlier: Earlier = Earlier.STANDINS  # what imports of earlier exercises find
    refused: bool = False  # it should end in an exception, and no parameters are filled in
    chances: str = ""  # the course's function that tells how probable each draw is

    @property
    def free(self) -> bool:
        """Whether the values are the module's own, drawn at construction."""
        return self.kind is TargetKind.FACTORY and not self.roles

    @cached_property
    def sent_text(self) -> str:
        """What a child gets of it, as JSON; a class asks for it again and again."""
        return to_json(self.sent)

    @cached_property
    def texts(self) -> frozenset[str]:
        """Every text in what a child gets, among them the keys of all tensors that it needs."""
        return frozenset(_texts_in(list(self.sent.values())))

    def to_json(self) -> dict[str, object]:
        """Return plain data and records, as a key keeps it."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Call":
        """Read a call of a key back; raises KeyError, TypeError or ValueError."""
        known = {**data, "earlier": Earlier(data["earlier"])}
        call = super().from_json(known)
        assert isinstance(call, Call)  # noqa: S101 - for the type checker
        return call


def _texts_in(held: object) -> Iterator[str]:
    match held:
        case str():
            yield held
        case Mapping():
            yield from _texts_in(list(held.values()))
        case list() | tuple():
            for one in held:
                yield from _texts_in(one)
        case _ if is_dataclass(held):
            yield from _texts_in(list(vars(held).values()))


@dataclass(frozen=True)
class Plan:
    """All calls of one exercise on one split, with the tensors that they read."""

    exercise: str
    split: str
    cases: list[DrawnCase]
    calls: list[Call]
    tensors: dict[str, Array]
    trainings: list[Call] = field(default_factory=list)  # calls that take long, apart from the rest
    # by training and name: what no worker gets of it
    withheld: dict[str, dict[str, Array]] = field(default_factory=dict)

    @cached_property
    def _calls_by_id(self) -> Mapping[str, Call]:
        return {call.id: call for call in self.calls}

    @cached_property
    def _cases_by_id(self) -> Mapping[tuple[str, str], DrawnCase]:
        return {(drawn.target, drawn.id): drawn for drawn in self.cases}

    def tensors_of(self, calls: Iterable[Call]) -> dict[str, Array]:
        """Return the tensors that some calls read."""
        texts = frozenset[str]().union(*(call.texts for call in calls))
        return {name: value for name, value in self.tensors.items() if name in texts}

    def of_target(self, target: str) -> list[Call]:
        """Return the calls of one target, in order."""
        return [call for call in self.calls if call.target == target]

    def of_property(self, target: str, name: str) -> list[Call]:
        """Return the calls that a property of a target asked for, in order."""
        return [c for c in self.of_target(target) if CallId.parse(c.id).what == name]

    def training(self, target: str, name: str) -> Call:
        """Return the training that a property of a target asked for."""
        wanted = str(CallId(target, name, ""))
        (call,) = (c for c in self.trainings if c.id == wanted)
        return call

    def call(self, wanted: CallId) -> Call:
        """Return one call; raises KeyError."""
        return self._calls_by_id[str(wanted)]

    def case(self, target: str, case: str) -> DrawnCase:
        """Return one case by its id; raises KeyError."""
        return self._cases_by_id[target, case]

    def first_case(self, target: str) -> DrawnCase:
        """Return the first ordinary case of a target, of a plan that may still grow."""
        first = (c for c in self.cases if c.target == target and c.id == f"{MAIN}-1")
        return next(first)

    def groups(self, target: str, *, gradient: bool = False) -> list[str]:
        """Return the groups of a target's numeric cases: the plain one, then all others.

        With `gradient`, those in which gradients are compared.
        """
        cases = [c for c in self.numeric_cases(target) if c.gradient or not gradient]
        return sorted(dict.fromkeys(case.group for case in cases), key=lambda group: group != PLAIN)

    def numeric_cases(self, target: str) -> list[DrawnCase]:
        """Return the cases of the numeric check, smallest first."""
        return [c for c in self.cases if c.target == target and c.numeric]
