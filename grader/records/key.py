"""The answer key of one exercise on one split: what was asked, answered, and known of bugs."""

from dataclasses import dataclass, field
from functools import cached_property

import safetensors.numpy

from grader.records.answers import Answer
from grader.records.calls import Array, Plan
from grader.records.ids import CheckId
from grader.records.signatures import Suspects
from grader.worker.names import Group, of_group


@dataclass(frozen=True)
class ValueProof:
    """A call whose values show a bug."""

    call: str
    group: Group  # outputs or gradients
    far: float  # from the reference, in tolerances of float64; 0 where no outputs came


@dataclass(frozen=True)
class CheckProof:
    """A check that a bug fails and the reference passes."""

    check: CheckId


Proof = ValueProof | CheckProof


@dataclass(frozen=True)
class KnownBug:
    """A bug of the catalogue with its proofs: where it and the reference are far apart."""

    id: str
    target: str
    title: str
    when: str
    step: str
    lesson: str  # how the lesson's passage on it begins, "" where there is none
    hints: tuple[str, ...]
    proofs: tuple[Proof, ...]  # one a variant
    margin64: float | None  # least distance of a variant in float64 tolerances, None where no value
    margin32: float | None

    @property
    def key(self) -> str:
        """Identifies the bug in its exercise."""
        return f"{self.target}/{self.id}"

    @property
    def shown_by_values(self) -> bool:
        """Whether it has a check of its own; what another check shows costs only there."""
        return self.margin64 is not None


@dataclass(frozen=True)
class BugBook:
    """The known bugs of one exercise on one split."""

    bugs: tuple[KnownBug, ...] = ()

    def checked(self, target: str) -> list[KnownBug]:
        """Return the bugs of a target's own code that have a check of their own."""
        return [bug for bug in self.bugs if bug.target == target and bug.shown_by_values]

    def by_key(self, key: str) -> KnownBug:
        """Return the bug "target/id"; raises KeyError."""
        return self._by_key[key]

    def named(self, bug: str, target: str) -> KnownBug:
        """Return a bug by its id: the target's own, else that of one which it uses."""
        own = (one for one in self.bugs if one.id == bug and one.target == target)
        return next(own, None) or next(one for one in self.bugs if one.id == bug)

    @cached_property
    def _by_key(self) -> dict[str, KnownBug]:
        return {bug.key: bug for bug in self.bugs}


@dataclass(frozen=True)
class AnswerKey:
    """A plan, and what the reference answered to each of its calls."""

    plan: Plan
    answers: dict[str, Answer]
    book: BugBook = BugBook()
    suspects: dict[str, Suspects] = field(default_factory=dict)  # by target

    @cached_property
    def payload(self) -> bytes:
        """The plan's tensors as safetensors bytes, for workers."""
        return bytes(safetensors.numpy.save(self.plan.tensors))

    def steps(self, call_id: str) -> dict[str, Array]:
        """Return the named steps of the reference in a call."""
        return of_group(self.answers[call_id].tensors, Group.STEP)
