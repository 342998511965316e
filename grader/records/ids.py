"""Identifiers: the one place that makes them and takes them apart."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from grader.worker.protocol import Action


class Kind(StrEnum):
    """The kinds of check."""

    SHAPE = "shape"
    NUMERIC = "numeric"
    GRADIENT = "gradient"
    PROPERTY = "property"
    BUG = "bug"


@dataclass(frozen=True)
class CheckId:
    """A check of a course: `exercise1/attend/numeric`, `exercise1/attend/property/dtype`."""

    exercise: str
    target: str
    kind: Kind
    name: str = ""  # of a property or a known bug; of the others, the group of cases

    def __str__(self) -> str:
        return f"{self.exercise}/{self.in_exercise}"

    @staticmethod
    @lru_cache(maxsize=4096)  # the results of a class name the same checks again and again
    def parse(text: str) -> "CheckId":
        """Read `str`'s text back; raises ValueError."""
        exercise, target, kind, *name = text.split("/")
        if len(name) > 1:
            raise ValueError(f"'{text}' is no check")
        return CheckId(exercise, target, Kind(kind), *name)

    @property
    def in_exercise(self) -> str:
        """`fold_heads/property/dtype`."""
        return f"{self.target}/{self.in_target}"

    @property
    def in_target(self) -> str:
        """`property/dtype`."""
        return f"{self.kind}/{self.name}" if self.name else str(self.kind)

    @property
    def shown(self) -> str:
        """What a reader sees beside the target: `dtype`, `numeric`, `bug/keys-from-queries`."""
        return self.name if self.kind is Kind.PROPERTY else self.in_target


MAIN = "main"  # begins the ids of the ordinary cases
BIASES = "own-biases"  # the group of the case in which no bias is zero; no option is called so


def is_main(case: str) -> bool:
    """Whether the id of a drawn case is that of an ordinary one: `main-1`."""
    return case.rpartition("-")[0] == MAIN


@dataclass(frozen=True)
class CallId:
    """A call of a target: `fold_heads/main-1/forward`, `fold_heads/device`."""

    target: str
    what: str  # the numeric case, or the property that it is for
    part: str = ""  # of a case what is done with it; of a property which of its calls

    def __str__(self) -> str:
        return "/".join(filter(None, (self.target, self.what, self.part)))

    @staticmethod
    @cache
    def parse(text: str) -> "CallId":
        """Read `str`'s text back; raises ValueError."""
        target, what, *part = text.split("/")
        if len(part) > 1:
            raise ValueError(f"'{text}' is no call")
        return CallId(target, what, *part)

    @staticmethod
    def first(target: str) -> "CallId":
        """Return the first call of all: the outputs of the first ordinary case."""
        return CallId(target, f"{MAIN}-1", Action.FORWARD)


@dataclass(frozen=True)
class TensorId:
    """A tensor of a plan: `fold_heads/main-1/x`, `fold_heads/equivariant/rolled/x`."""

    of: str  # the case or the call
    name: str

    def __str__(self) -> str:
        return f"{self.of}/{self.name}"
